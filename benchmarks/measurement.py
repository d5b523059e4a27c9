"""What was measured of one job, and the rows that it is kept as."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

_T = TypeVar("_T")

UNITS = "NTTs per key limb"


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of one job."""

    job: str
    n: int
    level: int
    threads: int
    figure: str
    unit: str
    value: float


class Accuracy(NamedTuple):
    """How many bits of a result are right, and how many the engine said would be."""

    error_bits: float
    promised_bits: float

    @property
    def holds(self) -> bool:
        """Whether the result is as good as promised."""
        return self.error_bits >= self.promised_bits


@dataclass(frozen=True, slots=True)
class Measurement:
    """One job under one parameter set on some number of threads.

    `units` counts transforms of one limb on one thread, for each limb of the key modulus.
    """

    job: str
    n: int
    level: int
    threads: int
    seconds: float
    units: float | None = None
    key_bytes: int | None = None
    accuracy: Accuracy | None = None

    def rows(self) -> Iterator[Row]:
        """Every figure that there is."""
        figures: list[tuple[str, str, float | None]] = [
            ("time", "ms", 1000 * self.seconds),
            ("time", UNITS, self.units),
            ("keys", "bytes", self.key_bytes),
        ]
        if self.accuracy is not None:
            figures.append(("error", "bits", self.accuracy.error_bits))
            figures.append(("precision estimate", "bits", self.accuracy.promised_bits))
        for figure, unit, value in figures:
            if value is not None:
                yield Row(self.job, self.n, self.level, self.threads, figure, unit, value)


class Measurements:
    """Measurements by job, ring and threads, at the largest modulus of each ring."""

    def __init__(self, measurements: Iterable[Measurement]) -> None:
        """Keep those of the highest level of every ring."""
        measurements = list(measurements)
        top: dict[int, int] = {}
        for each in measurements:
            top[each.n] = max(each.level, top.get(each.n, 0))
        self._found = {
            (each.job, each.n, each.threads): each
            for each in measurements
            if each.level == top[each.n]
        }

    def rings(self) -> list[int]:
        """Their degrees, rising."""
        return sorted({n for _, n, _ in self._found})

    def thread_counts(self) -> list[int]:
        """How many threads were used, rising."""
        return sorted({threads for _, _, threads in self._found})

    def find(self, job: str, n: int, threads: int = 1) -> Measurement | None:
        """The measurement, if it was made."""
        return self._found.get((job, n, threads))


def cpu_timed(work: Callable[[], _T]) -> tuple[_T, float]:
    """What some work makes, and the CPU seconds that it takes, of all threads."""
    start = time.process_time()
    return work(), time.process_time() - start
