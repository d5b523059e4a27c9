"""numpy's covariances and norms of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError, UnsupportedOperationError
from cloakwork.frontends.tensors.methods import as_operand, axes_of
from cloakwork.frontends.tensors.numpy.joining import joined_rows

_MATRIX_AXES = 2


def covariances(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Any:
    """The covariances of variables, a row each, as `numpy.cov`.

    Raises:
        ShapeMismatchError: There are more than two axes.
        InvalidArgumentError: `ddof` leaves no degree of freedom.
    """
    parts = [1.0 * as_operand(each, "cov") for each in (m, y) if each is not None]
    if any(each.ndim > _MATRIX_AXES for each in parts):
        raise ShapeMismatchError(
            f"cannot cov: expected two axes at most, got shapes {[each.shape for each in parts]}"
        )
    turned = [each.T if each.ndim == _MATRIX_AXES and not rowvar else each for each in parts]
    rows = joined_rows(turned) if y is not None else turned[0].reshape(-1, turned[0].shape[-1])
    count = rows.shape[1]
    freed = (0 if bias else 1) if ddof is None else ddof
    if not isinstance(freed, Integral) or freed >= count:
        raise InvalidArgumentError(
            f"cannot cov: expected a ddof up to {count - 1} for {count} observations, got "
            f"{shown(freed)}"
        )
    away = rows - rows.mean(1, keepdims=True)
    made = (away @ away.T) / (count - freed)
    return made.reshape(()) if made.size == 1 else made


def norm(
    x: Any,
    ord: Any = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
) -> Any:
    """The root of the sum of squares, or the sum of absolute values, as `numpy.linalg.norm`.

    Raises:
        UnsupportedOperationError: The norm is another.
        InvalidArgumentError: There are no such axes.
    """
    along = axes_of(axis, x.ndim, "norm")
    of_matrix = len(along) == _MATRIX_AXES
    if ord is None or (ord == "fro" and of_matrix) or (ord == 2 and len(along) == 1):
        return root_of_squares(x, axis, keepdims)
    if ord == 1 and len(along) == 1:
        return abs(x).sum(axis, keepdims=keepdims)
    raise UnsupportedOperationError(
        f"cannot compute numpy.linalg.norm of an encrypted tensor with ord={shown(ord)}: expected "
        "None, 'fro' of matrices, or 1 or 2 of vectors; decrypt first for others"
    )


def vector_norm(
    x: Any,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    ord: Any = 2,
) -> Any:
    """The same of vectors, or of all elements, as `numpy.linalg.vector_norm`.

    Raises:
        UnsupportedOperationError: The norm is neither of 1 nor of 2.
    """
    if ord == 2:
        return root_of_squares(x, axis, keepdims)
    if ord == 1:
        return abs(x).sum(axis, keepdims=keepdims)
    raise UnsupportedOperationError(
        f"cannot compute numpy.linalg.vector_norm of an encrypted tensor with ord={shown(ord)}: "
        "expected 1 or 2; decrypt first for others"
    )


def root_of_squares(x: Any, axis: Any, keepdims: bool) -> Any:
    """The root of the sum of squares along axes."""
    return (x * x).sum(axis, keepdims=keepdims) ** 0.5
