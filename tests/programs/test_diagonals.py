"""Sparse diagonals are the dense ones."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.programs.diagonals import SparseDiagonals, distinct_numbers
from cloakwork.programs.patterns import Patterns

SLOTS = 8

entries = st.lists(
    st.tuples(
        st.integers(0, SLOTS - 1),
        st.integers(0, SLOTS - 1),
        st.sampled_from([-1.5, 0.0, 0.5, 2.0]),
    ),
    max_size=20,
)


def columns(entries: list[tuple[int, int, float]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    sources, targets, weights = zip(*entries, strict=True) if entries else ((), (), ())
    return (
        np.array(sources, dtype=np.int64),
        np.array(targets, dtype=np.int64),
        np.array(weights, dtype=np.float64),
    )


@given(entries)
def test_diagonals_are_the_matrix(entries: list[tuple[int, int, float]]) -> None:
    sources, targets, weights = columns(entries)
    matrix = np.zeros((SLOTS, SLOTS))
    np.add.at(matrix, (targets, sources), weights)
    diagonals = SparseDiagonals(SLOTS, sources, targets, weights)
    rebuilt = np.zeros_like(matrix)
    rows = np.arange(SLOTS)
    for number, diagonal in diagonals.items():
        assert diagonal.shape == (SLOTS,)
        rebuilt[rows, (rows + number) % SLOTS] += diagonal
    np.testing.assert_array_equal(rebuilt, matrix)


@given(entries)
def test_its_numbers_are_those_that_some_weight_is_on(
    entries: list[tuple[int, int, float]],
) -> None:
    sources, targets, weights = columns(entries)
    diagonals = SparseDiagonals(SLOTS, sources, targets, weights)
    expected = sorted({(s - t) % SLOTS for s, t, w in entries if w})
    assert list(diagonals) == diagonals.numbers.tolist() == expected
    assert len(diagonals) == len(expected)
    assert bool(diagonals) == bool(expected)


@given(entries, st.integers(1, 3), st.integers(0, 1 << 32))
def test_elements_in_several_places(
    entries: list[tuple[int, int, float]], copies: int, seed: int
) -> None:
    distances, targets, weights = columns(entries)
    steps = 3 * np.arange(copies)
    targets = targets % (SLOTS - steps[-1])
    places = np.add.outer(targets, steps)
    repeated = SparseDiagonals.repeated(SLOTS, distances, targets, weights, Patterns(steps))
    sources = (places + distances[:, np.newaxis]) % SLOTS
    each = SparseDiagonals(SLOTS, sources.ravel(), places.ravel(), np.repeat(weights, copies))
    assert list(repeated) == list(each)
    assert repeated.elements == len(repeated.weights) == len(repeated.targets)
    for number, diagonal in each.items():
        np.testing.assert_allclose(repeated[number], diagonal)
    if not each:
        return
    again = SparseDiagonals(SLOTS, repeated.sources, repeated.targets, repeated.weights)
    read = SparseDiagonals.from_arrays(SLOTS, repeated.arrays())
    assert read.digest() == repeated.digest()
    for number in each:
        np.testing.assert_allclose(again[number], repeated[number])
        np.testing.assert_array_equal(read[number], repeated[number])
    vector = np.random.default_rng(seed).normal(size=SLOTS)
    np.testing.assert_allclose(repeated.applied(vector), each.applied(vector), atol=1e-12)


@pytest.mark.parametrize("period", [1, 4, 256, 2048])
def test_a_matrix_is_applied_to_all_rows_of_a_vector(period: int) -> None:
    slots, random = 4096, np.random.default_rng(period)
    elements = 3 * min(period, 300)
    targets = random.integers(0, period, elements)
    distances = random.integers(-3, 9, elements)
    weights = random.normal(size=elements)
    every = Patterns(np.arange(0, slots, period))
    repeated = SparseDiagonals.repeated(slots, distances, targets, weights, every)
    vector = random.normal(size=slots)
    expected = sum(each * np.roll(vector, -number) for number, each in repeated.items())
    np.testing.assert_allclose(repeated.applied(vector), expected, atol=1e-12)
    babies = np.stack([np.roll(vector, -step) for step in range(4)])
    found = repeated.applied_to_babies(np.arange(4), babies, 4)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@given(entries, st.sampled_from([1, 2, 8]), st.integers(0, 1 << 32))
def test_they_apply_as_the_matrix_does(
    entries: list[tuple[int, int, float]], baby_steps: int, seed: int
) -> None:
    sources, targets, weights = columns(entries)
    matrix = np.zeros((SLOTS, SLOTS))
    np.add.at(matrix, (targets, sources), weights)
    diagonals = SparseDiagonals(SLOTS, sources, targets, weights)
    vector = np.random.default_rng(seed).normal(size=SLOTS)
    np.testing.assert_allclose(diagonals.applied(vector), matrix @ vector, atol=1e-12)
    babies = np.stack([np.roll(vector, -step) for step in range(baby_steps)])
    made = diagonals.applied_to_babies(np.arange(baby_steps), babies, baby_steps)
    np.testing.assert_allclose(made, matrix @ vector, atol=1e-12)


def test_without_weights_they_are_ones() -> None:
    diagonals = SparseDiagonals(4, np.array([1, 2, 1]), np.array([0, 1, 0]))
    assert {number: vector.tolist() for number, vector in diagonals.items()} == {
        1: [2.0, 1.0, 0.0, 0.0]
    }
    assert diagonals[1].dtype == np.float64
    assert diagonals.is_finite()


def test_a_number_that_is_not_there() -> None:
    with pytest.raises(KeyError):
        SparseDiagonals(4, np.array([1]), np.array([0]))[2]


@pytest.mark.parametrize("weight", [np.nan, np.inf])
def test_what_is_not_finite_is_seen(weight: float) -> None:
    diagonals = SparseDiagonals(4, np.array([1, 2]), np.array([0, 0]), np.array([1.0, weight]))
    assert not diagonals.is_finite()


def test_text() -> None:
    text = repr(SparseDiagonals(4, np.array([1]), np.array([0])))
    assert text == "SparseDiagonals(1 diagonals, 4 slots)"


@pytest.mark.parametrize("copies", [[], [0, -1], [0, 4], [0, 1 << 62]])
def test_copies_beyond_the_slots_are_refused(copies: list[int]) -> None:
    arrays = SparseDiagonals(4, np.array([0, 1]), np.array([1, 0])).arrays()
    with pytest.raises(ValueError, match="4 slots"):
        SparseDiagonals.from_arrays(
            4, arrays._replace(patterns=Patterns(np.array(copies, dtype=np.int64)))
        )


@pytest.mark.parametrize("length", [0, 1, 100, 5000, 100_000])
@pytest.mark.parametrize("different", [1, 300, 70_000])
def test_numbers_come_back(length: int, different: int) -> None:
    generator = np.random.default_rng(length + different)
    values = generator.choice(generator.normal(size=different), length)
    found = distinct_numbers(values)
    np.testing.assert_array_equal(found.numbers[found.places], values)
    assert len(found.numbers) == len(set(values.tolist()))
    assert found.places.dtype == np.min_scalar_type(max(0, len(found.numbers) - 1))


def test_zeros_of_both_signs_differ() -> None:
    values = np.tile([0.0, -0.0], 5000)
    found = distinct_numbers(values)
    assert len(found.numbers) == 2
    np.testing.assert_array_equal(np.signbit(found.numbers[found.places]), np.signbit(values))


def test_the_order_does_not_depend_on_the_array() -> None:
    values = np.random.default_rng(1).normal(size=50_000).round(3)
    forward, backward = distinct_numbers(values), distinct_numbers(values[::-1].copy())
    np.testing.assert_array_equal(forward.numbers, backward.numbers)
