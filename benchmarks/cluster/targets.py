"""What programs on a cluster are to reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.cluster.evaluate import Evaluation
from benchmarks.target import Target

_OVERHEAD_PERCENT = 15.0
# Of programs that take longer in one process; others are not worth a cluster.
_LEAST_SECONDS = 0.1
# Of programs whose parts exchange nothing.
_SPEED_UP = 1.75


def targets(evaluations: Sequence[Evaluation]) -> Iterator[Target]:
    """Every target for what was measured."""
    for each in evaluations:
        if each.here.seconds < _LEAST_SECONDS:
            continue
        what = f"{each.job}, overhead of one worker, percent"
        yield Target(what, _OVERHEAD_PERCENT, 100 * each.overhead)
        what = f"{each.job}, overhead of one worker, percent of CPU"
        yield Target(what, _OVERHEAD_PERCENT, 100 * each.cpu_overhead)
        if each.is_shared:
            what = f"{each.job}, two workers by one"
            yield Target(what, _SPEED_UP, each.speed_up, at_most=False)
