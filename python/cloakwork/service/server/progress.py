"""How far the jobs of a server are, as their processes say: in memory alone."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import Any

# Jobs of which it is known what they took.
_KEPT = 1000


@dataclass(frozen=True, slots=True)
class JobProgress:
    """How far a run is.

    Args:
        done: How much is done.
        of: Of how much.
        step: The part of the program that is at work; empty where it has no names.
        predicted_seconds: How long it was to take when it began; 0 where that is not known.
        peak_bytes: The most memory that its process took, once it is known; 0 before.
    """

    done: float = 0.0
    of: float = 1.0
    step: str = ""
    predicted_seconds: float = 0.0
    peak_bytes: int = 0


class ProgressOfJobs:
    """How far each of the last jobs is.

    Example:
        >>> jobs = ProgressOfJobs()
        >>> jobs.begin("a", 2.0)
        >>> jobs.hear("a", {"done": 1, "of": 4, "step": "conv1"})
        >>> jobs.of("a").step, jobs.of("b").done
        ('conv1', 0.0)
    """

    def __init__(self) -> None:
        self._known: OrderedDict[str, JobProgress] = OrderedDict()

    def begin(self, job: str, predicted_seconds: float) -> None:
        """A job begins, or begins again."""
        self._known[job] = JobProgress(predicted_seconds=predicted_seconds)
        self._known.move_to_end(job)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def hear(self, job: str, told: dict[str, Any]) -> None:
        """Take note of what a process says of its job."""
        self._known[job] = replace(self.of(job), **told)

    def of(self, job: str) -> JobProgress:
        """How far a job is; not begun where nothing is known."""
        return self._known.get(job, JobProgress())
