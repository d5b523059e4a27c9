"""What a product of BGV may take."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.bgv.jobs import PRODUCT
from benchmarks.measurement import Measurement
from benchmarks.target import Target

_LARGEST_RATIO = 1.6
# The best existing library, one thread of a 2-core Zen 3.
_MOST_MILLISECONDS = 14.0


def targets(measured: Sequence[Measurement]) -> list[Target]:
    """The bounds on one product of one thread."""
    found = {each.job: 1000 * each.seconds for each in measured if each.threads == 1}
    bgv, ckks = found[f"BGV: {PRODUCT}"], found[f"CKKS: {PRODUCT}"]
    return [
        Target(f"BGV's {PRODUCT} over CKKS'", _LARGEST_RATIO, bgv / ckks),
        Target(f"BGV's {PRODUCT}, ms", _MOST_MILLISECONDS, bgv),
    ]
