"""The softmaxes of a network: which layers each is made of, and what scores it is of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import by_parts, values


@dataclass(frozen=True, slots=True, eq=False)
class Softmax:
    """The numbers of the nodes of a softmax, and its sum.

    Args:
        scores: What the exponential is of.
        powers: The exponential.
        counted: The powers that no mask leaves out.
        sums: Their sum.
        parts: What they are multiplied by.
        product: The result.
        sum: The layer that makes the sum.
    """

    scores: int
    powers: int
    counted: int
    sums: int
    parts: int
    product: int
    sum: g.LinearLayer

    @property
    def terms(self) -> int:
        """How many powers are summed."""
        return len(self.sum.weight)


@dataclass(frozen=True, slots=True, eq=False)
class SeenScores:
    """What a calibration saw of a softmax, by its heads: along all axes of scores but the last two.

    Args:
        lows: The least score.
        highs: The largest.
        least: By how often scores are halved the least logarithm of a sum of powers.
        most: The largest.
    """

    lows: g.Array
    highs: g.Array
    least: Sequence[g.Array]
    most: Sequence[g.Array]


def softmaxes_of(graph: g.Graph) -> list[Softmax]:
    """The softmaxes of a network, whose powers nothing else takes."""
    return [found for number in range(len(graph.nodes)) if (found := _softmax_at(graph, number))]


def before_centring(graph: g.Graph, scores: int) -> int:
    """The scores from each of which the mean of all is subtracted; the scores if none is.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((2,)), (), [])]
        >>> centre = g.LinearLayer(np.eye(2) - 0.5, np.zeros(2))
        >>> for layer in (centre, g.OutputLayer()):
        ...     nodes.append(g.node("y", layer, (len(nodes) - 1,), nodes))
        >>> [before_centring(g.build(nodes), scores) for scores in (1, 0)]
        [0, 0]
    """
    node = graph.nodes[scores]
    return node.inputs[0] if is_centring(node.operation) else scores


def is_centring(operation: g.Operation) -> bool:
    """Whether an operation subtracts from each number the mean of all along the last axis."""
    if not isinstance(operation, g.LinearLayer) or operation.bias.any():
        return False
    size = len(operation.weight)
    return np.array_equal(operation.weight, np.eye(size) - 1.0 / size)


def seen_scores(
    graph: g.Graph,
    of_softmaxes: Sequence[tuple[Softmax, int]],
    halvings: range,
    batches: Iterable[g.Array],
) -> list[SeenScores]:
    """What inputs make of scores, each a node's, were they those of its softmax.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((2, 3)), (), [])]
        >>> sums = g.LinearLayer(np.ones((3, 3)), np.zeros(3))
        >>> for layer, operands in [
        ...     (g.Activation("exp"), (0,)), (sums, (1,)), (g.Activation("reciprocal"), (2,)),
        ...     (g.Multiply(), (1, 3)), (g.OutputLayer(), (4,)),
        ... ]:
        ...     nodes.append(g.node("softmax", layer, operands, nodes))
        >>> graph, rows = g.build(nodes), np.array([[4.0, 4.0, 4.0, 0.0, 0.0, 0.0]])
        >>> [seen] = seen_scores(graph, [(softmaxes_of(graph)[0], 0)], range(2), [rows])
        >>> [each.ravel().round(2).tolist() for each in (seen.least[0], *seen.most)]
        [[1.1], [5.1], [3.1]]
    """
    masks = [_mask_of(graph, softmax) for softmax, _ in of_softmaxes]
    wanted = {scores for _, scores in of_softmaxes}
    wanted |= {mask for mask in masks if isinstance(mask, int)}

    def of_part(rows: g.Array) -> list[list[g.Array]]:
        of_nodes = zip(range(max(wanted) + 1), values(graph, rows), strict=False)
        made = {number: value for number, value in of_nodes if number in wanted}
        return [
            _extremes(made[scores], made[mask] if isinstance(mask, int) else mask, halvings)
            for (_, scores), mask in zip(of_softmaxes, masks, strict=True)
        ]

    parts = [each for rows in batches for each in by_parts(graph, of_part, rows)]
    return [_joined(each) for each in zip(*parts, strict=True)]


def _mask_of(graph: g.Graph, softmax: Softmax) -> g.Array | int:
    """What powers count with, 0 where they do not; the number of its node where it is a value."""
    node = graph.nodes[softmax.counted]
    match node.operation:
        case g.Affine(scale=scale):
            return scale
        case g.Multiply():
            return node.inputs[1]
        case _:
            return np.ones(1)


def _extremes(scores: g.Array, mask: g.Array, halvings: range) -> list[g.Array]:
    """The least and largest score of each head, and logarithm of a sum of powers of halves."""
    along = (0, *range(max(1, scores.ndim - 2), scores.ndim))
    found = [scores]
    for count in halvings:
        halves = np.where(mask != 0.0, scores / 2.0**count, -np.inf)
        highest = halves.max(axis=-1, keepdims=True)
        powers = np.exp(halves - highest) * mask
        found.append(highest + np.log(powers.sum(axis=-1, keepdims=True)))
    return [
        extreme(each, axis=along, keepdims=True)[0]
        for each in found
        for extreme in (np.min, np.max)
    ]


def _joined(parts: Sequence[Sequence[g.Array]]) -> SeenScores:
    """What was seen of all parts of a calibration."""
    lows = [np.min(each, axis=0) for each in list(zip(*parts, strict=True))[::2]]
    highs = [np.max(each, axis=0) for each in list(zip(*parts, strict=True))[1::2]]
    return SeenScores(lows[0], highs[0], lows[1:], highs[1:])


def _softmax_at(graph: g.Graph, number: int) -> Softmax | None:
    """The softmax whose result a node is."""
    product = graph.nodes[number]
    if not isinstance(product.operation, g.Multiply):
        return None
    counted, parts = product.inputs
    if not _is_activation(graph, parts, "reciprocal"):
        return None
    [sums] = graph.nodes[parts].inputs
    total = graph.nodes[sums]
    if not isinstance(total.operation, g.LinearLayer) or total.inputs != (counted,):
        return None
    if total.operation.bias.any() or (total.operation.weight != 1.0).any():
        return None
    powers = counted
    if isinstance(graph.nodes[counted].operation, g.Affine):
        # A mask leaves some of them out.
        [powers] = graph.nodes[counted].inputs
    elif isinstance(graph.nodes[counted].operation, g.Multiply):
        powers, mask = graph.nodes[counted].inputs
        if not _is_encrypted_mask(graph, mask):
            return None
    if not _is_activation(graph, powers, "exp"):
        return None
    # Whatever else takes the powers wants them as they are.
    users = {*graph.users[powers], *graph.users[counted], *graph.users[sums], *graph.users[parts]}
    if not users <= {counted, sums, parts, number}:
        return None
    [scores] = graph.nodes[powers].inputs
    return Softmax(scores, powers, counted, sums, parts, number, total.operation)


def _is_encrypted_mask(graph: g.Graph, number: int) -> bool:
    """Whether a node repeats an input that is a mask."""
    node = graph.nodes[number]
    while isinstance(node.operation, g.Rearrange):
        node = graph.nodes[node.inputs[0]]
    return isinstance(node.operation, g.InputLayer) and node.operation.is_mask


def _is_activation(graph: g.Graph, number: int, function: str) -> bool:
    operation = graph.nodes[number].operation
    return isinstance(operation, g.Activation) and operation.function == function
