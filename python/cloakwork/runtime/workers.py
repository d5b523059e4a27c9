"""Several threads that do the tasks of one run."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Generic, Protocol, TypeVar

from cloakwork.runtime.ready_queue import ReadyQueue
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
        self._queue = ReadyQueue(plan, lookahead=_LOOKAHEAD * threads)
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
            while not (self._stopped or self._queue.exhausted):
                self._work.require_wanted()
                task = self._queue.take()
                if task is not None:
                    if self._queue.can_take:
                        self._changed.notify()
                    return task
                self._changed.wait()
            return None

    def _do(self, task: int, thread: int) -> None:
        made = self._work.make(task, thread)
        with self._changed:
            self._work.take_in(made)
            self._queue.finish(task)
            if self._queue.exhausted:
                self._changed.notify_all()
