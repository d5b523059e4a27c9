"""Matrices that copy elements of their operand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.matrix import Matrix

_Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Copies:
    """A matrix that copies elements of its operand, each as often.

    Args:
        elements: The element that each row copies.
        numbers: Which of its copies it is.
    """

    elements: _Indices
    numbers: _Indices

    @classmethod
    def of(cls, matrix: Matrix) -> Copies | None:
        """A matrix as copies; None where it does something else.

        Example:
            >>> twice = Matrix.of(np.repeat(np.eye(2), 2, axis=0))
            >>> Copies.of(twice).numbers.tolist()
            [0, 1, 0, 1]
        """
        if not 0 < matrix.nonzeros <= matrix.shape[0]:
            return None
        of_rows, counts = matrix.counts
        copied = counts[counts > 0]
        if of_rows.max() > 1 or copied[0] == 1 or (copied != copied[0]).any():
            return None
        # In the order of the rows, as each has one.
        elements = matrix.elements().columns
        order = np.argsort(elements, kind="stable")
        numbers = np.empty_like(order)
        numbers[order] = np.arange(len(order)) % counts.max()
        return cls(elements, numbers)
