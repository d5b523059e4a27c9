"""Softmaxes of scores that lie far apart, made of softmaxes of scores that lie closer.

The sum of a softmax's powers is divided by, and no polynomial is near 1 / x over a range as wide as
e to the power of twenty. The softmax of x is the square of the softmax of x / 2, divided by its
sum, and the sum of the squares of n numbers that have the sum 1 is between 1 / n and 1. (Cho,
Hanrot, Kim, Park, Stehlé, "Fast and accurate homomorphic softmax evaluation", CCS 2024.)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from cloakwork.plan.networks.calibration import Calibration, calibrate
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.ir import layers as g

# Degrees up to which 1 / x is taken of the sum itself, and of the sum of powers of scores that
# were divided: each division by two takes seven levels or more.
_MOST, _MOST_OF_HALVES = 200, 120
_MOST_HALVINGS = 8
# Scores whose powers need not be halved, beside the mean of all, and the largest that are left of
# those that are: powers take as many bits more than the least sum.
_LARGEST, _LARGEST_OF_HALVES = 12.0, 10.0

_SQUARE = (0.0, 0.0, 1.0)


def with_narrower_softmaxes(
    graph: g.Graph,
    calibration: Calibration,
    batches: Iterable[g.Array],
    options: NetworkOptions,
) -> tuple[g.Graph, Calibration]:
    """The same network, those of whose softmaxes that no polynomials are near have halved scores.

    Example:
        >>> ones = g.LinearLayer(np.ones((2, 2)), np.zeros(2))
        >>> nodes = [g.node("x", g.InputLayer((2,)), (), [])]
        >>> for layer, operands in [
        ...     (g.Activation("exp", unit=1.0), (0,)), (ones, (1,)),
        ...     (g.Activation("reciprocal"), (2,)), (g.Multiply(), (1, 3)), (g.OutputLayer(), (4,)),
        ... ]:
        ...     nodes.append(g.node("softmax", layer, operands, nodes))
        >>> network = g.build(nodes)
        >>> def layers(*scores):
        ...     batch = [np.array(scores)]
        ...     seen = calibrate(network, batch)
        ...     options = NetworkOptions(precision=8)
        ...     return len(with_narrower_softmaxes(network, seen, batch, options)[0].nodes)
        >>> layers([1.0, 0.0]), layers([9.0, -9.0], [0.0, 0.0])
        (6, 11)
    """
    softmaxes = [
        found for number in range(len(graph.nodes)) if (found := _softmax_at(graph, number))
    ]
    halvings = {
        each: count
        for each in softmaxes
        # No degree of its reciprocal was given.
        if {graph.nodes[each.parts].name, "reciprocal"}.isdisjoint(options.degrees or ())
        and (count := _halvings(each, calibration, options))
    }
    if not halvings:
        return graph, calibration
    narrower, numbers = _narrowed(graph, halvings)
    seen = calibrate(narrower, batches)
    # All that was seen counts, also where samples could be read only once.
    changed = {number for each in halvings for number in each.changed}
    kept = [number for number in range(len(graph.nodes)) if number not in changed]
    now = np.array(numbers)[kept]
    seen.lows[now] = np.minimum(seen.lows[now], calibration.lows[kept])
    seen.highs[now] = np.maximum(seen.highs[now], calibration.highs[kept])
    firsts = {numbers[each.parts] for each in halvings}
    precise = _with_relative_errors(narrower, seen, firsts)
    return precise, replace(seen, samples=calibration.samples)


@dataclass(frozen=True, slots=True, eq=False)
class _Softmax:
    """The numbers of the nodes of a softmax, and its sum.

    Args:
        powers: The exponential.
        counted: The powers that no mask leaves out.
        sums: Their sum.
        parts: What they are multiplied by.
        product: The result.
        sum: The layer that makes the sum.
    """

    powers: int
    counted: int
    sums: int
    parts: int
    product: int
    sum: g.LinearLayer

    @property
    def changed(self) -> tuple[int, ...]:
        """The nodes whose numbers are others where scores are halved."""
        return self.powers, self.counted, self.sums, self.parts


def _narrowed(graph: g.Graph, halvings: Mapping[_Softmax, int]) -> tuple[g.Graph, list[int]]:
    """The network with scores halved so often, and which of its layers is each that there was."""
    powers = {each.powers: count for each, count in halvings.items()}
    products = {each.product: (each, count) for each, count in halvings.items()}
    nodes: list[g.Node] = []
    renamed: list[int] = []

    def append(name: str, operation: g.Operation, *inputs: int) -> int:
        nodes.append(g.node(name, operation, inputs, nodes))
        return len(nodes) - 1

    for number, node in enumerate(graph.nodes):
        inputs = [renamed[operand] for operand in node.inputs]
        if number in powers:
            ones = (1,) * len(node.shape)
            part = g.Affine(np.full(ones, 2.0 ** -powers[number]), np.zeros(ones))
            inputs = [append(node.name, part, *inputs)]
        found = append(node.name, node.operation, *inputs)
        if number in products:
            softmax, count = products[number]
            for _ in range(count):
                squares = append(
                    node.name, g.PolynomialLayer(_SQUARE, "monomial", -np.inf, np.inf), found
                )
                sums = append(node.name, softmax.sum, squares)
                # Sums are at most 1, and so these are at least.
                parts = append(node.name, g.Activation("reciprocal", unit=1.0), sums)
                found = append(node.name, g.Multiply(), squares, parts)
        renamed.append(found)
    return g.build(nodes, graph.form), renamed


def _with_relative_errors(
    graph: g.Graph, calibration: Calibration, reciprocals: Collection[int]
) -> g.Graph:
    """The network, whose reciprocals have errors that are small beside the least of them.

    What is wrong by a part of itself stays so when it is squared and divided by its sum; what is
    wrong by more than all of itself may be the largest after that.
    """
    nodes = list(graph.nodes)
    for number in reciprocals:
        [sums] = nodes[number].inputs
        unit = 1.0 / float(calibration.highs[sums])
        nodes[number] = replace(nodes[number], operation=g.Activation("reciprocal", unit=unit))
    return g.build(nodes, graph.form)


def _softmax_at(graph: g.Graph, number: int) -> _Softmax | None:
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
    powers = counted
    if isinstance(graph.nodes[counted].operation, g.Affine):
        # A mask leaves some of them out.
        [powers] = graph.nodes[counted].inputs
    if not _is_activation(graph, powers, "exp"):
        return None
    # Whatever else takes the powers wants them as they are.
    users = {*graph.users[powers], *graph.users[counted], *graph.users[sums], *graph.users[parts]}
    is_alone = users <= {counted, sums, parts, number}
    return _Softmax(powers, counted, sums, parts, number, total.operation) if is_alone else None


def _is_activation(graph: g.Graph, number: int, function: str) -> bool:
    operation = graph.nodes[number].operation
    return isinstance(operation, g.Activation) and operation.function == function


def _halvings(softmax: _Softmax, calibration: Calibration, options: NetworkOptions) -> int:
    """How often the scores of a softmax are halved: as often as it takes, and no more."""
    low, high = (float(each[softmax.sums]) for each in (calibration.lows, calibration.highs))
    largest = math.log(float(calibration.highs[softmax.powers]))
    if largest <= _LARGEST and _degree(high / low, options) <= _MOST:
        return 0
    least = math.ceil(math.log2(max(largest / _LARGEST_OF_HALVES, 2.0)))
    # The least sum is about the number of powers, and the largest little more than one of them.
    for count in range(least, _MOST_HALVINGS):
        spread = (high / low) ** 0.5**count
        if _degree(spread, options, math.log2(spread)) <= _MOST_OF_HALVES:
            return count
    return _MOST_HALVINGS


def _degree(spread: float, options: NetworkOptions, more_bits: float = 0.0) -> float:
    """About the degree of a polynomial near 1 / x from 1 to some number.

    Its error falls by (sqrt(spread) - 1) / (sqrt(spread) + 1) from one degree to the next.
    """
    root = (1.0 + options.margin) * math.sqrt(spread)
    return (options.precision + 1 + more_bits) * math.log(2.0) * root / 2
