"""numpy's products of tensors and clear arrays, as einsums and products of elements."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from cloakwork.base.arguments import integer, shown
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError
from cloakwork.frontends.tensors.einsum import einsum
from cloakwork.frontends.tensors.methods import as_operand, axis_number

_OF_SPACE = 3
_MATRIX_AXES = 2
_LARGEST_POWER = 1 << 16


def dot(a: Any, b: Any) -> Any:
    """numpy's dot: a product with a number, or over the last axis but one of b."""
    a, b = as_operand(a, "dot"), as_operand(b, "dot")
    if not a.ndim or not b.ndim:
        return a * b
    return a @ b if max(a.ndim, b.ndim) <= 2 else _over(a, b, max(b.ndim - 2, 0), "dot")


def inner(a: Any, b: Any) -> Any:
    """numpy's inner: a product with a number, or over the last axes of both."""
    a, b = as_operand(a, "inner"), as_operand(b, "inner")
    return _over(a, b, b.ndim - 1, "inner") if a.ndim and b.ndim else a * b


def _over(a: Any, b: Any, axis: int, action: str) -> Any:
    """The sums of products over the last axis of a and an axis of b."""
    return _summed_over(a, b, [a.ndim - 1], [axis], action)


def _summed_over(a: Any, b: Any, of_a: Sequence[int], of_b: Sequence[int], action: str) -> Any:
    # An einsum would stretch an axis of size 1.
    if [a.shape[axis] for axis in of_a] != [b.shape[axis] for axis in of_b]:
        raise ShapeMismatchError(f"cannot {action}: the shapes {a.shape} and {b.shape} do not fit")
    axes = [*range(a.ndim)]
    others = [a.ndim + number for number in range(b.ndim)]
    for one, other in zip(of_a, of_b, strict=True):
        others[other] = one
    kept = [each for each in axes if each not in of_a]
    return einsum(a, axes, b, others, kept + [each for each in others if each >= a.ndim])


def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """Sums of products over several axes, as `numpy.tensordot`.

    Raises:
        InvalidArgumentError: The axes are not as many of both, or one comes twice.
        ShapeMismatchError: The shapes do not fit.
    """
    a, b = as_operand(a, "tensordot"), as_operand(b, "tensordot")
    if np.ndim(axes) == 0 and not isinstance(axes, list | tuple):
        count = integer(axes, "axes", "tensordot", least=0, most=min(a.ndim, b.ndim))
        of_a, of_b = list(range(a.ndim - count, a.ndim)), list(range(count))
    else:
        of_a, of_b = (
            [axis_number(axis, part.ndim, "tensordot") for axis in np.atleast_1d(each)]
            for part, each in zip((a, b), axes, strict=True)
        )
    if len(of_a) != len(of_b) or any(len({*each}) < len(each) for each in (of_a, of_b)):
        raise InvalidArgumentError(
            f"cannot tensordot: expected as many axes of both, each once, got {shown(axes)}"
        )
    return _summed_over(a, b, of_a, of_b, "tensordot")


def vdot(a: Any, b: Any) -> Any:
    """The sum of products of all elements, as `numpy.vdot`."""
    return dot(*(as_operand(each, "vdot").reshape(-1) for each in (a, b)))


def vecdot(a: Any, b: Any) -> Any:
    """The sums of products along the last axes, as `numpy.vecdot`.

    Raises:
        ShapeMismatchError: The shapes do not fit.
    """
    a, b = as_operand(a, "vecdot"), as_operand(b, "vecdot")
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[-1]:
        raise ShapeMismatchError(f"cannot vecdot: the shapes {a.shape} and {b.shape} do not fit")
    return einsum("...i,...i->...", a, b)


def outer(a: Any, b: Any) -> Any:
    """The products of each with each, as `numpy.outer`."""
    a, b = as_operand(a, "outer"), as_operand(b, "outer")
    return a.reshape(-1, 1) * b.reshape(-1)


def kronecker(a: Any, b: Any) -> Any:
    """The product of Kronecker, as `numpy.kron`."""
    a, b = as_operand(a, "kron"), as_operand(b, "kron")
    ndim = max(a.ndim, b.ndim)
    left, right = ((1,) * (ndim - each.ndim) + each.shape for each in (a, b))
    spread = [size for each in left for size in (each, 1)]
    other = [size for each in right for size in (1, each)]
    made = a.reshape(spread) * b.reshape(other)
    return made.reshape([one * two for one, two in zip(left, right, strict=True)])


def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Any:
    """The cross product of vectors of three numbers, as `numpy.cross`.

    Raises:
        ShapeMismatchError: The vectors have not three elements.
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_operand(a, "cross"), as_operand(b, "cross")
    places = axis_number(axisa, a.ndim, "cross"), axis_number(axisb, b.ndim, "cross")
    if a.shape[places[0]] != _OF_SPACE or b.shape[places[1]] != _OF_SPACE:
        raise ShapeMismatchError(
            f"cannot cross: expected vectors of three numbers, got shapes {a.shape} and {b.shape}"
        )
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    ahead, behind = [1, 2, 0], [2, 0, 1]
    made = a[..., ahead] * b[..., behind] - a[..., behind] * b[..., ahead]
    return np.moveaxis(made, -1, axis_number(axisc, made.ndim, "cross"))


def matrix_power(a: Any, n: int) -> Any:
    """A product of a matrix with itself, as `numpy.linalg.matrix_power`.

    Raises:
        ShapeMismatchError: The matrices are not square.
        InvalidArgumentError: The exponent is not a whole number from 0 on.
    """
    if a.ndim < _MATRIX_AXES or a.shape[-1] != a.shape[-2]:
        raise ShapeMismatchError(f"cannot matrix_power: expected square matrices, got {a.shape}")
    exponent = integer(n, "exponent", "matrix_power", least=0, most=_LARGEST_POWER)
    if not exponent:
        return np.broadcast_to(np.eye(a.shape[-1]), a.shape).copy()
    half = a if exponent < _MATRIX_AXES else matrix_power(a, exponent // 2)
    squared = half if exponent == 1 else half @ half
    return squared @ a if exponent > 1 and exponent % 2 else squared


def multiplied_in_a_row(arrays: Sequence[Any]) -> Any:
    """Matrices in a row, in the order that is cheapest, as `numpy.linalg.multi_dot`.

    Raises:
        ShapeMismatchError: They are fewer than two, do not fit, or are not matrices.
    """
    read = [as_operand(each, "multi_dot") for each in arrays]
    shapes = [each.shape for each in read]
    inside = [each.ndim for each in read[1:-1]]
    outside = [each.ndim for each in (*read[:1], *read[-1:])]
    fits = len(read) > 1 and {*inside} <= {2} and {*outside} <= {1, 2}
    if not fits or any(one[-1] != two[-2 if len(two) > 1 else 0] for one, two in pairwise(shapes)):
        raise ShapeMismatchError(f"cannot multi_dot: the shapes {shapes} do not fit")
    terms = [[number, number + 1] for number in range(len(read))]
    terms[0], terms[-1] = terms[0][-read[0].ndim :], terms[-1][: read[-1].ndim]
    output = [each for each in (0, len(read)) if each in terms[0] + terms[-1]]
    pairs: list[Any] = [part for pair in zip(read, terms, strict=True) for part in pair]
    return einsum(*pairs, output)


def outer_of_vectors(x1: Any, x2: Any) -> Any:
    """The products of each with each of two vectors, as `numpy.linalg.outer`.

    Raises:
        ShapeMismatchError: They are not vectors.
    """
    a, b = as_operand(x1, "outer"), as_operand(x2, "outer")
    if a.ndim != 1 or b.ndim != 1:
        raise ShapeMismatchError(
            f"cannot outer: expected two vectors, got the shapes {a.shape} and {b.shape}"
        )
    return outer(a, b)


def vecdot_along(x1: Any, x2: Any, axis: Any = -1) -> Any:
    """The sums of products along an axis, as `numpy.linalg.vecdot`."""
    a: Any = as_operand(x1, "vecdot")
    b: Any = as_operand(x2, "vecdot")
    return vecdot(
        *(np.moveaxis(each, axis_number(axis, each.ndim, "vecdot"), -1) for each in (a, b))
    )


def matvec(x1: Any, x2: Any) -> Any:
    """Matrices times vectors, as `numpy.matvec`."""
    return np.matmul(x1, as_operand(x2, "matvec")[..., None])[..., 0]


def vecmat(x1: Any, x2: Any) -> Any:
    """Vectors times matrices, as `numpy.vecmat`."""
    return np.matmul(as_operand(x1, "vecmat")[..., None, :], x2)[..., 0, :]
