"""Lists of numbers, bytes and seconds, short enough to read."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

# Terms from which a progression is shorter than its terms.
_SHORTEST_RUN = 4


def listed(numbers: Sequence[int], *, most: int = 8) -> str:
    """Numbers in order, arithmetic progressions by their first two and last.

    Example:
        >>> listed([0, 31, 62, 93, 124, 500])
        '0, 31, ... 124, 500'
        >>> listed([1, 2, 4, 8, 16], most=4)
        '1, 2, 4, ... 16'
    """
    pieces: list[str] = []
    start = 0
    while start < len(numbers):
        end = _run_end(numbers, start)
        if end - start >= _SHORTEST_RUN:
            pieces.append(f"{numbers[start]}, {numbers[start + 1]}, ... {numbers[end - 1]}")
            start = end
        else:
            pieces.append(str(numbers[start]))
            start += 1
    if len(pieces) > most:
        pieces[most - 1 :] = [f"... {numbers[-1]}"]
    return ", ".join(pieces)


def _run_end(numbers: Sequence[int], start: int) -> int:
    """Where the arithmetic progression that starts here ends."""
    end = start + 1
    while end < len(numbers) and numbers[end] - numbers[end - 1] == (
        numbers[start + 1] - numbers[start]
    ):
        end += 1
    return end


def signed(steps: int, slots: int) -> int:
    """A rotation by the shorter way round.

    Example:
        >>> signed(7, 8), signed(4, 8)
        (-1, 4)
    """
    return steps if 2 * steps <= slots else steps - slots


def error_below(error: float, *, of_all: bool) -> str:
    """How far results are off, and for which inputs that is said.

    Example:
        >>> error_below(0.2, of_all=False)
        'below 2^-2, of inputs such as were simulated'
    """
    usual = "even with every input at its bound" if of_all else "of inputs such as were simulated"
    return f"below 2^{math.ceil(math.log2(error))}, {usual}"


def size(count: int) -> str:
    """Bytes.

    Example:
        >>> size(3 * 2**20), size(2**11)
        ('3.0 MiB', '2.0 KiB')
    """
    for unit, name in ((2**30, "GiB"), (2**20, "MiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count / 2**10:.1f} KiB"


def duration(seconds: float) -> str:
    """Seconds, to three digits.

    Example:
        >>> duration(0.01234), duration(2.5), duration(3e-6)
        ('12.3 ms', '2.5 s', '3 us')
    """
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= unit:
            count = seconds / unit
            return f"{count:.3g} {name}" if count < 1000 else f"{count:.0f} {name}"
    return f"{seconds / 1e-6:.3g} us"


def rate(count: float) -> str:
    """How many in a second, to three digits or all before the point.

    Example:
        >>> rate(0.01234), rate(13412.4), rate(math.inf)
        ('0.0123', '13412', 'inf')
    """
    return f"{count:.3g}" if count < 1000 or math.isinf(count) else f"{count:.0f}"


def counted(count: int, name: str) -> str:
    """How many of what.

    Example:
        >>> counted(1, "rotation"), counted(3, "rotation"), counted(0, "switch")
        ('1 rotation', '3 rotations', '0 switches')
        >>> counted(10, "number out of slots")
        '10 numbers out of slots'
    """
    # What follows the noun stays as it is.
    noun, *rest = re.split(r"(?= (?:out of|of|into) )", name, maxsplit=1)
    plural = "es" if noun.endswith(("ch", "s", "x")) else "s"
    return f"{count} {name}" if count == 1 else f"{count} {noun}{plural}{''.join(rest)}"
