"""The inputs that a client accepts and that errors grow most by, searched for."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.errors.effort import effort_for
from cloakwork.plan.networks.errors.gradients import Gradients
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import by_parts, element_bounds, results, values

# Parts of an input's elements that a direction changes.
_PARTS = (1.0, 0.25, 0.05)
# Of the errors that growth is estimated from: small, and far above rounding.
_DEVIATION = 1e-6
# Elements of each operand that directions are found for, at most.
_ELEMENTS = 4
# Moves of the inputs that these are found by, and how far, as a part of the bounds.
_MOVES = 16
_STEP = 2.0**-20
# Numbers that the layers of a network make, at most, for it to have directions.
_MOST_NUMBERS = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class WorstCaseInputs:
    """What the search found.

    Args:
        worst: Accepted inputs, the ones with the largest errors in their results first, as
            `joined_rows` makes them.
        usual: Of the calibration's inputs some of all kinds, in the same order.
    """

    worst: g.Array
    usual: g.Array


def worst_case_inputs(graph: g.Graph, calibration: Calibration) -> WorstCaseInputs:
    """Search the inputs within a network's ranges for the ones that errors grow most by.

    Lines start from calibration inputs, at first away from their mean, and end where the
    first layer leaves its range; where values are multiplied, further lines go where the
    values grow most, as in high dimensions no line at random does. The next lines start from
    the ends that errors grow most by, in directions at random: hit-and-run (Smith, "Efficient
    Monte Carlo procedures for generating points uniformly distributed over bounded regions",
    Operations Research 32, 1984), uphill only.

    Example:
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> nodes = [g.node("x", g.InputLayer((1,), bound=3.0), (), [])]
        >>> square = g.PolynomialLayer((0, 0, 1), "monomial", -2, 2)
        >>> nodes.append(g.node("square", square, (0,), nodes))
        >>> nodes.append(g.node("y", g.OutputLayer(), (1,), nodes))
        >>> graph = g.build(nodes)
        >>> found = worst_case_inputs(graph, calibrate(graph, [np.array([[0.5], [1.0]])])).worst
        >>> np.abs(found[0]).round(1).tolist()
        [2.0]
    """
    generator, effort = np.random.default_rng(0), effort_for(graph)
    errors = _errors(graph, generator, effort.draws)
    kinds = calibration.outermost, calibration.spread
    starts = np.concatenate([each[:: -(-len(each) // effort.starts)] for each in kinds])
    starts = starts[_accepted(graph, starts)]
    if not len(starts):
        return WorstCaseInputs(calibration.outermost, calibration.outermost)
    growth = _growth(graph, starts, errors)
    usual = starts[np.argsort(-growth)]
    bounds = element_bounds(graph)
    aligned = aligned_directions(graph, starts[0], effort.aligned) * bounds
    directions = np.concatenate([starts - starts.mean(axis=0), aligned])
    starts = np.concatenate([starts, np.repeat(starts[:1], len(aligned), axis=0)])
    growth = np.concatenate([growth, np.repeat(growth[:1], len(aligned))])
    for _ in range(effort.rounds):
        ends = _line_ends(graph, starts, directions, effort.halvings)
        starts = np.concatenate([starts, ends])
        growth = np.concatenate([growth, _growth(graph, ends, errors)])
        order = np.argsort(-growth)[: effort.starts]
        starts, growth = starts[order], growth[order]
        directions = _random_directions(starts.shape, generator) * bounds
    return WorstCaseInputs(starts, usual)


def _line_ends(graph: g.Graph, starts: g.Array, directions: g.Array, halvings: int) -> g.Array:
    """The last accepted input of each line."""
    bounds = element_bounds(graph)
    sizes = np.abs(directions / bounds).max(axis=1, keepdims=True, initial=0.0)
    steps = 2 * directions / np.where(sizes > 0, sizes, 1.0)
    near, far = np.zeros_like(sizes), np.ones_like(sizes)
    middle, ends = far, starts
    for _ in range(halvings):
        # A line that has come to a bound of the input goes on along it.
        inputs = np.clip(starts + middle * steps, -bounds, bounds)
        accepted = _accepted(graph, inputs)
        within = accepted[:, np.newaxis]
        ends = np.where(within, inputs, ends)
        near, far = np.where(within, middle, near), np.where(within, far, middle)
        if np.array_equal(near, far):
            break
        middle = (near + far) / 2
    return ends


def _random_directions(shape: g.Shape, generator: np.random.Generator) -> g.Array:
    """Directions of a part of the elements each, in units of their bounds."""
    parts = generator.choice(_PARTS, (shape[0], 1))
    signs = generator.choice([-1.0, 1.0], shape)
    return np.asarray(np.where(generator.random(shape) < parts, signs, 0.0))


def _accepted(graph: g.Graph, rows: g.Array) -> NDArray[np.bool_]:
    """Whether each input is within its bounds and takes no polynomial out of its range."""
    ranges, bounds = g.operand_ranges(graph), element_bounds(graph)

    def are_within(part: g.Array) -> NDArray[np.bool_]:
        within = np.asarray((np.abs(part) <= bounds).all(axis=1))
        if not ranges:
            return within
        with np.errstate(over="ignore", invalid="ignore"):
            for (low, high), made in zip(ranges, values(graph, part), strict=True):
                numbers = made.reshape(len(part), -1)
                within &= ((numbers >= low) & (numbers <= high)).all(axis=1)
        return within

    return np.concatenate(by_parts(graph, are_within, rows))


def _errors(graph: g.Graph, generator: np.random.Generator, draws: int) -> list[dict[int, g.Array]]:
    """Draws of errors for the results of the nodes that become ciphertexts."""
    sizes = dict.fromkeys(range(len(graph.inputs)), 1.0)
    for number, node in enumerate(graph.nodes):
        match node.operation:
            case g.PolynomialLayer(basis=basis, low=low, high=high):
                # Ciphertexts hold the operand of a Chebyshev polynomial scaled to [-1, 1].
                sizes[node.inputs[0]] = (high - low) / 2 if basis == "chebyshev" else 1.0
                sizes[number] = 1.0
            case g.Multiply() | g.Contraction() | g.OutputLayer():
                sizes |= {operand: sizes.get(operand, 1.0) for operand in node.inputs}
                sizes[number] = 1.0
    return [
        {
            number: generator.normal(scale=_DEVIATION * size, size=graph.nodes[number].shape)
            for number, size in sizes.items()
        }
        for _ in range(draws)
    ]


def _growth(graph: g.Graph, rows: g.Array, draws: list[dict[int, g.Array]]) -> g.Array:
    """For each input how large the error of any of its results is."""
    exact = results(graph, rows)
    squares = np.zeros_like(exact)
    # Errors that outgrow every number are the largest.
    with np.errstate(over="ignore", invalid="ignore"):
        for errors in draws:
            squares += (results(graph, rows, errors) - exact) ** 2
    return np.asarray(np.nan_to_num(squares, nan=np.inf).max(axis=1))


def aligned_directions(graph: g.Graph, start: g.Array, most: int) -> g.Array:
    """Up to so many directions, 1 or -1 for every input's element, each with its opposite.

    Along such a direction an element of a product's operand grows as fast as it can: the signs
    of slopes (Goodfellow, Shlens, Szegedy, "Explaining and harnessing adversarial examples",
    ICLR 2015). The elements are taken that depend most on the inputs, as moves at random tell.
    Networks of too many numbers have no such directions.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((2,), bound=1.0), (), [])]
        >>> difference = g.LinearLayer(np.array([[3.0, -1.0]]), np.zeros(1))
        >>> for name, layer, inputs in [("a", difference, (0,)), ("product", g.Multiply(), (1, 1)),
        ...                             ("y", g.OutputLayer(), (2,))]:
        ...     nodes.append(g.node(name, layer, inputs, nodes))
        >>> aligned_directions(g.build(nodes), np.zeros(2), 8).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    products = g.Multiply | g.Contraction
    factors = [node.inputs for node in graph.nodes if isinstance(node.operation, products)]
    operands = sorted({operand for inputs in factors for operand in inputs})
    operands = operands[:: -(-2 * len(operands) // most) or 1]
    found: list[g.Array] = []
    if operands and sum(prod(node.shape) for node in graph.nodes) <= _MOST_NUMBERS:
        each = min(_ELEMENTS, most // (2 * len(operands)))
        moved = _moved_most(graph, start, operands, each)
        gradients = Gradients(graph, start)
        for operand, elements in moved.items():
            found += [np.where(slopes < 0, -1.0, 1.0) for slopes in gradients.of(operand, elements)]
    both = np.array([sign * each for each in found for sign in (1.0, -1.0)])
    return both.reshape(-1, start.size)


def _moved_most(
    graph: g.Graph, start: g.Array, operands: list[int], count: int
) -> dict[int, list[int]]:
    """For each operand the elements that small moves of the inputs change most."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (_MOVES, start.size))
    rows = start + np.concatenate(
        [np.zeros((1, start.size)), signs * element_bounds(graph) * _STEP]
    )
    moved: dict[int, list[int]] = {}
    for number, made in enumerate(values(graph, rows)):
        if number in operands:
            flat = made.reshape(len(made), -1)
            sizes = np.sum((flat[1:] - flat[0]) ** 2, axis=0)
            moved[number] = np.argsort(-sizes)[:count].tolist()
    return moved
