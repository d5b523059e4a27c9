"""What the products of matrices have in common: names, shapes and limits."""

from __future__ import annotations

import math
from typing import Any

from cloakwork.base.arguments import integer
from cloakwork.errors import ShapeMismatchError
from cloakwork.plan.matmul.product import Product
from cloakwork.plan.matmul.recognise import MatrixView

# Of the left and the right matrices.
NAMES = ("a", "b")
_MAX_BYTES = 2**63 - 1


def product_of(left: tuple[int, ...], right: tuple[int, ...], action: str) -> Product:
    """The product of matrices of these shapes.

    Raises:
        ShapeMismatchError: They do not fit one another.

    Example:
        >>> product_of((5, 2, 3), (5, 3, 4), "multiply")
        Product(batch=5, rows=2, inner=3, columns=4)
    """
    fit = len(left) == len(right) >= 2 and left[:-2] == right[:-2] and left[-1] == right[-2]
    if not fit:
        raise ShapeMismatchError(
            f"cannot {action}: expected shapes such as (m, k) and (k, n) with equal axes before "
            f"the last two, got {left} and {right}"
        )
    return Product(math.prod(left[:-2]), left[-2], left[-1], right[-1])


def whole_views(*shapes: tuple[int, ...]) -> tuple[MatrixView, MatrixView, MatrixView]:
    """Three tensors seen as matrices with their axes in order."""
    left, right, result = (MatrixView(tuple(range(len(each))), each) for each in shapes)
    return left, right, result


def limit(value: Any, name: str, action: str) -> int | None:
    """A number of bytes; None for any.

    Raises:
        InvalidArgumentError: It is neither.
    """
    return None if value is None else integer(value, name, action, least=0, most=_MAX_BYTES)


def sizes(shape: tuple[int, ...]) -> str:
    """A shape in words."""
    return " x ".join(map(str, shape))
