"""Fewer ANDs: parts of a network between a node and up to four below it, made anew.

Testa, Soeken, Amaru and De Micheli, "Reducing the multiplicative complexity in logic networks for
cryptography and security applications", DAC 2019, with tables of up to four bits taken apart by
`plan.boolean.tables` in place of a library.
"""

from __future__ import annotations

from cloakwork.plan.boolean.tables import fewest_ands, spread_table
from cloakwork.plan.boolean.xag import XorAndGraph, and_count, only_above

_LEAVES = 4
# Cuts kept of each node.
_CUTS = 6
_PASSES = 3

_Cut = tuple[tuple[int, ...], int]


def with_fewer_ands(network: XorAndGraph) -> XorAndGraph:
    """A network of the same outputs with as many ANDs or fewer.

    Example:
        >>> network = XorAndGraph(3)
        >>> a, b, c = network.inputs()
        >>> carry = network.lor(network.land(a, b), network.land(c, network.xor(a, b)))
        >>> network.outputs = [carry]
        >>> and_count(network), and_count(with_fewer_ands(network))
        (3, 1)
    """
    best = _rebuilt(network, [None] * len(network))
    for _ in range(_PASSES):
        tried = _rebuilt(best, _chosen(best))
        if and_count(tried) >= and_count(best):
            break
        best = tried
    return best


def _chosen(network: XorAndGraph) -> list[_Cut | None]:
    """For every node the cut to make it from, where that saves ANDs."""
    used, uses = network.used(), network.uses()
    cuts: list[list[_Cut]] = []
    chosen: list[_Cut | None] = []
    for node, needed in enumerate(used):
        chosen.append(None)
        if not needed or not network.children(node):
            cuts.append([((node,), 0b10)] if node else [((), 0)])
            continue
        cuts.append(_cuts(network, node, cuts))
        most = 0
        for leaves, table in cuts[node]:
            wanted = fewest_ands(table, len(leaves))
            above = only_above(network, node, leaves, uses)
            saved = sum(network.is_and[each] for each in above) - wanted
            if saved > most:
                most, chosen[node] = saved, (leaves, table)
        cuts[node].append(((node,), 0b10))
    return chosen


def _cuts(network: XorAndGraph, node: int, cuts: list[list[_Cut]]) -> list[_Cut]:
    left, right = network.operands[node] or (0, 0)
    is_and = network.is_and[node]
    if not is_and:
        left, right = 2 * left, 2 * right
    found: dict[tuple[int, ...], tuple[_Cut, _Cut]] = {}
    for one in cuts[left >> 1]:
        for other in cuts[right >> 1]:
            together = {*one[0], *other[0]}
            if len(together) <= _LEAVES:
                found.setdefault(tuple(sorted(together)), (one, other))
    # Leaves far below make large parts.
    first = sorted(found, key=lambda leaves: (len(leaves), sum(leaves)))[:_CUTS]
    return [(leaves, _table(leaves, found[leaves], (left, right), is_and)) for leaves in first]


def _table(
    leaves: tuple[int, ...], cuts: tuple[_Cut, _Cut], literals: tuple[int, int], is_and: bool
) -> int:
    """The table of an AND or XOR of two literals, of which there are cuts with some leaves."""
    size = len(leaves)
    everywhere = (1 << (1 << size)) - 1
    place = {leaf: number for number, leaf in enumerate(leaves)}
    a, b = (
        spread_table(table, size, tuple(place[leaf] for leaf in own)) ^ everywhere * (literal & 1)
        for (own, table), literal in zip(cuts, literals, strict=True)
    )
    return a & b if is_and else a ^ b


def _rebuilt(network: XorAndGraph, chosen: list[_Cut | None]) -> XorAndGraph:
    """The nodes that are needed, some made from other nodes."""
    sources: list[tuple[int, ...]] = [
        cut[0] if cut else network.children(node) for node, cut in enumerate(chosen)
    ]
    needed = [False] * len(network)
    for literal in network.outputs:
        needed[literal >> 1] = True
    for node in range(len(network) - 1, -1, -1):
        if needed[node]:
            for source in sources[node]:
                needed[source] = True
    made = XorAndGraph(network.input_count)
    literal_of = [0, *made.inputs()]
    for node in range(len(literal_of), len(network)):
        if not needed[node]:
            literal_of.append(0)
            continue
        cut, operands = chosen[node], network.operands[node] or (0, 0)
        if cut is not None:
            literal = made.table(cut[1], [literal_of[leaf] for leaf in cut[0]])
        elif network.is_and[node]:
            a, b = (literal_of[operand >> 1] ^ (operand & 1) for operand in operands)
            literal = made.land(a, b)
        else:
            literal = made.xor(literal_of[operands[0]], literal_of[operands[1]])
        literal_of.append(literal)
    made.outputs = [literal_of[literal >> 1] ^ (literal & 1) for literal in network.outputs]
    return made
