"""Grids of lanes: every block has one lane, and the model counts what lanes read and move."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest

from cloakwork.cluster.grid import Grid, grids

BLOCKS = [*product(range(4), range(6), range(2))]


@pytest.mark.parametrize("lanes", [1, 2, 7, 12, 64])
def test_grids_have_all_lanes(lanes: int) -> None:
    found = list(grids(lanes))
    assert all(grid.lanes == lanes for grid in found)
    assert len(set(found)) == len(found)
    assert Grid(1, lanes, 1) in found
    assert Grid(lanes, 1, 1) in found


@pytest.mark.parametrize("grid", [Grid(2, 3, 1), Grid(4, 1, 2), Grid(1, 6, 1), Grid(4, 6, 2)])
def test_blocks_are_shared_out_evenly(grid: Grid) -> None:
    loads = Counter(grid.lane(block) for block in BLOCKS)
    assert loads.keys() == set(range(grid.lanes))
    assert set(loads.values()) == {len(BLOCKS) // grid.lanes}


@pytest.mark.parametrize("grid", [Grid(2, 3, 1), Grid(4, 1, 2), Grid(1, 6, 2), Grid(2, 2, 2)])
def test_lanes_read_and_move_what_the_model_says(grid: Grid) -> None:
    """By counting with blocks of 3 bytes on the left, 5 on the right, and products of 7."""
    left = {(grid.lane(block), block[0], block[2]) for block in BLOCKS}
    right = {(grid.lane(block), block[1], block[2]) for block in BLOCKS}
    # The parts of a product are added up on one of the lanes that have them.
    crossing = sum(
        len({grid.lane((row, column, part)) for part in range(2)}) - 1
        for row, column in product(range(4), range(6))
    )
    counted = 3 * len(left) + 5 * len(right) + 7 * crossing
    assert counted == grid.moved_bytes(3 * 4 * 2, 5 * 6 * 2, 7 * 4 * 6)
