"""The report of a run of networks: lines of text, and what they are to reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.nn_evaluation import Evaluation
from benchmarks.nn_jobs import JOBS, PRECISION
from benchmarks.targets import Target

_JOBS = {job.name: job for job in JOBS}
_NAME = 30
_COLUMNS = (
    ("log N", 6),
    ("batch", 6),
    ("CPU s", 8),
    ("wall s", 8),
    ("first s", 8),
    ("compile s", 10),
    ("model/CPU", 10),
    ("bits", 6),
    ("of range", 9),
    ("agree", 8),
    ("rotate", 7),
    ("diagonals", 10),
    ("levels", 7),
    ("keys", 5),
    ("keys MB", 8),
    ("layers MB", 10),
    ("peak MB", 8),
    ("model/peak", 11),
    ("Orion/CPU", 10),
)
_TIME_PERCENT = 35.0
_MEMORY_PERCENT = 20.0
_MOST_COMPILE_SECONDS = 20.0
_AGREEING_PERCENT = 99.0
_RANGE_PRECISION = 14.0


def heading() -> str:
    """The names of the columns."""
    return f"{'':<{_NAME}}" + "".join(f"{name:>{width}}" for name, width in _COLUMNS)


def line(evaluation: Evaluation) -> str:
    """One network."""
    theirs = _JOBS[evaluation.job].orion_seconds
    cells = (
        f"{evaluation.n.bit_length() - 1}",
        f"{evaluation.batch}",
        f"{evaluation.cpu_seconds:.3f}",
        f"{evaluation.wall_seconds:.3f}",
        f"{evaluation.first_seconds:.2f}",
        f"{evaluation.compile_seconds:.2f}",
        f"{evaluation.modelled_seconds / evaluation.cpu_seconds:.2f}",
        f"{evaluation.precision:.1f}",
        f"{evaluation.range_precision:.1f}",
        f"{evaluation.agreeing}/{evaluation.inputs}",
        f"{evaluation.rotations}",
        f"{evaluation.diagonals}",
        f"{evaluation.level}",
        f"{evaluation.keys}",
        f"{evaluation.key_bytes / 1e6:.0f}",
        f"{evaluation.encoded_bytes / 1e6:.0f}",
        f"{evaluation.process_bytes / 1e6:.0f}",
        f"{evaluation.predicted_bytes / evaluation.process_bytes:.2f}",
        "" if theirs is None else f"{theirs / evaluation.cpu_seconds:.1f}",
    )
    figures = "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
    mark = "  WRONG" if is_wrong(evaluation) else ""
    return f"{evaluation.job:<{_NAME}}{figures}{mark}".rstrip()


def is_wrong(evaluation: Evaluation) -> bool:
    """Whether the mean error is more than was asked; a NaN is."""
    return not evaluation.precision >= PRECISION


def targets(evaluations: Sequence[Evaluation]) -> Iterator[Target]:
    """Every target for what was measured."""
    for each in evaluations:
        job = _JOBS[each.job]
        if job.orion_seconds is None or job.speed_up is None or job.most_gb is None:
            continue
        found = job.orion_seconds / each.cpu_seconds
        yield Target(f"{each.job}, times Orion", job.speed_up, found, at_most=False)
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
