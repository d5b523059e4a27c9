"""Grids of lanes for products of blocks of matrices, and what they have to read and to move.

Lanes stand in a grid of rows x columns x inner parts, and blocks go around it: the block of rows i
and of columns j, part k of the inner dimension, is the work of lane (i mod rows, j mod columns, k
mod inner). A lane reads its blocks of rows and of columns, each once. With U and V the bytes of
both operands and C those of all products before their keys are switched, all lanes together read
and move, where sizes are multiples of the grid,

    columns U + rows V + (inner - 1) C.

Source: the cost of a 3D grid in FHE4DMM (equation 5), with the sums of parts in place of results:
here products are moved before their keys are switched, four polynomials for two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Grid:
    """How lanes share out the blocks of a product of matrices.

    Args:
        rows: Lanes along the blocks of rows.
        columns: Lanes along the blocks of columns.
        inner: Lanes along the parts of the inner dimension.

    Example:
        >>> Grid(2, 2, 1).lane((3, 2, 0)), Grid(2, 2, 1).lanes
        (2, 4)
    """

    rows: int
    columns: int
    inner: int

    @property
    def lanes(self) -> int:
        """How many lanes there are."""
        return self.rows * self.columns * self.inner

    def lane(self, block: tuple[int, int, int]) -> int:
        """The lane that multiplies a block of rows, one of columns, and an inner part."""
        row, column, part = block
        place = row % self.rows * self.columns + column % self.columns
        return place * self.inner + part % self.inner

    def moved_bytes(self, left: int, right: int, products: int) -> int:
        """Bytes that all lanes together read and move; see the module.

        Args:
            left: Bytes of the left operand.
            right: Those of the right one.
            products: Those of all products before their keys are switched.

        Example:
            >>> Grid(2, 4, 1).moved_bytes(100, 1000, 5000)
            2400
        """
        return self.columns * left + self.rows * right + (self.inner - 1) * products


def grids(lanes: int) -> Iterator[Grid]:
    """All grids of so many lanes.

    Example:
        >>> [(each.rows, each.columns, each.inner) for each in grids(2)]
        [(1, 1, 2), (1, 2, 1), (2, 1, 1)]
    """
    for rows in range(1, lanes + 1):
        for columns in range(1, lanes // rows + 1):
            if lanes % (rows * columns) == 0:
                yield Grid(rows, columns, lanes // (rows * columns))
