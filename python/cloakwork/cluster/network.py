"""What it costs to hand tasks out and to move values: the model by which work is placed."""

from __future__ import annotations

from dataclasses import dataclass

# A task's work by what the scheduler takes for it: at 20 a twentieth is lost.
_WORTH = 20


@dataclass(frozen=True, slots=True)
class Network:
    """Costs of a cluster of Dask beside the work itself.

    The defaults were measured on one machine, between two processes.

    Args:
        task_seconds: What the scheduler takes for a task.
        message_seconds: What a message takes, however short.
        bytes_per_second: How fast values move, from one process's memory to another's.
    """

    task_seconds: float = 1.5e-3
    message_seconds: float = 2e-3
    bytes_per_second: float = 4.5e8

    @property
    def least_work(self) -> float:
        """Seconds of work that are worth a task of their own."""
        return _WORTH * self.task_seconds

    def moving(self, nbytes: int) -> float:
        """Seconds of a message of so many bytes.

        Example:
            >>> Network().moving(900_000)
            0.004
        """
        return self.message_seconds + nbytes / self.bytes_per_second

    def crossing(self, nbytes: int) -> float:
        """Seconds of a value that one lane makes and another needs, with the task that sends it."""
        return self.task_seconds + self.moving(nbytes)
