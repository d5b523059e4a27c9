"""What networks are to reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.nn.evaluate import Evaluation
from benchmarks.nn.jobs import JOBS, PRECISION
from benchmarks.target import Target

_JOBS = {job.name: job for job in JOBS}
_TIME_PERCENT = 35.0
_MEMORY_PERCENT = 20.0
_MOST_COMPILE_SECONDS = 20.0
_AGREEING_PERCENT = 99.0
_RANGE_PRECISION = 14.0
_TIMES_ONE_BY_ONE = 14.0


def is_wrong(evaluation: Evaluation) -> bool:
    """Whether the mean error is more than was asked; a NaN is."""
    return not evaluation.precision >= PRECISION


def targets(evaluations: Sequence[Evaluation]) -> Iterator[Target]:
    """Every target for what was measured."""
    seconds = {each.job: each.cpu_seconds / each.batch for each in evaluations}
    for each in evaluations:
        job = _JOBS[each.job]
        if job.orion_seconds is None and job.one_by_one is None:
            continue
        if job.orion_seconds is not None and job.speed_up is not None:
            times = job.orion_seconds / each.cpu_seconds
            yield Target(f"{each.job}, times Orion", job.speed_up, times, at_most=False)
        if job.one_by_one is not None:
            alone = seconds.get(job.one_by_one)
            fewer = None if alone is None else alone / seconds[each.job]
            what = f"{each.job}, times its inputs one by one"
            yield Target(what, _TIMES_ONE_BY_ONE, fewer, at_most=False)
        if job.most_gb is not None:
            gigabytes = each.process_bytes / 1e9
            yield Target(f"{each.job}, peak memory of the evaluator, GB", job.most_gb, gigabytes)
        agreeing = 100 * each.agreeing / each.inputs
        what = f"{each.job}, images classified as in the clear, percent"
        yield Target(what, _AGREEING_PERCENT, agreeing, at_most=False)
        what = f"{each.job}, bits of the mean error below the range of outputs"
        yield Target(what, _RANGE_PRECISION, each.range_precision, at_most=False)
        off = _percent_off(each.modelled_seconds, each.cpu_seconds)
        yield Target(f"{each.job}, summary's time off, percent", _TIME_PERCENT, off)
        off = _percent_off(each.predicted_bytes, each.process_bytes)
        yield Target(f"{each.job}, summary's memory off, percent", _MEMORY_PERCENT, off)
    slowest = max((each.compile_seconds for each in evaluations), default=None)
    yield Target("compile seconds of every network", _MOST_COMPILE_SECONDS, slowest)


def _percent_off(predicted: float, found: float) -> float:
    return 100 * abs(predicted / found - 1)
