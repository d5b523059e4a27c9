"""Linear transforms that stay encoded between runs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.programs.bsgs import split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.patterns import Patterns
from cloakwork.schemes.encoded_cache import TransformCache, transform_bytes

PARAMETERS = Parameters(levels=2, log_n=9, insecure=True)


def diagonals(count: int) -> dict[int, np.ndarray]:
    return {number: number + np.arange(float(PARAMETERS.slots)) for number in range(count)}


def bytes_of(count: int, level: int, baby_steps: int, shared_by: int = 1) -> int:
    steps = split(range(count), PARAMETERS.slots, baby_steps)
    return transform_bytes(PARAMETERS, diagonals(count), steps, level, shared_by)


@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize(("count", "baby_steps"), [(3, 2), (64, 8)])
def test_bytes_are_those_that_a_transform_takes(level: int, count: int, baby_steps: int) -> None:
    needed = bytes_of(count, level, baby_steps)
    kept = TransformCache(PARAMETERS, needed)
    made = kept.of(diagonals(count), level, PARAMETERS.scale(level), baby_steps, 1)
    assert kept.nbytes == made.nbytes == needed


def test_many_diagonals_have_no_limbs_for_key_switching() -> None:
    few, many = bytes_of(3, 2, 2) // 3, bytes_of(64, 2, 8) // 64
    assert few == 4 * PARAMETERS.n * PARAMETERS.key_prime_count
    assert many == 4 * PARAMETERS.n * PARAMETERS.prime_count(2)


def test_transforms_that_share_baby_steps_need_fewer_limbs() -> None:
    """Divisions of rotations by P are shared, and then are less work than limbs of P."""
    alone, shared = (bytes_of(48, 2, 16, count) // 48 for count in (1, 4))
    assert alone == 4 * PARAMETERS.n * PARAMETERS.key_prime_count
    assert shared == 4 * PARAMETERS.n * PARAMETERS.prime_count(2)
    kept = TransformCache(PARAMETERS, 1 << 30)
    given = diagonals(48)
    one, other = (kept.of(given, 2, PARAMETERS.scale(2), 16, count) for count in (1, 4))
    assert (one.nbytes, other.nbytes) == (48 * alone, 48 * shared)


@pytest.mark.parametrize("period", [2, 32, 128])
def test_diagonals_that_repeat_take_the_words_that_differ(period: int) -> None:
    slots, count = PARAMETERS.slots, 64
    rng = np.random.default_rng(period)
    weights = rng.normal(size=(count, period))
    dense = {d: np.tile(row, slots // period) for d, row in enumerate(weights)}
    distances, targets = np.divmod(np.arange(count * period), period)
    standing = Patterns(np.arange(0, slots, period))
    sparse = SparseDiagonals.repeated(slots, distances, targets, weights.ravel(), standing)
    steps = split(range(count), slots, 8)
    words = max(2 * period, 32) * count * PARAMETERS.prime_count(2)
    given: list[Mapping[int, NDArray[np.float64]]] = [dense, sparse]
    for each in given:
        assert transform_bytes(PARAMETERS, each, steps, 2, 1) == 4 * words
        kept = TransformCache(PARAMETERS, 1 << 30)
        assert kept.of(each, 2, PARAMETERS.scale(2), 8, 1).nbytes == kept.nbytes == 4 * words


def test_a_giant_step_whose_diagonals_repeat_sooner_leaves_space_for_more() -> None:
    slots, scale = PARAMETERS.slots, PARAMETERS.scale(2)
    vectors = {0: np.arange(float(slots)), 1: np.ones(slots), 4: np.ones(slots)}
    needed = transform_bytes(PARAMETERS, vectors, split(vectors, slots, 4), 2, 1)
    kept = TransformCache(PARAMETERS, needed)
    limbs = PARAMETERS.key_prime_count
    assert needed == 4 * 3 * PARAMETERS.n * limbs
    assert kept.of(vectors, 2, scale, 4, 1).nbytes == 4 * (2 * PARAMETERS.n + 32) * limbs
    assert kept.of({0: np.ones(slots)}, 2, scale, 1, 1).nbytes == 4 * 32 * PARAMETERS.prime_count(2)


def test_equal_diagonals_of_a_giant_step_are_stored_once() -> None:
    slots = PARAMETERS.slots
    vector = np.arange(float(slots)) + 1.0
    dense = {0: vector, 1: vector.copy(), 3: 2 * vector, 4: vector, 5: vector, 7: 2 * vector}
    targets, of_each = np.tile(np.arange(slots), 6), np.repeat([*dense], slots)
    weights = np.concatenate([*dense.values()])
    sparse = SparseDiagonals(slots, targets + of_each, targets, weights)
    steps = split([*dense], slots, 4)
    needed = 4 * PARAMETERS.n * 4 * PARAMETERS.key_prime_count
    given: list[Mapping[int, NDArray[np.float64]]] = [dense, sparse]
    for each in given:
        assert transform_bytes(PARAMETERS, each, steps, 2, 1) == needed
        kept = TransformCache(PARAMETERS, needed)
        assert kept.of(each, 2, PARAMETERS.scale(2), 4, 1).nbytes == needed


def test_sparse_transforms_are_the_same_as_dense_ones() -> None:
    slots = PARAMETERS.slots
    sources, targets = np.divmod(np.arange(16 * 16), 16)
    sparse = SparseDiagonals(slots, sources, targets, 1.0 + np.arange(256.0) % 5)
    for budget in (0, 1 << 30):
        kept = TransformCache(PARAMETERS, budget)
        one, other = (
            kept.of(each, 2, PARAMETERS.scale(2), 4, 1) for each in (sparse, dict(sparse.items()))
        )
        assert sorted(one.rotations) == sorted(other.rotations)
        before = PARAMETERS.estimate(slots, level=2, bound=1.0).encrypted()
        estimates = [before.linear_transform(each) for each in (one, other)]
        assert estimates[0].deviation == pytest.approx(estimates[1].deviation)


def test_keeps_no_more_than_the_budget() -> None:
    first, second = diagonals(2), diagonals(2)
    kept = TransformCache(PARAMETERS, bytes_of(3, 2, 1))
    scale = PARAMETERS.scale(2)
    assert kept.of(first, 2, scale, 1, 1) is kept.of(first, 2, scale, 1, 1)
    assert kept.of(second, 2, scale, 1, 1) is not kept.of(second, 2, scale, 1, 1)
    assert kept.nbytes == bytes_of(2, 2, 1)


def test_a_transform_at_another_level_is_another() -> None:
    both = diagonals(2)
    kept = TransformCache(PARAMETERS, 1 << 30)
    made = [kept.of(both, level, PARAMETERS.scale(level), 1, 1) for level in (1, 2)]
    assert [each.level for each in made] == [1, 2]
