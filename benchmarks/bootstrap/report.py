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


HEAD = (
    f"{'slots':>7}  {'contents':<8} {'threads':>7} {'seconds':>9} {'NTTs':>8}"
    f" {'mean error':>11} {'worst':>7} {'promised':>9}"
)


def setting_line(found: Refreshing) -> str:
    """What is the same whatever is in the slots."""
    return (
        f"\nN = 2^{found.n.bit_length() - 1}, {found.slots} slots: {found.levels_left} levels and "
        f"{found.bits_left:.0f} bits of modulus left, keys {found.key_bytes / 1e9:.3f} GB on disk "
        f"and {2 * found.key_bytes / 1e9:.2f} GB in memory, diagonals "
        f"{found.diagonal_bytes / 1e9:.2f} GB, peak so far {found.peak_bytes / 1e9:.2f} GB\n{HEAD}"
    )


def line(found: Refreshing) -> str:
    """Time and errors of one kind of contents on one number of threads."""
    return (
        f"{found.slots:>7}  {found.contents:<8} {found.threads:>7} {found.seconds:>9.3f}"
        f" {found.ntt_units:>8.0f} {found.mean_error_bits:>11.2f}"
        f" {found.accuracy.error_bits:>7.2f} {found.accuracy.promised_bits:>9.2f}"
    )


def targets(measured: Sequence[Refreshing]) -> list[Target]:
    """Those of a full ring of 2^16, of which anything may not have been measured."""
    full = [each for each in measured if each.slots == 1 << 15 and each.contents == "complex"]
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
