"""Rotations composed of others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.plan.passes.rotation_paths import powers_of_two, rotation_paths, rotation_tree

SLOTS = 256
PATHS = rotation_paths(SLOTS, powers_of_two(SLOTS))
STEPS = st.integers(1, SLOTS - 1)


def signed_digits(number: int) -> int:
    """Digits of the non-adjacent form."""
    return (number ^ (3 * number)).bit_count()


@pytest.mark.parametrize("slots", [2, 4, 32, 1024])
def test_powers_of_two_take_as_many_as_the_signed_form_has_digits(slots: int) -> None:
    lengths = rotation_paths(slots, powers_of_two(slots)).lengths
    expected = [min(signed_digits(k), signed_digits(slots - k)) for k in range(1, slots)]
    assert lengths.tolist() == [0, *expected]


@given(STEPS)
def test_a_path_adds_up(steps: int) -> None:
    path = PATHS.path(steps)
    assert sum(path) % SLOTS == steps
    assert len(path) == PATHS.lengths[steps]
    assert set(path) <= set(powers_of_two(SLOTS))


def test_what_no_keys_reach_is_marked() -> None:
    paths = rotation_paths(8, [2])
    assert paths.reach([0, 2, 4, 6])
    assert not paths.reach([2, 3])
    assert rotation_paths(8, [2, 6]).lengths.tolist() == [0, 8, 1, 8, 2, 8, 1, 8]
    assert rotation_paths(4, []).lengths.tolist() == [0, 4, 4, 4]


@given(
    st.sets(STEPS, min_size=1, max_size=40),
    st.sets(st.sampled_from(powers_of_two(SLOTS)), max_size=4),
    st.sets(STEPS, max_size=4),
)
def test_a_tree_makes_every_target_from_what_it_has(
    targets: set[int], favoured: set[int], more: set[int]
) -> None:
    keys = {*powers_of_two(SLOTS), *more}
    paths = rotation_paths(SLOTS, keys)
    tree = rotation_tree(targets, paths, favoured)
    made = {0}
    for offset, branch in tree.items():
        assert branch.parent in made
        assert branch.step in keys
        assert (branch.parent + branch.step) % SLOTS == offset
        made.add(offset)
    assert targets <= made
    assert len(targets) <= len(tree) <= sum(int(paths.lengths[target]) for target in targets)


def test_a_tree_shares_what_targets_have_in_common() -> None:
    # Apart, 85 takes 4 powers and each of the others 5.
    targets = [85, 84, 86, 87]
    assert int(PATHS.lengths[targets].sum()) == 15
    assert len(rotation_tree(targets, PATHS, [])) == 6


@pytest.mark.parametrize("spacing", [1, 16, SLOTS - 1])
def test_steps_in_a_row_take_one_key(spacing: int) -> None:
    targets = [spacing * k % SLOTS for k in range(1, 16)]
    tree = rotation_tree(targets, PATHS, [spacing])
    assert {branch.step for branch in tree.values()} == {spacing}


def test_favoured_keys_all_turn_the_value_itself() -> None:
    keys = list(range(1, 16))
    tree = rotation_tree(keys, rotation_paths(SLOTS, keys), keys)
    assert {branch.parent for branch in tree.values()} == {0}


def test_nothing_to_reach() -> None:
    assert rotation_tree([0], PATHS, []) == {}
