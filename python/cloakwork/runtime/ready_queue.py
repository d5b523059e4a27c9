"""Which task of a schedule may start next."""

from __future__ import annotations

import heapq

from cloakwork.runtime.schedule import Schedule


class ReadyQueue:
    """The tasks whose operands are made, first in program order first.

    One thread at a time may use it.

    Args:
        schedule: The tasks.
        lookahead: How far beyond the first unfinished task one may start; it bounds the values
            in memory beyond those of a run in program order. At least 1.

    Example:
        >>> from cloakwork.programs.slots import Input, Neg, SlotProgram
        >>> from cloakwork.runtime.schedule import schedule
        >>> operations = (Input("x", 1), Neg(0), Neg(1), Neg(0))
        >>> queue = ReadyQueue(schedule(SlotProgram("", 8, operations, (None,) * 4)), lookahead=3)
        >>> queue.take(), queue.take(), queue.take()
        (0, 2, None)
        >>> queue.finish(0)
        >>> queue.take()
        1
    """

    def __init__(self, schedule: Schedule, *, lookahead: int) -> None:
        self._schedule = schedule
        self._lookahead = lookahead
        self._first_unfinished = 0
        self._finished = bytearray(len(schedule.tasks))
        made = {number for task in schedule.tasks for number in task}
        self._waits = [sum(value in made for value in operands) for operands in schedule.operands]
        # In order, which is a heap.
        self._ready = [task for task, waits in enumerate(self._waits) if not waits]

    @property
    def can_take(self) -> bool:
        """Whether a task may start."""
        return bool(self._ready) and (self._ready[0] < self._first_unfinished + self._lookahead)

    @property
    def exhausted(self) -> bool:
        """Whether every task is finished."""
        return self._first_unfinished == len(self._finished)

    def take(self) -> int | None:
        """The task to start next, None where all must wait for others to finish."""
        return heapq.heappop(self._ready) if self.can_take else None

    def finish(self, task: int) -> None:
        """Tell that the values of a task that was taken are made."""
        for number in self._schedule.tasks[task]:
            for user in self._schedule.users[number]:
                self._waits[user] -= 1
                if not self._waits[user]:
                    heapq.heappush(self._ready, user)
        self._finished[task] = 1
        unfinished = self._finished.find(0, self._first_unfinished)
        self._first_unfinished = len(self._finished) if unfinished < 0 else unfinished
