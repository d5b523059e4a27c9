"""Tests of weighted sums of bits: whether conditions hold, and which of two numbers is larger.

A condition, that a bit has a value or that two bits are alike, or not, deviates by 0 or 1, or by
-1, 0 or 1. A *zero test* sums c deviations of one bit, and k of two bits times c + 1, 2 (c + 1) and
so on: the sum is 0 where each of them is, and below (c + 1) 2^k on either side. A bootstrap with a
message space of 2^m and a table of 1 at 0, and 0 elsewhere, gives 1 where the sum is 0, and 0 where
it is not. Where it is 2^(m - 1) it gives -1, for tables are negacyclic: a test whose sum may be
that deviates by up to 2 in others, and comes last in none. Equality of numbers is a test of tests
of digits.

A *sign test* sums up to m - 1 deviations of two bits times 1, 2, 4 and so on: its sign is that of
the highest that is not 0, and a table of 0 at 0, and 1 elsewhere, gives it, for tables are
negacyclic. Signs are terms of other sign tests. The last gives a bit, which says what 0 counts as.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# In a smaller space tests of tests are no fewer than these.
LEAST_MESSAGE_BITS = 3


@dataclass(frozen=True, slots=True)
class BitTest:
    """That a bit, or the XOR of two, is what is wanted.

    Args:
        bits: One input or two, from 0 on; one may be a conjunction, numbered after the inputs.
        wanted: 0 or 1.
    """

    bits: tuple[int, ...]
    wanted: int

    @property
    def deviation(self) -> int:
        """The most that one bit deviates by."""
        return 1


@dataclass(frozen=True, slots=True)
class ZeroTest:
    """A sum that one bootstrap compares with 0.

    Args:
        terms: Conditions on one bit, and other tests.
        pairs: Conditions on two bits.
        deviation: The most that the test itself deviates by in others.
    """

    terms: tuple[BitTest | ZeroTest, ...]
    pairs: tuple[BitTest, ...]
    deviation: int

    @property
    def count(self) -> int:
        """The bootstraps of it and of the tests in it."""
        return 1 + sum(each.count for each in self.terms if isinstance(each, ZeroTest))


@dataclass(frozen=True, slots=True)
class SignTest:
    """A sum whose sign one bootstrap gives.

    Args:
        terms: Conditions on two bits, and other tests, each with 1, or -1 where it is subtracted;
            the least significant first.
        tie: The bit that a sum of 0 gives, if the test is the last.
    """

    terms: tuple[tuple[BitTest | SignTest, int], ...]
    tie: int

    @property
    def count(self) -> int:
        """The bootstraps of it and of the tests in it."""
        return 1 + sum(each.count for each, _ in self.terms if isinstance(each, SignTest))


def zero_test_of(conditions: Sequence[BitTest], message_bits: int) -> ZeroTest:
    """Tests of an AND of conditions, as few as there need be.

    Example:
        >>> zero_test_of([BitTest((bit,), 1) for bit in range(100)], 4).count
        9
        >>> zero_test_of([BitTest((bit, 16 + bit), 0) for bit in range(16)], 4).count
        6
    """
    terms = [each for each in conditions if len(each.bits) == 1]
    pairs = [each for each in conditions if len(each.bits) == 2]
    space = 1 << message_bits
    ways = []
    for signed in range(len(pairs) // message_bits + 1):
        left = len(pairs) - signed * message_bits
        for absorbed in range(min(left, message_bits - 1) + 1):
            digits = signed + _parts(left - absorbed, message_bits - 1)
            total, room = len(terms) + signed + digits, _room(absorbed, message_bits)
            # Tests between take sums below the space, and deviate by 2.
            if total <= room or room >= 2:
                between = _parts(max(0, total - room), space - 3)
                ways.append((digits + between, total, signed, absorbed))
    _, _, signed, absorbed = min(ways)
    first, last = signed * message_bits, len(pairs) - absorbed
    tests = _of_digits(pairs[:first], message_bits, 2)
    tests += _of_digits(pairs[first:last], message_bits - 1, 1)
    joined = _joined([*terms, *tests], _room(absorbed, message_bits), message_bits)
    return ZeroTest(tuple(joined), tuple(pairs[last:]), 1)


def _of_digits(pairs: Sequence[BitTest], size: int, deviation: int) -> list[ZeroTest]:
    """Tests of so many pairs each."""
    starts = range(0, len(pairs), size)
    return [ZeroTest((), tuple(pairs[start : start + size]), deviation) for start in starts]


def _joined(
    items: list[BitTest | ZeroTest], room: int, message_bits: int
) -> list[BitTest | ZeroTest]:
    """Conditions and tests, tests of some in their place until all deviate by `room` at most."""
    space, half = 1 << message_bits, 1 << (message_bits - 1)
    total = sum(each.deviation for each in items)
    place = 0
    while total > room:
        first, taken = place, 0
        while place < len(items) and taken + items[place].deviation < space:
            taken += items[place].deviation
            place += 1
            if total - taken + (1 if taken < half else 2) <= room:
                break
        items.append(ZeroTest(tuple(items[first:place]), (), 1 if taken < half else 2))
        total += items[-1].deviation - taken
    return items[place:]


def _room(absorbed: int, message_bits: int) -> int:
    """The most that what a last test takes besides so many pairs may deviate by."""
    return ((1 << (message_bits - 1)) >> absorbed) - 1


def _parts(size: int, most: int) -> int:
    return -(-size // most)


def sign_test_of(terms: Sequence[tuple[BitTest, int]], tie: int, message_bits: int) -> SignTest:
    """Tests of which of two numbers is larger, as few as there need be.

    Example:
        >>> sign_test_of([(BitTest((bit, 16 + bit), 0), 1) for bit in range(16)], 0, 4).count
        8
    """
    most = message_bits - 1
    left: list[tuple[BitTest | SignTest, int]] = list(terms)
    while len(left) > most:
        # What is left is a power of the most, so that all other tests are full.
        wanted = most
        while wanted * most < len(left):
            wanted *= most
        grouped: list[tuple[BitTest | SignTest, int]] = []
        place = 0
        while len(grouped) + len(left) - place > wanted:
            size = min(most, len(grouped) + len(left) - place - wanted + 1)
            grouped.append((SignTest(tuple(left[place : place + size]), 0), 1))
            place += size
        left = [*grouped, *left[place:]]
    return SignTest(tuple(left), tie)
