"""Where the point of a number lies that two others make, and numbers in the clear with a point."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeGuard

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, NotIntegerError
from cloakwork.frontends.circuit.refusals import at_line

# By how many places two numbers are shifted before a function of them, and bits after the point
# of what it gives; each from the bits after the point that the numbers have.
Point = Callable[[int, int], tuple[int, int, int]]
# A number in the clear with more bits after the point makes results far wider than anybody means.
_MOST_FRACTION = 64


def aligned(own: int, others: int) -> tuple[int, int, int]:
    """Sums, remainders and choices: the point of what has more bits after it.

    Example:
        >>> aligned(2, 5)
        (3, 0, 5)
    """
    most = max(own, others)
    return most - own, most - others, most


def compared(own: int, others: int) -> tuple[int, int, int]:
    """Comparisons and quotients: integers, of numbers with their points in one place."""
    return (*aligned(own, others)[:2], 0)


def multiplied(own: int, others: int) -> tuple[int, int, int]:
    """Products: as many bits after the point as both have together."""
    return 0, 0, own + others


def whole(own: int, others: int) -> tuple[int, int, int]:
    """Functions of integers alone.

    Raises:
        NotIntegerError: A number has bits after the point.
    """
    if own or others:
        raise NotIntegerError(
            f"cannot compute{at_line()}: expected integers, got a number with "
            f"{max(own, others)} bits after the point; round it, as by round(x) or x // 1"
        )
    return 0, 0, 0


def require_kept(places: int) -> None:
    """Refuse to drop bits after the point without a word on how to round.

    Raises:
        InvalidArgumentError: The shift is to the right.
    """
    if places < 0:
        raise InvalidArgumentError(
            f"cannot compute{at_line()}: expected at most as many bits after the point as are "
            f"declared, got {-places} more; round first, as by cw.rounded(x, bits)"
        )


def is_fraction(value: Any) -> TypeGuard[float | Fraction | Decimal]:
    """Whether a value is a number of Python's or numpy's that is no integer by its type.

    Example:
        >>> is_fraction(0.5), is_fraction(1)
        (True, False)
    """
    return isinstance(value, float | np.floating | Fraction | Decimal)


def integer_and_fraction(value: Any, *, is_fixed: bool) -> tuple[int, int] | None:
    """A clear number as an integer divided by a power of 2; None where it is not a number.

    Args:
        value: The number.
        is_fixed: Whether what it meets has a point, so that it may have one.

    Raises:
        InvalidArgumentError: Its bits after the point have no end, or are too many.

    Example:
        >>> integer_and_fraction(0.75, is_fixed=True), integer_and_fraction(0.75, is_fixed=False)
        ((3, 2), None)
    """
    try:
        return operator.index(value), 0
    except TypeError:
        if not (is_fixed and is_fraction(value)):
            return None
    try:
        above, below = value.as_integer_ratio()
    except (OverflowError, ValueError):
        above, below = 0, 0
    if below < 1 or below & below - 1 or below > 1 << _MOST_FRACTION:
        raise InvalidArgumentError(
            f"cannot compute{at_line()}: expected a clear number with up to {_MOST_FRACTION} bits "
            f"after the point, got {shown(value)}; write the fraction that you mean, such as "
            "13 / 128"
        )
    return int(above), int(below).bit_length() - 1
