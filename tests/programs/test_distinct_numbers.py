"""The different numbers of long arrays."""

import numpy as np
import pytest

from cloakwork.programs.diagonals import distinct_numbers


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
