"""Whose job is next: users take turns, and each one's jobs come in the order of asking."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator


class Turns:
    """The jobs that wait.

    Example:
        >>> turns = Turns()
        >>> for user, job in (("ada", "a1"), ("ada", "a2"), ("bob", "b1")):
        ...     turns.add(user, job)
        >>> turns.started("ada", 1.0)
        >>> [*turns.order()], turns.next()
        (['b1', 'a1', 'a2'], 'b1')
    """

    def __init__(self) -> None:
        # Dictionaries keep their order; a user without a job that waits has none.
        self._waiting: dict[str, dict[str, None]] = {}
        self._last: dict[str, float] = {}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, user: str, job: str) -> None:
        """Let a job wait, behind its user's others."""
        self._waiting.setdefault(user, {})[job] = None

    def add_again(self, user: str, job: str) -> None:
        """Let a job wait that was begun before, ahead of its user's others."""
        self._waiting[user] = {job: None, **self._waiting.get(user, {})}

    def remove(self, user: str, job: str) -> None:
        """Let a job wait no longer."""
        own = self._waiting.get(user, {})
        own.pop(job, None)
        if not own:
            self._waiting.pop(user, None)

    def started(self, user: str, moment: float) -> None:
        """Take note of when a user had a turn."""
        self._last[user] = moment

    def next(self) -> str | None:
        """The job whose turn it is; None where none waits."""
        if not self._waiting:
            return None
        return next(iter(self._waiting[min(self._waiting, key=self._waited_since)]))

    def order(self) -> Iterator[str]:
        """All that wait, as their turns come."""
        users = sorted(self._waiting, key=self._waited_since)
        rounds = [iter(self._waiting[user]) for user in users]
        while rounds:
            left = []
            for jobs in rounds:
                if (job := next(jobs, None)) is not None:
                    left.append(jobs)
                    yield job
            rounds = left

    def _waited_since(self, user: str) -> float:
        return self._last.get(user, 0.0)


def seconds_until(
    job: str,
    order: Iterable[str],
    running: Iterable[float],
    workers: int,
    seconds_of: Callable[[str], float],
) -> float:
    """How long it takes until a job that waits has ended.

    Args:
        job: The job.
        order: The jobs that wait, as their turns come.
        running: How long each one that runs still takes.
        workers: How many run at once.
        seconds_of: How long a job takes.

    Example:
        >>> seconds_until("b", ["a", "b", "c"], [5.0], 2, {"a": 1.0, "b": 3.0}.__getitem__)
        4.0
    """
    free = [*running]
    free += [0.0] * (workers - len(free))
    heapq.heapify(free)
    for each in order:
        end = free[0] + seconds_of(each)
        heapq.heapreplace(free, end)
        if each == job:
            return end
    return 0.0
