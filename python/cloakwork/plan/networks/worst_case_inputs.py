"""Inputs that a client accepts and that lead a network to the ends of its ranges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.aligned_directions import aligned_directions
from cloakwork.plan.networks.calibration import Calibration
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate, values

# Inputs that rays start from.
_STARTS = 32
_ROUNDS = 3
# Halvings of the way to where the first layer leaves its range.
_HALVINGS = 10
# Parts of an input's elements that a ray changes.
_PARTS = (1.0, 0.25, 0.05)
# Errors that growth is told from, and their deviation: small, and far above rounding.
_DRAWS = 4
_DEVIATION = 1e-6


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """What was found.

    Args:
        furthest: Accepted inputs, those first in whose results errors are largest.
        tried: All accepted inputs on the way to them.
    """

    furthest: g.Array
    tried: g.Array


def reach(graph: g.Graph, calibration: Calibration) -> Reach:
    """Search the inputs within a network's ranges for those that errors grow most by.

    Rays start from calibration inputs, at first away from their middle, and end where the
    first layer leaves its range; where values are multiplied, others go where these grow most,
    as in high dimensions no ray at random does. Further rays start from those ends that errors
    grow most by, in directions at random: hit-and-run (Smith, "Efficient Monte Carlo
    procedures for generating points uniformly distributed over bounded regions", Operations
    Research 32, 1984), uphill only.

    Args:
        graph: A network whose input has a bound and whose polynomials have ranges.
        calibration: Inputs within them.

    Example:
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> nodes = [g.node("x", g.Input((1,), bound=3.0), (), [])]
        >>> nodes.append(g.node("square", g.Polynomial((0, 0, 1), "monomial", -2, 2), (0,), nodes))
        >>> nodes.append(g.node("y", g.Output(), (1,), nodes))
        >>> graph = g.build(nodes)
        >>> found = reach(graph, calibrate(graph, np.array([[0.5], [1.0]]))).furthest
        >>> np.abs(found[0]).round(1).tolist()
        [2.0]
    """
    generator = np.random.default_rng(0)
    errors = _errors(graph, generator)
    stride = -(-len(calibration.spread) // _STARTS)
    starts = np.concatenate([calibration.outermost, calibration.spread[::stride]])
    starts = starts[_accepted(graph, starts)]
    if not len(starts):
        return Reach(calibration.outermost, starts)
    towards = starts - starts.mean(axis=0)
    aligned = aligned_directions(graph, starts[0])
    towards = np.concatenate([towards, aligned])
    starts = np.concatenate([starts, np.repeat(starts[:1], len(aligned), axis=0)])
    tried = [starts]
    for _ in range(_ROUNDS):
        ends, on_the_way = _along(graph, starts, towards)
        tried += on_the_way
        starts = np.concatenate([starts, ends])
        order = np.argsort(-_growth(graph, starts, errors))[:_STARTS]
        starts = starts[order]
        towards = _directions(starts.shape, generator)
    return Reach(starts, np.concatenate(tried))


def _along(graph: g.Graph, starts: g.Array, towards: g.Array) -> tuple[g.Array, list[g.Array]]:
    """The last accepted input from each start on, and those that were tried on the way."""
    bound = graph.input.bound
    axes = tuple(range(1, starts.ndim))
    sizes = np.abs(towards).max(axis=axes, keepdims=True, initial=0.0)
    steps = 2 * bound * towards / np.where(sizes > 0, sizes, 1.0)
    near, far = np.zeros_like(sizes), np.ones_like(sizes)
    middle, ends = far, starts
    tried: list[g.Array] = []
    for _ in range(_HALVINGS):
        # Along the sides of what the input is bounded by, once a ray has come to them.
        inputs = np.clip(starts + middle * steps, -bound, bound)
        accepted = _accepted(graph, inputs)
        tried.append(inputs[accepted])
        within = accepted.reshape(sizes.shape)
        ends = np.where(within, inputs, ends)
        near, far = np.where(within, middle, near), np.where(within, far, middle)
        middle = (near + far) / 2
    return ends, tried


def _directions(shape: g.Shape, generator: np.random.Generator) -> g.Array:
    parts = generator.choice(_PARTS, (shape[0],) + (1,) * (len(shape) - 1))
    signs = generator.choice([-1.0, 1.0], shape)
    return np.asarray(np.where(generator.random(shape) < parts, signs, 0.0))


def _accepted(graph: g.Graph, inputs: g.Array) -> NDArray[np.bool_]:
    """Whether each input is within its bound and takes no polynomial out of its range."""
    ranges = g.operand_ranges(graph)
    flat = np.abs(inputs).reshape(len(inputs), -1)
    within = np.asarray((flat <= graph.input.bound).all(axis=1))
    with np.errstate(over="ignore", invalid="ignore"):
        for (low, high), made in zip(ranges, values(graph, inputs), strict=True):
            rows = made.reshape(len(inputs), -1)
            within &= ((rows >= low) & (rows <= high)).all(axis=1)
    return within


def _errors(graph: g.Graph, generator: np.random.Generator) -> list[dict[int, g.Array]]:
    """Draws of errors for the results of those nodes that become ciphertexts."""
    sizes = {0: 1.0}
    for number, node in enumerate(graph.nodes):
        match node.operation:
            case g.Polynomial(basis=basis, low=low, high=high):
                # Ciphertexts hold what a Chebyshev polynomial works on scaled to [-1, 1].
                sizes[node.inputs[0]] = (high - low) / 2 if basis == "chebyshev" else 1.0
                sizes[number] = 1.0
            case g.Multiply() | g.Output():
                sizes |= {operand: sizes.get(operand, 1.0) for operand in node.inputs}
                sizes[number] = 1.0
    return [
        {
            number: generator.normal(scale=_DEVIATION * size, size=graph.nodes[number].shape)
            for number, size in sizes.items()
        }
        for _ in range(_DRAWS)
    ]


def _growth(graph: g.Graph, inputs: g.Array, draws: list[dict[int, g.Array]]) -> g.Array:
    """For each input how large the error of any of its results is."""
    exact = evaluate(graph, inputs)
    squares = np.zeros_like(exact)
    for errors in draws:
        squares += (evaluate(graph, inputs, errors) - exact) ** 2
    return np.asarray(squares.reshape(len(inputs), -1).max(axis=1))
