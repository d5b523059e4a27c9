"""How many levels of a modulus chain a network takes."""

from __future__ import annotations

from typing import assert_never

import numpy as np

from cloakwork.errors import InvalidProgramError
from cloakwork.frontends.nn import graph as g


def depth(graph: g.Graph) -> int:
    """The levels from the input to the output along the longest path.

    Raises:
        InvalidProgramError: An activation is not fitted yet.

    >>> from cloakwork.frontends.nn import graph as g
    >>> nodes = [g.node("x", g.Input((3,)), (), [])]
    >>> nodes.append(g.node("square", g.Polynomial((0, 0, 1), "monomial", -9, 9), (0,), nodes))
    >>> nodes.append(g.node("y", g.Output(), (1,), nodes))
    >>> depth(g.build(nodes))
    1
    """
    depths: list[int] = []
    for node in graph.nodes:
        before = max((depths[operand] for operand in node.inputs), default=0)
        depths.append(before + levels(node))
    return depths[-1]


def levels(node: g.Node) -> int:
    """The levels that one layer takes; a rearrangement takes one, as a linear map does.

    Raises:
        InvalidProgramError: An activation is not fitted yet.
    """
    match node.operation:
        case g.Input() | g.Output() | g.Add() | g.Concatenate():
            return 0
        case g.Linear() | g.Convolution() | g.AveragePool() | g.Multiply():
            return 1
        case g.Affine(scale=scale):
            return int(bool(np.any(scale != 1.0)))
        case g.Rearrange(indices=indices):
            return int(not np.array_equal(indices, np.arange(len(indices))))
        case g.Polynomial(coefficients=coefficients):
            return polynomial_depth(len(coefficients) - 1)
        case g.Activation(function=function):
            raise InvalidProgramError(
                f"cannot count the levels of {node.name!r}: expected a polynomial, got "
                f"{function}; fit the activations first"
            )
        case _ as never:
            assert_never(never)


def polynomial_depth(degree: int) -> int:
    """The levels that a polynomial takes, its coefficients among them."""
    return degree.bit_length()
