"""Rows are the diagonals that they are made of."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.rows import Rows

SLOTS = 16

elements = st.lists(
    st.tuples(
        st.integers(0, SLOTS - 1), st.integers(0, SLOTS - 1), st.sampled_from([-1.5, 0.5, 2.0])
    ),
    max_size=40,
)


@given(elements, st.integers(0, 1 << 32))
def test_rows_apply_as_the_diagonals_do(elements: list[tuple[int, int, float]], seed: int) -> None:
    sources, targets, weights = np.array(elements, dtype=np.float64).reshape(-1, 3).T
    diagonals = SparseDiagonals(SLOTS, sources.astype(np.int64), targets.astype(np.int64), weights)
    vector = np.random.default_rng(seed).normal(size=SLOTS)
    np.testing.assert_allclose(
        Rows(diagonals).applied(vector), diagonals.applied(vector), atol=1e-12
    )
