"""The table of deep networks, as Markdown."""

from __future__ import annotations

from benchmarks.deep_networks.evaluate import Evaluation

_COLUMNS = (
    "network",
    "accuracy",
    "compiling",
    "bootstraps",
    "diagonals",
    "CPU of a run",
    "by the model",
    "wall",
    "keys",
    "memory",
    "by the plan",
    "as in the clear",
    "mean error of the range",
)


def heading() -> str:
    """The names of the columns."""
    return f"| {' | '.join(_COLUMNS)} |\n|{'---|' * len(_COLUMNS)}"


def line(evaluation: Evaluation) -> str:
    """One network."""
    cells = (
        evaluation.job,
        f"{evaluation.accuracy:.3f}",
        f"{evaluation.compile_seconds:.0f} s",
        f"{evaluation.bootstraps}",
        f"{evaluation.diagonals}",
        f"{evaluation.cpu_seconds:.0f} s",
        f"{evaluation.modelled_seconds:.0f} s",
        f"{evaluation.wall_seconds:.0f} s",
        f"{evaluation.key_bytes / 1e9:.1f} GB",
        f"{evaluation.process_bytes / 1e9:.1f} GB",
        f"{evaluation.predicted_bytes / 1e9:.1f} GB",
        f"{evaluation.agreeing} of {evaluation.inputs}",
        f"2^-{evaluation.range_precision:.1f}",
    )
    return f"| {' | '.join(cells)} |"
