"""Sums that every element of an axis needs: what is made of them is made once, and then repeated.

A softmax and a norm divide each element of a row by one sum of the row. As a product with a matrix
of ones the sum stands at every element at no cost, and so does a polynomial of it, as long as all
elements share a ciphertext. Where they take several, each would have the polynomial, and bootstraps
in it. So there the sum is made once for each row, the rows' sums being few, and what follows from
it is repeated along the row, by another matrix, which takes a level.
"""

from __future__ import annotations

from math import prod

import numpy as np

from cloakwork.plan.networks.calibration import Calibration
from cloakwork.programs.ir import layers as g

# A row that is longer has its sum made once: so many diagonals take more than a level.
_LONG = 64


def with_sums_made_once(
    graph: g.Graph, calibration: Calibration, slots: int
) -> tuple[g.Graph, Calibration]:
    """The same network, in which sums that take more than so many slots are made once a row.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((4, 8)), (), [])]
        >>> sums = g.LinearLayer(np.ones((8, 8)), np.ones(8))
        >>> for layer in (sums, g.Activation("reciprocal"), g.OutputLayer()):
        ...     nodes.append(g.node("y", layer, (len(nodes) - 1,), nodes))
        >>> network = g.build(nodes)
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> seen = calibrate(network, [np.ones((1, 32))])
        >>> found, _ = with_sums_made_once(network, seen, 16)
        >>> [each.shape for each in found.nodes]
        [(4, 8), (4, 1), (4, 1), (4, 8), (4, 8)]
        >>> with_sums_made_once(network, seen, 32)[0] is network
        True
    """
    lengths = {
        number: length
        for number in range(len(graph.nodes))
        if (length := _repeats(graph, number))
        and _is_made_once(prod(graph.nodes[number].shape), length, slots)
    }
    if not lengths:
        return graph, calibration
    nodes: list[g.Node] = []
    renamed: list[int] = []
    # The layers that new ones have the ranges of.
    sources: list[int] = []

    def append(name: str, operation: g.Operation, number: int, *inputs: int) -> int:
        sources.append(number)
        return g.appended(nodes, name, operation, *inputs)

    for number, node in enumerate(graph.nodes):
        inputs, operation = [renamed[operand] for operand in node.inputs], node.operation
        if number in lengths and isinstance(operation, g.LinearLayer):
            operation = g.LinearLayer(operation.weight[:1], operation.bias[:1])
        found = append(node.name, operation, number, *inputs)
        if node.inputs and node.inputs[0] in lengths:
            length = lengths[node.inputs[0]]
            repeat = g.LinearLayer(np.ones((length, 1)), np.zeros(length))
            found = append(node.name, repeat, number, found)
        renamed.append(found)
    return g.build(nodes, graph.form), calibration.of_sources(sources)


def _is_made_once(elements: int, length: int, slots: int) -> bool:
    """Whether sums of rows are made once: of many rows, or of one row that is long."""
    return elements > slots or elements == length > _LONG


def _repeats(graph: g.Graph, number: int) -> int:
    """How often a layer repeats a sum that nothing but functions of one number take; 0 if none."""
    operation = graph.nodes[number].operation
    if not isinstance(operation, g.LinearLayer) or len(operation.weight) < 2:
        return 0
    is_one = (operation.weight == operation.weight[0]).all() and np.ptp(operation.bias) == 0.0
    users = [graph.nodes[user].operation for user in graph.users[number]]
    are_functions = all(isinstance(each, g.Activation | g.PolynomialLayer) for each in users)
    return len(operation.weight) if is_one and are_functions else 0
