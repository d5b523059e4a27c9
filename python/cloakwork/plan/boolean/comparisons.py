"""Comparisons of inputs in a network: chains of majorities that only the last is needed of.

The majority of x, y and c is c where x and y differ, else what both are. A chain of them, from a
constant on, is 1 where the sum of x + y - 1, times 1, 2, 4 and so on, is above 0; or not below it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from cloakwork.plan.boolean.sum_tests import BitTest, SignTest, sign_test_of
from cloakwork.plan.boolean.xag import Form, XorAndGraph, only_above

# Majorities whose chain is worth a look.
_LEAST_LENGTH = 3


@dataclass(frozen=True, slots=True)
class _Majority:
    """The majority of two inputs and what stands before in the chain, some of them complemented.

    Args:
        inputs: The nodes of the inputs.
        inverted: Whether each of them is complemented, and what stands before.
        before: The node that stands before; 0, a constant 0, where the chain begins.
        length: Majorities of the chain.
    """

    inputs: tuple[int, int]
    inverted: tuple[int, int, int]
    before: int
    length: int


def comparisons_of(
    network: XorAndGraph, message_bits: int
) -> dict[int, tuple[SignTest, list[int]]]:
    """The nodes that are comparisons which tests do in fewer bootstraps than there are ANDs.

    Example:
        >>> network = XorAndGraph(32)
        >>> bits = network.inputs()
        >>> carry = 0
        >>> for a, b in zip(bits[:16], bits[16:], strict=True):
        ...     both = network.land(network.xor(a, carry), network.xor(b ^ 1, carry))
        ...     carry = network.xor(both, carry)
        >>> network.outputs = [carry]
        >>> ((test, _),) = comparisons_of(network, 4).values()
        >>> test.count
        8
    """
    chains = _chains(network)
    uses = network.uses()
    found: dict[int, tuple[SignTest, list[int]]] = {}
    gone: set[int] = set()
    for node in sorted(chains, reverse=True):
        if node in gone or not uses[node] or chains[node].length < _LEAST_LENGTH:
            continue
        test = _test(chains, node, message_bits)
        above = only_above(network, node, (), uses)
        if sum(network.is_and[each] for each in above) > test.count:
            found[node] = test, above
            gone.update(above)
    return found


def _chains(network: XorAndGraph) -> dict[int, _Majority]:
    """The last majority of every chain, by its node."""
    chains: dict[int, _Majority] = {}
    for node, used in enumerate(network.used()):
        if not used or not network.is_and[node]:
            continue
        for inputs, before in _parts(network, node):
            if before and before not in chains:
                continue
            length = 1 + (chains[before].length if before else 0)
            for made, inverted in _majorities(network, node, inputs, before):
                if made not in chains or chains[made].length < length:
                    chains[made] = _Majority(inputs, inverted, before, length)
    return chains


def _parts(network: XorAndGraph, node: int) -> Iterator[tuple[tuple[int, int], int]]:
    """Two inputs and a third node, each of which an AND may be the majority of, but for XORs."""
    first, second = (network.forms[child] for child in network.children(node))
    for pair, other in ((first ^ second, first), (first, second), (second, first)):
        if len(pair) == 2 and max(pair) <= network.input_count:
            a, b = sorted(pair)
            for each in (a, b):
                before = network.node_of(other ^ {each})
                if before is not None:
                    yield (a, b), before


def _majorities(
    network: XorAndGraph, node: int, inputs: tuple[int, int], before: int
) -> Iterator[tuple[int, tuple[int, int, int]]]:
    """Nodes that are an AND XOR some of three, and their majority; and what is complemented."""
    parts = [network.forms[each] for each in (*inputs, before)]
    rows = [row for row in product((0, 1), repeat=3) if before or not row[2]]
    of_and = [_value(network, node, parts, row) for row in rows]
    for added in product((0, 1), repeat=3 if before else 2):
        form = network.forms[node]
        for part, is_added in zip(parts, added, strict=False):
            form = form ^ part if is_added else form
        made = network.node_of(form)
        if made is None:
            continue
        values = [
            value ^ sum(bit & is_added for bit, is_added in zip(row, added, strict=False)) % 2
            for value, row in zip(of_and, rows, strict=True)
        ]
        for inverted in product((0, 1), repeat=3):
            of_sums = [
                sum(bit ^ side for bit, side in zip(row, inverted, strict=True)) > 1 for row in rows
            ]
            if values == of_sums:
                yield made, (inverted[0], inverted[1], inverted[2])


def _value(network: XorAndGraph, node: int, parts: list[Form], row: tuple[int, ...]) -> int:
    """An AND of sums of some parts, where these are the bits of a row."""
    value = 1
    for literal in network.operands[node] or ():
        for added in product((0, 1), repeat=3):
            form: Form = frozenset()
            for part, is_added in zip(parts, added, strict=True):
                form = form ^ part if is_added else form
            if form == network.forms[literal >> 1]:
                total = sum(bit & is_added for bit, is_added in zip(row, added, strict=True))
                value &= (total ^ literal) & 1
                break
    return value


def _test(chains: dict[int, _Majority], node: int, message_bits: int) -> SignTest:
    terms: list[tuple[BitTest, int]] = []
    complement = 0
    while node:
        each = chains[node]
        # The complement of a majority is that of the complements.
        (a, b), (x, y, before) = each.inputs, each.inverted
        x, y = x ^ complement, y ^ complement
        condition = BitTest((b - 1, a - 1) if x > y else (a - 1, b - 1), 1 ^ x ^ y)
        terms.append((condition, -1 if x and y else 1))
        complement ^= before
        node = each.before
    return sign_test_of(terms[::-1], complement, message_bits)
