"""What was measured of refreshing, in words."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.bootstrap.evaluate import Refreshing
from benchmarks.target import Target

TITLE = "2^15 complex slots at N = 2^16"

# Of other libraries: 2^15 complex slots, N = 2^16, one thread of a 2-core Zen 3 machine.
REFERENCE = """\
Lattigo v6, one thread of Zen 3: 28.5 s, 27.9 bits, about 400 bits left, 7.9 GB of keys, 11 GB
OpenFHE, one thread of Zen 3: 51 s, 14.5 bits"""


def lines(found: Refreshing) -> str:
    """All figures of one packing on one number of threads."""
    return "\n".join(
        [
            f"\n{found.job}, N = {found.n}, {found.threads} thread(s)",
            f"  time             {found.seconds:8.3f} s   {found.ntt_units:8.0f} NTTs",
            f"  mean error       {found.mean_error_bits:8.2f} bits",
            f"  worst error      {found.accuracy.error_bits:8.2f} bits"
            f"   promised {found.accuracy.promised_bits:.2f}",
            f"  left             {found.levels_left:8d} levels, {found.bits_left:.0f} bits",
            f"  keys, seeded     {found.key_bytes / 1e9:8.3f} GB"
            f"   in memory {2 * found.key_bytes / 1e9:.2f} GB",
            f"  diagonals        {found.diagonal_bytes / 1e9:8.3f} GB",
            f"  peak memory      {found.peak_bytes / 1e9:8.3f} GB",
        ]
    )


def targets(measured: Sequence[Refreshing]) -> list[Target]:
    """Those of a full ring of 2^16, of which anything may not have been measured."""
    full = [each for each in measured if each.slots == 1 << 15 and "complex" in each.job]
    one = next((each for each in full if each.threads == 1), None)
    several = next((each for each in full if each.threads > 1), None)
    gain = one.seconds / several.seconds if one and several else None
    return [
        Target("seconds on one thread", 4.5, one.seconds if one else None),
        Target("bits of the mean error", 22.0, one.mean_error_bits if one else None, False),
        Target("bits of modulus left", 380.0, one.bits_left if one else None, False),
        Target("GB of keys, seeded", 2.5, one.key_bytes / 1e9 if one else None),
        Target("times faster on two threads", 1.7, gain, False),
    ]
