"""Counts, medians and the greatest few of encrypted integers, beside numpy's."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import (
    IndexOutOfRangeError,
    InvalidArgumentError,
    ValueOutOfRangeError,
)
from tests.thoroughness import part


@settings(max_examples=part(60))
@given(st.lists(st.integers(0, 6), min_size=1, max_size=8))
def test_counts_medians_and_places_are_numpys(numbers: list[int]) -> None:
    count, place = len(numbers), len(numbers) // 2

    @cw.circuit(v=cw.vector(count, bounds=(0, 6)))
    def found(v: Any) -> Any:
        return {
            "counts": np.bincount(v, minlength=7),
            "median": np.median(v),
            "places": np.argpartition(v, place),
            "last": np.argpartition(v, -1),
        }

    made = found(numbers)
    assert made["counts"] == np.bincount(numbers, minlength=7).tolist()
    assert made["median"] == np.median(numbers)
    for name, at in (("places", place), ("last", count - 1)):
        assert sorted(made[name]) == [*range(count)]
        ordered = [numbers[each] for each in made[name]]
        assert ordered[at] == sorted(numbers)[at]
        assert max(ordered[:at], default=0) <= ordered[at] <= min(ordered[at:])


def test_a_program_computes_the_same() -> None:
    @cw.circuit(v=cw.vector(4, bounds=(-3, 3)))
    def found(v: Any) -> Any:
        return [np.median(v), np.argpartition(v, -2)[-2:], np.bincount(v + 3, minlength=7)]

    program = found.compile()
    for numbers in ([3, -3, 0, 1], [2, 2, 2, -1], [0, 1, 0, 1]):
        assert program.run_clear(v=numbers) == found(numbers)
        assert found(numbers)[0] == np.median(numbers)


@pytest.mark.parametrize(
    ("bounds", "bins", "error"),
    [((-1, 3), 5, ValueOutOfRangeError), ((0, 5), 5, IndexOutOfRangeError)],
)
def test_numbers_that_may_be_beyond_the_counts_are_refused(
    bounds: tuple[int, int], bins: int, error: type[Exception]
) -> None:
    counted = cw.circuit(v=cw.vector(3, bounds=bounds))(lambda v: np.bincount(v, minlength=bins))
    with pytest.raises(error):
        counted.compile()


def test_counts_without_a_length_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="minlength"):
        cw.circuit(v=cw.vector(3, bounds=(0, 3)))(lambda v: np.bincount(v + 0)).compile()


def test_columns_of_a_table_are_counted_as_one_is() -> None:
    def counts(v: Any) -> list[Any]:
        return [sum(x == value for x in v) for value in range(3)]

    one = cw.circuit(v=cw.vector(6, bounds=(0, 3)))(counts)
    all_of_them = cw.circuit(table=cw.matrix(6, 8, bounds=(0, 3)))(
        lambda table: [counts(column) for column in table.T]
    )
    alone, program = (each.compile(threads=1) for each in (one, all_of_them))
    once, often = (cw.estimate(each).operations["bootstrap"] for each in (alone, program))
    assert often == 8 * once > 0
    table = np.random.default_rng(5).integers(0, 4, (6, 8))
    expected = [[int((column == value).sum()) for value in range(3)] for column in table.T]
    assert program.run_clear(table=table) == expected
