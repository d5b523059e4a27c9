"""Products of matrices in a function over integers, as long as nothing asks for their elements.

A vector stands for a column. What is not made of whole inputs by products, sums, transposes and
multiples is computed element by element.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from cloakwork.base.source_line import users_origin
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Source, Sum

# Nodes hold clear numbers as doubles.
_MOST_CLEAR = 1 << 53


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A vector or a matrix as operations on whole inputs.

    Args:
        node: The operations, on matrices.
        shape: Its own shape.
        multiplications: Of numbers that its products take.
        factors: The two vectors or matrices that it is the product of, if it is one.
        summands: The signs of those that it is the sum of, if it is one, and they.
    """

    node: Node
    shape: tuple[int, ...]
    multiplications: int = 0
    factors: tuple[Any, Any] | None = None
    summands: tuple[tuple[int, Any], ...] = ()


def whole_input(name: str, shape: tuple[int, ...]) -> Whole:
    """An input.

    Example:
        >>> whole_input("v", (3,)).node.shape
        (3, 1)
    """
    return Whole(Source(name, shape if len(shape) > 1 else (*shape, 1)), shape)


def product_of(left: Any, right: Any) -> Whole | None:
    """The product of two vectors or matrices, one of them a matrix; None unless both are whole."""
    one, other = left.whole, right.whole
    if one is None or other is None:
        return None
    sizes = {"i": left.shape[0], "k": right.shape[0], "j": right.shape[-1]}
    if len(right.shape) == 1:
        operands, labels, output = (one.node, other.node), ("ik", "kx"), "ix"
        shape: tuple[int, ...] = (sizes["i"],)
    elif len(left.shape) == 1:
        # A row times a matrix is the transpose times the column.
        operands, labels, output = (other.node, one.node), ("kj", "kx"), "jx"
        shape = (sizes["j"],)
    else:
        operands, labels, output = (one.node, other.node), ("ik", "kj"), "ij"
        shape = (sizes["i"], sizes["j"])
    of_node = shape if len(shape) > 1 else (*shape, 1)
    return Whole(
        Contract(operands, labels, output, of_node, users_origin()),
        shape,
        one.multiplications + other.multiplications + math.prod(shape) * sizes["k"],
        factors=(left, right),
    )


def sum_of(left: Any, right: Any, sign: int) -> Whole | None:
    """A sum, or a difference, of two of one shape, or of a matrix and a vector for each row."""
    one, other = left.whole, getattr(right, "whole", None)
    if one is None or other is None:
        return None
    added = other.node
    if left.shape != right.shape:
        # A vector counts for each row.
        if left.shape[1:] != right.shape or not isinstance(added, Source):
            return None
        added = Rearrange(added, np.arange(right.shape[0]).reshape(1, -1))
    node = Sum((one.node, added), (1, sign), None, one.node.shape, users_origin())
    return Whole(
        node,
        left.shape,
        one.multiplications + other.multiplications,
        summands=((1, left), (sign, right)) if left.shape == right.shape else (),
    )


def multiple_of(vector: Any, factor: int | None) -> Whole | None:
    """A multiple by a clear integer; None unless it is whole."""
    whole: Whole | None = vector.whole
    if whole is None or factor is None or not 0 < abs(factor) <= _MOST_CLEAR:
        return None
    operands = (whole.node, np.array(float(factor)))
    node = Contract(operands, ("ij", ""), "ij", whole.node.shape, users_origin())
    return Whole(node, whole.shape, whole.multiplications)


def transposed_of(matrix: Any) -> Whole | None:
    """The transpose of a matrix; None unless it is whole."""
    whole: Whole | None = matrix.whole
    if whole is None:
        return None
    shape = whole.shape[::-1]
    node = Contract((whole.node,), ("ij",), "ji", shape, users_origin())
    return Whole(node, shape, whole.multiplications)
