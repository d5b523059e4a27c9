"""Nodes of tensor operations, element by element: products, sums and small multiples."""

from __future__ import annotations

import string

import numpy as np

from cloakwork.programs.ir.tensors import Contract, Node, Sum

# As many as numpy has axes.
LABELS = string.ascii_letters + "".join(chr(code) for code in range(0x3B1, 0x3BD))


def product(left: Node, right: Node, origin: str) -> Node:
    """The product of two nodes of one shape, element by element."""
    labels = LABELS[: len(left.shape)]
    return Contract((left, right), (labels, labels), labels, left.shape, origin)


def scaled(node: Node, factor: float, origin: str) -> Node:
    """A node times a number."""
    labels = LABELS[: len(node.shape)]
    return Contract((node, np.array(factor)), (labels, ""), labels, node.shape, origin)


def plus(node: Node, number: float, origin: str) -> Node:
    """A node plus a number."""
    return Sum((node,), (1,), np.full(node.shape, number), node.shape, origin)


def minus_from(number: float, node: Node, origin: str) -> Node:
    """A number minus a node."""
    return Sum((node,), (-1,), np.full(node.shape, number), node.shape, origin)


def total_of_scalars(left: Node, right: Node, origin: str) -> Node:
    """The sum of two nodes of one shape."""
    return Sum((left, right), (1, 1), None, left.shape, origin)


def negative(node: Node, origin: str) -> Node:
    """A node with the other sign."""
    return Sum((node,), (-1,), None, node.shape, origin)


def multiple(node: Node, factor: int, origin: str) -> Node:
    """A small whole multiple, other than 0, by additions, which take no level."""
    made = node
    for bit in bin(abs(factor))[3:]:
        terms = (made, made, node) if bit == "1" else (made, made)
        made = Sum(terms, (1,) * len(terms), None, node.shape, origin)
    return negative(made, origin) if factor < 0 else made


def power(node: Node, exponent: int, origin: str) -> Node:
    """A power from 1 on in the fewest levels, each lower power made once."""
    known = {1: node}

    def made(exponent: int) -> Node:
        if exponent not in known:
            half, rest = made(exponent // 2), made(exponent - exponent // 2)
            known[exponent] = product(half, rest, origin)
        return known[exponent]

    return made(exponent)
