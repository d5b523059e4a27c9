"""Layouts."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.errors import InvalidLayoutError, ShapeMismatchError, SlotMismatchError
from cloakwork.programs.layout import (
    Axis,
    Layout,
    are_distinct,
    default_layout,
    nest,
    positions,
    power_of_two,
)
from tests.plan.tensors.placing import layouts, numbers, shapes


@given(st.data())
def test_unpacking_undoes_packing(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    layout = data.draw(layouts(shape))
    array = numbers(shape)
    vectors = layout.pack(array)
    assert len(vectors) == layout.ciphertexts
    assert np.array_equal(layout.unpack(vectors), array)
    copies = math.prod(axis.size for axis in layout.replicas)
    used = layout.pack(np.ones(shape))
    assert sum(int(each.sum()) for each in used) == array.size * copies
    for vector, mask in zip(vectors, used, strict=True):
        assert not vector[mask == 0].any()


@given(st.data())
def test_places_are_those_of_the_packed_elements(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    layout = data.draw(layouts(shape))
    array = numbers(shape)
    tiles, slots = layout.tile_places()
    assert np.array_equal(np.asarray(layout.pack(array))[tiles, slots], array)
    assert [layout.grid, len(list(layout.tile_indices()))] == [
        tuple(axis.tiles for axis in layout.axes),
        layout.ciphertexts,
    ]
    assert layout.ragged == any(axis.size % axis.extent for axis in layout.axes)


@given(st.lists(st.integers(1, 5), max_size=4))
def test_what_fits_one_ciphertext_lies_in_c_order(shape: list[int]) -> None:
    array = numbers(shape)
    (vector,) = default_layout(shape, 1024).pack(array)
    assert np.array_equal(vector[: array.size], array.ravel())


@given(st.lists(st.integers(1, 40), min_size=1, max_size=3), st.sampled_from([1, 16, 64]))
def test_what_does_not_is_cut_into_tiles_of_powers_of_two(shape: list[int], slots: int) -> None:
    layout = default_layout(shape, slots)
    assert layout.shape == tuple(shape)
    assert math.prod(axis.extent for axis in layout.axes) <= slots
    if math.prod(shape) > slots:
        cut = [axis.extent for axis in layout.axes if axis.tiles > 1]
        assert cut
        assert all(extent == power_of_two(extent) for extent in cut)
        assert min(cut) * 2 >= max(power_of_two(axis.extent) for axis in layout.axes)


def test_axes_in_common_are_cut_alike() -> None:
    left, right = (default_layout(shape, 4096) for shape in ((512, 300), (300, 700)))
    assert left.axes[1].extent == right.axes[0].extent == 64


def test_replicas_are_packed_and_read_once() -> None:
    layout = Layout(16, (Axis(3, 1),), replicas=(Axis(2, 8),))
    (vector,) = layout.pack(np.array([1.0, 2.0, 3.0]))
    assert vector.tolist() == [1, 2, 3, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 0]
    assert layout.unpack([vector]).tolist() == [1, 2, 3]


def test_tiles_are_numbered_in_c_order() -> None:
    layout = Layout(8, (Axis(3, 2, tile=2), Axis(3, 1, tile=2)), offset=4)
    assert layout.grid == (2, 2)
    assert [vector.tolist()[4:] for vector in layout.pack(np.arange(9.0).reshape(3, 3))] == [
        [0, 1, 3, 4],
        [2, 0, 5, 0],
        [6, 7, 0, 0],
        [8, 0, 0, 0],
    ]


def test_an_axis_backward_starts_at_the_offset() -> None:
    (vector,) = Layout(8, (Axis(3, -2),), offset=5).pack(np.array([1.0, 2.0, 3.0]))
    assert vector.tolist() == [0, 3, 0, 2, 0, 1, 0, 0]


@pytest.mark.parametrize(
    ("axes", "options"),
    [
        ((Axis(3, 1), Axis(3, 2)), {}),
        ((Axis(17, 1),), {}),
        ((Axis(17, 1, tile=17),), {}),
        ((Axis(4, 5), Axis(2, 1)), {}),
        ((Axis(2, 0),), {}),
        ((Axis(2, 0, tile=2),), {}),
        ((Axis(2, -1),), {}),
        ((Axis(0, 1),), {}),
        ((Axis(2, 1, tile=-1),), {}),
        ((Axis(2, 1),), {"offset": 15}),
        ((Axis(2, 1),), {"offset": -1}),
        ((Axis(2, -1),), {"offset": 16}),
        ((), {"offset": 16}),
        ((Axis(2, 1),), {"replicas": (Axis(2, 1),)}),
        ((Axis(2, 1),), {"replicas": (Axis(4, 2, tile=2),)}),
        ((Axis(2, 1),), {"replicas": (Axis(9, 2),)}),
    ],
)
def test_impossible_layouts_are_refused(axes: tuple[Axis, ...], options: dict[str, Any]) -> None:
    with pytest.raises(InvalidLayoutError, match="cannot lay out"):
        Layout(16, axes, **options)


@given(st.lists(st.builds(Axis, st.integers(1, 5), st.integers(-12, 12)), max_size=3))
def test_distinct_is_what_counting_says(axes: list[Axis]) -> None:
    offset = 20
    slots = (positions(axes) + offset).ravel()
    expected = len(set(slots.tolist())) == slots.size and 0 <= slots.min() <= slots.max() < 40
    assert are_distinct(axes, 40, offset) == expected


def test_a_tensor_without_elements_is_refused() -> None:
    with pytest.raises(ShapeMismatchError, match="no elements"):
        default_layout((4, 0), 16)


def test_packing_checks_the_shape() -> None:
    with pytest.raises(ShapeMismatchError, match="expected shape"):
        default_layout((2, 2), 16).pack(np.zeros(4))


@pytest.mark.parametrize("vectors", [[np.zeros(8)] * 2, [np.zeros(4)], [np.zeros(4)] * 3, []])
def test_unpacking_checks_the_vectors(vectors: Any) -> None:
    with pytest.raises(SlotMismatchError, match=r"expected 2 vector\(s\) of 4 slots"):
        default_layout((5,), 4).unpack(vectors)


def test_an_axis_of_size_one_takes_no_stride() -> None:
    assert [axis.stride for axis in nest([("i", 3), ("j", 1), ("k", 2)], innermost=1)] == [2, 0, 1]


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        (Layout(8, ()), "one number in slot 0"),
        (Layout(8, (), offset=3), "from 3"),
        (Layout(8, (Axis(2, 4, "i"), Axis(3, 1)), offset=1), "i:2@4 1:3@1 from 1"),
        (Layout(8, (Axis(2, 1),), (Axis(2, 4, "j"),)), "0:2@1 copies j:2@4"),
        (Layout(8, (Axis(9, 1, tile=8),)), "0:9@1/8"),
        (Layout(8, (Axis(8, 1, tile=8),)), "0:8@1"),
    ],
)
def test_text(layout: Layout, text: str) -> None:
    assert str(layout) == text
