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
        if matrix.nonzeros > matrix.shape[0]:
            return None
        found = matrix.elements()
        _, first = np.unique(found.rows, return_index=True)
        elements = found.columns[first]
        counts = np.bincount(elements)
        if len(elements) != len(found.rows) or len({*counts[counts > 0].tolist()}) != 1:
            return None
        if counts.max() == 1:
            return None
        order = np.argsort(elements, kind="stable")
        numbers = np.empty_like(order)
        numbers[order] = np.arange(len(order)) % counts.max()
        return cls(elements, numbers)
