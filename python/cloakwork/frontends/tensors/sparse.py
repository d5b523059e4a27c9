"""Products with sparse matrices by their diagonals, whose zeros nobody holds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arrays import MOST_OF_SPARSE, is_sparse, real_array
from cloakwork.errors import ProgramTooLargeError, ShapeMismatchError

# Each takes a rotation of its own, where those of all diagonals share some.
_MOST_DIAGONALS = 64
# Of the encrypted operand.
_MOST_AXES = 2
# By so much the diagonals have to be fewer than the columns, as they take a level more.
_FEWER = 16


@dataclass(frozen=True, slots=True, eq=False)
class Diagonals:
    """A sparse matrix by its diagonals, which go on at the first column behind the last.

    Args:
        shape: Rows and columns.
        steps: By how much the column exceeds the row, modulo the columns, of each diagonal.
        weights: Its elements, one for each row.
    """

    shape: tuple[int, int]
    steps: NDArray[np.int64]
    weights: NDArray[np.float64]

    def times(self, x: Any) -> Any:
        """The product with an encrypted vector, or with the columns of a matrix.

        Raises:
            ShapeMismatchError: They have another length.
        """
        rows, columns = self.shape
        if x.shape[0] != columns:
            raise ShapeMismatchError(
                f"cannot matmul: the shapes {self.shape} and {x.shape} do not fit"
            )
        places, is_square = np.arange(rows), rows == columns
        weights = self.weights.reshape(len(self.weights), rows, *[1] * (x.ndim - 1))
        terms = [
            row * (x if is_square and not step else x[(places + step) % columns])
            for step, row in zip(self.steps.tolist(), weights, strict=True)
        ]
        return sum(terms[1:], terms[0])


def diagonals_of(matrix: Any, operand_axes: int, action: str) -> Diagonals | None:
    """The diagonals of a sparse matrix, where a product with vectors takes few of them.

    Args:
        matrix: What is to be multiplied.
        operand_axes: The axes of the encrypted operand.
        action: What is attempted, in words.

    Returns:
        None of what is not sparse, and where the product as that of an array costs less.

    Raises:
        ProgramTooLargeError: It is too large as an array, and has too many diagonals.
        NotRealError: It is not of real numbers.
        NotFiniteError: There is a NaN or an infinity.

    Example:
        >>> from scipy.sparse import eye_array
        >>> found = diagonals_of(eye_array(5000, k=1), 1, "multiply")
        >>> found.steps.tolist(), float(found.weights.sum())
        ([1], 4999.0)
    """
    if not is_sparse(matrix) or matrix.ndim != 2:
        return None
    rows, columns = matrix.shape
    is_too_large = math.prod(matrix.shape) > MOST_OF_SPARSE
    entries = matrix.tocoo()
    entries.sum_duplicates()
    values = real_array(entries.data, action)
    present = np.flatnonzero(values)
    row, column = (np.asarray(each, np.int64)[present] for each in (entries.row, entries.col))
    steps, diagonal = np.unique((column - row) % max(columns, 1), return_inverse=True)
    is_few = 0 < len(steps) <= min(_MOST_DIAGONALS, max(1, columns // _FEWER))
    if 1 <= operand_axes <= _MOST_AXES and is_few:
        weights = np.zeros((len(steps), rows))
        weights[diagonal, row] = values[present]
        return Diagonals((rows, columns), steps, weights)
    if is_too_large:
        raise ProgramTooLargeError(
            f"cannot {action}: expected a sparse matrix of up to {MOST_OF_SPARSE} elements, its "
            f"zeros among them, or one with up to {_MOST_DIAGONALS} diagonals times a vector or a "
            f"matrix, got {rows} x {columns} with {len(steps)} diagonals times a tensor of "
            f"{operand_axes} axes; multiply matrix by matrix, order rows and columns so that what "
            "is not 0 lies near the diagonal (scipy.sparse.csgraph.reverse_cuthill_mckee), or "
            "multiply by blocks"
        )
    return None
