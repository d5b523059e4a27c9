"""The report of rows between slots and bits: lines of text, and the targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.decisions.evaluate import Evaluation
from benchmarks.target import Target

_NAME = 34
_COLUMNS = (
    ("bootstraps", 12),
    ("failure", 9),
    ("told s", 9),
    ("CPU s", 9),
    ("told/CPU", 10),
    ("wall s", 9),
)
# By how many per cent what is told beforehand may be off.
_MOST_OFF = 35.0


def heading() -> str:
    """The names of the columns."""
    return f"{'':<{_NAME}}{''.join(f'{name:>{width}}' for name, width in _COLUMNS)}"


def lines(evaluation: Evaluation) -> str:
    """A row: its keys and results, and then a line for each program."""
    told, found = (size / 2**20 for size in (evaluation.told_key_bytes, evaluation.key_bytes))
    verdicts = ", ".join(f"{count} {name}" for name, count in evaluation.verdicts.items())
    made = [
        f"{evaluation.job}: {verdicts}; keys {found:.1f} MiB, told {told:.1f} MiB; "
        f"process {evaluation.peak_bytes / 2**30:.1f} GiB; {evaluation.threads} threads"
    ]
    for part in evaluation.parts:
        cells = (
            f"{part.bootstraps}",
            f"2^{part.log2_failure:.0f}",
            f"{part.told_seconds:.3f}",
            f"{part.cpu_seconds:.3f}",
            f"{part.told_seconds / part.cpu_seconds:.2f}",
            f"{part.wall_seconds:.3f}",
        )
        pairs = zip(cells, _COLUMNS, strict=True)
        made.append(
            f"  {part.name[: _NAME - 3]:<{_NAME - 2}}"
            + "".join(f"{cell:>{width}}" for cell, (_, width) in pairs)
        )
    return "\n".join(made)


def targets(evaluations: Sequence[Evaluation]) -> Iterator[Target]:
    """By how much times and keys that are told beforehand may be off."""
    for each in evaluations:
        for part in each.parts:
            off = _off(part.told_seconds, part.cpu_seconds)
            yield Target(f"{each.job}: time of {part.name[:20]}, off by %", _MOST_OFF, off)
        off = _off(each.told_key_bytes, each.key_bytes)
        yield Target(f"{each.job}: keys, off by %", _MOST_OFF, off)


def _off(told: float, found: float) -> float:
    return 100 * abs(told / found - 1)
