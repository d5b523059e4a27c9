"""The rows of a linear transform, for applying it to many vectors in the clear."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.diagonals import SparseDiagonals


class Rows:
    """The elements of sparse diagonals, those of one target slot together.

    Sums over neighbours are several times faster than over elements as diagonals keep them, and
    sorting takes about as long as a few of them.

    Args:
        diagonals: The diagonals.

    Example:
        >>> swap = SparseDiagonals(4, np.array([0, 1]), np.array([1, 0]))
        >>> Rows(swap).applied(np.array([5.0, 6.0, 7.0, 8.0])).tolist()
        [6.0, 5.0, 0.0, 0.0]
    """

    __slots__ = ("_filled", "_slots", "_sources", "_starts", "_weights")

    def __init__(self, diagonals: SparseDiagonals) -> None:
        # Of short integers numpy sorts by radix.
        short = np.min_scalar_type(diagonals.slots - 1)
        order = np.argsort(diagonals.targets.astype(short), kind="stable")
        targets = diagonals.targets[order]
        self._slots = diagonals.slots
        self._starts = np.flatnonzero(np.diff(targets, prepend=-1))
        self._filled = targets[self._starts]
        self._sources = diagonals.sources[order]
        self._weights = diagonals.weights[order]

    def applied(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transform of a vector."""
        products = vector[self._sources]
        products *= self._weights
        sums = np.zeros(self._slots)
        sums[self._filled] = np.add.reduceat(products, self._starts)
        return sums
