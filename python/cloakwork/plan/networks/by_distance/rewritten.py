"""A network whose attentions go by the distance of tokens.

Queries, keys and values become features of tokens. What was the product of a token with another
becomes a number of the first, by distance, and so do all numbers up to the sums.
"""

from __future__ import annotations

from math import prod
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.by_distance.attentions import Attention, attentions, shared_and_own
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.distances import Distances

_T = TypeVar("_T", np.int64, np.float64)


def with_attentions_by_distance(graph: g.Graph, slots: int) -> g.Graph:
    """The same network, with attentions by distance where their features fill so many slots.

    Example:
        >>> nodes = [g.node(name, g.InputLayer((4, 2)), (), []) for name in "qkv"]
        >>> for layer, inputs in [(g.Contraction("if", "jf", "ij"), (0, 1)),
        ...                       (g.Contraction("ij", "jf", "if"), (3, 2)),
        ...                       (g.OutputLayer(), (4,))]:
        ...     nodes.append(g.node("y", layer, inputs, nodes))
        >>> found = with_attentions_by_distance(g.build(nodes), 8)
        >>> operations = [type(each.operation).__name__ for each in found.nodes[3:]]
        >>> operations[2], operations[4], operations[5]
        ('ProductsByDistance', 'SumsOverDistances', 'Rearrange')
    """
    found = [*attentions(graph, slots)]
    if not found:
        return graph
    made = _NetworkByDistance(graph, found)
    for number in range(len(graph.nodes)):
        made.append(number)
    return g.build(made.nodes, graph.form)


class _NetworkByDistance:
    """The nodes of the new network so far.

    Args:
        graph: The network.
        found: Its attentions.
    """

    def __init__(self, graph: g.Graph, found: list[Attention]) -> None:
        self._graph = graph
        self._starts = {each.start: each for each in found}
        self._between = {number: each for each in found for number in each.between}
        self._ends = {number: each for each in found for number in each.ends}
        self._numbers: list[int] = []
        self._beside: dict[tuple[int, Distances], int] = {}
        self.nodes: list[g.Node] = []

    def append(self, number: int) -> None:
        """Append what stands for a node."""
        node = self._graph.nodes[number]
        inputs = [self._numbers[operand] for operand in node.inputs]
        if number in self._starts:
            made = self._products(node, inputs, self._starts[number].distances)
        elif number in self._ends:
            made = self._sums(node, inputs, self._ends[number].distances)
        else:
            operation = node.operation
            if number in self._between:
                attention = self._between[number]
                before = self._graph.nodes[node.inputs[0]].shape
                operation = by_distance(operation, before, attention.distances)
                inputs = [self._placed_beside(attention, operand) for operand in node.inputs]
            made = g.appended(self.nodes, node.name, operation, *inputs)
        self._numbers.append(made)

    def _placed_beside(self, attention: Attention, operand: int) -> int:
        """What stands for an operand of a layer between, by distance wherever it comes from."""
        made = self._numbers[operand]
        if operand == attention.start or operand in attention.between:
            return made
        key = operand, attention.distances
        if key not in self._beside:
            node = self._graph.nodes[operand]
            elements = np.arange(prod(node.shape)).reshape(node.shape)
            placed = _placed(elements, node.shape, attention.distances)
            moves = g.Rearrange(placed.ravel(), placed.shape)
            self._beside[key] = g.appended(self.nodes, node.name, moves, made)
        return self._beside[key]

    def _products(self, node: g.Node, inputs: list[int], distances: Distances) -> int:
        contraction = node.operation
        assert isinstance(contraction, g.Contraction)
        *heads, row, column = [*contraction.result]
        ends = [*heads, contraction.summed]
        left = self._as_features(node.name, inputs[0], contraction.left, [row, *ends])
        right = self._as_features(node.name, inputs[1], contraction.right, [column, *ends])
        made = g.ProductsByDistance(distances, contraction.ranges, contraction.reach)
        return g.appended(self.nodes, node.name, made, left, right)

    def _sums(self, node: g.Node, inputs: list[int], distances: Distances) -> int:
        contraction = node.operation
        assert isinstance(contraction, g.Contraction)
        *heads, row, column = [*contraction.left]
        [feature] = {*contraction.right} - {*contraction.left}
        values = self._as_features(
            node.name, inputs[1], contraction.right, [column, *heads, feature]
        )
        made = g.SumsOverDistances(distances, contraction.ranges, contraction.reach)
        total = g.appended(self.nodes, node.name, made, inputs[0], values)
        order = [row, *heads, feature]
        shape = [node.shape[contraction.result.index(letter)] for letter in order]
        halves = np.arange(prod(shape)).reshape(distances.tokens, 2, distances.heads, -1)
        numbers = halves.transpose(0, 2, 1, 3).reshape(shape)
        moved = numbers.transpose([order.index(letter) for letter in contraction.result])
        return g.appended(self.nodes, node.name, g.Rearrange(moved.ravel(), node.shape), total)

    def _as_features(self, name: str, number: int, letters: str, order: list[str]) -> int:
        """A node as features of tokens: tokens, halves, heads, features of a half."""
        shape = self.nodes[number].shape
        moved = np.arange(prod(shape)).reshape(shape).transpose([*map(letters.index, order)])
        of_heads = moved.reshape(len(moved), -1, 2, moved.shape[-1] // 2)
        lined = of_heads.transpose(0, 2, 1, 3).reshape(len(moved), -1)
        return g.appended(self.nodes, name, g.Rearrange(lined.ravel(), lined.shape), number)


def by_distance(operation: g.Operation, before: g.Shape, distances: Distances) -> g.Operation:
    """A layer behind products of tokens as one of numbers by distance.

    Args:
        operation: The layer.
        before: The shape of its operand.
        distances: Where products stand.
    """
    match operation:
        case g.LinearLayer(weight=weight, bias=bias):
            heads = [_heads_of_numbers(distances, length) for length in weight.shape]
            beside, own = shared_and_own(weight)
            mixed = np.where(np.equal.outer(*heads), beside, 0.0)
            if own:
                np.fill_diagonal(mixed, beside + own)
            return g.LinearLayer(mixed, np.full(len(mixed), bias[0]))
        case g.Affine(scale=scale, shift=shift):
            return g.Affine(*(_shared(_placed(each, before, distances)) for each in (scale, shift)))
        case g.Rearrange(shape=shape):
            return _repeated(before[-1], shape[-1], distances)
        case _:
            return operation


def _repeated(before: int, after: int, distances: Distances) -> g.Rearrange:
    """Numbers of tokens and heads, repeated for every distance where they were not before."""
    of_token = distances.heads if before == 1 else distances.results
    numbers = np.arange(distances.tokens * of_token).reshape(-1, of_token)
    if before != after:
        numbers = numbers[:, _heads_of_numbers(distances, after)]
    return g.Rearrange(numbers.ravel(), numbers.shape)


def _heads_of_numbers(distances: Distances, length: int) -> NDArray[np.int64]:
    """The head of each number of a token: one for each distance, or one in all."""
    heads = np.arange(distances.heads)
    if length == 1:
        return heads
    made = np.empty(distances.results, dtype=np.int64)
    made[distances.table()] = heads[:, np.newaxis]
    return made


def _placed(values: NDArray[_T], shape: g.Shape, distances: Distances) -> NDArray[_T]:
    """Numbers for heads, tokens and others as numbers for tokens, by distance."""
    length = shape[-1]
    whole = np.broadcast_to(values, shape).reshape(distances.heads, distances.tokens, length)
    tokens = np.arange(distances.tokens)
    if length == 1:
        return np.ascontiguousarray(whole[:, :, 0].T)
    made = np.empty((distances.tokens, distances.results), dtype=whole.dtype)
    for distance, places in enumerate(distances.table().T):
        made[:, places] = whole[:, tokens, (tokens + distance) % distances.tokens].T
    return made


def _shared(values: g.Array) -> g.Array:
    """The numbers of one token where they are those of all."""
    return values[:1] if (values == values[:1]).all() else values
