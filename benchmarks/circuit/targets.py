"""What circuits are to reach: counts, compile time and speed beside the paper's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.circuit.evaluate import CircuitEvaluation
from benchmarks.circuit.paper import PAPER, SPEED_UPS
from benchmarks.target import Target

_COMPILE_SECONDS = {"dot.3": 1.0, "mm.16": 120.0}
_OTHER_COMPILE_SECONDS = 10.0
_PERCENT_BELOW = 50.0


def targets(evaluations: Sequence[CircuitEvaluation]) -> Iterator[Target]:
    """Every target for what was measured."""
    below = 0
    known = [each for each in evaluations if (each.job, each.replication) in PAPER]
    for each in known:
        row = PAPER[each.job, each.replication]
        below += each.moves < row.moves
        yield Target(f"{each.name}, rotations and products", row.moves, each.moves)
        most = _COMPILE_SECONDS.get(each.job, _OTHER_COMPILE_SECONDS)
        yield Target(f"{each.name}, compile seconds", most, each.compile_seconds)
        what = f"{each.name}, times scalar, relinearised at once"
        yield Target(what, SPEED_UPS[0], each.speed_up, at_most=False)
    share = 100 * below / len(known) if known else None
    yield Target("rows strictly below the paper, percent", _PERCENT_BELOW, share, at_most=False)
    wrong = sum(not each.right for each in evaluations)
    yield Target("jobs whose results are not Python's", 0, wrong)
