"""Attentions in a network: products of all tokens, what is done with them, and sums by them.

What lies between the two, such as a softmax, does the same to all tokens and knows no order of
those that a token is multiplied with: so it may be done on them in the order of their distances.
What comes from elsewhere, such as a mask, is put in that order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.distances import Distances


@dataclass(frozen=True, slots=True)
class Attention:
    """One attention.

    Args:
        start: The number of the contraction that multiplies tokens.
        between: The numbers of the layers behind it; other operands are of the products' shape.
        ends: The numbers of the contractions that sum by their results.
        distances: Where features and products stand.
    """

    start: int
    between: frozenset[int]
    ends: frozenset[int]
    distances: Distances


def attentions(graph: g.Graph, slots: int) -> Iterator[Attention]:
    """The attentions whose features fill ciphertexts of so many slots.

    Example:
        >>> nodes = [g.node(name, g.InputLayer((4, 2)), (), []) for name in "qkv"]
        >>> for layer, inputs in [(g.Contraction("if", "jf", "ij"), (0, 1)),
        ...                       (g.Contraction("ij", "jf", "if"), (3, 2)),
        ...                       (g.OutputLayer(), (4,))]:
        ...     nodes.append(g.node("y", layer, inputs, nodes))
        >>> [(each.start, *each.ends) for each in attentions(g.build(nodes), 8)]
        [(3, 4)]
    """
    for number, node in enumerate(graph.nodes):
        if isinstance(node.operation, g.Contraction):
            distances = _distances_of(graph, number, slots)
            found = distances and _behind(graph, number, distances)
            if found:
                yield found


def _distances_of(graph: g.Graph, number: int, slots: int) -> Distances | None:
    """How the products of a contraction go by distance; None where they do not."""
    contraction = graph.nodes[number].operation
    assert isinstance(contraction, g.Contraction)
    left, right = (graph.nodes[operand].shape for operand in graph.nodes[number].inputs)
    sizes = contraction.sizes(left, right)
    *heads, row, column = [*contraction.result]
    of_left = {*contraction.left} - {*contraction.right}
    of_right = {*contraction.right} - {*contraction.left}
    if of_left != {row} or of_right != {column} or len(contraction.summed) != 1:
        return None
    tokens, features = sizes[row], sizes[contraction.summed]
    count = prod(sizes[letter] for letter in heads)
    if sizes[column] != tokens or slots % tokens or tokens * count * features < slots:
        return None
    found = Distances(tokens, count, features, slots // tokens)
    return found if found.is_possible else None


def _behind(graph: g.Graph, start: int, distances: Distances) -> Attention | None:
    """What is done with the products of a contraction; None where their order counts."""
    between: set[int] = set()
    ends: set[int] = set()
    for number in range(start + 1, len(graph.nodes)):
        node = graph.nodes[number]
        known = [operand == start or operand in between for operand in node.inputs]
        if not any(known):
            continue
        if isinstance(node.operation, g.Contraction):
            if not _sums_by(graph, number, known, distances):
                return None
            ends.add(number)
        elif _knows_no_order(graph, number) and (all(known) or _is_by_element(graph, number)):
            between.add(number)
        else:
            return None
    return Attention(start, frozenset(between), frozenset(ends), distances) if ends else None


def _sums_by(graph: g.Graph, number: int, known: list[bool], distances: Distances) -> bool:
    """Whether a contraction sums features of all tokens by products of all tokens."""
    node = graph.nodes[number]
    assert isinstance(node.operation, g.Contraction)
    if known != [True, False]:
        return False
    *heads, row, column = [*node.operation.left]
    [*_, feature] = {*node.operation.right} - {*node.operation.left} or {""}
    right = graph.nodes[node.inputs[1]].shape
    return (
        node.operation.summed == column
        and {*node.operation.right} == {*heads, column, feature}
        and {*node.operation.result} == {*heads, row, feature}
        and prod(right) == distances.tokens * distances.heads * distances.features
    )


def _knows_no_order(graph: g.Graph, number: int) -> bool:
    """Whether a layer does the same to numbers along the last axis in any order."""
    match graph.nodes[number].operation:
        case g.LinearLayer(weight=weight, bias=bias):
            return _mixes_alike(weight) and not np.ptp(bias)
        case g.Affine() | g.Activation() | g.PolynomialLayer() | g.AddLayer() | g.Multiply():
            return True
        case g.Rearrange(indices=indices, shape=shape):
            before = graph.nodes[graph.nodes[number].inputs[0]].shape
            return shape[:-1] == before[:-1] and repeats_last_axis(indices, before, shape)
        case _:
            return False


def repeats_last_axis(indices: NDArray[np.int64], before: g.Shape, shape: g.Shape) -> bool:
    """Whether a layer repeats one number along the last axis, or leaves all as they are.

    Example:
        >>> repeats_last_axis(np.array([0, 0, 1, 1]), (2, 1), (2, 2))
        True
    """
    if before[-1] not in (1, shape[-1]):
        return False
    repeated = np.broadcast_to(np.arange(prod(before)).reshape(before), shape)
    return np.array_equal(indices.reshape(shape), repeated)


def _is_by_element(graph: g.Graph, number: int) -> bool:
    """Whether a layer has two operands of its result's shape."""
    return isinstance(graph.nodes[number].operation, g.AddLayer | g.Multiply)


def _mixes_alike(weight: g.Array) -> bool:
    """Whether a matrix is one number in its diagonal, and one beside it."""
    beside, own = shared_and_own(weight)
    expected = np.full(weight.shape, beside)
    if weight.shape[0] == weight.shape[1]:
        np.fill_diagonal(expected, beside + own)
    return bool(np.allclose(weight, expected, rtol=0.0, atol=1e-12 * float(np.abs(weight).max())))


def shared_and_own(weight: g.Array) -> tuple[float, float]:
    """What every element has of all, and what it has of itself beside that.

    Example:
        >>> shared_and_own(np.array([[3.0, 1.0], [1.0, 3.0]])), shared_and_own(np.ones((1, 4)))
        ((1.0, 2.0), (1.0, 0.0))
    """
    beside = float(weight[0, -1])
    is_square = weight.shape[0] == weight.shape[1] > 1
    return beside, float(weight[0, 0]) - beside if is_square else 0.0
