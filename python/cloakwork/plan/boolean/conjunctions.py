"""ANDs of many conditions on inputs, by few bootstraps: sums that are 0 where all conditions hold.

A condition, that a bit has a value or that two bits are alike, or not, deviates by 0 or 1, or by
-1, 0 or 1. A *zero test* sums c deviations of one bit, and k of two bits times c + 1, 2 (c + 1) and
so on: the sum is 0 where each of them is, and below (c + 1) 2^k on either side. A bootstrap with a
message space of 2^m and a table of 1 at 0, and 0 elsewhere, gives 1 where the sum is 0, and 0 where
it is not. Where it is 2^(m - 1) it gives -1, for tables are negacyclic: a test whose sum may be
that deviates by up to 2 in others, and comes last in none. Equality of numbers is a test of tests
of digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cloakwork.plan.boolean.xag import Network

# In a smaller space tests of tests are no fewer than these.
LEAST_MESSAGE_BITS = 3


@dataclass(frozen=True, slots=True)
class Condition:
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

    terms: tuple[Condition | ZeroTest, ...]
    pairs: tuple[Condition, ...]
    deviation: int

    @property
    def count(self) -> int:
        """The bootstraps of it and of the tests in it."""
        return 1 + sum(each.count for each in self.terms if isinstance(each, ZeroTest))


@dataclass(frozen=True, slots=True)
class WideNetwork:
    """A network and the conjunctions that its last inputs are.

    Args:
        network: The network.
        message_bits: log2 of the message space of the conjunctions' bootstraps.
        conjunctions: The last test of each.
    """

    network: Network
    message_bits: int = 0
    conjunctions: list[ZeroTest] = field(default_factory=list)

    @property
    def bootstrap_count(self) -> int:
        """The bootstraps of all conjunctions."""
        return sum(test.count for test in self.conjunctions)


def arranged(conditions: Sequence[Condition], message_bits: int) -> ZeroTest:
    """Tests of an AND of conditions, as few as there need be.

    Args:
        conditions: The conditions.
        message_bits: log2 of the message space, `LEAST_MESSAGE_BITS` or more.

    Example:
        >>> arranged([Condition((bit,), 1) for bit in range(100)], 4).count
        9
        >>> arranged([Condition((bit, 16 + bit), 0) for bit in range(16)], 4).count
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


def _of_digits(pairs: Sequence[Condition], size: int, deviation: int) -> list[ZeroTest]:
    """Tests of so many pairs each."""
    starts = range(0, len(pairs), size)
    return [ZeroTest((), tuple(pairs[start : start + size]), deviation) for start in starts]


def _joined(
    items: list[Condition | ZeroTest], room: int, message_bits: int
) -> list[Condition | ZeroTest]:
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


def with_conjunctions(network: Network, message_bits: int) -> WideNetwork:
    """A network with conjunctions for its ANDs where these take fewer bootstraps.

    Args:
        network: The network.
        message_bits: log2 of the message space, `LEAST_MESSAGE_BITS` or more.

    Example:
        >>> network = Network(3)
        >>> a, b, c = network.inputs()
        >>> network.outputs = [network.land(network.land(a, b), c)]
        >>> with_conjunctions(network, 4).bootstrap_count
        1
    """
    return _Finder(network, message_bits).made()


class _Finder:
    """Looks for the conjunctions of a network, and makes it anew without their ANDs."""

    def __init__(self, network: Network, message_bits: int) -> None:
        self._network = network
        self._message_bits = message_bits
        self._found: list[ZeroTest] = []
        # Inputs and conjunctions by node, and by AND that one is a part of the literals left.
        self._bit_of = {node: node - 1 for node in range(1, 1 + network.input_count)}
        self._left: dict[int, list[int]] = {}
        self._part_of: dict[int, int] = {}
        self._joins = self._joining()

    def made(self) -> WideNetwork:
        network = self._network
        used = network.used()
        for node in range(1 + network.input_count, len(network)):
            if used[node] and network.is_and[node] and node not in self._joins:
                self._find(node)
        return WideNetwork(self._rebuilt(), self._message_bits, self._found)

    def _joining(self) -> set[int]:
        """The ANDs that are nothing but operands of one other AND."""
        network = self._network
        uses = [0] * len(network)
        operands: list[int] = []
        for node, used in enumerate(network.used()):
            if used:
                for child in network.children(node):
                    uses[child] += 1
                if network.is_and[node]:
                    operands += network.operands[node] or ()
        for literal in network.outputs:
            uses[literal >> 1] += 1
        return {
            literal >> 1
            for literal in operands
            if not literal & 1 and network.is_and[literal >> 1] and uses[literal >> 1] == 1
        }

    def _find(self, top: int) -> None:
        conditions: dict[Condition, None] = {}
        left: list[int] = []
        pending = [2 * top]
        while pending:
            literal = pending.pop()
            node = literal >> 1
            if node == top or (node in self._joins and not literal & 1):
                pending += self._network.operands[node] or ()
            elif (condition := self._condition(literal)) is not None:
                conditions[condition] = None
            else:
                left.append(literal)
        if len(conditions) < 3:
            return
        test = arranged(list(conditions), self._message_bits)
        if test.count >= len(conditions) - 1:
            return
        bit = self._network.input_count + len(self._found)
        self._found.append(test)
        if left:
            self._left[top], self._part_of[top] = left, bit
        else:
            self._bit_of[top] = bit

    def _condition(self, literal: int) -> Condition | None:
        """The condition that a literal is 1, if it is one on inputs and conjunctions."""
        node, wanted = literal >> 1, ~literal & 1
        if node in self._bit_of:
            return Condition((self._bit_of[node],), wanted)
        form = self._network.forms[node]
        if len(form) == 2 and max(form) <= self._network.input_count:
            first, second = sorted(form)
            return Condition((first - 1, second - 1), wanted)
        return None

    def _rebuilt(self) -> Network:
        network = self._network
        needed = [False] * len(network)
        for literal in network.outputs:
            needed[literal >> 1] = True
        for node in range(len(network) - 1, 0, -1):
            if needed[node]:
                for source in self._sources(node):
                    needed[source] = True
        made = Network(network.input_count + len(self._found))
        literal_of = [0] * len(network)
        for node in range(1, len(network)):
            if node in self._bit_of:
                literal_of[node] = 2 * (1 + self._bit_of[node])
            elif needed[node]:
                literal_of[node] = self._made_anew(node, made, literal_of)
        made.outputs = [literal_of[literal >> 1] ^ (literal & 1) for literal in network.outputs]
        return made

    def _sources(self, node: int) -> Sequence[int]:
        if node in self._bit_of:
            return ()
        if node in self._left:
            return [literal >> 1 for literal in self._left[node]]
        return self._network.children(node)

    def _made_anew(self, node: int, made: Network, literal_of: Sequence[int]) -> int:
        operands = self._network.operands[node] or ()
        if not self._network.is_and[node]:
            return made.xor(*(literal_of[operand] for operand in operands))
        left = self._left.get(node, operands)
        ands = [literal_of[literal >> 1] ^ (literal & 1) for literal in left]
        if node in self._part_of:
            ands.append(2 * (1 + self._part_of[node]))
        while len(ands) > 1:
            ands = [*ands[2:], made.land(ands[0], ands[1])]
        return ands[0]
