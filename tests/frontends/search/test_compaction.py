"""Rows are told apart of the sums of blocks, or are said to overlap."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from cloakwork.errors import RowsOverlapError, ValueOutOfRangeError
from cloakwork.frontends.search.compaction import MOST_BLOCKS, Compaction, Row, codes

Array: TypeAlias = NDArray[np.float64]
ERROR = 2.0**-12
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
        found = {(each.block, each.place): each for each in compaction.rows(*sums, ERROR)}
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
            compaction.rows(*sums_of(compaction, rows, rng), ERROR)


@pytest.mark.parametrize("width", [1, 2])
def test_partial_matches_never_look_like_a_row_of_a_third_block(width: int) -> None:
    rng = np.random.default_rng(width)
    compaction = Compaction(width=width, bound=1.0, at_most=2)
    # Numbers of blocks alone said 8: (3 + 9 / 5) / (6 / 5) is 4, (1 + 3) / 2 is 2.
    meetings = [(3, 1.0, 9, 0.2), (1, 0.6, 3, 0.6), (3, 1.0, 4, 0.24)]
    for _ in range(300):
        first, second = rng.choice(64, 2, replace=False).tolist()
        meetings.append((first, 1.0, second, float(rng.uniform(0.01, 1.0))))
    for first, match, second, other in meetings:
        payload = rng.uniform(-1, 1, width)
        rows = [Row(first, 5, match, payload), Row(second, 5, other, -payload)]
        with pytest.raises(RowsOverlapError):
            compaction.rows(*sums_of(compaction, rows, rng), ERROR)


@pytest.mark.parametrize(("length", "apart"), [(2, 1 / 50), (3, 1 / 12)])
def test_codes_of_blocks_are_apart(length: int, apart: float) -> None:
    known = codes(length)
    assert np.abs(known).max() <= 1.0
    distances = np.abs(known[:, None] - known).max(axis=2) + 2 * np.eye(MOST_BLOCKS)
    assert distances.min() > apart


def test_payloads_that_do_not_fit_are_refused() -> None:
    compaction = Compaction(width=1, bound=9.0, at_most=2)
    with pytest.raises(ValueOutOfRangeError, match="numbers up to 9"):
        compaction.of_block(np.full((1, SIZE), 10.0), 0)
