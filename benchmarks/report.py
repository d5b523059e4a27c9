"""What all reports have: targets, JSON, and whether results were wrong."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

from benchmarks.measurement import Row
from benchmarks.target import Target


class Measured(Protocol):
    """What was measured, as rows."""

    def rows(self) -> Iterator[Row]: ...


def target_table(title: str, targets: Iterable[Target]) -> str:
    """Every target, what was found, and whether that is enough."""
    lines = [f"\n{title:<68}{'asked':>10}{'found':>10}"]
    for target in targets:
        asked = f"{'<=' if target.at_most else '>='} {target.bound:.1f}"
        found = "" if target.figure is None else f"{target.figure:.2f}"
        lines.append(f"{target.what:<68}{asked:>10}{found:>10}   {target.outcome}")
    return "\n".join(lines)


def write_json(path: Path, measurements: Iterable[Measured]) -> None:
    """Every figure as one row."""
    rows = [asdict(row) for each in measurements for row in each.rows()]
    path.write_text(json.dumps(rows, indent=1, allow_nan=False) + "\n")


def conclude(measurements: Iterable[Measured], wrong: Sequence[str], path: Path | None) -> int:
    """Write the figures where asked, name what came out wrong, and return 1 if anything did."""
    if path is not None:
        write_json(path, measurements)
    for name in wrong:
        print(f"WRONG: {name}", file=sys.stderr)
    return 1 if wrong else 0
