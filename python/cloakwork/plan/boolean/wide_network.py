"""Networks some of whose parts are tests of sums, which stand as inputs of what remains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cloakwork.plan.boolean.comparisons import comparisons_of
from cloakwork.plan.boolean.sum_tests import BitTest, SignTest, ZeroTest, zero_test_of
from cloakwork.plan.boolean.xag import XorAndGraph


@dataclass(frozen=True, slots=True)
class WideNetwork:
    """A network and the tests that its last inputs are.

    Args:
        network: The network.
        message_bits: log2 of the message space of the tests' bootstraps.
        tests: The last one for each of these inputs.
    """

    network: XorAndGraph
    message_bits: int = 0
    tests: list[ZeroTest | SignTest] = field(default_factory=list)

    @property
    def bootstrap_count(self) -> int:
        """The bootstraps of all tests."""
        return sum(test.count for test in self.tests)


def with_tests(network: XorAndGraph, message_bits: int) -> WideNetwork:
    """A network with tests for its ANDs and comparisons where these take fewer bootstraps.

    Example:
        >>> network = XorAndGraph(3)
        >>> a, b, c = network.inputs()
        >>> network.outputs = [network.land(network.land(a, b), c)]
        >>> with_tests(network, 4).bootstrap_count
        1
    """
    return _Finder(network, message_bits).made()


class _Finder:
    """Looks for what tests can do in a network, and makes it anew without that."""

    def __init__(self, network: XorAndGraph, message_bits: int) -> None:
        self._network = network
        self._message_bits = message_bits
        self._found: list[ZeroTest | SignTest] = []
        # Inputs and tests by node, and by AND that a test does a part of the literals left.
        self._bit_of = {node: node - 1 for node in range(1, 1 + network.input_count)}
        self._left: dict[int, list[int]] = {}
        self._part_of: dict[int, int] = {}
        self._joins = self._joining()

    def made(self) -> WideNetwork:
        network = self._network
        gone: set[int] = set()
        for node, (test, above) in comparisons_of(network, self._message_bits).items():
            self._bit_of[node] = self._append(test)
            gone.update(above)
        for node, used in enumerate(network.used()):
            if used and network.is_and[node] and node not in self._joins and node not in gone:
                self._find(node)
        return WideNetwork(self._rebuilt(), self._message_bits, self._found)

    def _append(self, test: ZeroTest | SignTest) -> int:
        """Add a test; the number of its bit."""
        self._found.append(test)
        return self._network.input_count + len(self._found) - 1

    def _joining(self) -> set[int]:
        """The ANDs that are nothing but operands of one other AND."""
        network = self._network
        uses = network.uses()
        operands = [
            literal
            for node, used in enumerate(network.used())
            if used and network.is_and[node]
            for literal in network.operands[node] or ()
        ]
        return {
            literal >> 1
            for literal in operands
            if not literal & 1 and network.is_and[literal >> 1] and uses[literal >> 1] == 1
        }

    def _find(self, top: int) -> None:
        conditions: dict[BitTest, None] = {}
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
        test = zero_test_of(list(conditions), self._message_bits)
        if test.count >= len(conditions) - 1:
            return
        bit = self._append(test)
        if left:
            self._left[top], self._part_of[top] = left, bit
        else:
            self._bit_of[top] = bit

    def _condition(self, literal: int) -> BitTest | None:
        """The condition that a literal is 1, if it is one on inputs and tests."""
        node, wanted = literal >> 1, ~literal & 1
        if node in self._bit_of:
            return BitTest((self._bit_of[node],), wanted)
        form = self._network.forms[node]
        if len(form) == 2 and max(form) <= self._network.input_count:
            first, second = sorted(form)
            return BitTest((first - 1, second - 1), wanted)
        return None

    def _rebuilt(self) -> XorAndGraph:
        network = self._network
        needed = [False] * len(network)
        for literal in network.outputs:
            needed[literal >> 1] = True
        for node in range(len(network) - 1, 0, -1):
            if needed[node]:
                for source in self._sources(node):
                    needed[source] = True
        made = XorAndGraph(network.input_count + len(self._found))
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

    def _made_anew(self, node: int, made: XorAndGraph, literal_of: Sequence[int]) -> int:
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
