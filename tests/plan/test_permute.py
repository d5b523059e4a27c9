"""Sparse linear maps as diagonals."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.plan.permute import StridedMap, diagonal_numbers, diagonals

SLOTS = 64


@st.composite
def strided_maps(draw: st.DrawFn) -> StridedMap:
    labels = draw(st.integers(0, 3))
    sizes = tuple(draw(st.integers(1, 4)) for _ in range(labels))

    def strides() -> tuple[int, ...]:
        return tuple(draw(st.integers(0, 6)) for _ in range(labels))

    return StridedMap(sizes, strides(), strides(), strides())


@given(strided_maps())
def test_diagonals_do_what_the_map_says(strided: StridedMap) -> None:
    rng = np.random.default_rng(3)
    source, weights = rng.normal(size=SLOTS), rng.normal(size=64)
    expected = np.zeros(SLOTS)
    for index in itertools.product(*(range(size) for size in strided.sizes)):
        expected[np.dot(index, strided.destinations).astype(int)] += (
            weights[np.dot(index, strided.weights).astype(int)]
            * source[np.dot(index, strided.sources).astype(int)]
        )
    found = diagonals(strided, SLOTS, weights)
    total = sum(vector * np.roll(source, -d) for d, vector in found.items())
    assert np.allclose(total, expected)
    assert set(found) <= set(diagonal_numbers(strided, SLOTS).tolist())


def test_weights_of_zero_leave_no_diagonals_but_one() -> None:
    found = diagonals(StridedMap((4,), (1,), (0,), (1,)), SLOTS, np.zeros(4))
    assert list(found) == [0]
    assert not found[0].any()


def test_a_large_permutation_stays_sparse() -> None:
    n = 1 << 14
    transpose = StridedMap((128, 128), (128, 1), (1, 128), (0, 0))
    assert len(diagonal_numbers(transpose, n)) == 255
