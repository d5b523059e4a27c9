"""Sums that are only read less their mean, summed less the means of their terms.

A transformer that norms what each block takes adds to one stream, and every norm subtracts the mean
of it. The mean of a sum is the sum of means: so each term is centred instead, which is a matrix
behind the one that makes it and is merged with it, and the stream itself needs none.
"""

from __future__ import annotations

import numpy as np

from cloakwork.plan.networks.softmaxes import is_centring
from cloakwork.programs.ir import layers as g


def with_sums_centred(graph: g.Graph) -> g.Graph:
    """The same network with the terms of such sums centred.

    Example:
        >>> nodes = [g.node(name, g.InputLayer((2,)), (), []) for name in "xy"]
        >>> centre = g.LinearLayer(np.eye(2) - 0.5, np.zeros(2))
        >>> layers = (g.AddLayer(), (0, 1)), (centre, (2,)), (g.OutputLayer(), (3,))
        >>> for layer, operands in layers:
        ...     nodes.append(g.node("z", layer, operands, nodes))
        >>> made = with_sums_centred(g.build(nodes)).nodes[2:]
        >>> [type(each.operation).__name__ for each in made]
        ['LinearLayer', 'LinearLayer', 'AddLayer', 'OutputLayer']
    """
    sums = _only_read_centred(graph)
    if not sums:
        return graph
    nodes: list[g.Node] = []
    renamed: list[int] = []
    centred: dict[int, int] = {}

    def of_term(number: int) -> int:
        """A term less its mean."""
        if number not in centred:
            name, size = graph.nodes[number].name, graph.nodes[number].shape[-1]
            centre = g.LinearLayer(np.eye(size) - 1.0 / size, np.zeros(size))
            centred[number] = g.appended(nodes, name, centre, renamed[number])
        return centred[number]

    for number, node in enumerate(graph.nodes):
        if number in sums:
            found = g.appended(nodes, node.name, node.operation, *map(of_term, node.inputs))
            centred[number] = found
        elif is_centring(node.operation) and node.inputs[0] in centred:
            found = centred[node.inputs[0]]
        else:
            inputs = [renamed[operand] for operand in node.inputs]
            found = g.appended(nodes, node.name, node.operation, *inputs)
            if is_centring(node.operation):
                centred[node.inputs[0]] = found
        renamed.append(found)
    return g.build(nodes, graph.form)


def _only_read_centred(graph: g.Graph) -> set[int]:
    """The sums that nothing takes but what subtracts the mean, and other such sums."""
    found: set[int] = set()
    for number in reversed(range(len(graph.nodes))):
        users = graph.users[number]
        is_read_so = all(
            each in found or is_centring(graph.nodes[each].operation) for each in users
        )
        if isinstance(graph.nodes[number].operation, g.AddLayer) and users and is_read_so:
            found.add(number)
    return found
