"""Payloads of few rows of many blocks, added up place by place, from which each row is told again.

Of all blocks the rows in one place are added up, each times its match. Rows lie in random places,
so that of few that match two seldom meet; the number of the block, times the match, is added up
beside the payloads, and tells which row it was, or that there were two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import RowsOverlapError, ValueOutOfRangeError

Array = NDArray[np.float64]

# Blocks that numbers of blocks tell apart.
MOST_BLOCKS = 1 << 10
# By how much of a unit numbers of blocks may be off.
_WHOLE = 0.25
# Of which they are right within that.
_BITS_OF_BLOCKS = 12


@dataclass(frozen=True, slots=True)
class Row:
    """A row that was told from what was added up.

    Args:
        block: The number of its block.
        place: Its place there.
        match: How much it matches, from 0 to 1.
        payload: Its payload.
    """

    block: int
    place: int
    match: float
    payload: Array


@dataclass(frozen=True, slots=True)
class Compaction:
    """How the rows of blocks are added up.

    Args:
        width: How many numbers a payload has.
        bound: The largest absolute value of any.
        at_most: How many rows are to be told apart.

    Example:
        >>> Compaction(width=1, bound=9.0, at_most=2).columns
        2
    """

    width: int
    bound: float
    at_most: int

    @property
    def meaning(self) -> str:
        """What numbers of payloads stand for."""
        return f"payloads divided by {self.bound!r}"

    @property
    def columns(self) -> int:
        """How many numbers of a row are added up: its payload, and the number of its block."""
        return self.width + 1

    def bits(self, precision: int) -> int:
        """Bits after the binary point of a row's numbers that give payloads some of their own."""
        return max(precision + math.ceil(math.log2(self.bound)), _BITS_OF_BLOCKS)

    def of_block(self, payloads: Array, block: int) -> Array:
        """What is added up of the rows of a block, within [-1, 1], a column for each place.

        Raises:
            ValueOutOfRangeError: A payload is larger than the bound.
        """
        largest = float(np.abs(payloads).max())
        if largest > self.bound:
            raise ValueOutOfRangeError(
                f"cannot encrypt payloads: expected numbers up to {self.bound:g}, the largest of "
                f"the index's payloads, got {largest:g}; make the index with the largest of all"
            )
        number = np.full(payloads.shape[1:], block / MOST_BLOCKS)
        return np.vstack([number, payloads / self.bound])

    def rows(self, matches: Array, totals: Array) -> list[Row]:
        """The rows of a sum over blocks, but those that hardly match.

        Args:
            matches: For each place how much its rows match.
            totals: The sums of what stands for them, a column for each place.

        Raises:
            RowsOverlapError: Two rows have one place.
        """
        places = np.flatnonzero(matches > 0.5)
        blocks, *payloads = totals[:, places] / matches[places]
        exact = blocks * MOST_BLOCKS
        numbers = np.rint(exact).astype(np.int64)
        is_one = (matches[places] < 1 + _WHOLE) & (np.abs(exact - numbers) < _WHOLE)
        if not is_one.all():
            raise RowsOverlapError(
                f"cannot tell the rows that were found apart: expected {self.at_most} at most, got "
                f"some {matches[places].sum():.0f}, of which two have one place; search block by "
                "block, by Database.search, or make an index that counts"
            )
        found = np.column_stack(payloads) * self.bound
        return [
            Row(int(number), int(place), float(matches[place]), payload)
            for number, place, payload in zip(numbers, places, found, strict=True)
        ]
