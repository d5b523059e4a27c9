"""The speed, error and memory that einsums are to reach."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.einsum.evaluate import Evaluation
from benchmarks.einsum.jobs import JOBS
from benchmarks.target import Target

MOST_ERROR = 1e-4
MOST_GB = 6.0

_JOBS = {job.name: job for job in JOBS}
_MODELLED_PERCENT = 35.0


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """How many times faster than EinHops a job is to be."""

    permuting: float
    other: float


SPEED_UPS: Mapping[tuple[str, str], SpeedUp] = {
    ("eager", "all keys"): SpeedUp(100, 10),
    ("eager", "power-of-two keys"): SpeedUp(30, 5),
}


def speed_up(evaluation: Evaluation) -> float | None:
    """EinHops' CPU seconds against ours, where EinHops has been measured."""
    theirs = _JOBS[evaluation.job].einhops_seconds
    return None if theirs is None else theirs / evaluation.cpu_seconds


def is_wrong(evaluation: Evaluation) -> bool:
    """Whether the result is too far from numpy's; a NaN is."""
    return not (evaluation.l2_error < MOST_ERROR and evaluation.max_error < MOST_ERROR)


def targets(evaluations: Sequence[Evaluation]) -> Iterator[Target]:
    """Every target for what was measured."""
    for each in evaluations:
        asked, found = SPEED_UPS.get(each.way), speed_up(each)
        if asked is not None and found is not None:
            bound = asked.permuting if _JOBS[each.job].permutes else asked.other
            yield Target(f"{each.job}, {each.way}, times EinHops", bound, found, False)
    # A NaN stays one.
    largest = float(np.max([each.l2_error for each in evaluations]))
    bits = -math.log2(largest) if largest else math.inf
    yield Target("right bits of every result, L2", -math.log2(MOST_ERROR), bits, False)
    peak = max(each.process_bytes for each in evaluations)
    yield Target("peak memory of every process, GB", MOST_GB, peak / 1e9)
    off = [100 * abs(each.modelled_ratio - 1) for each in evaluations if each.modelled_ratio]
    yield Target(
        "modelled time off CPU time, median over jobs, percent",
        _MODELLED_PERCENT,
        statistics.median(off) if off else None,
    )
