"""Sparse transforms as products of sparser ones."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.tensors.factor import cheapest_factors, factorizations
from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.diagonals import SparseDiagonals


def apply(product: list[SparseDiagonals], vector: NDArray[np.float64]) -> NDArray[np.float64]:
    for factor in product:
        moved = factor.weights * vector[factor.sources]
        vector = np.zeros(factor.slots)
        np.add.at(vector, factor.targets, moved)
    return vector


def rotations(product: list[SparseDiagonals]) -> int:
    return sum(cheapest_split(factor.numbers, factor.slots).rotations for factor in product)


def counts(product: list[SparseDiagonals]) -> list[int]:
    return [len(factor) for factor in product]


def split_cost(slots: int) -> Callable[[NDArray[np.int64]], float]:
    return lambda numbers: cheapest_split(numbers, slots).cost


def transpose(rows: int, columns: int, slots: int) -> SparseDiagonals:
    source = np.arange(rows * columns)
    return SparseDiagonals(slots, source, source % columns * rows + source // columns)


def random_permutation(slots: int) -> SparseDiagonals:
    return SparseDiagonals(slots, np.random.default_rng(7).permutation(slots), np.arange(slots))


@st.composite
def random_maps(draw: st.DrawFn) -> SparseDiagonals:
    """Partial permutations, replications, weighted ones and sums, anywhere in the slots."""
    rng = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    slots = draw(st.one_of(st.sampled_from([2, 8, 64, 256]), st.integers(1, 100)))
    count = draw(st.integers(0, slots))
    targets = rng.choice(slots, count, replace=False)
    if draw(st.booleans()):
        sources = rng.choice(slots, count, replace=False)
    else:
        sources = rng.integers(0, draw(st.integers(1, slots)), count)
    weights = rng.uniform(0.5, 2, count) if draw(st.booleans()) else None
    if draw(st.booleans()):
        sources, targets = targets, sources
    return SparseDiagonals(slots, sources, targets, weights)


@st.composite
def affine_maps(draw: st.DrawFn) -> SparseDiagonals:
    """Transposes, reversals, strides and replications of small arrays."""
    shape = draw(st.lists(st.integers(1, 8), min_size=1, max_size=4))
    axes = range(len(shape))
    index = np.arange(np.prod(shape)).reshape(shape)
    moved = np.flip(index.transpose(draw(st.permutations(axes))), draw(st.sampled_from(axes)))
    sources = moved.ravel() // draw(st.integers(1, 3))
    stride, offset = draw(st.integers(1, 3)), draw(st.integers(0, 9))
    slots = 1 << int(stride * index.size + offset).bit_length()
    return SparseDiagonals(slots, sources, stride * np.arange(index.size) + offset)


@settings(deadline=None)
@given(st.one_of(random_maps(), affine_maps()), st.integers(1, 5))
def test_every_product_does_what_the_transform_does(transform: SparseDiagonals, most: int) -> None:
    vector = np.full(transform.slots, np.nan)
    vector[transform.sources] = np.random.default_rng(1).normal(size=len(transform.sources))
    expected = apply([transform], vector)
    assert np.isfinite(expected).all()
    products = factorizations(transform, most)
    assert counts(products[0]) == [len(transform)]
    for product in products:
        assert len(product) <= most
        assert np.allclose(apply(product, vector), expected, rtol=1e-12)


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(0, 1 << 16), st.integers(3, 6))
def test_every_permutation_has_three_sparse_factors(bits: int, seed: int, levels: int) -> None:
    slots = 1 << bits
    permutation = np.random.default_rng(seed).permutation(slots)
    transform = SparseDiagonals(slots, permutation, np.arange(slots))
    product = cheapest_factors(transform, levels, len)
    outer = 1 << bits // 2
    assert sum(counts(product)) <= 2 * outer + 2 * slots // outer - 1


def test_a_random_permutation_of_4096() -> None:
    transform = random_permutation(4096)
    cost = split_cost(4096)
    assert len(transform) > 2500
    assert rotations([transform]) == 126
    two, three = (cheapest_factors(transform, levels, cost) for levels in (2, 3))
    assert sum(counts(two)) <= 1000
    assert rotations(two) <= 80
    assert all(np.less_equal(counts(three), [64, 127, 64]))
    assert rotations(three) == 50


def test_a_transpose_of_128_by_128() -> None:
    transform = transpose(128, 128, 1 << 14)
    cost = split_cost(1 << 14)
    products = [cheapest_factors(transform, levels, cost) for levels in (1, 2, 3, 7)]
    assert [sorted(counts(product)) for product in products] == [
        [255],
        [15, 31],
        [7, 7, 15],
        [3] * 7,
    ]
    assert [rotations(product) for product in products] == [31, 16, 14, 14]


@pytest.mark.parametrize(
    ("rows", "columns", "expected"),
    [(100, 37, [[763], [50, 74], [4, 25, 37]]), (64, 256, [[9031], [127, 127], [31, 31, 31]])],
)
def test_a_transpose_that_is_not_square(rows: int, columns: int, expected: list[list[int]]) -> None:
    transform = transpose(rows, columns, 1 << 14)
    found = [cheapest_factors(transform, levels, len) for levels in (1, 2, 3)]
    assert [sorted(counts(product)) for product in found] == expected


def test_a_reversal_flips_a_few_bits_at_a_time() -> None:
    slots = 1 << 14
    transform = SparseDiagonals(slots, np.arange(slots)[::-1], np.arange(slots))
    found = [cheapest_factors(transform, levels, len) for levels in (1, 2, 3)]
    assert [sum(counts(product)) for product in found] == [8192, 192, 64]


@pytest.mark.parametrize(
    ("slots", "count", "most"), [(1 << 14, 512, [512, 280, 100]), (4096, 4096, [2700, 700, 330])]
)
def test_elements_from_anywhere(slots: int, count: int, most: list[int]) -> None:
    sources = np.random.default_rng(3).integers(0, slots, count)
    transform = SparseDiagonals(slots, sources, np.arange(count))
    found = [sum(counts(cheapest_factors(transform, levels, len))) for levels in (1, 2, 3)]
    assert all(np.less_equal(found, most))
    assert found[0] > 0.9 * most[0]


def test_a_replication_goes_in_digits() -> None:
    spread = SparseDiagonals(4096, np.arange(4096) // 16 * 16, np.arange(4096))
    found = [cheapest_factors(spread, levels, split_cost(4096)) for levels in (1, 2, 4)]
    assert [counts(product) for product in found] == [[16], [4, 4], [2, 2, 2, 2]]


def test_a_sum_goes_the_way_of_a_replication_backwards() -> None:
    summed = SparseDiagonals(4096, np.arange(4096), np.arange(4096) // 16 * 16)
    product = cheapest_factors(summed, 4, split_cost(4096))
    assert counts(product) == [2, 2, 2, 2]
    assert np.array_equal(apply(product, np.ones(4096))[::16], np.full(256, 16))


def test_a_dense_matrix_stays_whole() -> None:
    rows, columns = np.divmod(np.arange(16), 4)
    dense = SparseDiagonals(4, columns, rows)
    assert factorizations(dense, 5) == [[dense]]


def test_a_level_that_costs_more_than_it_saves_is_not_taken() -> None:
    transform = transpose(16, 16, 256)
    cost = split_cost(256)
    alone, split = cheapest_factors(transform, 1, cost), cheapest_factors(transform, 2, cost)
    saved = sum(cost(f.numbers) for f in alone) - sum(cost(f.numbers) for f in split)
    assert len(cheapest_factors(transform, 2, cost, saved - 0.25)) == 2
    assert len(cheapest_factors(transform, 2, cost, saved + 0.25)) == 1


def test_a_transform_without_a_level_is_refused() -> None:
    with pytest.raises(LevelExhaustedError, match="cannot factor a transform"):
        factorizations(random_permutation(8), 0)
