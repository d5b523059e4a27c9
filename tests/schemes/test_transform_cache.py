"""Linear transforms that stay encoded between runs."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork._native import Parameters
from cloakwork.schemes.transform_cache import TransformCache, transform_bytes

PARAMETERS = Parameters(levels=2, log_n=9, insecure=True)


def diagonals(count: int) -> dict[int, np.ndarray]:
    return {number: np.ones(PARAMETERS.slots) for number in range(count)}


@pytest.mark.parametrize("level", [1, 2])
def test_bytes_are_those_that_a_transform_takes(level: int) -> None:
    needed = transform_bytes(PARAMETERS, 3, level)
    kept = TransformCache(PARAMETERS, needed)
    made = kept.of(diagonals(3), level, PARAMETERS.scale(level), 2)
    assert kept.nbytes == needed
    assert made.nbytes == pytest.approx(needed, rel=0.2)


def test_keeps_no_more_than_the_budget() -> None:
    first, second = diagonals(2), diagonals(2)
    kept = TransformCache(PARAMETERS, transform_bytes(PARAMETERS, 3, 2))
    scale = PARAMETERS.scale(2)
    assert kept.of(first, 2, scale, 1) is kept.of(first, 2, scale, 1)
    assert kept.of(second, 2, scale, 1) is not kept.of(second, 2, scale, 1)
    assert kept.nbytes == transform_bytes(PARAMETERS, 2, 2)


def test_a_transform_at_another_level_is_another() -> None:
    both = diagonals(2)
    kept = TransformCache(PARAMETERS, 1 << 30)
    made = [kept.of(both, level, PARAMETERS.scale(level), 1) for level in (1, 2)]
    assert [each.level for each in made] == [1, 2]
