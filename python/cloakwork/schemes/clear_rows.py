"""The clear backend for many runs of one program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.rows import Rows
from cloakwork.programs.slots import Vector
from cloakwork.schemes.clear_real import ClearBackend, ClearVector


class ClearRows(ClearBackend):
    """The clear backend, without errors; it keeps the rows of sparse transforms.

    Example:
        >>> swap = SparseDiagonals(4, np.array([0, 1]), np.array([1, 0]))
        >>> x = ClearVector(np.array([5.0, 6.0, 7.0, 8.0]), level=1)
        >>> ClearRows().linear(x, swap, 1).slots.tolist()
        [6.0, 5.0, 0.0, 0.0]
    """

    def __init__(self) -> None:
        super().__init__()
        # The diagonals stay with their rows, so that no other mapping takes their identity.
        self._made: dict[int, tuple[SparseDiagonals, Rows]] = {}

    def linear(
        self, value: ClearVector, diagonals: Mapping[int, Vector], baby_steps: int
    ) -> ClearVector:
        """The sum over d of diagonals[d] * rotate(value, d)."""
        if not isinstance(diagonals, SparseDiagonals):
            return super().linear(value, diagonals, baby_steps)
        with np.errstate(over="ignore", invalid="ignore"):
            total = self._rows(diagonals).applied(value.slots)
        return ClearVector(total, value.level, waiting=True)

    def _rows(self, diagonals: SparseDiagonals) -> Rows:
        if id(diagonals) not in self._made:
            self._made[id(diagonals)] = diagonals, Rows(diagonals)
        return self._made[id(diagonals)][1]
