"""Products of two encrypted matrices that lie row by row and fill a ciphertext each.

With rows of d slots and square matrices, A B is the sum over k of X_k T_k, slot by slot, where

    X_k[i, j] = A[i, (i + j + k) mod d],    T_k[i, j] = B[(i + j + k) mod d, j].

T_k is T_0 rotated by k rows. X_k is X_0 rotated by k columns in all columns but the last k; in
those it is X_0 rotated back, by d - k. So T_k is taken in two parts, its last k columns and the
others, one for each of the two. T_0 is a sum of masked rotations of B, which share a decomposition;
where those of each column are summed apart, the parts take no masks of their own, and no level.

A slot is a complex number. Before all that, half of the inner index is put into imaginary parts,
negative ones on the left, so that d / 2 takes the place of d where inner indices are counted, and
two terms are one: real parts of products are the sums over both.

Source: X and T are the matrices sigma(A) and tau(B) of Jiang, Kim, Lauter and Song, "Secure
outsourced matrix computation and application to neural networks", CCS 2018, section 3, which
takes a level more for the two kinds of columns.
"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.tensors.placed import rotated, total_of_tensors, transformed_tensor
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.slots import (
    Add,
    Builder,
    Mul,
    Rescale,
    RotatedProducts,
    Sub,
    SwitchProduct,
    TimesI,
    TwiceReal,
)


def skewed_product(builder: Builder, left: int, right: int, rows: int) -> int:
    """The product of two values that hold a matrix each, at one level.

    Example:
        >>> from cloakwork.programs.layout import default_layout
        >>> from cloakwork.programs.slots import Input, Rotate
        >>> builder = Builder("a @ b", 4096)
        >>> a, b = (builder.append(Input(name, 2), default_layout((64, 64), 4096)) for name in "ab")
        >>> _ = skewed_product(builder, a, b, 64)
        >>> sum(isinstance(each, Rotate) for each in builder.operations)
        189
    """
    work = _SkewedWork(builder, rows)
    ways, parts = work.columns_in_both_ways(left), work.columns_of_both_kinds(right)
    builder.stage = "products"
    products = builder.append(RotatedProducts(tuple(ways), tuple(parts), builder.slots))
    rescaled = builder.append(Rescale(builder.append(SwitchProduct(products, 0))))
    return builder.append(TwiceReal(rescaled))


def with_imaginary(
    builder: Builder, value: int, joined: type[Add] | type[Sub], distance: int
) -> int:
    """A value whose imaginary parts are what stands further on in it, or less that.

    Example:
        >>> from cloakwork.programs.slots import Input
        >>> builder = Builder("pairs", 4)
        >>> _ = with_imaginary(builder, builder.append(Input("x", 1)), Add, 2)
        >>> [each.kind for each in builder.operations]
        ['input', 'rotate', 'times_i', 'add']
    """
    imaginary = builder.append(TimesI(rotated(builder, value, distance)))
    return builder.append(joined(value, imaginary))


class _SkewedWork:
    """The program so far; see `skewed_product` for its arguments."""

    def __init__(self, builder: Builder, rows: int) -> None:
        self._builder = builder
        self._rows = rows
        self._side = math.isqrt(builder.slots)
        self._half = self._side // 2
        self._row, self._column = np.divmod(np.arange(builder.slots), self._side)

    def columns_in_both_ways(self, left: int) -> list[int]:
        """For every k, X_0 rotated by k columns and, but for 0, X_0 rotated back.

        X_0 is halved here, as real parts of products are doubled.
        """
        builder, half = self._builder, self._half
        builder.stage = "left matrix, skewed"
        left = with_imaginary(builder, left, Sub, half)
        there = np.flatnonzero(self._row < self._rows)
        row, column = self._row[there], self._column[there]
        sources = (there + (row + column) % half - column) % builder.slots
        diagonals = SparseDiagonals(builder.slots, sources, there, np.full(len(there), 0.5))
        skewed = builder.append(Rescale(transformed_tensor(builder, left, diagonals)))
        builder.stage = "left matrix, columns rotated"
        # A row of X_0 repeats itself after half of it.
        steps = (step for k in range(1, half) for step in (k, k - half))
        return [skewed, *(rotated(builder, skewed, step) for step in steps)]

    def columns_of_both_kinds(self, right: int) -> list[int]:
        """For every k the part of T_k without its last k columns and, but for 0, those."""
        builder, side, half = self._builder, self._side, self._half
        columns = self._columns(right)
        first = [*accumulate(columns, self._sum)]
        last = [*accumulate(reversed(columns[1:]), self._sum)]
        builder.stage = "right matrix, rows rotated"
        parts = [first[-1]]
        for k in range(1, half):
            both = first[half - 1 - k], last[k - 1]
            parts += (rotated(builder, part, k * side) for part in both)
        return parts

    def _columns(self, right: int) -> list[int]:
        """T_0 in pieces: the columns that are never among the last k, and each of the others."""
        builder, side, half = self._builder, self._side, self._half
        builder.stage = "right matrix, skewed"
        right = with_imaginary(builder, right, Add, half * side)
        distances = ((self._row + self._column) % half - self._row) * side % builder.slots
        pieces = np.maximum(self._column - (side - half), 0)
        turned = {each: rotated(builder, right, each) for each in np.unique(distances).tolist()}
        return [
            self._masked(turned, np.where(pieces == piece, distances, -1)) for piece in range(half)
        ]

    def _masked(self, turned: dict[int, int], distances: NDArray[np.int64]) -> int:
        """In each slot the rotation by the distance given for it; 0 where that is negative."""
        builder = self._builder
        masks = {
            each: builder.constant(np.where(distances == each, 1.0, 0.0))
            for each in np.unique(distances[distances >= 0]).tolist()
        }
        terms = [builder.append(Mul(turned[each], mask)) for each, mask in masks.items()]
        return builder.append(Rescale(total_of_tensors(builder, terms)))

    def _sum(self, one: int, other: int) -> int:
        return self._builder.append(Add(one, other))
