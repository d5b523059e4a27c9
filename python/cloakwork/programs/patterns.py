"""Patterns: the slots in which elements of diagonals stand, counted from their own.

The weight of a convolution stands wherever its tap meets a pixel, and all that a packing repeats
stands in each of its copies. What stands alone has the pattern of one step, 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import _native

# What the engine takes indices in; it takes no shorter ones.
SHORTEST = np.dtype(np.uint16)


class Patterns:
    """Sets of slots, as steps from an element's own slot, modulo all slots.

    Args:
        steps: The steps of every pattern, one pattern after another.
        sizes: How many steps each has; all, where there is one pattern.

    Example:
        >>> both = Patterns(np.array([0, 1, 4]), np.array([1, 2]))
        >>> both.expanded(np.array([3, 6]), np.array([0, 1]), 8).tolist()
        [3, 7, 2]
    """

    def __init__(self, steps: NDArray[Any], sizes: NDArray[Any] | None = None) -> None:
        # Steps below 0 stay: they fit no slots.
        ends = np.array([steps.min(initial=0), steps.max(initial=0)])
        least = np.promote_types(SHORTEST, np.result_type(*map(np.min_scalar_type, ends)))
        self.steps: NDArray[Any] = steps.astype(least, copy=False)
        self.sizes: NDArray[np.int64] = (
            np.array([len(steps)]) if sizes is None else sizes.astype(np.int64, copy=False)
        )

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter(np.split(self.steps, self._ends[:-1]))

    def __len__(self) -> int:
        return len(self.sizes)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        return np.cumsum(self.sizes)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self.steps.nbytes + self.sizes.nbytes

    @cached_property
    def digest(self) -> bytes:
        """The same for the same patterns."""
        content = hashlib.sha256(repr((self.steps.dtype.name, self.sizes.tolist())).encode())
        content.update(np.ascontiguousarray(self.steps).data)
        return content.digest()

    @property
    def is_alone(self) -> bool:
        """Whether every element stands in its own slot alone."""
        return len(self.steps) == 1 and not self.steps[0]

    def fit(self, slots: int) -> bool:
        """Whether they are of so many slots.

        Example:
            >>> Patterns(np.array([0, 7])).fit(8), Patterns(np.array([0, 8])).fit(8)
            (True, False)
        """
        return (
            bool(len(self.sizes) and (self.sizes > 0).all())
            and int(self.sizes.sum()) == len(self.steps)
            and 0 <= int(self.steps.min()) <= int(self.steps.max()) < slots
        )

    def counts(self, of: NDArray[Any] | None, elements: int) -> NDArray[np.int64]:
        """How many slots each of some elements stands in; all have the first where none are given.

        Example:
            >>> Patterns(np.array([0, 1, 4]), np.array([1, 2])).counts(None, 2).tolist()
            [1, 1]
        """
        return np.full(elements, self.sizes[0]) if of is None else self.sizes[of]

    def expanded(
        self, targets: NDArray[Any], of: NDArray[Any] | None, slots: int
    ) -> NDArray[np.int64]:
        """All slots of some elements, those of one after those of another."""
        if len(self.sizes) == 1:
            places: NDArray[np.int64] = np.add.outer(targets.astype(np.int64), self.steps).ravel()
            return places % slots
        counts = self.counts(of, len(targets))
        starts = self._ends[0 if of is None else of] - counts
        firsts = np.cumsum(counts) - counts
        steps = self.steps[np.repeat(starts - firsts, counts) + np.arange(counts.sum())]
        places = np.repeat(targets.astype(np.int64), counts) + steps
        return places % slots

    @cached_property
    def native(self) -> _native.DiagonalPatterns | None:
        """The patterns as the engine takes them; None where every element stands alone."""
        return None if self.is_alone else _native.DiagonalPatterns(self.steps, self.sizes)


# Of elements each of which stands in its own slot.
ALONE = Patterns(np.zeros(1, dtype=SHORTEST))
