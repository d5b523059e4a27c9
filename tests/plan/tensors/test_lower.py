"""From graphs of tensor operations to slot programs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import basic_indices

from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.plan.tensors.lower import Lowered, in_order, lower, moved_elements
from cloakwork.plan.tensors.placed import level_of
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Source, Sum, Within
from cloakwork.programs.layout import Axis, Layout, default_layout
from cloakwork.programs.slots import Input, Mul, Output, Rescale
from cloakwork.runtime.executor import run
from cloakwork.schemes.clear_real import ClearBackend, ClearVector
from tests.plan.tensors.placing import LEVEL, SLOTS, Bench, layouts, numbers, packed, shapes
from tests.thoroughness import part

TOP = 6


def results_of(lowered: Lowered, arrays: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    """The program's tensors, run on arrays by the names of the sources."""
    vectors = [
        ClearVector(vector, TOP if source.level is None else source.level)
        for source, layout in lowered.inputs
        if isinstance(layout, Layout)
        for vector in packed(layout, arrays[source.name])
    ]
    values = iter(run(lowered.program, ClearBackend(), vectors))
    return [
        layout.unpack([next(values).slots for _ in range(layout.ciphertexts)])
        for layout in lowered.outputs
    ]


def check(
    results: Sequence[Node], arrays: Mapping[str, np.ndarray], expected: Sequence[np.ndarray]
) -> Lowered:
    lowered = lower("", results, SLOTS, top=TOP)
    found = results_of(lowered, arrays)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    return lowered


def matmul(left: Node | np.ndarray, right: Node | np.ndarray) -> Contract:
    return Contract((left, right), ("ij", "jk"), "ik", (left.shape[0], right.shape[1]))


@settings(deadline=None, max_examples=part(50))
@given(st.data())
def test_a_graph_of_all_kinds(data: st.DataObject) -> None:
    m, k, n = (data.draw(st.integers(1, 6)) for _ in "mkn")
    arrays = {"a": numbers((m, k)), "b": numbers((k, n), 1)}
    sources = {
        name: Source(name, array.shape, *data.draw(st.sampled_from([(), (None,)])))
        if data.draw(st.booleans())
        else Source(name, array.shape, data.draw(layouts(array.shape)), TOP)
        for name, array in arrays.items()
    }
    clear = numbers((n, m), 2)
    product = matmul(sources["a"], sources["b"])
    square = matmul(product, clear)
    both = Sum((square, square), (1, 1), None, (m, m))
    flip = Rearrange(both, np.arange(m * m).reshape(m, m)[::-1])
    c = arrays["a"] @ arrays["b"]
    check([flip, product], arrays, [(2 * c @ clear)[::-1], c])


def test_an_input_without_a_layout_lies_as_its_first_use_wants() -> None:
    x, y = Source("x", (4, 5)), Source("y", (5, 6))
    arrays = {"x": numbers((4, 5)), "y": numbers((5, 6), 1)}
    free = check([matmul(x, y)], arrays, [arrays["x"] @ arrays["y"]])
    fixed = lower(
        "",
        [matmul(*(replace(each, place=default_layout(each.shape, SLOTS)) for each in (x, y)))],
        SLOTS,
        top=TOP,
    )
    assert len(free.program.operations) < len(fixed.program.operations)
    assert [source.name for source, _ in free.inputs] == ["x", "y"]


def test_an_input_used_twice_goes_in_once() -> None:
    x = Source("x", (4, 4))
    array = numbers((4, 4))
    square = Contract((x, x), ("ij", "ij"), "ij", (4, 4))
    lowered = check([square, x], {"x": array}, [array * array, array])
    assert len(lowered.inputs) == 1
    assert sum(isinstance(each, Input) for each in lowered.program.operations) == 1


def test_an_input_times_itself_may_go_in_as_each_side_wants_it() -> None:
    x = Source("x", (4, 4))
    array = numbers((4, 4))
    lowered = check([matmul(x, x), x], {"x": array}, [array @ array, array])
    assert {source for source, _ in lowered.inputs} == {x}
    assert len({layout for _, layout in lowered.inputs}) == len(lowered.inputs)


def test_a_result_used_twice_is_computed_once() -> None:
    x = Source("x", (4,))
    square = Contract((x, x), ("i", "i"), "i", (4,))
    array = numbers((4,))
    lowered = check(
        [Sum((square, square), (1, 1), None, (4,)), square], {"x": array}, [2 * array**2, array**2]
    )
    assert sum(isinstance(each, Mul) for each in lowered.program.operations) == 1


def test_inputs_and_outputs_come_in_order_tile_by_tile() -> None:
    x = Source("x", (40,), default_layout((40,), SLOTS), 1)
    y = Source("", (3,), default_layout((3,), SLOTS), 1)
    lowered = lower("two", [y, x], SLOTS)
    assert [source for source, _ in lowered.inputs] == [y, x]
    names = [each.name for each in lowered.program.operations if isinstance(each, Input)]
    assert names == ["operand0", "x.0", "x.1"]
    assert sum(isinstance(each, Output) for each in lowered.program.operations) == 3
    assert lowered.outputs == (y.place, x.place)
    assert lowered.program.title == "two"


def test_sources_without_a_level_stand_at_the_top() -> None:
    program = lower("", [Source("x", (3,)), Source("y", (3,), None, 2)], SLOTS, top=5).program
    assert [each.level for each in program.operations if isinstance(each, Input)] == [5, 2]


def test_operations_know_the_users_line() -> None:
    x = Source("x", (4,), default_layout((4,), SLOTS), 1)
    total = Contract((x,), ("i",), "", (), "model.py:3")
    flipped = Rearrange(x, np.array([3, 1, 0, 2]), "model.py:4")
    program = lower("", [total, Sum((flipped,), (-1,), None, (4,), "model.py:5")], SLOTS).program
    origins = [
        origin
        for each, origin in zip(program.operations, program.origins, strict=True)
        if not isinstance(each, Input | Output)
    ]
    assert list(dict.fromkeys(origins)) == ["model.py:3", "model.py:4", "model.py:5"]


def test_ranges_bound_elements_and_not_what_stands_beside_them() -> None:
    x = Source("x", (4, 6), default_layout((4, 6), SLOTS), TOP)
    sums = Contract((x,), ("ij",), "i", (4,))
    result = Within(sums, -2.0, 1.0, claimed=True)
    lowered = lower("", [Sum((result,), (1,), np.ones(4), (4,))], SLOTS)
    (claimed,) = lowered.ranges
    assert (claimed.low, claimed.high) == (-2.0, 1.0)
    assert claimed.places == lowered.outputs[0]
    # Neighbours of a row's sum are sums of parts of two rows.
    assert lowered.value_bounds({x: 1.0})[claimed.values[0]] == 6.0
    masked = Contract((result, np.ones((4, 4))), ("i", "ij"), "j", (4,))
    after = lower("", [masked], SLOTS)
    assert after.value_bounds({x: 1.0})[-1] == 8.0


def test_ranges_follow_their_values_through_passes() -> None:
    x = Source("x", (2, 3))
    square = Contract((x, x), ("ij", "ij"), "ij", (2, 3))
    claimed = Within(square, 0.0, 0.5, claimed=True)
    lowered = lower("", [Contract((claimed, claimed), ("ij", "ij"), "ij", (2, 3))], SLOTS, top=TOP)
    changed = lowered.changed(lambda program: lowest_levels(simplified(program)))
    (moved,) = changed.ranges
    assert isinstance(changed.program.operations[moved.values[0]], Rescale)
    assert changed.value_bounds({x: 1.0})[-1] == 0.25


def test_what_mathematics_says_bounds_no_value() -> None:
    x = Source("x", (2,))
    assert not lower("", [Within(x, 0.0, 1.0, claimed=False)], SLOTS, top=TOP).ranges


def test_choices_take_other_ways_by_number() -> None:
    a, b, c = (Source(name, (4, 4), default_layout((4, 4), SLOTS), TOP) for name in "abc")
    product = matmul(matmul(a, b), c)
    arrays = {name: numbers((4, 4), seed) for seed, name in enumerate("abc")}
    expected = arrays["a"] @ arrays["b"] @ arrays["c"]
    programs = set()
    for choices in ({}, {0: 1}, {1: 1}, {0: 1, 1: 2}, {0: 10**4}):
        lowered = lower("", [product], SLOTS, choices=choices)
        np.testing.assert_allclose(results_of(lowered, arrays)[0], expected, atol=1e-9)
        programs.add(str(lowered.program))
    assert len(programs) > 2


def test_nodes_come_after_those_they_work_on() -> None:
    x = Source("x", (2,))
    one = Sum((x, x), (1, 1), None, (2,))
    two = Sum((one, x), (1, 1), None, (2,))
    assert in_order([two, one]) == [x, one, two]


def test_a_long_chain_does_not_recurse() -> None:
    node: Node = Source("x", (2,), Layout(SLOTS, (Axis(2, 1),)), 0)
    for _ in range(3000):
        node = Sum((node,), (-1,), None, (2,))
    assert len(in_order([node])) == 3001
    assert lower("", [node], SLOTS).outputs[0].shape == (2,)


def test_levels_run_out_by_name() -> None:
    x = Source("x", (2,), Layout(SLOTS, (Axis(2, 1),)), 0)
    with pytest.raises(LevelExhaustedError, match=r"needs 1 level\(s\), the operands have 0"):
        lower("", [Contract((x, x), ("i", "i"), "i", (2,))], SLOTS)


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
    bench.check(moved_elements(bench.builder, x, chosen), np.asarray(array[index]))


@settings(deadline=None)
@given(st.data())
def test_any_elements_in_any_order(data: st.DataObject) -> None:
    shape, other = data.draw(shapes), data.draw(shapes)
    array = numbers(shape)
    chosen = np.random.default_rng(data.draw(st.integers(0, 99))).integers(0, array.size, other)
    bench = Bench()
    x = bench.place(array, data.draw(layouts(shape)))
    bench.check(
        moved_elements(bench.builder, x, np.asarray(chosen)), np.asarray(array.ravel()[chosen])
    )


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
    result = moved_elements(bench.builder, x, np.asarray(counted((4, 5))[index]))
    assert result.values == x.values
    assert level_of(bench.builder, result) == LEVEL


def test_whole_tiles_are_picked_without_work() -> None:
    bench = Bench()
    array = numbers((8, 16))
    x = bench.place(array, default_layout((8, 16), 16))
    assert x.layout.grid == (2, 4)
    result = moved_elements(bench.builder, x, counted((8, 16))[4:, 4:12])
    assert result.values == x.values[5:7]
    bench.check(result, array[4:, 4:12])


def test_a_reshape_in_c_order_moves_nothing() -> None:
    bench = Bench()
    array = numbers((4, 6))
    x = bench.place(array, default_layout((4, 6), SLOTS))
    result = moved_elements(bench.builder, x, counted((2, 12)))
    assert result.values == x.values
    assert not result.layout.garbage
    bench.check(result, array.reshape(2, 12))


def test_what_is_left_out_is_dirt() -> None:
    bench = Bench()
    x = bench.place(numbers((4,)), default_layout((4,), SLOTS))
    assert moved_elements(bench.builder, x, counted((4,))[1:]).layout.garbage


def test_moving_takes_a_level() -> None:
    bench = Bench()
    array = numbers((4, 5))
    chosen = counted((4, 5)).T.reshape(4, 5)
    x = bench.place(array, default_layout((4, 5), SLOTS), level=1)
    result = moved_elements(bench.builder, x, chosen)
    assert level_of(bench.builder, result) == 0
    with pytest.raises(LevelExhaustedError, match=r"needs 1 level\(s\), there are 0"):
        moved_elements(bench.builder, result, chosen)
