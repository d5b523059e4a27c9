"""Counts of rotations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.plan.tensors.placed import merge, sum_steps
from cloakwork.programs.bsgs import cheapest_split, split
from cloakwork.programs.layout import Axis


@given(st.integers(1, 40), st.integers(-3, 3).filter(bool))
def test_sum_steps_add_exactly_the_axis(size: int, stride: int) -> None:
    values = np.random.default_rng(1).normal(size=256)
    total = values
    steps = sum_steps(Axis(size, stride))
    for step in steps:
        total = (values if step.onto_first else total) + np.roll(total, -step.rotation)
    expected = sum(np.roll(values, -k * stride) for k in range(size))
    assert np.allclose(total, expected)
    assert len(steps) == size.bit_length() - 1 + size.bit_count() - 1


@given(st.sets(st.integers(0, 255), min_size=1))
def test_a_split_reaches_every_diagonal(numbers: set[int]) -> None:
    chosen = cheapest_split(numbers, 256)
    reached = {(b + g) % 256 for b in (0, *chosen.baby) for g in (0, *chosen.giant)}
    assert numbers <= reached
    assert chosen.cost <= min(split(numbers, 256, 1).cost, split(numbers, 256, 256).cost)


@pytest.mark.parametrize(("count", "rotations"), [(32, 11), (128, 22), (512, 46)])
def test_rotations_grow_with_the_square_root(count: int, rotations: int) -> None:
    assert cheapest_split(range(count), 8192).rotations <= rotations


def test_spaced_diagonals_split_as_well_as_neighbours() -> None:
    near = cheapest_split(range(100), 16384)
    assert cheapest_split(range(0, 12700, 127), 16384).cost <= near.cost + 2
    assert cheapest_split([-127 * d % 16384 for d in range(100)], 16384).cost <= near.cost + 3


def test_only_axes_that_continue_each_other_merge() -> None:
    assert merge([Axis(2, 12), Axis(3, 4), Axis(4, 1)]) == (Axis(24, 1),)
    assert merge([Axis(2, 13), Axis(3, 4)]) == (Axis(3, 4), Axis(2, 13))
    assert merge([Axis(1, 0)]) == ()
