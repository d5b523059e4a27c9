"""From what the ANDs of a network can be computed.

An AND's *plane* is its operands and their XOR: any two of them will do. Any three nodes of one of
its *cosets*, by their majority, do too.
"""

from __future__ import annotations

from collections import defaultdict

from cloakwork.plan.boolean.xag import XorAndGraph


class Planes:
    """The ANDs of a network that are needed, and what they can be computed from.

    Args:
        network: The network; XORs of operands that it has not are added to it.

    Attributes:
        ands: The ANDs that an output needs.
        plane: By AND its plane; the first two are its operands.
        cosets: By AND its cosets.
        in_plane: By node the ANDs in whose planes it is.
        in_coset: By node the ANDs in whose cosets it is.

    Example:
        >>> network = XorAndGraph(2)
        >>> a, b = network.inputs()
        >>> network.outputs = [network.land(a, b)]
        >>> Planes(network).plane
        {4: (1, 2, 3)}
    """

    def __init__(self, network: XorAndGraph) -> None:
        self.network = network
        used = network.used()
        self.ands = [node for node in range(len(network)) if used[node] and network.is_and[node]]
        self.plane: dict[int, tuple[int, int, int]] = {}
        self.cosets: dict[int, list[tuple[int, ...]]] = {}
        self.in_plane: dict[int, list[int]] = defaultdict(list)
        self.in_coset: dict[int, list[int]] = defaultdict(list)
        self._bases: dict[int, list[int]] = {}
        for node in self.ands:
            self.plane[node] = network.plane(node)
            self.cosets[node] = self._cosets_of(node)
            for each in self.plane[node]:
                self.in_plane[each].append(node)
            for coset in self.cosets[node]:
                for each in coset:
                    self.in_coset[each].append(node)

    def tracked(self) -> list[int]:
        """The nodes of planes and cosets, the outputs, and the long XORs that these consist of."""
        tracked = dict.fromkeys([*self.in_plane, *self.in_coset])
        tracked |= dict.fromkeys(literal >> 1 for literal in self.network.outputs)
        pending = list(tracked)
        while pending:
            for base in self.basis(pending.pop()):
                if not self.network.is_and[base] and base not in tracked:
                    tracked[base] = None
                    pending.append(base)
        return list(tracked)

    def inverted(self, node: int, each: int) -> int:
        """The complement of a node of a plane in the product with any other node of it."""
        operands = self.network.operands[node]
        assert operands is not None
        for literal in operands:
            if literal >> 1 == each:
                return literal & 1
        return 1 ^ (operands[0] & 1) ^ (operands[1] & 1)

    def moved(self, node: int, by: int) -> int | None:
        """A node XOR another one, if there is such a node."""
        forms = self.network.forms
        return self.network.node_of(forms[node] ^ forms[by]) if by else node

    def basis(self, node: int) -> list[int]:
        """The ANDs and long XORs that a node is the sum of, inputs left out."""
        if node in self._bases:
            return self._bases[node]
        network = self.network
        form = network.forms[node]
        if node in form and network.children(node) and not network.is_and[node]:
            a, b = network.children(node)
            form = network.forms[a] | network.forms[b]
        self._bases[node] = sorted(base for base in form if base > network.input_count)
        return self._bases[node]

    def _cosets_of(self, node: int) -> list[tuple[int, ...]]:
        """Sets of nodes of which any three, by their majority, do an AND.

        They are the plane, moved by a node that one of its own is a XOR of.
        """
        network = self.network
        found: dict[frozenset[int], tuple[int, ...]] = {}
        plane = self.plane[node]
        first, second, third = (network.forms[each] for each in plane)
        if first ^ second != third:
            # A long XOR does not move as what it is the sum of.
            return []
        shifts = {
            child for each in plane if not network.is_and[each] for child in network.children(each)
        }
        for shift in sorted(shifts - set(plane)):
            moved = (network.node_of(network.forms[each] ^ network.forms[shift]) for each in plane)
            coset = (shift, *(each for each in moved if each is not None))
            if len(coset) >= 3:
                found.setdefault(frozenset(coset), coset)
        return list(found.values())
