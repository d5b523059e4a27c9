"""Tables that are rotations of one another, and steps whose sums are any function."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from cloakwork.programs.table_rotations import (
    Table,
    distinct_tables,
    rotated_steps,
    step_rotation,
)

TURN = 1 << 32

tables = st.integers(0, 3).flatmap(
    lambda log: st.lists(st.integers(0, TURN - 1), min_size=1 << log, max_size=1 << log)
)


def rotated(table: Table, earlier: int) -> Table:
    """What a table gives that many messages further, around a whole turn."""
    size = len(table)
    return tuple(
        table[v % size] if v // size % 2 == 0 else -table[v % size] % TURN
        for v in range(earlier, earlier + size)
    )


@given(tables.map(tuple), st.lists(st.integers(0, 40), max_size=7))
def test_rotations_are_one_table(table: Table, by: list[int]) -> None:
    several = (table, *(rotated(table, earlier) for earlier in by))
    assert distinct_tables(several) == 1


def test_other_tables_are_not() -> None:
    assert distinct_tables(()) == 0
    assert distinct_tables(((1, 2), (2, 1))) == 2
    assert distinct_tables(((1, 2, 3, 4), (2, 3, 4, 1), (2, 3, 4, -1), (-2, -3, -4, 1))) == 2


def test_steps_are_rotations_of_one() -> None:
    steps = tuple(step_rotation(8, earlier, 5) for earlier in range(8))
    assert distinct_tables(steps) == 1
    assert steps == tuple(
        tuple(
            number - TURN if number > TURN // 2 else number for number in rotated(steps[0], earlier)
        )
        for earlier in range(8)
    )


def test_functions_are_sums_of_steps() -> None:
    for function in itertools.product((-4, 0, 4), repeat=4):
        weights = rotated_steps(function, 2)
        assert 0 not in weights.values()
        for message, value in enumerate(function):
            steps = {earlier: step_rotation(4, earlier, 2)[message] for earlier in weights}
            assert sum(steps[earlier] * weight for earlier, weight in weights.items()) == value
