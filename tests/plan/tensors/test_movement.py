"""Movements, applied as matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.plan.tensors.movement import Weights, movements
from cloakwork.programs.layout import Axis, Layout
from tests.plan.tensors.placing import SLOTS, layouts, numbers, packed, shapes


def moved(
    source: Layout, target: Layout, array: np.ndarray, weights: Weights | None = None
) -> list[np.ndarray]:
    vectors = packed(source, array)
    found = []
    for parts in movements(source, target, weights):
        vector = np.zeros(target.slots)
        for tile, diagonals in parts.items():
            assert len(diagonals)
            for number, diagonal in diagonals.items():
                vector += diagonal * np.roll(vectors[tile], -number)
        found.append(vector)
    return found


@given(st.data())
def test_a_tensor_moves_between_any_two_layouts(data: st.DataObject) -> None:
    shape = data.draw(shapes)
    names = "ijk"[: len(shape)]
    order = data.draw(st.permutations(range(len(shape))))
    source = data.draw(layouts(shape, names))
    target = data.draw(layouts([shape[n] for n in order], "".join(names[n] for n in order)))
    array = numbers(shape)
    bare = Layout(SLOTS, target.axes, offset=target.offset)
    expected = bare.pack(array.transpose(order))
    np.testing.assert_allclose(moved(source, target, array), expected, atol=1e-12)


@settings(deadline=None)
@given(st.data())
def test_weights_multiply_and_what_meets_sums(data: st.DataObject) -> None:
    size_of = {name: data.draw(st.integers(1, 5)) for name in "ijk"}
    some = st.lists(st.sampled_from("ijk"), unique=True).map("".join)
    own, factors = data.draw(some), data.draw(some)
    known = sorted({*own, *factors})
    shown = data.draw(st.permutations(known))[: data.draw(st.integers(0, len(known)))]
    kept = "".join(shown)
    # A label that only the weights have is summed before.
    factors = "".join(name for name in factors if name in own + kept)
    kept = "".join(name for name in kept if name in own + factors)
    thin = data.draw(st.sampled_from([*factors, ""]))
    source = data.draw(layouts([size_of[name] for name in own], own))
    target = data.draw(layouts([size_of[name] for name in kept], kept))
    array = numbers(source.shape)
    shape = [1 if name == thin and name in own else size_of[name] for name in factors]
    weights = Weights(factors, numbers(shape, 1))
    full = np.broadcast_to(weights.array, [size_of[name] for name in factors])
    expected = np.einsum(f"{own},{factors}->{kept}", array, full)
    bare = Layout(SLOTS, target.axes, offset=target.offset)
    found = moved(source, target, array, weights)
    np.testing.assert_allclose(found, bare.pack(np.asarray(expected)), atol=1e-12)


def test_a_weight_of_zero_takes_no_diagonal() -> None:
    layout = Layout(8, (Axis(8, 1, "i"),))
    (parts,) = movements(layout, layout, Weights("i", np.zeros(8)))
    assert parts == {}


@pytest.mark.parametrize(("tile", "pairs"), [(0, 1), (4, 2), (2, 4)])
def test_only_tiles_with_elements_in_common_meet(tile: int, pairs: int) -> None:
    layout = Layout(8, (Axis(8, 1, "i", tile=tile),))
    assert sum(len(parts) for parts in movements(layout, layout)) == pairs


def test_layouts_that_differ_by_names_alone_are_told_apart() -> None:
    """They are equal, and what is kept of one movement is not that of the other."""
    source = Layout(8, (Axis(2, 4, "i"), Axis(2, 1, "j")))
    targets = [Layout(8, (Axis(2, 1, first), Axis(2, 2, second))) for first, second in ("ij", "ji")]
    assert targets[0] == targets[1]
    found = [[parts[0].numbers.tolist() for parts in movements(source, each)] for each in targets]
    # Slot 4 i + j goes to i + 2 j, and to j + 2 i.
    assert found == [[[0, 2, 3, 7]], [[0, 2]]]


def test_what_is_kept_is_not_that_of_other_weights() -> None:
    layout = Layout(8, (Axis(8, 1, "i"),))
    array = np.arange(1.0, 9.0)
    for factor in (1.0, 2.0):
        (parts,) = movements(layout, layout, Weights("i", factor * array))
        assert parts[0][0].tolist() == (factor * array).tolist()
    array[0] = 5.0
    (parts,) = movements(layout, layout, Weights("i", array))
    assert parts[0][0][0] == 5.0
