"""Comparisons of inputs that a client encrypts as digits, since their range is too wide for one.

Digits are compared by polynomials of their differences, and numbers in the order of their digits:
the higher half decides where it differs (Iliashenko and Zucca, PoPETs 2021, section 4).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.circuits.polynomials import Column, Polynomials, step_column, unit_column
from cloakwork.programs.ir.circuits import CircuitBuilder, Difference, Integer, ScalarProduct, Sum


@dataclass(frozen=True, slots=True)
class Digit:
    """A digit of a number.

    Args:
        value: Its value in the circuit.
        range: Its least and its greatest value.
    """

    value: int
    range: Range

    @property
    def known(self) -> int | None:
        """What it always is; None where that depends on inputs."""
        low, high = self.range
        return low if low == high else None


def digit_count(found: Range, bits: int) -> int:
    """Digits of so many bits that the numbers of a range have; the highest has the sign.

    Example:
        >>> digit_count((0, 65535), 8), digit_count((-128, 127), 4), digit_count((0, 65536), 8)
        (2, 2, 3)
    """
    width = max(max(end, ~end).bit_length() for end in found)
    return max(1, -(-width // bits))


def digit_range(found: Range, bits: int, place: int, count: int) -> Range:
    """The range of one of so many digits of the numbers of a range.

    Example:
        >>> [digit_range((-256, 300), 8, place, 2) for place in (0, 1)]
        [(0, 255), (-1, 1)]
    """
    low, high = (end >> bits * place for end in found)
    if place == count - 1:
        return low, high
    last = (1 << bits) - 1
    return (low & last, high & last) if low >> bits == high >> bits else (0, last)


class DigitComparisons:
    """Writes comparisons of numbers by their digits, the lowest first, into a circuit.

    Args:
        builder: The circuit.
        polynomials: What writes functions of one number into it.
    """

    def __init__(self, builder: CircuitBuilder, polynomials: Polynomials) -> None:
        self._builder = builder
        self._polynomials = polynomials

    def less(self, left: Sequence[Digit], right: Sequence[Digit]) -> int:
        """Whether one number is less than another."""
        if len(left) == 1:
            return self._digit_less(left[0], right[0], is_alone=True)
        return self._less([*zip(left, right, strict=True)], 0)

    def equal(self, left: Sequence[Digit], right: Sequence[Digit]) -> int:
        """Whether two numbers are equal."""
        return self._equal([*zip(left, right, strict=True)], sharing=1)

    def _less(self, pairs: Sequence[tuple[Digit, Digit]], first: int) -> int:
        if len(pairs) == 1:
            return self._digit_less(*pairs[0], is_alone=first == 0)
        half = len(pairs) // 2
        low, high = self._less(pairs[:half], first), self._less(pairs[half:], first + half)
        same = self._equal(pairs[half:], sharing=2)
        return self._builder.append(Sum(high, self._times(same, low)))

    def _equal(self, pairs: Sequence[tuple[Digit, Digit]], sharing: int) -> int:
        if len(pairs) == 1:
            return self._digit_equal(*pairs[0], sharing)
        half = len(pairs) // 2
        return self._times(self._equal(pairs[:half], sharing), self._equal(pairs[half:], sharing))

    def _digit_equal(self, left: Digit, right: Digit, sharing: int) -> int:
        if left.known is not None and right.known is not None:
            return self._known(int(left.known == right.known))
        for one, other in ((left, right), (right, left)):
            if other.known is not None:
                low, high = one.range
                values = tuple(int(each == other.known) for each in range(low, high + 1))
                return self._polynomials.value(one.value, Column(low, values), sharing)
        column = unit_column(_furthest(left, right))
        return self._polynomials.value(self._difference(left, right), column, sharing)

    def _digit_less(self, left: Digit, right: Digit, *, is_alone: bool) -> int:
        """Whether a digit is less; beside whether it is equal, it shares the powers of that."""
        if left.known is not None and right.known is not None:
            return self._known(int(left.known < right.known))
        for one, other in ((left, right), (right, left)):
            if other.known is not None:
                low, high = one.range
                values = tuple(
                    int(each < other.known if one is left else other.known < each)
                    for each in range(low, high + 1)
                )
                return self._polynomials.value(one.value, Column(low, values), 2 - is_alone)
        most, difference = _furthest(left, right), self._difference(left, right)
        if is_alone:
            return self._polynomials.value(difference, step_column(most))
        signs = (-1,) * most + (0,) + (1,) * most
        sign = self._polynomials.value(difference, Column(-most, signs), sharing=2)
        different = Difference(self._known(1), self._digit_equal(left, right, 2))
        twice = self._builder.append(Difference(self._builder.append(different), sign))
        return self._times(twice, self._known(self._polynomials.half))

    def _difference(self, left: Digit, right: Digit) -> int:
        return self._builder.append(Difference(left.value, right.value))

    def _times(self, left: int, right: int) -> int:
        return self._builder.append(ScalarProduct(left, right))

    def _known(self, number: int) -> int:
        return self._builder.append(Integer(number))


def _furthest(left: Digit, right: Digit) -> int:
    """How far two digits may be apart."""
    return max(left.range[1] - right.range[0], right.range[1] - left.range[0])
