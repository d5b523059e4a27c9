"""Clear matrices between images, as few matrices between channels for many pairs of pixels.

A convolution has a matrix between channels for each tap of its kernel, which is the same for every
pixel that the tap meets; a layer of tokens has one matrix between features for all tokens. So it is
held, multiplied and laid into diagonals by its weights, of which there are thousands, where its
elements are hundreds of millions. A matrix without such a structure is one matrix between as many
channels as it has rows and columns, of one pixel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.base.system_memory import physical_bytes
from cloakwork.errors import MemoryBudgetError
from cloakwork.plan.networks.grouping import Grouping
from cloakwork.programs.ir import layers as g

# Places and weight of an element, while they are put beside one another and into rows.
_BYTES_OF_ELEMENT = 72

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


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """What a matrix does that takes every element of its operand once, all times one number.

    Args:
        sources: The operand's element of each row.
        factor: What all are multiplied by.
    """

    sources: _Indices
    factor: float

    @property
    def targets(self) -> _Indices:
        """The row of each of the operand's elements."""
        made = np.empty_like(self.sources)
        made[self.sources] = np.arange(len(made))
        return made


@dataclass(frozen=True, eq=False)
class Matrix:
    """A matrix between tensors, whose elements have channels and pixels.

    Args:
        channels: The matrices between channels.
        pixels: The pairs of pixels between which each of these stands.
        rows: The channels and pixels of the result.
        columns: Those of the operand.

    Example:
        >>> twice = Matrix.of_images((Sparse([[2.0]]),), PixelPairs.equal(2))
        >>> twice.sparse().toarray().tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """

    channels: tuple[Sparse, ...]
    pixels: PixelPairs
    rows: Grouping
    columns: Grouping

    @classmethod
    def of(cls, elements: Any) -> Matrix:
        """A matrix without a structure.

        Example:
            >>> Matrix.of(np.array([[1.0, 2.0]])).shape
            (1, 2)
        """
        return cls.of_images((Sparse(elements),), PixelPairs.equal(1))

    @classmethod
    def of_images(cls, channels: tuple[Sparse, ...], pixels: PixelPairs) -> Matrix:
        """A matrix between tensors that have one channel after another."""
        sides = zip(channels[0].shape, pixels.shape, strict=True)
        return cls(channels, pixels, *(Grouping.of_images(*side) for side in sides))

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
        """All elements, one by one: a convolution may have hundreds of millions.

        Raises:
            MemoryBudgetError: The machine has no memory for as many.
        """
        if self._is_flat:
            return self.channels[0]
        needed, there = self.nnz * _BYTES_OF_ELEMENT, physical_bytes()
        if needed > there:
            raise MemoryBudgetError(
                f"cannot lay down a matrix of {self.nnz} elements one by one: expected {there} "
                f"bytes or less to work in, as the machine has, needed {needed}; make layers "
                "smaller, or compile on a larger machine"
            )
        parts: list[tuple[NDArray[Any], ...]] = []
        for number, matrix in enumerate(self.channels):
            found = matrix.tocoo(copy=False)
            rows, columns = self.pixels.of(number)
            placed = (
                self.rows.elements[np.ix_(found.row, rows)].ravel(),
                self.columns.elements[np.ix_(found.col, columns)].ravel(),
                np.repeat(found.data, len(rows)),
            )
            parts.append(placed)
        rows, columns, weights = map(np.concatenate, zip(*parts, strict=True))
        return Sparse((weights, (rows, columns)), shape=self.shape)

    @property
    def is_structured(self) -> bool:
        """Whether it is more than one matrix of vectors."""
        return self.pixels.shape != (1, 1) or len(self.channels) * len(self.pixels.rows) != 1

    @property
    def _is_flat(self) -> bool:
        return not self.is_structured and self.rows.is_flat and self.columns.is_flat

    @cached_property
    def flat(self) -> Matrix:
        """The same matrix without its structure."""
        return self if self._is_flat else Matrix.of(self.sparse())

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
        if factor == 1.0:
            return self
        return replace(self, channels=tuple(Sparse(each * factor) for each in self.channels))

    def applied(self, vector: g.Array) -> g.Array:
        """The product with a vector.

        Example:
            >>> pair = Matrix.of_images((Sparse([[1.0, 2.0]]),), PixelPairs.equal(2))
            >>> pair.applied(np.arange(4)).tolist()
            [4.0, 7.0]
        """
        after, before = self.pixels.shape
        image = np.asarray(vector).ravel()[self.columns.elements]
        total = np.zeros((self.channels[0].shape[0], after))
        for number, matrix in enumerate(self.channels):
            rows, columns = self.pixels.of(number)
            moved = Sparse((np.ones(len(rows)), (columns, rows)), shape=(before, after))
            total += matrix @ (image @ moved)
        made = np.empty(total.size)
        made[self.rows.elements] = total
        return made

    def row_sums(self) -> g.Array:
        """The sums of the absolute values of all rows."""
        ones = np.ones(self.shape[1])
        return replace(self, channels=tuple(map(abs, self.channels))).applied(ones)

    @cached_property
    def moves(self) -> Moves | None:
        """The moves that it makes; None where it does something else.

        Example:
            >>> moves = Matrix.of(np.array([[0.0, 3.0], [3.0, 0.0]])).moves
            >>> moves.sources.tolist(), moves.factor
            ([1, 0], 3.0)
        """
        rows, columns = self.shape
        if rows != columns or not rows or self.nnz != rows:
            return None
        flat = self.sparse()
        factor = float(flat.data[0])
        sources = flat.indices.astype(np.int64)
        counts = np.bincount(sources, minlength=columns)
        is_one_each = (np.diff(flat.indptr) == 1).all() and (counts == 1).all()
        return Moves(sources, factor) if is_one_each and (flat.data == factor).all() else None

    @property
    def sums_each_once(self) -> bool:
        """Whether no element of the operand counts in two rows, and some row takes several."""
        of_rows, of_columns = self.counts
        return bool(of_rows.max(initial=0) > 1 and of_columns.max(initial=0) <= 1)

    @property
    def has_full_diagonal(self) -> bool:
        """Whether every element of the operand counts for the element of its number."""
        rows, columns = self.shape
        if rows != columns or self.nonzeros < rows:
            return False
        if not np.array_equal(self.rows.elements, self.columns.elements):
            found = self.elements()
            return bool(np.count_nonzero(found.rows == found.columns) == rows)
        of_itself = self.pixels.rows == self.pixels.columns
        counts = np.bincount(self.pixels.numbers[of_itself], minlength=len(self.channels))
        diagonals = (np.count_nonzero(each.diagonal()) for each in self.channels)
        return sum(map(prod, zip(counts.tolist(), diagonals, strict=True))) == rows

    def multiple(self) -> float | None:
        """The number that it is this many times the identity by; None of other matrices.

        Example:
            >>> identity((2,)).scaled(3.0).multiple(), Matrix.of(np.ones((1, 2))).multiple()
            (3.0, None)
        """
        moves = self.moves
        if moves is None or not np.array_equal(moves.sources, np.arange(len(moves.sources))):
            return None
        return moves.factor

    def __matmul__(self, other: Matrix) -> Matrix:
        if other.moves is not None:
            moved = replace(self, columns=self.columns.numbered(other.moves.sources))
            return moved.scaled(other.moves.factor)
        if self.moves is not None:
            moved = replace(other, rows=other.rows.numbered(self.moves.targets))
            return moved.scaled(self.moves.factor)
        aligned = other._with_rows(self.columns)
        if aligned is None:
            return self.flat @ other.flat
        return self._times(aligned)

    def least_nnz_of_product(self, other: Matrix) -> int:
        """Elements that the product with another has at least, found without making it.

        Where no two rows of the other have elements in one column, that is all of them; else those
        are counted that one element of each row of this makes.

        Example:
            >>> Matrix.of(np.ones((3, 2))).least_nnz_of_product(Matrix.of(np.ones((2, 4))))
            12
        """
        of_rows, of_columns = other.counts
        if of_columns.max(initial=0) <= 1:
            return int(self.counts[1] @ of_rows)
        taken = self._one_of_each_row()
        return int(of_rows[taken[taken >= 0]].sum())

    def _one_of_each_row(self) -> _Indices:
        """For each row the column of one of its elements, -1 where it has none."""
        found = np.full(self.shape[0], -1)
        for number, matrix in enumerate(self.channels):
            rows, columns = self.pixels.of(number)
            filled = np.flatnonzero(np.diff(matrix.indptr))
            first = matrix.indices[matrix.indptr[filled]]
            sides = np.ix_(filled, rows), np.ix_(first, columns)
            found[self.rows.elements[sides[0]]] = self.columns.elements[sides[1]]
        return found

    @property
    def counts(self) -> tuple[_Indices, _Indices]:
        """How many elements that are not 0 each row has, and each column."""
        rows, columns = (np.zeros(size, dtype=np.int64) for size in self.shape)
        for number, matrix in enumerate(map(_without_zeros, self.channels)):
            after, before = self.pixels.of(number)
            of_rows = np.bincount(after, minlength=self.rows.pixels)
            of_columns = np.bincount(before, minlength=self.columns.pixels)
            in_columns = np.bincount(matrix.indices, minlength=self.columns.channels)
            rows[self.rows.elements] += np.multiply.outer(np.diff(matrix.indptr), of_rows)
            columns[self.columns.elements] += np.multiply.outer(in_columns, of_columns)
        return rows, columns

    def _times(self, other: Matrix) -> Matrix:
        """The product with a matrix whose rows are grouped as the columns are."""
        left, right = _joined(self.pixels, other.pixels)
        shape = (self.pixels.shape[0], other.pixels.shape[1])
        terms = self.pixels.numbers[left] * len(other.channels) + other.pixels.numbers[right]
        pairs = self.pixels.rows[left] * shape[1] + other.pixels.columns[right]
        sums, pixels = _summed(pairs, terms, shape)
        channels = tuple(_sum_of_products(self, other, each) for each in sums)
        return Matrix(channels, pixels, self.rows, other.columns)

    def __add__(self, other: Matrix) -> Matrix:
        aligned = other._with_rows(self.rows)
        aligned = None if aligned is None else aligned._with_columns(self.columns)
        if aligned is None:
            return self.flat + other.flat
        pairs = np.concatenate([self.pixels.keys, aligned.pixels.keys])
        terms = np.concatenate([self.pixels.numbers, aligned.pixels.numbers + len(self.channels)])
        sums, pixels = _summed(pairs, terms, self.pixels.shape)
        known = (*self.channels, *aligned.channels)
        channels = tuple(_sum([known[term] for term in each.tolist()]) for each in sums)
        return Matrix(channels, pixels, self.rows, self.columns)

    def _with_rows(self, grouping: Grouping) -> Matrix | None:
        """The same with the rows grouped in another way; None where it has no such structure."""
        if np.array_equal(grouping.elements, self.rows.elements):
            return self
        found = grouping.counterparts(self.rows)
        if found is None:
            return None
        channels, pixels = found
        pairs = replace(self.pixels, rows=np.argsort(pixels)[self.pixels.rows])
        moved = tuple(Sparse(each[channels]) for each in self.channels)
        return Matrix(moved, pairs, grouping, self.columns)

    def _with_columns(self, grouping: Grouping) -> Matrix | None:
        """The same with the columns grouped in another way; None as of `_with_rows`."""
        if np.array_equal(grouping.elements, self.columns.elements):
            return self
        found = grouping.counterparts(self.columns)
        if found is None:
            return None
        channels, pixels = found
        pairs = replace(self.pixels, columns=np.argsort(pixels)[self.pixels.columns])
        moved = tuple(Sparse(each[:, channels]) for each in self.channels)
        return Matrix(moved, pairs, self.rows, grouping)


def identity(shape: g.Shape) -> Matrix:
    """The identity on tensors of a shape.

    Example:
        >>> identity((2,)).sparse().toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    grouping = Grouping.of(shape)
    channels = sparse.eye_array(grouping.channels, format="csr")
    return Matrix((channels,), PixelPairs.equal(grouping.pixels), grouping, grouping)


def _without_zeros(matrix: Sparse) -> Sparse:
    if matrix.data.all():
        return matrix
    kept = matrix.copy()
    kept.eliminate_zeros()
    return kept


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
    parts = np.split(terms[order], starts[1:]) if len(found) else []
    numbers = [sums.setdefault(part.tobytes(), len(sums)) for part in parts]
    rows, columns = np.divmod(found, shape[1])
    pixels = PixelPairs(rows, columns, np.asarray(numbers, dtype=np.int64), shape)
    return [np.frombuffer(each, dtype=terms.dtype) for each in sums], pixels


def _sum_of_products(left: Matrix, right: Matrix, terms: _Indices) -> Sparse:
    pairs = (divmod(term, len(right.channels)) for term in terms.tolist())
    return _sum([_product(left.channels[one], right.channels[other]) for one, other in pairs])


def _product(left: Sparse, right: Sparse) -> Sparse:
    """The product of two matrices, by all their entries where few are zeros."""
    if _is_dense(left) and _is_dense(right):
        return Sparse(left.toarray() @ right.toarray())
    return Sparse(left @ right)


def _is_dense(matrix: Sparse) -> bool:
    """Whether at least half of the entries may be other than zero."""
    return bool(2 * matrix.nnz >= prod(matrix.shape))


def _sum(matrices: Sequence[Sparse]) -> Sparse:
    total = matrices[0]
    for each in matrices[1:]:
        total = Sparse(total + each)
    return total
