"""Linear transforms that stay encoded between runs."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork._native import Parameters
from cloakwork.programs.bsgs import split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.schemes.encoded_cache import TransformCache, transform_bytes

PARAMETERS = Parameters(levels=2, log_n=9, insecure=True)


def diagonals(count: int) -> dict[int, np.ndarray]:
    return {number: np.ones(PARAMETERS.slots) for number in range(count)}


def bytes_of(count: int, level: int, baby_steps: int) -> int:
    return transform_bytes(PARAMETERS, split(range(count), PARAMETERS.slots, baby_steps), level, 1)


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
    steps = split(range(48), PARAMETERS.slots, 16)
    alone, shared = (transform_bytes(PARAMETERS, steps, 2, count) // 48 for count in (1, 4))
    assert alone == 4 * PARAMETERS.n * PARAMETERS.key_prime_count
    assert shared == 4 * PARAMETERS.n * PARAMETERS.prime_count(2)
    kept = TransformCache(PARAMETERS, 1 << 30)
    given = diagonals(48)
    one, other = (kept.of(given, 2, PARAMETERS.scale(2), 16, count) for count in (1, 4))
    assert (one.nbytes, other.nbytes) == (48 * alone, 48 * shared)


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
