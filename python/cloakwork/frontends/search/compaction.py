"""Payloads of few rows of many, added up in buckets, from which each row found is told again.

A row has one bucket of two tables each. What is in a bucket is the sum of all rows there, each
times its match, so that one row alone gives itself; taken out of its other bucket it may leave
another one alone there. Source: Goodrich, Mitzenmacher, "Invertible Bloom Lookup Tables", Allerton
2011, with two tables.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError, RowsOverlapError, ValueOutOfRangeError

Array = NDArray[np.float64]

# Blocks that numbers of blocks tell apart.
MOST_BLOCKS = 1 << 10
# Columns beside payloads: ones, the number of the block, and the place's in both tables.
_BESIDE = 4
# Buckets for each row that may be found: two rows seldom share one.
_BUCKETS_OF_ROW = 16
# By how much of a unit numbers of places may be off.
_WHOLE = 0.25
# Of which they are right within that.
_BITS_OF_PLACES = 12


def least_size(width: int, at_most: int) -> int:
    """Places in which so many rows with payloads of a width are told apart, as a power of two."""
    return _segments(width) << (_BUCKETS_OF_ROW * at_most - 1).bit_length()


def _segments(width: int) -> int:
    """The power of two that holds a payload and what stands beside it."""
    return 1 << (width + _BESIDE - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Row:
    """A row that was told from its buckets.

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


@dataclass(frozen=True)
class Compaction:
    """How the rows of a block are added up in buckets.

    Args:
        size: How many places a block has, a power of two.
        width: How many numbers a payload has.
        bound: The largest absolute value of any.
        at_most: How many rows are to be told apart.

    Raises:
        InvalidArgumentError: There are too few places for as many rows of such payloads.

    Example:
        >>> Compaction(size=256, width=1, bound=9.0, at_most=2).columns
        5
    """

    size: int
    width: int
    bound: float
    at_most: int

    def __post_init__(self) -> None:
        if self.size & (self.size - 1) or self.size < least_size(self.width, self.at_most):
            raise InvalidArgumentError(
                f"cannot search: expected payloads of few enough numbers for {self.at_most} rows "
                f"in an answer of {self.size}, a power of two, got {self.width} numbers each; give "
                "narrower payloads, a smaller at_most, or more rows_in_block"
            )

    @property
    def meaning(self) -> str:
        """What numbers of payloads stand for."""
        return f"payloads divided by {self.bound!r}"

    @property
    def columns(self) -> int:
        """How many numbers stand for a row."""
        return self.width + _BESIDE

    @property
    def segments(self) -> int:
        """How many places a bucket takes."""
        return _segments(self.width)

    @property
    def buckets(self) -> int:
        """How many buckets a table has."""
        return self.size // self.segments

    def bits(self, precision: int) -> int:
        """Bits after the binary point of a row's columns that give payloads some of their own."""
        return max(precision + math.ceil(math.log2(self.bound)), _BITS_OF_PLACES)

    def of_block(self, payloads: Array, block: int) -> Array:
        """What stands for each row of a block, within [-1, 1], a column for each place.

        Raises:
            ValueOutOfRangeError: A payload is larger than the bound.
        """
        largest = float(np.abs(payloads).max())
        if largest > self.bound:
            raise ValueOutOfRangeError(
                f"cannot encrypt payloads: expected numbers up to {self.bound:g}, the largest of "
                f"the index's payloads, got {largest:g}; make the index with the largest of all"
            )
        places = np.arange(self.size)
        return np.vstack(
            [
                np.ones(self.size),
                np.full(self.size, block / MOST_BLOCKS),
                places // self.buckets / self.segments,
                places % self.segments / self.segments,
                payloads / self.bound,
            ]
        )

    def tables(self, matches: Any, rows: Any) -> tuple[Any, Any]:
        """Both tables of a block, encrypted: buckets of places far apart, and of neighbours."""
        far, near = (self.segments, self.buckets), (self.buckets, self.segments)
        weighted = [rows[number] * matches for number in range(self.columns)]
        apart = [column.reshape(far).sum(axis=0) for column in weighted]
        beside = [column.reshape(near).sum(axis=1)[:, None] for column in weighted]
        return (
            sum(each * mask for each, mask in zip(apart, self._masks((-1, 1), far), strict=True)),
            sum(each * mask for each, mask in zip(beside, self._masks((1, -1), near), strict=True)),
        )

    def rows(self, tables: Sequence[Array], error: float) -> list[Row]:
        """The rows that two decrypted tables hold, those that hardly match among them.

        Args:
            tables: The tables.
            error: How far their numbers may be off.

        Raises:
            RowsOverlapError: There are too many to be told apart.
        """
        left = [tables[0].T[:, : self.columns].copy(), tables[1][:, : self.columns].copy()]
        found: list[Row] = []
        alone = next(self._alone(left, error), None)
        while alone is not None:
            table, bucket, row = alone
            taken = left[table][bucket].copy()
            found.append(row)
            for each, at in zip(left, self._buckets_of(row.place), strict=True):
                each[at] -= taken
            alone = next(self._alone(left, error), None)
        if max(float(np.abs(each).max()) for each in left) > (2 + 2 * len(found)) * error:
            raise RowsOverlapError(
                f"cannot tell the rows that were found apart: expected {self.at_most} at most, got "
                f"some {tables[0][0].sum():.0f}, or two in one place; search block by block, by "
                "Database.search, or make an index with a larger at_most, or one that counts"
            )
        return found

    def _alone(self, left: Sequence[Array], error: float) -> Iterator[tuple[int, int, Row]]:
        """Rows that are alone in a bucket, with the table and the bucket."""
        for table, values in enumerate(left):
            for bucket in np.flatnonzero(values[:, 0] > 2 * error):
                row = self._row(table, int(bucket), values[bucket])
                if row is not None:
                    yield table, int(bucket), row

    def _row(self, table: int, bucket: int, values: Array) -> Row | None:
        """The row that a bucket holds alone; None where it holds several."""
        match, payload = float(values[0]), values[_BESIDE:] / values[0] * self.bound
        scales = np.array([MOST_BLOCKS, self.segments, self.segments])
        exact = values[1:_BESIDE] / match * scales
        block, high, low = (int(each) for each in np.rint(exact))
        if np.abs(exact - [block, high, low]).max() > _WHOLE or match > 1 + _WHOLE:
            return None
        place = high * self.buckets + bucket if table == 0 else bucket * self.segments + low
        if not 0 <= place < self.size or self._buckets_of(place)[table] != bucket:
            return None
        if (place // self.buckets, place % self.segments) != (high, low):
            return None
        return Row(block, place, match, payload)

    def _buckets_of(self, place: int) -> tuple[int, int]:
        return place % self.buckets, place // self.segments

    def _masks(self, along: tuple[int, int], shape: tuple[int, int]) -> list[Array]:
        """For each column a mask of its places in all buckets."""
        segments = np.arange(self.segments).reshape(along)
        return [np.broadcast_to(segments == n, shape) * 1.0 for n in range(self.columns)]
