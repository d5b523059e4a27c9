"""Payloads of few rows of many blocks, added up place by place, from which each row is told again.

Of all blocks the rows in one place are added up, each times its match. Rows lie in random places,
so that of few that match two seldom meet. The code of the block, some numbers of its own, is added
up beside the payloads, times the match, too: it tells which row it was, or that there were two, as
what lies between the codes of two blocks is none, whatever their matches are.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import RowsOverlapError, ValueOutOfRangeError

Array = NDArray[np.float64]

# Blocks that have codes.
MOST_BLOCKS = 1 << 10
# Above which the match of one row is not.
_MOST_MATCH = 1.25
# Bits after the binary point by which codes are told apart.
_BITS_OF_CODES = 12
# Of which the code is taken that is farthest from the others.
_TRIED = 8


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
        4
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
        """How many numbers of a row are added up: its payload, and the code of its block."""
        return self.width + self._length

    @property
    def _length(self) -> int:
        """How many numbers a code has: two, or three where numbers in pairs leave place for it."""
        return 2 + self.width % 2

    def bits(self, precision: int) -> int:
        """Bits after the binary point of a row's numbers that give payloads some of their own."""
        return max(precision + math.ceil(math.log2(self.bound)), _BITS_OF_CODES)

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
        code = codes(self._length)[block]
        return np.vstack([np.tile(code[:, None], payloads.shape[1]), payloads / self.bound])

    def rows(self, matches: Array, totals: Array, error: float) -> list[Row]:
        """The rows of a sum over blocks, but those that hardly match.

        Args:
            matches: For each place how much its rows match.
            totals: The sums of what stands for them, a column for each place.
            error: How far both may be off.

        Raises:
            RowsOverlapError: Two rows have one place.
        """
        places = np.flatnonzero(matches > 0.5)
        found, total = matches[places], totals[:, places]
        known = codes(self._length)
        blocks = _nearest(known, (total[: self._length] / found).T)
        off = np.abs(total[: self._length] - found * known[blocks].T).max(axis=0)
        # The sum's error, and that of the match, of which the code is not more than once.
        is_one = (found < _MOST_MATCH) & (off <= 2 * error)
        if not is_one.all():
            raise RowsOverlapError(
                f"cannot tell the rows that were found apart: expected {self.at_most} at most, got "
                f"some {matches[places].sum():.0f}, of which two have one place; search block by "
                "block, by Database.search, or make an index that counts"
            )
        payloads = (total[self._length :] / found).T * self.bound
        pairs = zip(blocks.tolist(), places.tolist(), found.tolist(), payloads, strict=True)
        return [Row(*each) for each in pairs]


@functools.cache
def codes(length: int) -> Array:
    """For each block its code, numbers within [-1, 1], none of them close to those before.

    Best-candidate sampling, Mitchell (1991); in no order, so that few lie on one line. Where two
    rows meet that match partly, one sum in 2^22 / blocks, or 2^33 / blocks of codes of three, is
    within the errors of codes of another block's.
    """
    # Tables outlive versions of numpy, whose newer generators may change their streams.
    rng = np.random.RandomState(0)
    found = rng.uniform(-1, 1, (MOST_BLOCKS, length))
    for number in range(1, MOST_BLOCKS):
        tried = rng.uniform(-1, 1, (_TRIED, length))
        apart = np.abs(tried[:, None] - found[:number]).max(axis=2).min(axis=1)
        found[number] = tried[apart.argmax()]
    return found


def _nearest(known: Array, given: Array) -> NDArray[np.int64]:
    """For each of some numbers in a row the code that is nearest."""
    nearest = [np.abs(known - each).max(axis=1).argmin() for each in given]
    return np.array(nearest, dtype=np.int64)
