"""Slices, reshapes and flips, of tensors that lie anywhere."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import basic_indices

from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.tensors.lower import rearranged
from cloakwork.plan.tensors.placed import level_of
from cloakwork.programs.layout import Axis, Layout, default_layout
from tests.plan.tensors.placing import LEVEL, SLOTS, Bench, layouts, numbers, shapes
from tests.thoroughness import part


def counted(shape: tuple[int, ...]) -> Any:
    return np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)


@settings(deadline=None, max_examples=part(200))
@given(st.data())
def test_an_index_gives_its_elements(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    index = data.draw(basic_indices(shape, allow_newaxis=True))
    array = numbers(shape)
    chosen = np.asarray(counted(shape)[index])
    if not chosen.size:
        return
    bench = Bench()
    x = bench.place(array, data.draw(layouts(shape)))
    bench.check(rearranged(bench.builder, x, chosen), np.asarray(array[index]))


@settings(deadline=None)
@given(st.data())
def test_any_elements_in_any_order(data: st.DataObject) -> None:
    shape, other = data.draw(shapes), data.draw(shapes)
    array = numbers(shape)
    chosen = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, array.size, other)
    bench = Bench()
    x = bench.place(array, data.draw(layouts(shape)))
    bench.check(rearranged(bench.builder, x, np.asarray(chosen)), np.asarray(array.ravel()[chosen]))


@pytest.mark.parametrize(
    "index",
    [
        np.s_[1],
        np.s_[:, 2],
        np.s_[::-1],
        np.s_[3:0:-2, 1:],
        np.s_[..., None],
        np.s_[None, 2, ..., 1:2],
    ],
)
def test_what_a_layout_can_say_moves_nothing(index: Any) -> None:
    bench = Bench()
    x = bench.place(numbers((4, 5)), Layout(SLOTS, (Axis(4, 7, "i"), Axis(5, 1, "j"))))
    result = rearranged(bench.builder, x, np.asarray(counted((4, 5))[index]))
    assert result.values == x.values
    assert level_of(bench.builder, result) == LEVEL


def test_whole_tiles_are_picked_without_work() -> None:
    bench = Bench()
    array = numbers((8, 16))
    x = bench.place(array, default_layout((8, 16), 16))
    assert x.layout.grid == (2, 4)
    result = rearranged(bench.builder, x, counted((8, 16))[4:, 4:12])
    assert result.values == x.values[5:7]
    bench.check(result, array[4:, 4:12])


def test_a_reshape_in_c_order_moves_nothing() -> None:
    bench = Bench()
    array = numbers((4, 6))
    x = bench.place(array, default_layout((4, 6), SLOTS))
    result = rearranged(bench.builder, x, counted((2, 12)))
    assert result.values == x.values
    assert not result.layout.garbage
    bench.check(result, array.reshape(2, 12))


def test_what_is_left_out_is_dirt() -> None:
    bench = Bench()
    x = bench.place(numbers((4,)), default_layout((4,), SLOTS))
    assert rearranged(bench.builder, x, counted((4,))[1:]).layout.garbage


def test_moving_takes_a_level() -> None:
    bench = Bench()
    array = numbers((4, 5))
    chosen = counted((4, 5)).T.reshape(4, 5)
    x = bench.place(array, default_layout((4, 5), SLOTS), level=1)
    result = rearranged(bench.builder, x, chosen)
    assert level_of(bench.builder, result) == 0
    with pytest.raises(LevelExhaustedError, match=r"needs 1 level\(s\), there are 0"):
        rearranged(bench.builder, result, chosen)
