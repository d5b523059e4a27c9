"""The clear backend that keeps rows computes what the other one does."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork.programs import rows
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.schemes.clear_real import ClearBackend, ClearVector
from cloakwork.schemes.clear_rows import ClearRows

CHANCE = np.random.default_rng(5)
SLOTS = 32
SPARSE = SparseDiagonals(
    SLOTS, CHANCE.integers(0, SLOTS, 60), CHANCE.integers(0, SLOTS, 60), CHANCE.normal(size=60)
)


@pytest.mark.parametrize("diagonals", [SPARSE, dict(SPARSE)])
@pytest.mark.parametrize("baby_steps", [1, 4])
def test_transforms_alike(diagonals: SparseDiagonals, baby_steps: int) -> None:
    x = ClearVector(CHANCE.normal(size=SLOTS), level=2)
    expected = sum(diagonal * np.roll(x.slots, -d) for d, diagonal in SPARSE.items())
    for backend in (ClearBackend(), ClearRows()):
        made = backend.linear(x, diagonals, baby_steps)
        np.testing.assert_allclose(made.slots, expected, atol=1e-12)
        assert (made.level, made.waiting) == (2, True)


def test_rows_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[SparseDiagonals] = []

    def counted(diagonals: SparseDiagonals) -> rows.Rows:
        made.append(diagonals)
        return rows.Rows(diagonals)

    monkeypatch.setattr("cloakwork.schemes.clear_rows.Rows", counted)
    backend = ClearRows()
    for _ in range(3):
        backend.linear(ClearVector(np.ones(SLOTS), level=1), SPARSE, 1)
    assert made == [SPARSE]
