"""Sums of rotations are right, and take few."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.plan.circuits.rotation_sums import cheapest_sum, emit, rotations

HOISTED = 0.5


def made(offsets: tuple[int, ...], hoisted: float) -> tuple[dict[int, int], int]:
    """How often the sum holds the vector's rotation by each offset, and the rotations made."""
    vectors: list[dict[int, int]] = [{0: 1}]
    turns = 0

    def rotated(vector: int, by: int) -> int:
        nonlocal turns
        if not by:
            return vector
        turns += 1
        vectors.append({offset + by: count for offset, count in vectors[vector].items()})
        return len(vectors) - 1

    def added(left: int, right: int) -> int:
        total = dict(vectors[left])
        for offset, count in vectors[right].items():
            total[offset] = total.get(offset, 0) + count
        vectors.append(total)
        return len(vectors) - 1

    last = emit(cheapest_sum(offsets, hoisted), 0, rotated, added)
    return vectors[last], turns


@given(st.sets(st.integers(-40, 40), min_size=1, max_size=30), st.sampled_from([0.2, 0.5, 1.0]))
def test_every_offset_is_added_once(offsets: set[int], hoisted: float) -> None:
    total, turns = made(tuple(sorted(offsets)), hoisted)
    assert total == dict.fromkeys(offsets, 1)
    assert turns <= len(offsets - {0})


@pytest.mark.parametrize(
    ("count", "turns"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (10, 4), (16, 4), (256, 8)]
)
@pytest.mark.parametrize("step", [1, -3])
def test_offsets_a_step_apart_are_summed_by_doubling(count: int, turns: int, step: int) -> None:
    offsets = tuple(sorted(step * number for number in range(count)))
    assert made(offsets, HOISTED)[1] == turns


def test_a_grid_is_summed_by_doubling_along_both_axes() -> None:
    grid = tuple(sorted(100 * row + column for row in range(4) for column in range(4)))
    assert made(grid, HOISTED)[1] == 4


def test_cheap_hoisting_prefers_rotations_of_the_vector_itself() -> None:
    assert made((0, 1, 2, 3), 0.1)[1] == 3
    assert rotations((0, 1, 2, 3), 0.1) == pytest.approx(1.2)
