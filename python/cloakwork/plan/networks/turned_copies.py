"""Copies of a vector over all slots, turned against one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.matrix import Elements, Matrix, Sparse
from cloakwork.programs.layout import power_of_two

# A matrix with fewer of its elements has fewer diagonals, too.
FILLED = 0.25


@dataclass(frozen=True, slots=True)
class TurnedCopies:
    """Copies of a vector over all slots, of which so many are turned by one and the same number.

    Args:
        size: Elements of the vector.
        period: Slots of a copy.
        count: How many copies there are.
        alike: How many in a row are turned alike.
        step: By how many more elements the next ones are turned.

    Example:
        >>> copies = TurnedCopies(size=4, period=4, count=2, alike=1, step=2)
        >>> copies.places.reshape(2, 4).tolist()
        [[0, 1, 2, 3], [6, 7, 4, 5]]
    """

    size: int
    period: int
    count: int
    alike: int
    step: int

    @classmethod
    def of(cls, size: int, results: Sequence[int], slots: int) -> TurnedCopies | None:
        """Those for matrices between such a vector and some results; None where they do not fit.

        Args:
            size: Elements of the vector.
            results: Elements of each result.
            slots: Slots of a ciphertext.
        """
        period = power_of_two(size)
        periods = [power_of_two(each) for each in results]
        alike = max(1, *(each // period for each in periods))
        shorter = [min(period, each) for each in periods]
        count = slots // period
        if max(periods) > slots or count < 2 * alike:
            return None
        step = max(1, max(shorter) * alike // count)
        return cls(size, period, count, alike, step)

    @property
    def places(self) -> NDArray[np.int64]:
        """The place of each element of each copy."""
        copies, elements = np.indices((self.count, self.size))
        turned = (elements - copies // self.alike * self.step) % self.period
        return np.asarray(copies * self.period + turned).ravel()

    @property
    def matrix(self) -> Matrix:
        """What makes the copies."""
        columns = np.tile(np.arange(self.size), self.count)
        ones = np.ones(len(columns)), (np.arange(len(columns)), columns)
        return Matrix.of(Sparse(ones, shape=(len(columns), self.size)))

    def spread(self, matrix: Matrix) -> Matrix:
        """A matrix of the vector as one of its copies, each element in the copy that has it."""
        found = matrix.elements()
        copies = self.copies_of(found, power_of_two(matrix.shape[0]))
        columns = copies * self.size + found.columns
        shape = matrix.shape[0], self.count * self.size
        return Matrix.of(Sparse((found.weights, (found.rows, columns)), shape=shape))

    def copies_of(self, elements: Elements, period: int) -> NDArray[np.int64]:
        """The copy in which each element of a matrix is less than a step from its row."""
        rows, columns = (np.asarray(each, np.int64) for each in (elements.rows, elements.columns))
        distances = (columns - rows) % min(self.period, period)
        turns, rest = np.divmod(distances, self.step)
        # Where the result is longer, its row says which of the copies that are turned alike.
        return turns * self.alike + (rows + rest) % period // self.period
