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


class Work(Protocol[T]):
    """What there is to do for each task of a schedule."""

    def require_wanted(self) -> None:
        """Raise where no further task is to start; called by one thread at a time."""

    def make(self, task: int, thread: int) -> T:
        """Do a task; called by several threads at once."""

    def take_in(self, made: T) -> None:
        """Take what was made; called by one thread at a time."""


def work_on_threads(work: Work[T], plan: Schedule, threads: int) -> None:
    """Do all tasks, those that do not wait for each other at the same time, first ones first.

    An interrupt from the keyboard or a failure stops all threads after the tasks under way.

    Args:
        work: What there is to do.
        plan: The tasks.
        threads: How many threads do them.

    Raises:
        BaseException: What a thread raised first.
    """
    crew = _Crew(work, plan, threads)
    # Until all have started, an interrupt would leave behind one that is being started.
    begun = threading.Event()

    def begin(thread: int) -> None:
        begun.wait()
        crew.work(thread)

    with ThreadPoolExecutor(threads, thread_name_prefix="cloakwork-run") as pool:
        try:
            futures = [pool.submit(begin, thread) for thread in range(threads)]
            begun.set()
            # An interrupt that comes just before a wait does not end it.
            while wait(futures, timeout=_LONGEST_WAIT).not_done:
                pass
        except BaseException:
            crew.stop()
            begun.set()
            raise
    if crew.failed_thread is not None:
        futures[crew.failed_thread].result()


class _Crew(Generic[T]):
    """What the threads share."""

    def __init__(self, work: Work[T], plan: Schedule, threads: int) -> None:
        self._work = work
        self._tasks = ReadyTasks(plan, lookahead=_LOOKAHEAD * threads)
        # Whoever holds this looks at or changes the queue and what was taken in.
        self._changed = threading.Condition(threading.Lock())
        self._stopped = False
        self.failed_thread: int | None = None

    def work(self, thread: int) -> None:
        """Do tasks until none is left; a failure stops the other threads, too."""
        try:
            while (task := self._next()) is not None:
                self._do(task, thread)
        except BaseException:
            with self._changed:
                if self.failed_thread is None:
                    self.failed_thread = thread
            self.stop()
            raise

    def stop(self) -> None:
        """Let no further task start."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

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

    def _do(self, task: int, thread: int) -> None:
        made = self._work.make(task, thread)
        with self._changed:
            self._work.take_in(made)
            self._tasks.finish(task)
            if self._tasks.exhausted:
                self._changed.notify_all()


class ReadyTasks:
    """The tasks whose operands are made, first in program order first.

    Args:
        plan: The tasks.
        lookahead: How far beyond the first unfinished task one may start; it bounds the values
            in memory beyond those of a run in program order. At least 1.

    Example:
        >>> from cloakwork.programs.slots import Input, Neg, SlotProgram
        >>> from cloakwork.runtime.schedule import schedule
        >>> operations = (Input("x", 1), Neg(0), Neg(1), Neg(0))
        >>> tasks = ReadyTasks(schedule(SlotProgram("", 8, operations, (None,) * 4)), lookahead=3)
        >>> tasks.take(), tasks.take(), tasks.take()
        (0, 2, None)
        >>> tasks.finish(0)
        >>> tasks.take()
        1
    """

    def __init__(self, plan: Schedule, *, lookahead: int) -> None:
        self._lookahead = lookahead
        self._first_unfinished = 0
        self._finished = bytearray(len(plan.tasks))
        self._order: TopologicalSorter[int] = TopologicalSorter(
            dict.fromkeys(range(len(plan.tasks)), ())
        )
        for task, numbers in enumerate(plan.tasks):
            for user in {user for number in numbers for user in plan.users[number]}:
                self._order.add(user, task)
        self._order.prepare()
        self._ready = list(self._order.get_ready())
        heapq.heapify(self._ready)

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
        self._finished[task] = 1
        unfinished = self._finished.find(0, self._first_unfinished)
        self._first_unfinished = len(self._finished) if unfinished < 0 else unfinished
