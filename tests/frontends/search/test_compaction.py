"""Rows are told apart of the buckets that they are added up in, or are said to overlap."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError, RowsOverlapError, ValueOutOfRangeError
from cloakwork.frontends.search.compaction import Compaction, Row

Array: TypeAlias = NDArray[np.float64]
ERROR = 2.0**-14


def tables_of(compaction: Compaction, rows: list[Row], rng: np.random.Generator) -> list[Array]:
    """The sum of the tables of blocks in which these rows match."""
    blocks = {
        row.block: compaction.of_block(np.zeros((compaction.width, compaction.size)), row.block)
        for row in rows
    }
    matches = {number: np.zeros(compaction.size) for number in blocks}
    for row in rows:
        blocks[row.block][-compaction.width :, row.place] = row.payload / compaction.bound
        matches[row.block][row.place] = row.match
    shapes = (compaction.segments, compaction.buckets), (compaction.buckets, compaction.segments)
    total = [rng.uniform(-ERROR / 8, ERROR / 8, shape) for shape in shapes]
    for number, block in blocks.items():
        for at, each in enumerate(compaction.tables(matches[number], block)):
            total[at] = total[at] + each
    return total


@pytest.mark.parametrize("seed", range(8))
def test_rows_are_told_apart_or_overlap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    compaction = Compaction(size=2048, width=3, bound=4095.0, at_most=8)
    told = 0
    for _ in range(12):
        count = int(rng.integers(0, 16))
        places = rng.choice(2048 * 5, count, replace=False)
        rows = [
            Row(
                int(place) // 2048,
                int(place) % 2048,
                float(rng.choice([1.0, 1.0, rng.uniform(0.05, 1)])),
                rng.integers(0, 4096, 3).astype(np.float64),
            )
            for place in places
        ]
        try:
            found = compaction.rows(tables_of(compaction, rows, rng), ERROR)
        except RowsOverlapError:
            continue
        told += 1
        at = {(row.block, row.place): row for row in found}
        for row in rows:
            if row.match > 0.5:
                assert (at[row.block, row.place].payload.round() == row.payload).all()
        assert len([row for row in found if row.match > 0.5]) == sum(r.match > 0.5 for r in rows)
    assert told >= 6


def test_two_rows_in_one_place_of_two_blocks_overlap() -> None:
    compaction = Compaction(size=512, width=1, bound=9.0, at_most=2)
    rows = [Row(block, 5, 1.0, np.array([3.0])) for block in (0, 2)]
    tables = tables_of(compaction, rows, np.random.default_rng(0))
    with pytest.raises(RowsOverlapError, match="block by block"):
        compaction.rows(tables, ERROR)


def test_payloads_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="narrower payloads"):
        Compaction(size=512, width=40, bound=9.0, at_most=1)
    with pytest.raises(InvalidArgumentError, match="a power of two"):
        Compaction(size=500, width=1, bound=9.0, at_most=1)
    compaction = Compaction(size=256, width=1, bound=9.0, at_most=1)
    with pytest.raises(ValueOutOfRangeError, match="numbers up to 9"):
        compaction.of_block(np.full((1, 256), 10.0), 0)
