"""The steps that move and combine placed tensors, run on the clear backend."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.tensors.movement import Weights
from cloakwork.plan.tensors.placed import (
    Placed,
    copied,
    dropped,
    gathered,
    level_of,
    masked,
    merge,
    moved,
    moved_freely,
    multiplied_tensors,
    ordered,
    require_levels,
    rotated,
    shifted,
    sum_steps,
    summed_labels,
    total_of_tensors,
)
from cloakwork.programs.bsgs import cheapest_split, split
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.slots import Add, Mul, Rotate
from tests.plan.tensors.placing import LEVEL, SLOTS, Bench, layouts, numbers, shapes


@settings(deadline=None)
@given(st.data())
def test_order_changes_and_nothing_moves(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    names = "ijk"[: len(shape)]
    order = data.draw(st.permutations(range(len(shape))))
    bench = Bench()
    array = numbers(shape)
    x = bench.place(array, data.draw(layouts(shape, names)))
    result = ordered(x, "".join(names[n] for n in order))
    assert sorted(result.values) == sorted(x.values)
    bench.check(result, array.transpose(order))


@settings(deadline=None)
@given(st.data())
def test_sums_take_no_level(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    names = "ijk"[: len(shape)]
    gone = data.draw(st.sets(st.sampled_from(names))) if names else set()
    layout = data.draw(layouts(shape, names))
    bench = Bench()
    array = numbers(shape)
    x = bench.place(array, layout)
    if layout.garbage and any(x.axis(name).ragged for name in gone):
        x = masked(bench.builder, x)
    before = level_of(bench.builder, x)
    result = summed_labels(bench.builder, x, gone)
    assert level_of(bench.builder, result) == before
    bench.check(result, array.sum(axis=tuple(names.index(name) for name in gone)))


@settings(deadline=None)
@given(st.data())
def test_cleaning_leaves_elements_alone(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    bench = Bench()
    array = numbers(shape)
    x = bench.place(array, data.draw(layouts(shape, "ijk"[: len(shape)])))
    result = masked(bench.builder, x)
    assert not result.has_garbage
    assert level_of(bench.builder, result) == LEVEL - 1
    bench.check(result, array)


@settings(deadline=None)
@given(st.data())
def test_moving_sums_the_labels_that_the_target_lacks(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    names = "ijk"[: len(shape)]
    kept = "".join(name for name in names if data.draw(st.booleans()))
    target = data.draw(layouts([shape[names.index(name)] for name in kept], kept))
    bare = Layout(SLOTS, target.axes, offset=target.offset)
    bench = Bench()
    array = numbers(shape)
    x = bench.place(array, data.draw(layouts(shape, names)))
    bench.check(moved(bench.builder, x, bare), np.einsum(f"{names}->{kept}", array))


def test_what_only_meets_weights_of_zero_is_zero() -> None:
    layout = Layout(SLOTS, (Axis(4, 1, "i", tile=2),))
    bench = Bench()
    x = bench.place(np.ones(4), layout)
    weights = np.array([1.0, 2.0, 0.0, 0.0])
    bench.check(moved(bench.builder, x, layout, Weights("i", weights)), weights)


@settings(deadline=None)
@given(st.data())
def test_moving_freely_takes_any_element_anywhere(data: st.DataObject) -> None:
    shape, other = data.draw(shapes), data.draw(shapes)
    layout, target = data.draw(layouts(shape)), data.draw(layouts(other))
    bare = Layout(SLOTS, target.axes, offset=target.offset)
    bench = Bench()
    array = numbers(shape)
    x = bench.place(array, layout)
    chosen = np.random.default_rng(1).integers(0, array.size, other)
    tiles, slots = (each.ravel()[chosen] for each in layout.tile_places())
    bench.check(moved_freely(bench.builder, x, tiles, slots, bare), array.ravel()[chosen])


@pytest.mark.parametrize("copies", [1, 2, 3, 5])
@pytest.mark.parametrize("offset", [0, 3])
def test_copies_go_to_later_slots(copies: int, offset: int) -> None:
    bench = Bench()
    array = numbers((5,))
    x = bench.place(array, Layout(SLOTS, (Axis(5, 1, "i"),), offset=offset))
    result = copied(bench.builder, x, (Axis(copies, 5, "j"),))
    assert result.layout.replicas == ((Axis(copies, 5),) if copies > 1 else ())
    bench.check(result, array)


def test_no_axes_are_no_copies() -> None:
    bench = Bench()
    x = bench.place(numbers((5,)), Layout(SLOTS, (Axis(5, 1, "i"),)))
    assert copied(bench.builder, x, ()) is x


@given(st.integers(0, 24))
def test_shifting_is_one_rotation(offset: int) -> None:
    bench = Bench()
    array = numbers((8,))
    x = bench.place(array, Layout(SLOTS, (Axis(8, 1, "i"),), offset=5))
    before = len(bench.builder.operations)
    result = shifted(bench.builder, x, offset)
    assert len(bench.builder.operations) - before == (offset != 5)
    assert result.layout.offset == offset
    bench.check(result, array)


def test_rotations_by_all_the_slots_are_none() -> None:
    bench = Bench()
    (x,) = bench.place(numbers((8,)), Layout(SLOTS, (Axis(8, 1),))).values
    assert rotated(bench.builder, x, 2 * SLOTS) == x
    turned = bench.builder.operations[rotated(bench.builder, x, -1)]
    assert isinstance(turned, Rotate)
    assert turned.steps == SLOTS - 1


@given(st.integers(1, 20))
def test_a_total_is_of_all(count: int) -> None:
    bench = Bench()
    array = numbers((count,))
    x = bench.place(array, Layout(SLOTS, (Axis(count, 0, tile=1 if count > 1 else 0),)))
    result = total_of_tensors(bench.builder, x.values)
    added = [each for each in bench.builder.operations if isinstance(each, Add)]
    assert len(added) == count - 1
    scalar = Layout(SLOTS, ())
    bench.check(type(x)((result,), scalar), np.asarray(array.sum()))


def test_dropping_levels() -> None:
    bench = Bench()
    array = numbers((5,))
    x = bench.place(array, Layout(SLOTS, (Axis(5, 1, tile=2),)), level=3)
    assert dropped(bench.builder, x, 3) is x
    low = dropped(bench.builder, x, 1)
    assert level_of(bench.builder, low) == 1
    bench.check(low, array)


def test_levels_that_are_lacking_are_named() -> None:
    bench = Bench()
    x = bench.place(numbers((2,)), Layout(SLOTS, (Axis(2, 1, "i"),)), level=1)
    require_levels(bench.builder, x, 1)
    with pytest.raises(LevelExhaustedError, match=r"needs 2 level\(s\), there are 1"):
        require_levels(bench.builder, x, 2)
    low = dropped(bench.builder, x, 0)
    steps: list[Callable[[], Placed]] = [
        lambda: masked(bench.builder, low),
        lambda: multiplied_tensors(bench.builder, low, x, low.layout.axes, "i"),
    ]
    for step in steps:
        with pytest.raises(LevelExhaustedError, match=r"needs 1 level\(s\), there are 0"):
            step()


@st.composite
def arrangements(draw: st.DrawFn) -> tuple[tuple[Axis, ...], dict[str, int]]:
    """Axes that a product may run over: from slot 0, none backward."""
    size_of = {name: draw(st.integers(2, 5)) for name in "ijk"}
    layout = draw(
        layouts(list(size_of.values()), "ijk").filter(
            lambda layout: all(axis.stride >= 0 for axis in layout.axes)
        )
    )
    return layout.axes, size_of


@settings(deadline=None)
@given(st.data())
def test_gathering_copies_along_what_is_lacking(data: st.DataObject) -> None:
    axes, size_of = data.draw(arrangements())
    own = "".join(name for name in "ijk" if data.draw(st.booleans()))
    bench = Bench()
    array = numbers([size_of[name] for name in own])
    x = bench.place(array, data.draw(layouts(array.shape, own)))
    result = gathered(bench.builder, x, axes)
    assert result.layout.offset == 0
    for axis in result.layout.axes:
        wanted = next(each for each in axes if each.name == axis.name)
        assert axis.extent == wanted.extent
        assert axis.extent == 1 or axis.stride == wanted.stride
    bench.check(result, array)


def test_what_lies_right_is_not_moved() -> None:
    bench = Bench()
    axes = (Axis(4, 8, "i"), Axis(5, 1, "j"))
    x = bench.place(numbers((4, 5)), Layout(SLOTS, axes))
    assert gathered(bench.builder, x, axes) == x


@settings(deadline=None)
@given(st.data())
def test_products_slot_by_slot(data: st.DataObject) -> None:
    axes, size_of = data.draw(arrangements())
    terms = ["".join(name for name in "ijk" if data.draw(st.booleans())) for _ in range(2)]
    axes = tuple(axis for axis in axes if axis.name in terms[0] + terms[1])
    shown = "".join(axis.name for axis in axes if axis.tiles == 1 or data.draw(st.booleans()))
    # Labels that are summed over ciphertexts and not within one: tiles of one element.
    shown = "".join(axis.name for axis in axes if axis.name in shown or axis.extent > 1)
    bench = Bench()
    arrays = [numbers([size_of[name] for name in term], seed) for seed, term in enumerate(terms)]
    parts = [
        gathered(bench.builder, bench.place(array, data.draw(layouts(array.shape, term))), axes)
        for array, term in zip(arrays, terms, strict=True)
    ]
    result = multiplied_tensors(bench.builder, parts[0], parts[1], axes, shown)
    shape = [axis.extent for axis in result.layout.axes if axis.name not in shown]
    expected = np.einsum(f"{terms[0]},{terms[1]}->{shown}", *arrays)
    bench.check(result, np.asarray(expected).reshape([*expected.shape, *shape]))


def test_each_pair_of_ciphertexts_is_multiplied_once() -> None:
    axes = (Axis(4, 0, "i", tile=1), Axis(3, 0, "j", tile=1))
    bench = Bench()
    a, b = numbers((4, 3)), numbers((3,), 1)
    x, y = bench.place(a, Layout(SLOTS, axes)), bench.place(b, Layout(SLOTS, axes[1:]))
    result = multiplied_tensors(bench.builder, x, y, axes, "i")
    assert sum(isinstance(each, Mul) for each in bench.builder.operations) == 12
    assert len(result.values) == 4
    shown = type(result)(result.values, Layout(SLOTS, result.layout.axes[:1]))
    bench.check(shown, a @ b)


def test_a_sum_around_all_slots_is_in_every_place_of_its_axis() -> None:
    rows = SLOTS // 4
    array = numbers((rows - 1, 4))
    bench = Bench()
    placed = bench.place(array, Layout(SLOTS, (Axis(rows - 1, 4, "i"), Axis(4, 1, "j"))))
    total = summed_labels(bench.builder, placed, "i")
    assert total.layout.replicas == (Axis(rows, 4),)
    assert not total.layout.garbage
    bench.check(total, array.sum(axis=0))
    # It is already where each row wants it.
    axes = (Axis(rows - 1, 4, "i"), Axis(4, 1, "j"))
    assert gathered(bench.builder, total, axes) == total


def test_a_sum_within_a_part_of_the_slots_leaves_garbage() -> None:
    bench = Bench()
    array = numbers((4, 4))
    placed = bench.place(array, Layout(SLOTS, (Axis(4, 4, "i"), Axis(4, 1, "j"))))
    total = summed_labels(bench.builder, placed, "i")
    assert total.layout.garbage
    bench.check(total, array.sum(axis=0))


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
