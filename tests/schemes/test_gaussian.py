"""Numbers of errors are Gaussian and those of their seed, also once they come from a table."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork.schemes import gaussian
from cloakwork.schemes.gaussian import GaussianDraws

_COUNT = 512


@pytest.fixture(autouse=True)
def _small_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gaussian, "_TABLE", 1 << 14)


def vectors(seed: int, count: int = 400) -> np.ndarray:
    draws = GaussianDraws(np.random.default_rng(seed))
    return np.stack([draws.vector(_COUNT, 1.0) for _ in range(count)])


def test_the_same_seed_gives_the_same_numbers() -> None:
    assert np.array_equal(vectors(3), vectors(3))
    assert not np.array_equal(vectors(3), vectors(4))


def test_the_first_numbers_are_drawn() -> None:
    drawn = np.random.default_rng(5).standard_normal((32, _COUNT))
    assert np.array_equal(vectors(5)[:32], drawn)


def test_numbers_of_the_table_are_gaussian() -> None:
    made = vectors(1)[32:]
    assert np.mean(made) == pytest.approx(0.0, abs=0.02)
    assert np.mean(made**2) == pytest.approx(1.0, rel=0.05)
    assert np.mean(made**4) == pytest.approx(3.0, rel=0.1)


def test_sums_of_vectors_of_the_table_have_the_deviation_of_independent_ones() -> None:
    sums = [vectors(seed, 132)[32:].sum(axis=0) for seed in range(20)]
    assert np.mean(np.square(sums)) == pytest.approx(100.0, rel=0.1)


def test_vectors_that_the_table_is_too_short_for_are_drawn() -> None:
    draws = GaussianDraws(np.random.default_rng(0))
    one, other = (draws.vector(1 << 14, 1.0) for _ in range(2))
    assert not np.isin(np.abs(other), np.abs(one)).any()
