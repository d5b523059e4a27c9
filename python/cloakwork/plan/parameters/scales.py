"""The least scale under which results are as precise as asked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Scaled(Generic[M]):
    """What is made under a scale.

    Args:
        bits: Those of the scale, or of the precision that it follows from.
        made: What is made.
        lacking: Bits that results lack; those to spare where negative.
    """

    bits: int
    made: M
    lacking: float


def raised_scale(
    attempt: Callable[[int], Scaled[M]],
    first: int,
    *,
    longest_step: float = math.inf,
    attempts: float = math.inf,
) -> tuple[int, Scaled[M]]:
    """The least scale that may do, and what is made under the first that does, or the last tried.

    Example:
        >>> raised_scale(lambda bits: Scaled(bits, "", 33.5 - bits), 20)
        (21, Scaled(bits=34, made='', lacking=-0.5))
    """
    least, tried = first, attempt(first)
    while tried.lacking > 0 and attempts > 1:
        least, attempts = tried.bits + 1, attempts - 1
        tried = attempt(tried.bits + int(min(math.ceil(tried.lacking), longest_step)))
    return least, tried


def without_spare_bits(
    attempt: Callable[[int], Scaled[M]],
    least: int,
    found: Scaled[M],
    refusals: tuple[type[Exception], ...],
) -> Scaled[M]:
    """What is made under the least scale that does, from `least` to one that was found.

    What is lacking in a scale is not quite what a larger one adds, so bits may be spare.

    Example:
        >>> def attempt(bits):
        ...     return Scaled(bits, "", 3 * (33 - bits))
        >>> least, found = raised_scale(attempt, 30)
        >>> found.bits, without_spare_bits(attempt, least, found, ()).bits
        (39, 33)
    """
    while (spared := max(least, found.bits + math.ceil(found.lacking))) < found.bits:
        try:
            smaller = attempt(spared)
        except refusals:
            break
        if smaller.lacking <= 0:
            found = smaller
        else:
            least = spared + 1
    return found
