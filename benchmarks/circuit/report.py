"""The report of a run of circuits: lines of text."""

from __future__ import annotations

from benchmarks.circuit.evaluate import CircuitEvaluation
from benchmarks.circuit.paper import COMPILE_SECONDS, PAPER

_NAME = 36
_COLUMNS = (
    ("add/mul/rot/mask", 20),
    ("paper's", 18),
    ("log N", 7),
    ("levels", 8),
    ("keys MB", 9),
    ("compile s", 11),
    ("paper's", 9),
    ("CPU ms", 10),
    ("scalar ms", 11),
    ("relin. ms", 11),
    ("times", 8),
)


def heading() -> str:
    """The names of the columns."""
    return f"{'':<{_NAME}}" + "".join(f"{name:>{width}}" for name, width in _COLUMNS)


def line(evaluation: CircuitEvaluation) -> str:
    """One job."""
    key = (evaluation.job, evaluation.replication)
    paper, seconds = PAPER.get(key), COMPILE_SECONDS.get(key)
    cells = (
        str(evaluation.counts),
        "" if paper is None else str(paper.counts),
        f"{evaluation.n.bit_length() - 1}",
        f"{evaluation.levels}",
        f"{evaluation.key_bytes / 1e6:.1f}",
        f"{evaluation.compile_seconds:.2f}",
        "" if seconds is None else f"{seconds:g}",
        f"{1e3 * evaluation.seconds:.2f}",
        f"{1e3 * evaluation.scalar_seconds:.2f}",
        f"{1e3 * evaluation.relinearised_seconds:.2f}",
        f"{evaluation.speed_up:.1f}",
    )
    figures = "".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
    mark = "" if evaluation.right else "  WRONG"
    return f"{evaluation.name:<{_NAME}}{figures}{mark}"
