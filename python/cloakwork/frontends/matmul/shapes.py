"""What the products of matrices have in common: names, shapes and limits."""

from __future__ import annotations

import math
from dataclasses import dataclass

from cloakwork.errors import ShapeMismatchError
from cloakwork.plan.matmul.product import Product
from cloakwork.plan.matmul.recognise import MatrixView

# Of the left and the right matrices.
NAMES = ("a", "b")


@dataclass(frozen=True, slots=True)
class Shaped:
    """A product of tensors seen as matrices.

    Args:
        product: The product.
        shapes: Of the left and the right tensor and of the result.
        views: How these are seen as matrices.
    """

    product: Product
    shapes: tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
    views: tuple[MatrixView, MatrixView, MatrixView]


def shaped(left: tuple[int, ...], right: tuple[int, ...], action: str) -> Shaped:
    """The product of tensors of these shapes, as `numpy.matmul` gives it.

    A matrix that a batch of others is multiplied by is one for all of them: these are one matrix,
    below or beside one another.

    Raises:
        ShapeMismatchError: They do not fit one another.

    Example:
        >>> shaped((5, 2, 3), (5, 3, 4), "multiply").product
        Product(batch=5, rows=2, inner=3, columns=4)
        >>> shaped((5, 2, 3), (3, 4), "multiply").product
        Product(batch=1, rows=10, inner=3, columns=4)
    """
    are_matrices = min(len(left), len(right)) >= 2
    batches = left[:-2], right[:-2]
    if not (are_matrices and left[-1] == right[-2] and (batches[0] == batches[1] or () in batches)):
        raise ShapeMismatchError(
            f"cannot {action}: expected shapes such as (m, k) and (k, n) with equal axes before "
            f"the last two, or none for a matrix that is one for all, got {left} and {right}"
        )
    (rows, inner), columns = left[-2:], right[-1]
    batch = batches[0] or batches[1]
    shapes = left, right, (*batch, rows, columns)
    count = math.prod(batch)
    if batches[0] == batches[1]:
        return Shaped(Product(count, rows, inner, columns), shapes, _views(shapes, (0, 0, 0)))
    if not batches[1]:
        return Shaped(Product(1, count * rows, inner, columns), shapes, _views(shapes, (0, 0, 0)))
    beside = (0, len(batch), len(batch))
    return Shaped(Product(1, rows, inner, count * columns), shapes, _views(shapes, beside))


def _views(
    shapes: tuple[tuple[int, ...], ...], firsts: tuple[int, int, int]
) -> tuple[MatrixView, MatrixView, MatrixView]:
    """Three tensors seen as matrices, of each one axis before the others as they are."""
    found: list[MatrixView] = []
    for shape, first in zip(shapes, firsts, strict=True):
        order = (first, *(axis for axis in range(len(shape)) if axis != first))
        found.append(MatrixView(order, tuple(shape[axis] for axis in order)))
    left, right, result = found
    return left, right, result


def shape_in_words(shape: tuple[int, ...]) -> str:
    """A shape in words."""
    return " x ".join(map(str, shape))
