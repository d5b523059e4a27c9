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
        >>> draws.vector(2).tolist() == np.random.default_rng(0).standard_normal(2).tolist()
        True
    """

    def __init__(self, generator: np.random.Generator) -> None:
        self._generator = generator
        self._parts: list[NDArray[np.float64]] = []
        self._count = 0
        self._table: NDArray[np.float64] | None = None
        self._drawing = threading.Lock()

    def vector(self, count: int) -> NDArray[np.float64]:
        """So many numbers."""
        with self._drawing:
            return self._next(count)

    def _next(self, count: int) -> NDArray[np.float64]:
        if self._count < _TABLE or count > _TABLE // 2:
            return self._drawn(count)
        if self._table is None:
            self._table, self._parts = np.concatenate(self._parts), []
        start = int(self._generator.integers(len(self._table) - count + 1))
        part = self._table[start : start + count]
        return part if self._generator.integers(2) else -part

    def _drawn(self, count: int) -> NDArray[np.float64]:
        made = self._generator.standard_normal(count)
        if self._count < _TABLE:
            self._parts.append(made)
            self._count += count
        return made
