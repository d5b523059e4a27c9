"""The diagonals of a linear transform, kept by their non-zero slots.

A layout change touches every slot about once, whatever the number of its diagonals;
kept densely, a thousand diagonals of 16384 slots would take 131 MB.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray


class SparseDiagonals(Mapping[int, NDArray[np.float64]]):
    """Diagonals by number; one is made dense when it is asked for.

    Element k says: target slot `targets[k]` receives `weights[k]` times source slot
    `sources[k]`. It belongs to diagonal (source - target) modulo the slots (Halevi and
    Shoup, "Algorithms in HElib", CRYPTO 2014).

    Args:
        slots: Slots of source and target.
        sources: Source slots.
        targets: Target slots.
        weights: Factors, None for ones. Elements of weight 0 are left out; elements with
            the same source and target sum.

    Example:
        >>> shift = SparseDiagonals(4, np.array([0, 1, 2]), np.array([0, 0, 0]))
        >>> {d: v.tolist() for d, v in shift.items()}
        {0: [1.0, 0.0, 0.0, 0.0], 1: [1.0, 0.0, 0.0, 0.0], 2: [1.0, 0.0, 0.0, 0.0]}
    """

    __slots__ = ("_ends", "_index", "_targets", "_weights", "numbers", "slots")

    def __init__(
        self,
        slots: int,
        sources: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        if weights is not None:
            used = weights != 0
            sources, targets, weights = sources[used], targets[used], weights[used]
        distances = (sources - targets) % slots
        order = np.argsort(distances, kind="stable")
        sorted_distances = distances[order]
        starts = np.flatnonzero(np.diff(sorted_distances, prepend=-1))
        self.slots = slots
        self.numbers: NDArray[np.int64] = sorted_distances[starts]
        self._ends = np.append(starts, len(order))
        self._targets = targets[order]
        self._weights = None if weights is None else weights[order]
        self._index = {int(number): place for place, number in enumerate(self.numbers)}

    def __getitem__(self, number: int) -> NDArray[np.float64]:
        place = self._index[number]
        span = slice(self._ends[place], self._ends[place + 1])
        weights = None if self._weights is None else self._weights[span]
        filled = np.bincount(self._targets[span], weights=weights, minlength=self.slots)
        return filled.astype(np.float64, copy=False)

    def __iter__(self) -> Iterator[int]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    @property
    def targets(self) -> NDArray[np.int64]:
        """The target slot of every element, diagonal by diagonal."""
        return self._targets

    @property
    def sources(self) -> NDArray[np.int64]:
        """The source slot of every element, in the same order."""
        return (self._targets + np.repeat(self.numbers, np.diff(self._ends))) % self.slots

    @property
    def weights(self) -> NDArray[np.float64]:
        """The factor of every element, in the same order."""
        return np.ones(len(self._targets)) if self._weights is None else self._weights

    def weighted(self, weights: NDArray[np.float64]) -> SparseDiagonals:
        """The same elements with other factors, in the same order."""
        return SparseDiagonals(self.slots, self.sources, self._targets, weights)

    def counted(self, numbers: NDArray[np.int64]) -> SparseDiagonals:
        """The same diagonals under other numbers, each the same modulo the slots.

        Example:
            >>> swap = SparseDiagonals(8, np.array([0, 1]), np.array([1, 0]))
            >>> list(swap), list(swap.counted(np.array([1, -1])))
            ([1, 7], [1, -1])
        """
        renumbered = copy.copy(self)
        renumbered._index = {int(number): place for place, number in enumerate(numbers)}
        return renumbered

    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Numbers of the diagonals, how many elements each has, and the targets of all.

        With `weights` they are what `from_arrays` makes the diagonals of again.
        """
        return np.array(list(self._index), dtype=np.int64), np.diff(self._ends), self._targets

    @property
    def is_of_ones(self) -> bool:
        """Whether every factor is 1."""
        return self._weights is None

    @classmethod
    def from_arrays(
        cls,
        slots: int,
        numbers: NDArray[np.int64],
        counts: NDArray[np.int64],
        targets: NDArray[np.int64],
        weights: NDArray[np.float64] | None,
    ) -> SparseDiagonals:
        """Diagonals of what `arrays` and `weights` gave.

        Raises:
            ValueError: The arrays are not of diagonals of so many slots.

        Example:
            >>> swap = SparseDiagonals(4, np.array([0, 1]), np.array([1, 0]))
            >>> SparseDiagonals.from_arrays(4, *swap.arrays(), None).digest() == swap.digest()
            True
        """
        distances = numbers % slots
        fits = (
            len(numbers) == len(counts) > 0
            and bool((np.abs(numbers) < slots).all() and (np.diff(distances) > 0).all())
            and bool((counts > 0).all() and counts.sum() == len(targets))
            and bool(((targets >= 0) & (targets < slots)).all())
            and (weights is None or len(weights) == len(targets))
        )
        if not fits:
            raise ValueError(f"expected diagonals of {slots} slots")
        # They are in order already: sorting them would take several times their memory.
        made = cls.__new__(cls)
        made.slots = slots
        made.numbers = distances
        made._ends = np.concatenate([[0], np.cumsum(counts)])
        made._targets = targets
        made._weights = weights
        made._index = {int(number): place for place, number in enumerate(numbers)}
        return made

    def applied(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """The transform of a vector, its diagonals never dense.

        Example:
            >>> swap = SparseDiagonals(4, np.array([0, 1]), np.array([1, 0]))
            >>> swap.applied(np.array([5.0, 6.0, 7.0, 8.0])).tolist()
            [6.0, 5.0, 0.0, 0.0]
        """
        weighted = vector[self.sources]
        if self._weights is not None:
            weighted = weighted * self._weights
        summed = np.bincount(self._targets, weights=weighted, minlength=self.slots)
        return np.asarray(summed, dtype=np.float64)

    def absolute(self) -> SparseDiagonals:
        """The same elements with the absolute values of their factors."""
        if self._weights is None:
            return self
        made = copy.copy(self)
        made._weights = np.abs(self._weights)
        return made

    def digest(self) -> bytes:
        """The same for the same elements under the same numbers.

        Example:
            >>> swap = SparseDiagonals(8, np.array([0, 1]), np.array([1, 0]))
            >>> swap.digest() == SparseDiagonals(8, np.array([1, 0]), np.array([0, 1])).digest()
            True
        """
        content = hashlib.sha256(repr((self.slots, list(self._index))).encode())
        for array in (self._ends, self._targets, self.weights):
            content.update(np.ascontiguousarray(array).data)
        return content.digest()

    def is_finite(self) -> bool:
        """Whether every weight is a finite number."""
        return self._weights is None or bool(np.isfinite(self._weights).all())

    def __repr__(self) -> str:
        return f"SparseDiagonals({len(self)} diagonals, {self.slots} slots)"
