"""The report of a run of einsums: lines of text."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.einsum.evaluate import WAYS, Evaluation
from benchmarks.einsum.jobs import JOBS
from benchmarks.einsum.targets import is_wrong, speed_up

_NAME = 25
_WAY = 28
_COLUMNS = (
    ("log N", 6),
    ("CPU s", 9),
    ("wall s", 9),
    ("plan s", 8),
    ("model/CPU", 10),
    ("rotate", 7),
    ("switch", 7),
    ("levels", 7),
    ("L2", 9),
    ("max", 9),
    ("values MB", 10),
    ("peak MB", 8),
    ("keys MB", 8),
    ("EinHops/CPU", 12),
)


def heading() -> str:
    """The names of the columns."""
    names = "".join(f"{name:>{width}}" for name, width in _COLUMNS)
    return f"{'':<{_NAME + _WAY}}{names}"


def line(evaluation: Evaluation) -> str:
    """One job planned in one way."""
    ratio, faster = evaluation.modelled_ratio, speed_up(evaluation)
    cells = (
        f"{evaluation.n.bit_length() - 1}",
        f"{evaluation.cpu_seconds:.4f}",
        f"{evaluation.wall_seconds:.4f}",
        f"{evaluation.planning_seconds:.2f}",
        "" if ratio is None else f"{ratio:.2f}",
        f"{evaluation.rotations}",
        f"{evaluation.key_switches}",
        f"{evaluation.levels_used}",
        f"{evaluation.l2_error:.1e}",
        f"{evaluation.max_error:.1e}",
        f"{evaluation.values_bytes / 1e6:.1f}",
        f"{evaluation.process_bytes / 1e6:.0f}",
        f"{evaluation.key_bytes / 1e6:.1f}",
        "" if faster is None else f"{faster:.0f}",
    )
    figures = "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
    mark = "  WRONG" if is_wrong(evaluation) else ""
    text = f"{evaluation.job:<{_NAME}}{evaluation.way!s:<{_WAY}}{figures}{mark}"
    return text.rstrip()


def summary(evaluations: Sequence[Evaluation]) -> str:
    """CPU seconds and rotations of every job in every way, and EinHops beside them."""
    headings = "".join(f"{str(way).replace('power-of-two', '2^k'):>{_WAY}}" for way in WAYS)
    lines = [
        "",
        f"{'CPU seconds, rotations':<{_NAME}}{headings}{'EinHops s':>11}",
    ]
    found = {(each.job, each.way): each for each in evaluations}
    for job in JOBS:
        row = [found.get((job.name, way)) for way in WAYS]
        if any(row):
            theirs = job.einhops_seconds
            last = "" if theirs is None else f"{theirs:g}"
            lines.append(f"{job.name:<{_NAME}}{''.join(map(_cell, row))}{last:>11}".rstrip())
    return "\n".join(lines)


def _cell(evaluation: Evaluation | None) -> str:
    if evaluation is None:
        return f"{'failed':>{_WAY}}"
    return f"{evaluation.cpu_seconds:>{_WAY - 6}.4f}{evaluation.rotations:>6}"
