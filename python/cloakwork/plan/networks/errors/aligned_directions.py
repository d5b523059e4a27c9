"""Directions in which the operands of products grow most."""

from __future__ import annotations

from math import prod

import numpy as np

from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import element_bounds, values

# Elements of each operand that directions are found for.
_ELEMENTS = 4
# How far an element is moved, as a part of its bound.
_STEP = 2.0**-20
# Inputs that are run through the network at once.
_AT_ONCE = 256
# Numbers in the table of slopes of one operand, at most.
_LARGEST_TABLE = 1 << 25


def aligned_directions(graph: g.Graph, start: g.Array) -> g.Array:
    """Directions of the inputs' elements, each 1 or -1 times its bound, and their opposites.

    Along such a direction an element of a product's operand grows as fast as it can: the signs
    of slopes (Goodfellow, Shlens, Szegedy, "Explaining and harnessing adversarial examples",
    ICLR 2015), measured by moving one element after another. The elements that depend most on
    the inputs are taken. Operands of too many elements are left out.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((2,), bound=1.0), (), [])]
        >>> difference = g.LinearLayer(np.array([[3.0, -1.0]]), np.zeros(1))
        >>> for name, layer, inputs in [("a", difference, (0,)), ("product", g.Multiply(), (1, 1)),
        ...                             ("y", g.OutputLayer(), (2,))]:
        ...     nodes.append(g.node(name, layer, inputs, nodes))
        >>> aligned_directions(g.build(nodes), np.zeros(2)).tolist()
        [[1.0, -1.0], [-1.0, 1.0]]
    """
    steps = element_bounds(graph) * _STEP
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
        slopes = _slopes(graph, start, steps, operands)
        for table in slopes.values():
            most = np.argsort(-np.abs(table).sum(axis=0))[:_ELEMENTS]
            found += [np.where(table[:, each] < 0, -1.0, 1.0) for each in most]
    both = np.array([sign * each for each in found for sign in (1.0, -1.0)])
    return both.reshape(-1, size)


def _slopes(
    graph: g.Graph, start: g.Array, steps: g.Array, operands: list[int]
) -> dict[int, g.Array]:
    """For each operand how much its elements, in columns, change by a step of each input's."""
    parts: dict[int, list[g.Array]] = {each: [] for each in operands}
    for first in range(0, start.size, _AT_ONCE):
        rows = np.arange(first, min(first + _AT_ONCE, start.size))
        moved = np.tile(start, (len(rows) + 1, 1))
        moved[np.arange(len(rows)), rows] += steps[rows]
        for number, made in enumerate(values(graph, moved)):
            if number in parts:
                flat = made.reshape(len(made), -1)
                parts[number].append(flat[:-1] - flat[-1])
    return {number: np.concatenate(each) for number, each in parts.items()}
