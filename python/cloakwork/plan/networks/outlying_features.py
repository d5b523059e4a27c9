"""Norms of features of which a few are far larger than the others: these are divided before.

Trained transformers have some features that are a hundred times as large as the rest. Squares of
all features have one scale in their slots, that of the largest, and what is below the noise of it
is lost of all others. So large features are divided by known numbers before they are squared, the
matrix of the mean makes up for it, and so does whatever takes the result.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from cloakwork.plan.networks.calibration import Calibration, calibrated_again
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import by_parts, values

# Features are divided to be no larger than so many times what this part of all reach.
_PART, _TIMES = 0.9, 2.0
# And only where the largest is larger than that by more than this factor: it takes no time, but
# networks whose features are of one size stay as they are.
_FACTOR = 2.0
_SQUARE = (0.0, 0.0, 1.0)


def with_outliers_divided(
    graph: g.Graph, calibration: Calibration, batches: Iterable[g.Array]
) -> tuple[g.Graph, Calibration]:
    """The same network, in whose norms features that are far larger than others are divided.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((20,)), (), [])]
        >>> square = g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -np.inf, np.inf)
        >>> mean = g.LinearLayer(np.full((20, 20), 1 / 20), np.ones(20))
        >>> for layer, operands in [
        ...     (square, (0,)), (mean, (1,)), (g.Activation("rsqrt"), (2,)),
        ...     (g.Multiply(), (0, 3)), (g.OutputLayer(), (4,)),
        ... ]:
        ...     nodes.append(g.node("norm", layer, operands, nodes))
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> network, rows = g.build(nodes), np.array([[100.0] + [1.0] * 19])
        >>> found, seen = with_outliers_divided(network, calibrate(network, [rows]), [rows])
        >>> len(found.nodes) - len(network.nodes), float(seen.highs[2])
        (2, 4.0)
    """
    norms = [found for number in range(len(graph.nodes)) if (found := _norm_at(graph, number))]
    divisors = _divisors(graph, norms, batches)
    if not divisors:
        return graph, calibration
    divided, numbers = _divided(graph, divisors)
    changed = {each.squares for each in divisors}
    return divided, calibrated_again(divided, batches, calibration, numbers, changed)


@dataclass(frozen=True, slots=True, eq=False)
class _Norm:
    """The numbers of the nodes of a norm: value, its squares, their mean, and the product."""

    value: int
    squares: int
    mean: int
    product: int


def _norm_at(graph: g.Graph, number: int) -> _Norm | None:
    """The norm whose result a node is."""
    if not isinstance(graph.nodes[number].operation, g.Multiply):
        return None
    value, root = graph.nodes[number].inputs
    match graph.nodes[root].operation:
        case g.Activation(function="rsqrt"):
            [mean] = graph.nodes[root].inputs
        case _:
            return None
    if not isinstance(graph.nodes[mean].operation, g.LinearLayer):
        return None
    [squares] = graph.nodes[mean].inputs
    square = graph.nodes[squares]
    if not isinstance(square.operation, g.PolynomialLayer) or square.inputs != (value,):
        return None
    is_square = square.operation.basis == "monomial" and square.operation.coefficients == _SQUARE
    is_alone = graph.users[squares] == (mean,)
    return _Norm(value, squares, mean, number) if is_square and is_alone else None


def _divisors(
    graph: g.Graph, norms: Collection[_Norm], batches: Iterable[g.Array]
) -> dict[_Norm, g.Array]:
    """What the features of a norm are divided by, of those norms that have some far larger ones."""
    if not norms:
        return {}
    last = max(each.value for each in norms)
    wanted = {each.value for each in norms}

    def of_part(rows: g.Array) -> dict[int, g.Array]:
        made = zip(range(last + 1), values(graph, rows), strict=False)
        return {
            number: np.abs(value).reshape(-1, value.shape[-1]).max(axis=0)
            for number, value in made
            if number in wanted
        }

    parts = [each for rows in batches for each in by_parts(graph, of_part, rows)]
    found: dict[_Norm, g.Array] = {}
    for norm in norms:
        largest = np.max([each[norm.value] for each in parts], axis=0)
        usual = _TIMES * float(np.quantile(largest, _PART))
        if largest.max() > _FACTOR * usual > 0.0:
            found[norm] = np.maximum(1.0, largest / usual)
    return found


def _divided(graph: g.Graph, divisors: Mapping[_Norm, g.Array]) -> tuple[g.Graph, list[int]]:
    """The network with features divided, and which of its layers is each that there was."""
    of_squares = {each.squares: each for each in divisors}
    of_means = {each.mean: divisor for each, divisor in divisors.items()}
    of_products = {each.product: each for each in divisors}
    nodes: list[g.Node] = []
    renamed: list[int] = []
    # By the squares, which several norms may share.
    divided: dict[int, int] = {}

    append = partial(g.appended, nodes)

    def scaled(number: int, factors: g.Array) -> g.Affine:
        ones = (1,) * (len(graph.nodes[number].shape) - 1)
        return g.Affine(factors.reshape(*ones, -1), np.zeros((*ones, 1)))

    for number, node in enumerate(graph.nodes):
        operation, inputs = node.operation, [renamed[operand] for operand in node.inputs]
        if number in of_squares:
            norm = of_squares[number]
            narrower = scaled(norm.value, 1.0 / divisors[norm])
            divided[number] = append(node.name, narrower, *inputs)
            inputs = [divided[number]]
        if number in of_means:
            assert isinstance(operation, g.LinearLayer)
            operation = replace(operation, weight=operation.weight * of_means[number] ** 2)
        if number in of_products:
            norm = of_products[number]
            inputs = [divided[norm.squares], inputs[1]]
            product = append(node.name, operation, *inputs)
            operation, inputs = scaled(number, divisors[norm]), [product]
        renamed.append(append(node.name, operation, *inputs))
    return g.build(nodes, graph.form), renamed
