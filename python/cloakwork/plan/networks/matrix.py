"""Clear matrices between images, as few matrices between channels for many pairs of pixels.

A convolution has a matrix between channels for each tap of its kernel, which is the same for every
pixel that the tap meets. So it is held, multiplied and laid into diagonals by its weights, of which
there are thousands, where its elements are hundreds of millions. A matrix without such a structure
is one matrix between as many channels as it has rows and columns, of one pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.programs.ir import layers as g

Sparse: TypeAlias = sparse.csr_array
_Indices: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """A matrix by its elements.

    Args:
        rows: Element of the result of each.
        columns: Element of the operand of each.
        weights: Factors.

    Example:
        >>> Elements(np.array([0, 1]), np.array([1, 0]), np.ones(2)).rows.tolist()
        [0, 1]
    """

    rows: NDArray[Any]
    columns: NDArray[Any]
    weights: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class PixelPairs:
    """Pairs of pixels, and which matrix between channels is theirs.

    Args:
        rows: The result's pixel of each, no pair twice.
        columns: The operand's pixel of each.
        numbers: The number of the matrix of each.
        shape: How many pixels result and operand have.
    """

    rows: _Indices
    columns: _Indices
    numbers: _Indices
    shape: tuple[int, int]

    @classmethod
    def equal(cls, pixels: int) -> PixelPairs:
        """Every pixel with itself."""
        each = np.arange(pixels)
        return cls(each, each, np.zeros_like(each), (pixels, pixels))

    @property
    def keys(self) -> _Indices:
        """A number for each pair."""
        return self.rows * self.shape[1] + self.columns

    def of(self, number: int) -> tuple[_Indices, _Indices]:
        """The pairs of one matrix."""
        here = self.numbers == number
        return self.rows[here], self.columns[here]

    def counts(self, matrices: int) -> _Indices:
        """How many pairs each matrix has."""
        return np.bincount(self.numbers, minlength=matrices)


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix between images, or between vectors where both are of one pixel.

    Args:
        channels: The matrices between channels.
        pixels: The pairs of pixels between which each of these stands.

    Example:
        >>> twice = Matrix((Sparse([[2.0]]),), PixelPairs.equal(2))
        >>> twice.sparse().toarray().tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """

    channels: tuple[Sparse, ...]
    pixels: PixelPairs

    @classmethod
    def of(cls, elements: Any) -> Matrix:
        """A matrix without a structure.

        Example:
            >>> Matrix.of(np.array([[1.0, 2.0]])).shape
            (1, 2)
        """
        return cls((Sparse(elements),), PixelPairs.equal(1))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        (rows, columns), (after, before) = self.channels[0].shape, self.pixels.shape
        return rows * after, columns * before

    @property
    def nnz(self) -> int:
        """How many elements it has."""
        counts = self.pixels.counts(len(self.channels)).tolist()
        return sum(count * each.nnz for count, each in zip(counts, self.channels, strict=True))

    @property
    def nonzeros(self) -> int:
        """How many of its elements are not 0."""
        counts = self.pixels.counts(len(self.channels)).tolist()
        each = (matrix.count_nonzero() for matrix in self.channels)
        return sum(count * found for count, found in zip(counts, each, strict=True))

    def sparse(self) -> Sparse:
        """All elements, one by one: a convolution may have hundreds of millions."""
        if not self.is_structured:
            return self.channels[0]
        after, before = self.pixels.shape
        parts: list[tuple[NDArray[Any], ...]] = []
        for number, matrix in enumerate(self.channels):
            found = matrix.tocoo(copy=False)
            rows, columns = self.pixels.of(number)
            placed = (
                np.add.outer(found.row * after, rows).ravel(),
                np.add.outer(found.col * before, columns).ravel(),
                np.repeat(found.data, len(rows)),
            )
            parts.append(placed)
        rows, columns, weights = map(np.concatenate, zip(*parts, strict=True))
        return Sparse((weights, (rows, columns)), shape=self.shape)

    @property
    def is_structured(self) -> bool:
        """Whether it is more than one matrix of vectors."""
        return self.pixels.shape != (1, 1) or len(self.channels) * len(self.pixels.rows) != 1

    @cached_property
    def flat(self) -> Matrix:
        """The same matrix without its structure."""
        return Matrix.of(self.sparse()) if self.is_structured else self

    def elements(self) -> Elements:
        """All elements that are not 0; of an empty matrix one, which is 0."""
        # The matrix's own where none is zero, not copies.
        found = self.sparse().tocoo(copy=False)
        rows, columns, weights = found.row, found.col, found.data
        used = weights != 0
        if not used.all():
            rows, columns, weights = rows[used], columns[used], weights[used]
        if not len(weights):
            rows, columns, weights = np.zeros((3, 1))
        return Elements(
            np.asarray(rows, dtype=np.int32),
            np.asarray(columns, dtype=np.int32),
            np.asarray(weights, dtype=np.float64),
        )

    def scaled(self, factor: float) -> Matrix:
        """A multiple."""
        return Matrix(tuple(Sparse(each * factor) for each in self.channels), self.pixels)

    def applied(self, vector: g.Array) -> g.Array:
        """The product with a vector.

        Example:
            >>> Matrix((Sparse([[1.0, 2.0]]),), PixelPairs.equal(2)).applied(np.arange(4)).tolist()
            [4.0, 7.0]
        """
        after, before = self.pixels.shape
        image = np.asarray(vector).reshape(-1, before)
        total = np.zeros((self.channels[0].shape[0], after))
        for number, matrix in enumerate(self.channels):
            rows, columns = self.pixels.of(number)
            moved = Sparse((np.ones(len(rows)), (columns, rows)), shape=(before, after))
            total += matrix @ (image @ moved)
        return total.ravel()

    def row_sums(self) -> g.Array:
        """The sums of the absolute values of all rows."""
        ones = np.ones(self.shape[1])
        return Matrix(tuple(map(abs, self.channels)), self.pixels).applied(ones)

    def multiple(self) -> float | None:
        """The number that it is this many times the identity by; None of other matrices.

        Example:
            >>> identity((2,)).scaled(3.0).multiple(), Matrix.of(np.ones((1, 2))).multiple()
            (3.0, None)
        """
        rows, columns = self.shape
        if rows != columns or not rows or self.nnz != rows:
            return None
        flat = self.sparse()
        factor = float(flat.data[0])
        is_multiple = (flat - factor * sparse.eye_array(rows, format="csr")).count_nonzero() == 0
        return factor if is_multiple else None

    def __matmul__(self, other: Matrix) -> Matrix:
        if self.pixels.shape[1] != other.pixels.shape[0]:
            return self.flat @ other.flat
        left, right = _joined(self.pixels, other.pixels)
        shape = (self.pixels.shape[0], other.pixels.shape[1])
        terms = self.pixels.numbers[left] * len(other.channels) + other.pixels.numbers[right]
        pairs = self.pixels.rows[left] * shape[1] + other.pixels.columns[right]
        sums, pixels = _summed(pairs, terms, shape)
        channels = tuple(_sum_of_products(self, other, each) for each in sums)
        return Matrix(channels, pixels)

    def __add__(self, other: Matrix) -> Matrix:
        if self.pixels.shape != other.pixels.shape:
            return self.flat + other.flat
        pairs = np.concatenate([self.pixels.keys, other.pixels.keys])
        terms = np.concatenate([self.pixels.numbers, other.pixels.numbers + len(self.channels)])
        sums, pixels = _summed(pairs, terms, self.pixels.shape)
        known = (*self.channels, *other.channels)
        channels = tuple(_sum([known[term] for term in each.tolist()]) for each in sums)
        return Matrix(channels, pixels)


def identity(shape: g.Shape) -> Matrix:
    """The identity on tensors of a shape.

    Example:
        >>> identity((2,)).sparse().toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    channels, pixels = channels_and_pixels(shape)
    return Matrix((sparse.eye_array(channels, format="csr"),), PixelPairs.equal(pixels))


def channels_and_pixels(shape: g.Shape) -> tuple[int, int]:
    """How many channels and pixels a tensor has; other tensors than images have one pixel.

    Example:
        >>> channels_and_pixels((2, 3, 4)), channels_and_pixels((3, 4))
        ((2, 12), (12, 1))
    """
    if len(shape) == 3:
        return shape[0], shape[1] * shape[2]
    return int(np.prod(shape, dtype=np.int64)), 1


def _joined(left: PixelPairs, right: PixelPairs) -> tuple[_Indices, _Indices]:
    """The pairs on the left with those on the right whose row is their column."""
    order = np.argsort(right.rows, kind="stable")
    counts = np.bincount(right.rows, minlength=right.shape[0])
    starts = np.cumsum(counts) - counts
    taken = counts[left.columns]
    firsts = np.cumsum(taken) - taken
    of_left = np.repeat(np.arange(len(left.rows)), taken)
    within = np.arange(len(of_left)) - np.repeat(firsts, taken)
    return of_left, order[starts[left.columns[of_left]] + within]


def _summed(
    pairs: _Indices, terms: _Indices, shape: tuple[int, int]
) -> tuple[list[_Indices], PixelPairs]:
    """The different sums of terms that pairs have, and which of them each has."""
    order = np.lexsort((terms, pairs))
    found, starts = np.unique(pairs[order], return_index=True)
    sums: dict[bytes, int] = {}
    parts = np.split(terms[order], starts[1:])
    numbers = [sums.setdefault(part.tobytes(), len(sums)) for part in parts]
    rows, columns = np.divmod(found, shape[1])
    pixels = PixelPairs(rows, columns, np.asarray(numbers, dtype=np.int64), shape)
    return [np.frombuffer(each, dtype=terms.dtype) for each in sums], pixels


def _sum_of_products(left: Matrix, right: Matrix, terms: _Indices) -> Sparse:
    pairs = (divmod(term, len(right.channels)) for term in terms.tolist())
    return _sum([Sparse(left.channels[one] @ right.channels[other]) for one, other in pairs])


def _sum(matrices: Sequence[Sparse]) -> Sparse:
    total = matrices[0]
    for each in matrices[1:]:
        total = Sparse(total + each)
    return total
