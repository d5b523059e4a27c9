"""Between which integers a function of integers lies, by the ranges of these."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

from cloakwork.errors import IndexOutOfRangeError, ValueOutOfRangeError
from cloakwork.programs.ir.exact_functions import ExactFunction

Range: TypeAlias = tuple[int, int]

# A number that may have more bits than this may be anything.
MOST_BITS = 1 << 10


def function_range(function: ExactFunction, operands: Sequence[Range], at: str) -> Range:
    """The least and the greatest value of a function, or less and more than these.

    Args:
        function: The function.
        operands: The ranges of what it takes.
        at: Where the user's program asks for it, as a message says it.

    Raises:
        ValueOutOfRangeError: The count of a shift, or an exponent, may be negative.
        IndexOutOfRangeError: The number may not be of an item.

    Example:
        >>> function_range(ExactFunction.REMAINDER, [(-9, 99), (1, 10)], "")
        (0, 9)
    """
    if function in (ExactFunction.LEFT, ExactFunction.RIGHT, ExactFunction.POWER):
        _require_counts(function, operands[1], at)
    if function is ExactFunction.CHOSEN:
        return _of_items(operands[0], operands[1:], at)
    return _OF_TWO[function](*operands)


def bits_range(width: int) -> Range:
    """The numbers of two's complement that have so many bits beside the sign."""
    return -(1 << width), (1 << width) - 1


def _require_counts(function: ExactFunction, counts: Range, at: str) -> None:
    if counts[0] < 0:
        what = "an exponent" if function is ExactFunction.POWER else "the count of a shift"
        raise ValueOutOfRangeError(
            f"cannot compute {function}{at}: expected {what} from 0 up, got one that may be "
            f"{counts[0]}; declare the bounds of what it follows from"
        )


def _of_items(index: Range, items: Sequence[Range], at: str) -> Range:
    least, greatest = index
    if least < -len(items) or greatest >= len(items):
        raise IndexOutOfRangeError(
            f"cannot look up an item{at}: expected an index from {-len(items)} to "
            f"{len(items) - 1}, got one that may be from {least} to {greatest}; declare the bounds "
            "of what it follows from, add items, or take numpy.clip(index, 0, "
            f"{len(items) - 1})"
        )
    known = [items[place] for place in range(least, greatest + 1)]
    return min(low for low, _ in known), max(high for _, high in known)


def _ends(compute: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    """The range of what is greatest and least at the ends of its operands."""

    def between(left: Range, right: Range) -> Range:
        found = [compute(*pair) for pair in product(left, right)]
        return min(found), max(found)

    return between


def _compared(*_: Range) -> Range:
    return 0, 1


def _quotient(left: Range, right: Range) -> Range:
    # The nearest to 0 on either side, and the furthest.
    divisors = {end for end in (*right, 1, -1) if end and right[0] <= end <= right[1]}
    found = [end // each for end in left for each in divisors]
    if right[0] <= 0 <= right[1]:
        found.append(0)
    return min(found), max(found)


def _remainder(left: Range, right: Range) -> Range:
    low = min(0, right[0] + 1)
    high = max(0, right[1] - 1)
    if left[0] >= 0 and right[0] >= 0:
        high = min(high, left[1])
    return low, high


def _and(left: Range, right: Range) -> Range:
    least = [own[1] for own in (left, right) if own[0] >= 0]
    if least:
        return 0, min(least)
    return bits_range(_width(left, right))


def _or(left: Range, right: Range) -> Range:
    low, high = bits_range(_width(left, right))
    if left[0] >= 0 and right[0] >= 0:
        return max(left[0], right[0]), high
    return low, high


def _xor(left: Range, right: Range) -> Range:
    low, high = bits_range(_width(left, right))
    return (0 if left[0] >= 0 and right[0] >= 0 else low), high


def _width(*ranges: Range) -> int:
    return max(max(end, ~end).bit_length() for each in ranges for end in each)


def _left(number: Range, count: Range) -> Range:
    # What is beyond may be anything.
    counts = [min(each, MOST_BITS + 1) for each in count]
    return _ends(lambda x, n: x << n)(number, (counts[0], counts[1]))


def _right(number: Range, count: Range) -> Range:
    counts = [min(each, MOST_BITS + 1) for each in count]
    return _ends(lambda x, n: x >> n)(number, (counts[0], counts[1]))


def _power(base: Range, exponent: Range) -> Range:
    most = min(exponent[1], MOST_BITS + 1)
    least = min(exponent[0], most)
    exponents = {least, most, max(least, most - 1), min(least + 1, most)}
    bases = {*base, *(each for each in (-1, 0, 1) if base[0] <= each <= base[1])}
    found = [x**n for x in bases for n in exponents]
    return min(found), max(found)


def _absolute(number: Range) -> Range:
    ends = [abs(end) for end in number]
    return (0 if number[0] <= 0 <= number[1] else min(ends)), max(ends)


_OF_TWO: Mapping[ExactFunction, Callable[..., Range]] = {
    ExactFunction.LESS: _compared,
    ExactFunction.EQUAL: _compared,
    ExactFunction.QUOTIENT: _quotient,
    ExactFunction.REMAINDER: _remainder,
    ExactFunction.AND: _and,
    ExactFunction.OR: _or,
    ExactFunction.XOR: _xor,
    ExactFunction.LEFT: _left,
    ExactFunction.RIGHT: _right,
    ExactFunction.POWER: _power,
    ExactFunction.ABSOLUTE: _absolute,
    ExactFunction.LEAST: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    ExactFunction.GREATEST: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}
