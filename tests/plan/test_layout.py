"""Layouts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.errors import (
    InvalidLayoutError,
    ShapeMismatchError,
    SlotMismatchError,
    TooManySlotsError,
)
from cloakwork.plan.layout import Axis, Layout, nest, row_major


@given(st.lists(st.integers(1, 5), max_size=4))
def test_unpacking_undoes_packing(shape: list[int]) -> None:
    layout = row_major(shape, 1024)
    array = np.random.default_rng(0).normal(size=shape)
    assert np.array_equal(layout.unpack(layout.pack(array)), array)
    assert np.array_equal(layout.pack(array)[: array.size], array.ravel())


def test_replicas_are_packed_and_read_once() -> None:
    layout = Layout(16, (Axis(3, 1),), replicas=(Axis(2, 8),))
    vector = layout.pack(np.array([1.0, 2.0, 3.0]))
    assert vector.tolist() == [1, 2, 3, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0]
    assert layout.unpack(vector).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    "axes",
    [
        (Axis(3, 1), Axis(3, 2)),
        (Axis(17, 1),),
        (Axis(4, 5), Axis(2, 1)),
        (Axis(2, 0),),
        (Axis(2, -1),),
        (Axis(0, 1),),
    ],
)
def test_impossible_layouts_are_refused(axes: tuple[Axis, ...]) -> None:
    with pytest.raises(InvalidLayoutError):
        Layout(16, axes)


def test_too_large_a_tensor_says_what_it_needs() -> None:
    with pytest.raises(TooManySlotsError, match="needs 20 slots, one ciphertext has 16"):
        row_major((4, 5), 16)


def test_a_tensor_without_elements_is_refused() -> None:
    with pytest.raises(ShapeMismatchError, match="no elements"):
        row_major((4, 0), 16)


def test_packing_checks_the_shape() -> None:
    with pytest.raises(ShapeMismatchError, match="expected shape"):
        row_major((2, 2), 16).pack(np.zeros(4))


def test_unpacking_checks_the_slots() -> None:
    with pytest.raises(SlotMismatchError, match="expected 16 slots"):
        row_major((2, 2), 16).unpack(np.zeros(8))


def test_an_axis_of_size_one_takes_no_stride() -> None:
    assert [axis.stride for axis in nest([("i", 3), ("j", 1), ("k", 2)], innermost=1)] == [2, 0, 1]
