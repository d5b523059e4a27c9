"""numpy's covariances, correlations and norms of tensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedOperationError
from cloakwork.frontends.tensors.methods import as_operand, axes_of, axis_number
from cloakwork.frontends.tensors.numpy.folding import largest, smallest
from cloakwork.frontends.tensors.numpy.joining import joined_rows

_MATRIX_AXES = 2


def variance(
    a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False, correction: Any = None
) -> Any:
    """The variance along axes, as `numpy.var`, which calls `ddof` a correction as well."""
    return a.var(axis, ddof=_whole(ddof if correction is None else correction), keepdims=keepdims)


def deviation(
    a: Any, axis: Any = None, ddof: Any = 0, keepdims: bool = False, correction: Any = None
) -> Any:
    """The standard deviation along axes, as `numpy.std`."""
    return a.std(axis, ddof=_whole(ddof if correction is None else correction), keepdims=keepdims)


def _whole(number: Any) -> Any:
    """A whole number where a floating one is, as the array API gives corrections."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


def covariances(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Any:
    """The covariances of variables, a row each, as `numpy.cov`.

    Raises:
        ShapeMismatchError: There are more than two axes.
        InvalidArgumentError: `ddof` leaves no degree of freedom.
    """
    away = _away_from_means(m, y, rowvar, "cov")
    count = away.shape[1]
    freed = (0 if bias else 1) if ddof is None else ddof
    if not isinstance(freed, Integral) or freed >= count:
        raise InvalidArgumentError(
            f"cannot cov: expected a ddof up to {count - 1} for {count} observations, got "
            f"{shown(freed)}"
        )
    made = (away @ away.T) / (count - freed)
    return made.reshape(()) if made.size == 1 else made


def correlations(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """The correlations of variables, a row each, as `numpy.corrcoef`.

    Raises:
        ShapeMismatchError: There are more than two axes.
        ActivationFitError: By the ranges of their numbers a variance may be 0.
    """
    away = _away_from_means(x, y, rowvar, "corrcoef")
    squares = (away * away).sum(1, keepdims=True)
    # By Cauchy and Schwarz.
    each = (away * squares.applied("rsqrt", "numpy.corrcoef")).within(-1.0, 1.0, claimed=False)
    made = (each @ each.T).within(-1.0, 1.0, claimed=False)
    return made.reshape(()) if made.size == 1 else made


def _away_from_means(m: Any, y: Any, rowvar: bool, name: str) -> Any:
    """Variables, a row each, less their means."""
    parts = [1.0 * as_operand(each, name) for each in (m, y) if each is not None]
    if any(each.ndim > _MATRIX_AXES for each in parts):
        raise ShapeMismatchError(
            f"cannot {name}: expected two axes at most, got shapes {[each.shape for each in parts]}"
        )
    turned = [each.T if each.ndim == _MATRIX_AXES and not rowvar else each for each in parts]
    rows = joined_rows(turned) if y is not None else turned[0].reshape(-1, turned[0].shape[-1])
    return rows - rows.mean(1, keepdims=True)


def norm(
    x: Any,
    ord: Any = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Any:
    """Norms of vectors or matrices, as `numpy.linalg.norm`.

    Raises:
        UnsupportedOperationError: The norm is another than those of `vector_norm`, "fro" and, of
            matrices, 1, -1 and the infinities.
        InvalidArgumentError: There are no such axes.
    """
    along = sorted(axes_of(axis, x.ndim, "norm"))
    if ord is None or (ord == "fro" and len(along) == _MATRIX_AXES):
        return root_of_squares(x, axis, keepdims)
    if len(along) == 1:
        return vector_norm(x, along[0], keepdims, ord)
    if len(along) != _MATRIX_AXES or ord not in (1, -1, math.inf, -math.inf):
        raise _refused_norm("norm", ord, "None, or of matrices 'fro', 1, -1, inf or -inf")
    rows, columns = along if axis is None else axis_numbers(axis, x.ndim)
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = abs(1.0 * x).sum(summed, keepdims=True)
    made = (largest if ord > 0 else smallest)(sums, kept, keepdims=True)
    shape = [size for number, size in enumerate(x.shape) if number not in along]
    return made if keepdims else made.reshape(shape)


def axis_numbers(axis: Any, ndim: int) -> tuple[int, ...]:
    """Several axes from 0 on, in the order in which they are given."""
    return tuple(axis_number(each, ndim, "norm") for each in axis)


def matrix_norm(x: Any, keepdims: bool = False, ord: Any = "fro") -> Any:
    """The same of the last two axes, as `numpy.linalg.matrix_norm`."""
    return norm(x, "fro" if ord is None else ord, (-2, -1), keepdims)


def vector_norm(
    x: Any,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: Any = 2,
) -> Any:
    """Norms along axes, or of all elements, as `numpy.linalg.vector_norm`.

    Raises:
        UnsupportedOperationError: The norm is neither of 1, nor of a power of two such as 2 and 4,
            nor of an infinity.
    """
    if ord == 1:
        return abs(1.0 * x).sum(axis, keepdims=keepdims)
    if ord == math.inf:
        return largest(abs(1.0 * x), axis, keepdims)
    if ord == -math.inf:
        return smallest(abs(1.0 * x), axis, keepdims)
    is_whole = isinstance(ord, int | float) and ord > 1 and float(ord).is_integer()
    if not is_whole or int(ord) & (int(ord) - 1):
        raise _refused_norm("vector_norm", ord, "1, 2, 4 or a higher power of two, inf or -inf")
    made = ((1.0 * x) ** int(ord)).sum(axis, keepdims=keepdims)
    for _ in range(int(ord).bit_length() - 1):
        made = made**0.5
    return made


def _refused_norm(name: str, ord: Any, expected: str) -> UnsupportedOperationError:
    return UnsupportedOperationError(
        f"cannot compute numpy.linalg.{name} of an encrypted tensor with ord={shown(ord)}: "
        f"expected {expected}; decrypt first for others"
    )


def root_of_squares(x: Any, axis: Any, keepdims: bool) -> Any:
    """The root of the sum of squares along axes."""
    return (x * x).sum(axis, keepdims=keepdims) ** 0.5
