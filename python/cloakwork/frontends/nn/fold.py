"""Scales and shifts taken into the layers beside them, so that they cost nothing.

An `Affine`, such as batch norm, goes backward into what makes its operand where that is
linear in weights or can be passed; else forward into what works on it. What can go nowhere
remains. Rearrangements of rearrangements become one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.affine import after, before, composed, parts, passed_back


def fold(graph: g.Graph) -> g.Graph:
    """The same network with as few `Affine` and `Rearrange` nodes as can be.

    >>> import numpy as np
    >>> from cloakwork.frontends.nn import graph as g
    >>> nodes = [g.node("x", g.Input((3,)), (), [])]
    >>> layer = g.Linear(np.ones((2, 3)), np.zeros(2))
    >>> nodes.append(g.node("fc", layer, (0,), nodes))
    >>> norm = g.Affine(np.array([2.0, 3.0]), np.array([0.0, 1.0]))
    >>> nodes.append(g.node("norm", norm, (1,), nodes))
    >>> nodes.append(g.node("y", g.Output(), (2,), nodes))
    >>> [node.name for node in fold(g.build(nodes)).nodes]
    ['x', 'fc', 'y']
    """
    needed = pruned(graph.nodes)
    folding = _Folding(needed)
    for number in range(len(needed.nodes)):
        folding.add(number)
    return pruned(folding.nodes)


def normalised(graph: g.Graph) -> g.Graph:
    """The same network with every Chebyshev polynomial over [-1, 1], which the engine takes.

    What brings its range there is an `Affine` before it, which `fold` takes into the layer
    before.
    """
    nodes: list[g.Node] = []
    renamed: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        inputs = [renamed[operand] for operand in node.inputs]
        operation = node.operation
        if isinstance(operation, g.Polynomial) and operation.basis == "chebyshev":
            low, high = operation.low, operation.high
            if (low, high) != (-1.0, 1.0):
                ones = np.ones((1,) * len(node.shape))
                affine = g.Affine(ones * 2 / (high - low), ones * -(high + low) / (high - low))
                nodes.append(g.node(node.name, affine, inputs, nodes))
                inputs = [len(nodes) - 1]
                operation = replace(operation, low=-1.0, high=1.0)
        nodes.append(g.node(node.name, operation, inputs, nodes))
        renamed[number] = len(nodes) - 1
    return fold(g.build(nodes))


def pruned(nodes: Sequence[g.Node]) -> g.Graph:
    """The graph of those nodes that the last one, the output, needs, beside the input."""
    needed = {0, len(nodes) - 1}
    for number in reversed(range(len(nodes))):
        if number in needed:
            needed.update(nodes[number].inputs)
    order = sorted(needed)
    renamed = {number: position for position, number in enumerate(order)}
    kept = (nodes[number] for number in order)
    return g.build(
        [replace(node, inputs=tuple(renamed[each] for each in node.inputs)) for node in kept]
    )


class _Folding:
    """The new nodes, the new number of each old one, and how many uses each new one has."""

    def __init__(self, graph: g.Graph) -> None:
        self.nodes: list[g.Node] = []
        self._old = graph.nodes
        self._old_uses = [len(users) for users in graph.users]
        self._renamed: dict[int, int] = {}
        self._uses: list[int] = []

    def add(self, number: int) -> None:
        """Take over an old node."""
        old = self._old[number]
        made = self._add(old.name, old.operation, [self._renamed[each] for each in old.inputs])
        self._renamed[number] = made
        # It may have become one with its operand, which nothing else uses then.
        self._uses[made] = self._old_uses[number]

    def _add(self, name: str, operation: g.Operation, inputs: Sequence[int]) -> int:
        if len(inputs) != 1:
            return self._append(name, operation, inputs)
        number = inputs[0]
        source = self.nodes[number]
        if isinstance(operation, g.Affine):
            changes = self._taken_in(number, operation)
            if changes is not None:
                for changed, node in changes.items():
                    self.nodes[changed] = node
                return number
        elif isinstance(source.operation, g.Affine) and self._uses[number] == 1:
            passed = before(operation, source.operation, source.shape)
            if passed is not None:
                made = self._append(name, passed[0], source.inputs)
                return self._add(source.name, passed[1], [made])
        elif isinstance(operation, g.Rearrange) and isinstance(source.operation, g.Rearrange):
            self._uses[source.inputs[0]] += self._uses[number] > 1
            return self._append(name, composed(source.operation, operation), source.inputs)
        return self._append(name, operation, inputs)

    def _append(self, name: str, operation: g.Operation, inputs: Sequence[int]) -> int:
        self.nodes.append(g.node(name, operation, inputs, self.nodes))
        self._uses.append(1)
        return len(self.nodes) - 1

    def _taken_in(self, number: int, affine: g.Affine) -> dict[int, g.Node] | None:
        """The nodes that change where a node's result is scaled and shifted by them already."""
        node = self.nodes[number]
        if self._uses[number] != 1:
            return None
        changed = after(node.operation, affine)
        if changed is not None:
            return {number: replace(node, operation=changed)}
        operands: list[g.Affine] | None = None
        match node.operation:
            case g.Rearrange():
                source = self.nodes[node.inputs[0]].shape
                operands = passed_back(node.operation, affine, source)
            case g.Concatenate(axis=axis):
                sizes = [self.nodes[each].shape[axis] for each in node.inputs]
                operands = parts(affine, node.shape, axis, sizes)
            case g.Add():
                operands = [affine, g.Affine(affine.scale, np.zeros_like(affine.shift))]
        if operands is None:
            return None
        changes: dict[int, g.Node] = {}
        for operand, own in zip(node.inputs, operands, strict=True):
            more = self._taken_in(operand, own)
            # Two paths to one node would scale it twice.
            if more is None or more.keys() & changes:
                return None
            changes |= more
        return changes
