"""Sums of products of two tensors as products of elements, each operand repeated along axes.

In the clear they are products of matrices, which numbers are calibrated and errors simulated by.
Ciphertexts multiply element by element: queries, for one, stand once for every key.
"""

from __future__ import annotations

from functools import partial
from math import prod

import numpy as np

from cloakwork.programs.ir import layers as g


def with_products_spread(graph: g.Graph) -> g.Graph:
    """The same network without contractions.

    Example:
        >>> nodes = [g.node(name, g.InputLayer((2, 3)), (), []) for name in "xy"]
        >>> nodes.append(g.node("product", g.Contraction("ik", "jk", "ij"), (0, 1), nodes))
        >>> nodes.append(g.node("z", g.OutputLayer(), (2,), nodes))
        >>> [type(each.operation).__name__ for each in with_products_spread(g.build(nodes)).nodes]
        ... # doctest: +NORMALIZE_WHITESPACE
        ['InputLayer', 'InputLayer', 'Rearrange', 'Rearrange', 'Multiply', 'Rearrange',
         'LinearLayer', 'Rearrange', 'OutputLayer']
    """
    if not any(isinstance(node.operation, g.Contraction) for node in graph.nodes):
        return graph
    nodes: list[g.Node] = []
    numbers: list[int] = []
    for node in graph.nodes:
        inputs = tuple(numbers[operand] for operand in node.inputs)
        if isinstance(node.operation, g.Contraction):
            made = _spread(nodes, node.name, node.operation, inputs)
        else:
            made = g.appended(nodes, node.name, node.operation, *inputs)
        numbers.append(made)
    return g.build(nodes, graph.form)


def _spread(
    nodes: list[g.Node], name: str, contraction: g.Contraction, inputs: tuple[int, ...]
) -> int:
    """Append what a contraction is made of, and return the number of its result."""
    left, right = (nodes[operand].shape for operand in inputs)
    sizes = contraction.sizes(left, right)
    order = contraction.result + contraction.summed
    shape = tuple(sizes[letter] for letter in order)
    result = shape[: len(contraction.result)]
    count = prod(shape[len(contraction.result) :])

    append = partial(g.appended, nodes, name)

    def reshaped(operand: int, shape: g.Shape) -> int:
        if nodes[operand].shape == shape:
            return operand
        return append(g.Rearrange(np.arange(prod(shape)), shape), operand)

    def repeated(operand: int, letters: str) -> int:
        if letters == order:
            return operand
        numbers = np.arange(prod(nodes[operand].shape)).reshape(nodes[operand].shape)
        moved = numbers.transpose([letters.index(each) for each in order if each in letters])
        axes = [sizes[each] if each in letters else 1 for each in order]
        indices = np.broadcast_to(moved.reshape(axes), shape).ravel()
        return append(g.Rearrange(indices, shape), operand)

    factors = [
        repeated(operand, letters)
        for operand, letters in zip(inputs, (contraction.left, contraction.right), strict=True)
    ]
    product = append(g.Multiply(contraction.ranges), *factors)
    lined = reshaped(product, (prod(result), count))
    sums = append(g.LinearLayer(np.ones((1, count)), np.zeros(1)), lined)
    return reshaped(sums, result)
