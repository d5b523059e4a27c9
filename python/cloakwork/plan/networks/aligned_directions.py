"""Directions in which the operands of products grow most."""

from __future__ import annotations

from math import prod

import numpy as np

from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import values

# Elements of each operand that are looked at.
_ELEMENTS = 4
# Of the input's bound: how far an element is moved to see what follows.
_STEP = 2.0**-20
# Inputs that are run through the network at once.
_AT_ONCE = 256
# Numbers in the table of slopes of one operand, at most.
_LARGEST_TABLE = 1 << 25


def aligned_directions(graph: g.Graph, start: g.Array) -> g.Array:
    """Directions of an input's elements, each 1 or -1, and their opposites.

    Along them the elements of products' operands that depend most on the input grow as fast
    as any do: the signs of slopes (Goodfellow, Shlens, Szegedy, "Explaining and harnessing
    adversarial examples", ICLR 2015), which are seen by moving one element after another.
    Operands of too many elements are left out.

    Args:
        graph: A network whose input has a bound.
        start: Where slopes are seen.

    Returns:
        Of the shape of inputs, directions along the first axis; none where no values of the
        network are multiplied by one another.

    Example:
        >>> nodes = [g.node("x", g.Input((2,), bound=1.0), (), [])]
        >>> for name, layer, inputs in [("a", g.Linear(np.array([[3.0, -1.0]]), np.zeros(1)), (0,)),
        ...                             ("product", g.Multiply(), (1, 1)), ("y", g.Output(), (2,))]:
        ...     nodes.append(g.node(name, layer, inputs, nodes))
        >>> aligned_directions(g.build(nodes), np.zeros(2)).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    size = start.size
    operands = sorted(
        {
            operand
            for node in graph.nodes
            if isinstance(node.operation, g.Multiply)
            for operand in node.inputs
            if size * prod(graph.nodes[operand].shape) <= _LARGEST_TABLE
        }
    )
    found: list[g.Array] = []
    if operands:
        slopes = _slopes(graph, start, operands)
        for table in slopes.values():
            most = np.argsort(-np.abs(table).sum(axis=0))[:_ELEMENTS]
            found += [np.where(table[:, each] < 0, -1.0, 1.0) for each in most]
    both = np.array([sign * each for each in found for sign in (1.0, -1.0)])
    return both.reshape(-1, *start.shape)


def _slopes(graph: g.Graph, start: g.Array, operands: list[int]) -> dict[int, g.Array]:
    """For each operand the slopes of its elements, in columns, by the input's elements."""
    step = graph.input.bound * _STEP
    parts: dict[int, list[g.Array]] = {each: [] for each in operands}
    for first in range(0, start.size, _AT_ONCE):
        rows = np.arange(first, min(first + _AT_ONCE, start.size))
        moved = np.tile(start.ravel(), (len(rows) + 1, 1))
        moved[np.arange(len(rows)), rows] += step
        for number, made in enumerate(values(graph, moved.reshape(-1, *start.shape))):
            if number in parts:
                flat = made.reshape(len(made), -1)
                parts[number].append((flat[:-1] - flat[-1]) / step)
    return {number: np.concatenate(each) for number, each in parts.items()}
