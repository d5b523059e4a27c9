"""Sums of tensors that lie anywhere."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.tensors.addition import added
from cloakwork.plan.tensors.placed import level_of
from cloakwork.programs.layout import Axis, Layout, default_layout
from cloakwork.programs.slots import Linear, Rotate
from tests.plan.tensors.placing import LEVEL, SLOTS, Bench, layouts, numbers, shapes
from tests.thoroughness import part


@settings(deadline=None, max_examples=part(200))
@given(st.data())
def test_sums_are_numpys(data: st.DataObject) -> None:
    result_shape = data.draw(shapes)
    count = data.draw(st.integers(1, 3))
    signs = data.draw(st.lists(st.sampled_from([1, -1]), min_size=count, max_size=count))
    bench = Bench()
    terms, expected = [], np.zeros(result_shape)
    for number, sign in enumerate(signs):
        lost = data.draw(st.integers(0, len(result_shape)))
        shape = tuple(data.draw(st.sampled_from([size, 1])) for size in result_shape[lost:])
        array = numbers(shape, number)
        level = data.draw(st.integers(LEVEL - 2, LEVEL))
        terms.append(bench.place(array, data.draw(layouts(shape)), level))
        expected = expected + sign * array
    constant = None
    if data.draw(st.booleans()):
        constant = np.broadcast_to(numbers(result_shape[-1:], 9), result_shape)
        expected = expected + constant
    result = added(bench.builder, terms, signs, constant, result_shape)
    assert level_of(bench.builder, result) >= LEVEL - 3
    bench.check(result, np.asarray(expected))


@settings(deadline=None)
@given(st.data())
def test_terms_alike_stay_where_they_are(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    layout = data.draw(layouts(shape))
    bench = Bench()
    arrays = [numbers(shape, seed) for seed in range(3)]
    x, y = (bench.place(array, layout) for array in arrays[:2])
    result = added(bench.builder, [x, y], (1, -1), arrays[2], shape)
    assert level_of(bench.builder, result) == LEVEL
    assert not any(isinstance(each, Linear | Rotate) for each in bench.builder.operations)
    bench.check(result, arrays[0] - arrays[1] + arrays[2])


def test_a_term_is_copied_along_an_axis_without_a_level() -> None:
    bench = Bench()
    a, b = numbers((4, 6)), numbers((6,), 1)
    x, y = (bench.place(each, default_layout(each.shape, SLOTS), level=0) for each in (a, b))
    bench.check(added(bench.builder, [x, y], (1, 1), None, (4, 6)), a + b)


def test_a_constant_is_added_where_elements_are() -> None:
    bench = Bench()
    x = bench.place(np.zeros(5), Layout(SLOTS, (Axis(5, 2),)))
    result = added(bench.builder, [x], (1,), np.full(5, 7.0), (5,))
    assert not result.layout.garbage
    bench.check(result, np.full(5, 7.0))


def test_a_term_that_must_move_needs_a_level() -> None:
    bench = Bench()
    a = numbers((4, 5))
    x = bench.place(a, Layout(SLOTS, (Axis(4, 5), Axis(5, 1))), level=0)
    y = bench.place(a, Layout(SLOTS, (Axis(4, 1), Axis(5, 4))), level=0)
    with pytest.raises(LevelExhaustedError, match=r"needs 1 level\(s\), there are 0"):
        added(bench.builder, [x, y], (1, 1), None, (4, 5))


def test_copies_beyond_a_tile_that_is_not_full_are_dirt() -> None:
    bench = Bench()
    a, b = numbers((5, 4)), numbers((4,), 1)
    x = bench.place(a, Layout(SLOTS, (Axis(5, 4, tile=4), Axis(4, 1))))
    y = bench.place(b, Layout(SLOTS, (Axis(4, 1),)))
    result = added(bench.builder, [x, y], (1, 1), None, (5, 4))
    assert result.layout.ciphertexts == 2
    bench.check(result, a + b)


def test_copies_that_all_terms_have_stay() -> None:
    copies = Layout(SLOTS, (Axis(4, 1),), (Axis(SLOTS // 4, 4),))
    bench = Bench()
    a, b, c = (numbers((4,), seed) for seed in range(3))
    x, y = (bench.place(each, copies) for each in (a, b))
    result = added(bench.builder, [x, y], (1, -1), c, (4,))
    assert result.layout.replicas == copies.replicas
    assert not result.layout.garbage
    bench.check(result, a - b + c)
    bare = bench.place(b, replace(copies, replicas=()))
    mixed = added(bench.builder, [x, bare], (1, 1), None, (4,))
    assert mixed.layout.garbage
    bench.check(mixed, a + b)
