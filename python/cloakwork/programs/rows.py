"""The rows of a linear transform, for applying it to many vectors in the clear."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.diagonals import SparseDiagonals

# Elements that are worked on at once, so that they fit a cache.
_GROUP_ELEMENTS = 1 << 17


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

    __slots__ = ("_filled", "_places", "_slots", "_sources", "_starts", "_weights")

    def __init__(self, diagonals: SparseDiagonals) -> None:
        _, _, targets, places, weights = diagonals.arrays()
        # Of short integers numpy sorts by radix.
        order = np.argsort(targets, kind="stable")
        counts = np.bincount(targets, minlength=diagonals.slots)
        self._slots = diagonals.slots
        self._filled = np.flatnonzero(counts)
        self._starts = np.concatenate([[0], np.cumsum(counts[self._filled])])
        self._sources = diagonals.sources.astype(targets.dtype)[order]
        self._places = None if places is None else places[order]
        self._weights = weights if weights is None or places is not None else weights[order]

    def applied(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transform of a vector."""
        sums = np.zeros(self._slots)
        first = 0
        while first < len(self._filled):
            most = np.searchsorted(self._starts, self._starts[first] + _GROUP_ELEMENTS, "right")
            last = max(first + 1, int(most) - 1)
            start, end = int(self._starts[first]), int(self._starts[last])
            products = vector[self._sources[start:end]]
            if self._weights is not None and self._places is not None:
                products *= self._weights[self._places[start:end]]
            elif self._weights is not None:
                products *= self._weights[start:end]
            starts = self._starts[first:last] - start
            sums[self._filled[first:last]] = np.add.reduceat(products, starts)
            first = last
        return sums
