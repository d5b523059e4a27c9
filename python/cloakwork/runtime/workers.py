"""Several threads that do the tasks of one run."""

from __future__ import annotations

import heapq
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from graphlib import TopologicalSorter
from typing import Generic, Protocol, TypeVar

from cloakwork.runtime.schedule import Schedule

T = TypeVar("T")

# Tasks by which every thread may run ahead of program order; each may hold a value.
_LOOKAHEAD = 4
# Seconds after which the waiting thread looks whether it was interrupted.
_LONGEST_WAIT = 0.2


class ScheduledWork(Protocol[T]):
    """What there is to do for each task of a schedule."""

    def require_wanted(self) -> None:
        """Raise where no further task is to start; called by one thread at a time."""

    def make(self, task: int, thread: int) -> T:
        """Do a task; called by several threads at once."""

    def take_in(self, made: T) -> None:
        """Take what was made; called by one thread at a time."""


def work_on_threads(work: ScheduledWork[T], plan: Schedule, threads: int) -> None:
    """Do all tasks, those that do not wait for each other at the same time, first ones first.

    An interrupt from the keyboard or a failure stops all threads after the tasks under way; what a
    thread raised first is raised.
    """
    crew = _Crew(work, plan, threads)
    with ThreadPoolExecutor(threads, thread_name_prefix="cloakwork-run") as pool:
        try:
            futures = [pool.submit(crew.work, thread) for thread in range(threads)]
            crew.begun.set()
            # An interrupt that comes just before a wait does not end it.
            while wait(futures, timeout=_LONGEST_WAIT).not_done:
                pass
        except BaseException:
            crew.stop()
            raise
    if crew.failure is not None:
        raise crew.failure


class _Crew(Generic[T]):
    """What the threads share."""

    def __init__(self, work: ScheduledWork[T], plan: Schedule, threads: int) -> None:
        self._work = work
        self._tasks = ReadyTasks(plan, lookahead=_LOOKAHEAD * threads)
        # Whoever holds this looks at or changes the queue and what was taken in.
        self._changed = threading.Condition(threading.Lock())
        self._stopped = False
        # Until all have started, an interrupt would leave behind one that is being started.
        self.begun = threading.Event()
        self.failure: BaseException | None = None

    def work(self, thread: int) -> None:
        """Do tasks until none is left; a failure stops the other threads, too."""
        self.begun.wait()
        try:
            while (task := self._next()) is not None:
                made = self._work.make(task, thread)
                with self._changed:
                    self._work.take_in(made)
                    self._tasks.finish(task)
                    if self._tasks.exhausted:
                        self._changed.notify_all()
        except BaseException as error:
            with self._changed:
                self.failure = self.failure or error
            self.stop()

    def stop(self) -> None:
        """Let no further task start."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self.begun.set()

    def _next(self) -> int | None:
        """The task to do now, after waiting for one; None when there is none to come."""
        with self._changed:
            while not (self._stopped or self._tasks.exhausted):
                self._work.require_wanted()
                task = self._tasks.take()
                if task is not None:
                    if self._tasks.can_take:
                        self._changed.notify()
                    return task
                self._changed.wait()
            return None


class ReadyTasks:
    """The tasks whose operands are made, first in program order first.

    One may start as far beyond the first unfinished task as the lookahead, which bounds the values
    in memory beyond those of a run in program order.
    """

    def __init__(self, plan: Schedule, *, lookahead: int) -> None:
        self._lookahead = lookahead
        self._first_unfinished = 0
        self._finished: set[int] = set()
        self._order: TopologicalSorter[int] = TopologicalSorter()
        for task, numbers in enumerate(plan.tasks):
            self._order.add(task)
            for user in {user for number in numbers for user in plan.users.get(number, ())}:
                self._order.add(user, task)
        self._order.prepare()
        self._ready = sorted(self._order.get_ready())

    @property
    def exhausted(self) -> bool:
        """Whether every task is finished."""
        return not self._order.is_active()

    @property
    def can_take(self) -> bool:
        """Whether a task may start."""
        return bool(self._ready) and self._ready[0] < self._first_unfinished + self._lookahead

    def take(self) -> int | None:
        """The task to start next, None where all must wait for others to finish."""
        return heapq.heappop(self._ready) if self.can_take else None

    def finish(self, task: int) -> None:
        """Report that the values of a task that was taken are made."""
        self._order.done(task)
        for ready in self._order.get_ready():
            heapq.heappush(self._ready, ready)
        self._finished.add(task)
        while self._first_unfinished in self._finished:
            self._finished.remove(self._first_unfinished)
            self._first_unfinished += 1
