"""Integers as rows of bits, and the gates that compute with them, made for bootstraps.

XORs are nearly free, so what counts are ANDs: one for each carry, and none for the last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cloakwork.programs.gates import GateBuilder, GateKind
from cloakwork.programs.port import Port


@dataclass(frozen=True, slots=True)
class Number:
    """An integer as the values of its bits.

    Args:
        bits: The values, bit 0 first.
        signed: Whether the last counts the other way round, as in two's complement.
    """

    bits: tuple[int, ...]
    signed: bool = False


class WordGates(GateBuilder):
    """Gates on numbers.

    A width that is asked for says what a result is modulo: its bits of two's complement.

    Args:
        title: What the program computes.
        inputs: The inputs; their bits are values 0 and on.

    Example:
        >>> words = WordGates("sum", (Port("a", "unsigned", 4), Port("b", "signed", 4)))
        >>> a, b = Number((0, 1, 2, 3)), Number((4, 5, 6, 7), signed=True)
        >>> words.output(Port("y", "signed", 6), words.total([(a, 1), (b, 1)], 0, 6))
        >>> words.finish().output_bits
        6
    """

    def __init__(self, title: str, inputs: Sequence[Port]) -> None:
        super().__init__(title, inputs)
        self.zero = self.append(GateKind.ZERO)
        self.one = self.append(GateKind.ONE)

    def both(self, a: int, b: int) -> int:
        """a AND b."""
        if b in (a, self.one):
            return a
        if a == self.one:
            return b
        return self.zero if self.zero in (a, b) else self.append(GateKind.AND, a, b)

    def differ(self, a: int, b: int) -> int:
        """a XOR b."""
        if a == b:
            return self.zero
        if b == self.zero:
            return a
        return b if a == self.zero else self.append(GateKind.XOR, a, b)

    def opposite(self, a: int) -> int:
        """NOT a."""
        if a in (self.zero, self.one):
            return self.one if a == self.zero else self.zero
        return self.append(GateKind.NOT, a)

    def either(self, a: int, b: int) -> int:
        """a OR b."""
        return self.opposite(self.both(self.opposite(a), self.opposite(b)))

    def majority(self, a: int, b: int, carry: int) -> int:
        """What two of three bits are, by one AND; fastest where the last comes last."""
        return self.differ(self.both(self.differ(a, carry), self.differ(b, carry)), carry)

    def one_of(self, bit: int, one: int, zero: int) -> int:
        """The first of two bits where a third is 1, else the second."""
        return self.differ(self.both(bit, self.differ(one, zero)), zero)

    def constant(self, number: int, width: int) -> list[int]:
        """A known number, modulo 2^width."""
        return [self.one if number >> place & 1 else self.zero for place in range(width)]

    def known(self, number: int) -> Number:
        """A known number."""
        width = max(number, ~number).bit_length() + (number < 0)
        return Number(tuple(self.constant(number, width)), number < 0)

    def extended(self, number: Number, width: int) -> list[int]:
        """The bits of a number modulo 2^width."""
        fill = number.bits[-1] if number.signed else self.zero
        return [*number.bits, *[fill] * (width - len(number.bits))][:width]

    def choose(self, bit: int, one: Sequence[int], zero: Sequence[int]) -> list[int]:
        """One of two rows of bits."""
        return [self.one_of(bit, *pair) for pair in zip(one, zero, strict=True)]

    def less(self, left: Number, right: Number) -> int:
        """Whether one number is less than another: a carry of majorities from bit 0 up."""
        signed = left.signed or right.signed
        width = max(len(each.bits) + (signed and not each.signed) for each in (left, right))
        carry = self.zero
        pairs = zip(self.extended(left, width), self.extended(right, width), strict=True)
        for place, (own, other) in enumerate(pairs):
            # Two's complement counts its top bit the other way round.
            low, high = (other, own) if signed and place == width - 1 else (own, other)
            carry = self.majority(self.opposite(low), high, carry)
        return carry

    def equal(self, left: Number, right: Number) -> int:
        """Whether two numbers are equal."""
        width = 1 + max(len(left.bits), len(right.bits))
        pairs = zip(self.extended(left, width), self.extended(right, width), strict=True)
        return self.all_of(self.opposite(self.differ(*pair)) for pair in pairs)

    def all_of(self, bits: Iterable[int]) -> int:
        """The AND of bits."""
        made = self.one
        for bit in dict.fromkeys(bits):
            made = self.both(made, bit)
        return made

    def total(self, terms: Iterable[tuple[Number, int]], constant: int, width: int) -> list[int]:
        """A sum of numbers times known factors, and a known number, modulo 2^width.

        All are added up together, column by column: three bits of a column become one of it and a
        carry, by one AND.
        """
        columns: list[deque[int]] = [deque() for _ in range(width)]
        for number, factor in terms:
            for shift, sign in _signed_digits(factor):
                constant += self._place(columns, number, shift, sign)
        return self._added_up(columns, constant)

    def product(self, left: Number, right: Number, width: int) -> list[int]:
        """A product modulo 2^width; a square takes half of the ANDs."""
        columns: list[deque[int]] = [deque() for _ in range(width)]
        constant = 0
        square = left == right
        for low, own in enumerate(left.bits[:width]):
            for high, other in enumerate(right.bits[: width - low]):
                if square and high < low:
                    continue
                place = low + high + (square and high != low)
                negative = _is_top(left, low) != _is_top(right, high)
                bit = self.both(own, other)
                if place < width:
                    columns[place].append(self.opposite(bit) if negative else bit)
                    constant -= int(negative) << place
        return self._added_up(columns, constant)

    def negated_where(self, bit: int, number: Number, width: int) -> list[int]:
        """A number, or its negative where a bit is 1, modulo 2^width."""
        made, carry = [], bit
        for each in self.extended(number, width):
            turned = self.differ(each, bit)
            made.append(self.differ(turned, carry))
            carry = self.both(turned, carry)
        return made

    def shifted_left(self, number: Number, count: Sequence[int], width: int) -> list[int]:
        """A number shifted by a count of so many bits, modulo 2^width."""
        row = self.extended(number, width)
        for place, bit in enumerate(count):
            step = min(1 << place, width)
            row = self.choose(bit, [*[self.zero] * step, *row][:width], row)
        return row

    def shifted_right(self, number: Number, count: Sequence[int]) -> list[int]:
        """A number shifted to the right by a count of so many bits, rounded down."""
        row = list(number.bits)
        fill = row[-1] if number.signed else self.zero
        for place, bit in enumerate(count):
            step = min(1 << place, len(row))
            row = self.choose(bit, [*row[step:], *[fill] * step], row)
        return row

    def one_of_many(
        self, index: Sequence[int], rows: Sequence[Sequence[int] | None]
    ) -> Sequence[int] | None:
        """The row that bits choose of 2^bits; where there is none, any."""
        for bit in index:
            pairs = zip(rows[::2], rows[1::2], strict=True)
            rows = [
                (even if odd is None else odd)
                if even is None or odd is None
                else self.choose(bit, odd, even)
                for even, odd in pairs
            ]
        return rows[0]

    def _place(
        self, columns: Sequence[deque[int]], number: Number, shift: int, negative: bool
    ) -> int:
        """Add a shifted number to columns, or take it away; the constant that is left to add."""
        constant = 0
        for place, bit in enumerate(number.bits, shift):
            is_less = negative != _is_top(number, place - shift)
            if place < len(columns):
                columns[place].append(self.opposite(bit) if is_less else bit)
            constant -= int(is_less) << place
        return constant

    def _added_up(self, columns: Sequence[deque[int]], constant: int) -> list[int]:
        made = []
        for place, column in enumerate(columns):
            ones = column.count(self.one)
            constant += ones << place
            bits = deque(bit for bit in column if bit not in (self.zero, self.one))
            if constant >> place & 1:
                bits.append(self.one)
                constant -= 1 << place
            following = columns[place + 1] if place + 1 < len(columns) else None
            made.append(self._column(bits, following))
        return made

    def _column(self, bits: deque[int], carries: deque[int] | None) -> int:
        """The sum of a column modulo 2; the carries go to the next one, if there is one."""
        while len(bits) > 1:
            # The oldest first, which are there the soonest.
            a, b = bits.popleft(), bits.popleft()
            c = bits.popleft() if bits else self.zero
            if carries is not None:
                carries.append(self.majority(a, b, c))
            bits.append(self.differ(self.differ(a, b), c))
        return bits[0] if bits else self.zero


def _is_top(number: Number, place: int) -> bool:
    """Whether a bit counts the other way round."""
    return number.signed and place == len(number.bits) - 1


def _signed_digits(factor: int) -> list[tuple[int, bool]]:
    """The fewest powers of 2 that a factor is a sum of, by their exponent and whether taken away.

    Example:
        >>> _signed_digits(7)
        [(0, True), (3, False)]
    """
    digits = []
    place = 0
    while factor:
        if factor & 1:
            is_less = factor % 4 == 3
            digits.append((place, is_less))
            factor += 1 if is_less else -1
        factor >>= 1
        place += 1
    return digits
