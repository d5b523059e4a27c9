"""Rows are told apart of the sums of blocks, or are said to overlap."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from cloakwork.errors import RowsOverlapError, ValueOutOfRangeError
from cloakwork.frontends.search.compaction import Compaction, Row

Array: TypeAlias = NDArray[np.float64]
ERROR = 2.0**-14
SIZE = 256


def sums_of(
    compaction: Compaction, rows: list[Row], rng: np.random.Generator
) -> tuple[Array, Array]:
    """The sums over blocks in which these rows match."""
    matches = rng.uniform(-ERROR, ERROR, SIZE)
    totals = rng.uniform(-ERROR, ERROR, (compaction.columns, SIZE))
    for row in rows:
        numbers = compaction.of_block(row.payload[:, None], row.block)[:, 0]
        matches[row.place] += row.match
        totals[:, row.place] += row.match * numbers
    return matches, totals


def row(number: int, match: float, payload: Array) -> Row:
    return Row(number // SIZE, number % SIZE, match, payload)


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_told_apart_or_overlap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    compaction = Compaction(width=3, bound=511.0, at_most=8)
    for _ in range(12):
        numbers = rng.choice(5 * SIZE, int(rng.integers(0, 16)), replace=False)
        matches = rng.choice([1.0, 1.0, 0.75, 0.25], len(numbers))
        payloads = rng.integers(0, 512, (len(numbers), 3)).astype(np.float64)
        rows = [row(*each) for each in zip(numbers.tolist(), matches, payloads, strict=True)]
        sums = sums_of(compaction, rows, rng)
        if len({each.place for each in rows}) < len(rows):
            continue
        found = {(each.block, each.place): each for each in compaction.rows(*sums)}
        expected = {(each.block, each.place): each for each in rows if each.match > 0.5}
        assert found.keys() == expected.keys()
        for place, each in expected.items():
            assert (found[place].payload.round() == each.payload).all()


def test_two_rows_in_one_place_of_two_blocks_overlap() -> None:
    compaction = Compaction(width=1, bound=9.0, at_most=2)
    rng = np.random.default_rng(0)
    for matches in ((1.0, 1.0), (1.0, 0.4), (0.4, 0.3)):
        rows = [Row(block, 5, match, np.array([3.0])) for block, match in enumerate(matches)]
        with pytest.raises(RowsOverlapError, match="block by block"):
            compaction.rows(*sums_of(compaction, rows, rng))


def test_payloads_that_do_not_fit_are_refused() -> None:
    compaction = Compaction(width=1, bound=9.0, at_most=2)
    with pytest.raises(ValueOutOfRangeError, match="numbers up to 9"):
        compaction.of_block(np.full((1, SIZE), 10.0), 0)
