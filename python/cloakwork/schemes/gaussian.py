"""Gaussian numbers for modelled errors: drawn anew at first, then again and again from those.

A run of a deep program takes hundreds of millions of them, and would take longer to draw them than
for all else. After so many that a table is full, each vector is a part of the table that begins at
a random place, with a random sign (Salimans, Ho, Chen, Sidor, Sutskever, "Evolution strategies as a
scalable alternative to reinforcement learning", 2017, section 2.1). By the signs any two parts are
uncorrelated, also where they overlap.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

# Numbers from which on they are taken from the table; longer vectors are always drawn.
_TABLE = 1 << 21


class GaussianDraws:
    """Standard Gaussian numbers, vector by vector.

    Args:
        generator: Where they are drawn from.

    Example:
        >>> draws = GaussianDraws(np.random.default_rng(0))
        >>> drawn = draws.vector(2, 0.5)
        >>> drawn.tolist() == (0.5 * np.random.default_rng(0).standard_normal(2)).tolist()
        True
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._parts: list[NDArray[np.float64]] = []
        self._count = 0
        self._table: NDArray[np.float64] | None = None
        self._drawing = threading.Lock()

    def vector(self, count: int, size: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """So many numbers of a deviation, one for all or one for each, in an array of their own."""
        with self._drawing:
            part, sign = self._next(count)
        return part * (size if sign else np.negative(size))

    def _next(self, count: int) -> tuple[NDArray[np.float64], bool]:
        """So many numbers, and whether they have their own sign."""
        if self._count < _TABLE or count > _TABLE // 2:
            return self._drawn(count), True
        if self._table is None:
            self._table, self._parts = np.concatenate(self._parts), []
        start = int(self._generator.integers(len(self._table) - count + 1))
        return self._table[start : start + count], bool(self._generator.integers(2))

    def _drawn(self, count: int) -> NDArray[np.float64]:
        made = self._generator.standard_normal(count)
        if self._count < _TABLE:
            self._parts.append(made)
            self._count += count
        return made
