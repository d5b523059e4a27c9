"""Functions of integers beyond addition and multiplication, and what they are in the clear."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from cloakwork.errors import IndexOutOfRangeError, ValueOutOfRangeError


class ExactFunction(StrEnum):
    """A function of integers, by its name in Python.

    `CHOSEN` takes the number of an item, from the end where it is negative, and the items.
    """

    LESS = "<"
    EQUAL = "=="
    QUOTIENT = "//"
    REMAINDER = "%"
    AND = "&"
    OR = "|"
    XOR = "^"
    LEFT = "<<"
    RIGHT = ">>"
    POWER = "**"
    ABSOLUTE = "abs"
    LEAST = "min"
    GREATEST = "max"
    CHOSEN = "[]"


def exact_value(function: ExactFunction, values: Sequence[int]) -> int:
    """What a function makes of integers: Python's own result, and 0 of a division by 0.

    Raises:
        ValueOutOfRangeError: The count of a shift, or an exponent, is negative.
        IndexOutOfRangeError: The number is not of an item.

    Example:
        >>> exact_value(ExactFunction.QUOTIENT, (-7, 2))
        -4
    """
    if function in _COUNTED and values[1] < 0:
        raise ValueOutOfRangeError(
            f"cannot compute {function}: expected a number from 0 up on its right, got one below 0"
        )
    if function is ExactFunction.CHOSEN and not -len(values) < values[0] < len(values) - 1:
        raise IndexOutOfRangeError(
            f"cannot look up an item: expected an index from {1 - len(values)} to "
            f"{len(values) - 2}, got another; declare the range of what it follows from"
        )
    return _IN_THE_CLEAR[function](*values)


_COUNTED = (ExactFunction.LEFT, ExactFunction.RIGHT, ExactFunction.POWER)

_IN_THE_CLEAR: Mapping[ExactFunction, Callable[..., int]] = {
    ExactFunction.LESS: lambda a, b: int(a < b),
    ExactFunction.EQUAL: lambda a, b: int(a == b),
    ExactFunction.QUOTIENT: lambda a, b: a // b if b else 0,
    ExactFunction.REMAINDER: lambda a, b: a % b if b else 0,
    ExactFunction.AND: lambda a, b: a & b,
    ExactFunction.OR: lambda a, b: a | b,
    ExactFunction.XOR: lambda a, b: a ^ b,
    ExactFunction.LEFT: lambda a, b: a << b,
    ExactFunction.RIGHT: lambda a, b: a >> b,
    ExactFunction.POWER: lambda a, b: a**b,
    ExactFunction.ABSOLUTE: abs,
    ExactFunction.LEAST: min,
    ExactFunction.GREATEST: max,
    ExactFunction.CHOSEN: lambda index, *items: items[index],
}
