"""The report of a run of networks: lines of text."""

from __future__ import annotations

from benchmarks.nn.evaluate import Evaluation
from benchmarks.nn.jobs import JOBS
from benchmarks.nn.targets import is_wrong

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
