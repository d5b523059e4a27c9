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

from functools import lru_cache, reduce
from itertools import accumulate, chain

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.layout import Layout, default_layout
from cloakwork.programs.slots import (
    Add,
    Builder,
    DropLevel,
    Input,
    Linear,
    Mul,
    Output,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    Sub,
    SwitchProduct,
    TimesI,
    TwiceReal,
)

# A session plans the same products again and again.
_PLANS = 8


@lru_cache(maxsize=_PLANS)
def skewed_product(
    title: str, origin: str, rows: int, side: int, levels: tuple[int, int]
) -> tuple[SlotProgram, Layout]:
    """The program of a product, and where its result lies.

    Args:
        title: What is computed, in the user's words.
        origin: The user's line.
        rows: Of the left matrix, a power of two.
        side: Columns of the left matrix, rows and columns of the right one: a power of two, at
            least as large.
        levels: Those of both matrices, whose ciphertexts have `side` squared slots.

    Example:
        >>> program, _ = skewed_product("a @ b", "", 64, 64, (2, 2))
        >>> sum(isinstance(each, Rotate) for each in program.operations)
        189
    """
    work = _Work(title, origin, rows, side)
    left, right = work.operands(levels)
    ways = work.columns_in_both_ways(left)
    layout = work.output(ways, work.columns_of_both_kinds(right))
    return work.builder.finish(), layout


class _Work:
    """The program so far; see `skewed_product` for its arguments."""

    def __init__(self, title: str, origin: str, rows: int, side: int) -> None:
        self.builder = Builder(title, side**2)
        self.builder.origin = origin
        self._rows, self._side, self._half = rows, side, side // 2
        self._row, self._column = np.divmod(np.arange(side**2), side)

    def operands(self, levels: tuple[int, int]) -> tuple[int, int]:
        """Both matrices at one level, with halves of the inner index together."""
        builder = self.builder
        builder.stage = "input"
        shapes = ((self._rows, self._side), (self._side, self._side))
        left, right = (
            builder.append(Input(f"operand{number}", level), default_layout(shape, builder.slots))
            for number, (shape, level) in enumerate(zip(shapes, levels, strict=True))
        )
        builder.stage = "halves of the inner index in one slot"
        left, right = (self._lowered(each, min(levels)) for each in (left, right))
        half_of_left = builder.append(TimesI(self._rotated(left, self._half)))
        half_of_right = builder.append(TimesI(self._rotated(right, self._half * self._side)))
        return (
            builder.append(Sub(left, half_of_left)),
            builder.append(Add(right, half_of_right)),
        )

    def columns_in_both_ways(self, left: int) -> list[tuple[int, ...]]:
        """For every k, X_0 rotated by k columns and, but for 0, X_0 rotated back.

        X_0 is halved here, as real parts of products are doubled.
        """
        builder, half = self.builder, self._half
        builder.stage = "left matrix, skewed"
        there = np.flatnonzero(self._row < self._rows)
        row, column = self._row[there], self._column[there]
        sources = there + (row + column) % half - column
        weights = np.full(len(there), 0.5)
        diagonals = SparseDiagonals(builder.slots, sources % builder.slots, there, weights)
        split = cheapest_split(diagonals.numbers, builder.slots)
        counted = diagonals.counted(np.asarray(split.numbers))
        skewed = builder.append(Rescale(builder.append(Linear(left, counted, split.baby_steps))))
        builder.stage = "left matrix, columns rotated"
        # A row of X_0 repeats itself after half of it.
        ways = [
            tuple(self._rotated(skewed, k - back) for back in (0, half)) for k in range(1, half)
        ]
        return [(skewed,), *ways]

    def columns_of_both_kinds(self, right: int) -> list[tuple[int, ...]]:
        """For every k the part of T_k without its last k columns and, but for 0, those."""
        side, half = self._side, self._half
        columns = self._columns(right)
        first = [*accumulate(columns, self._sum)]
        last = [*accumulate(reversed(columns[1:]), self._sum)]
        self.builder.stage = "right matrix, rows rotated"
        parts = [
            tuple(self._rotated(part, k * side) for part in (first[half - 1 - k], last[k - 1]))
            for k in range(1, half)
        ]
        return [(first[-1],), *parts]

    def _columns(self, right: int) -> list[int]:
        """T_0 in pieces: the columns that are never among the last k, and each of the others."""
        side, half, slots = self._side, self._half, self.builder.slots
        self.builder.stage = "right matrix, skewed"
        distances = ((self._row + self._column) % half - self._row) * side % slots
        pieces = np.maximum(self._column - (side - half), 0)
        rotated = {each: self._rotated(right, each) for each in np.unique(distances).tolist()}
        return [
            self._masked(rotated, np.where(pieces == piece, distances, -1)) for piece in range(half)
        ]

    def output(self, left: list[tuple[int, ...]], right: list[tuple[int, ...]]) -> Layout:
        """The sum of all products, as it lies."""
        builder = self.builder
        builder.stage = "products"
        ways, parts = (tuple(chain.from_iterable(each)) for each in (left, right))
        products = builder.append(RotatedProducts(ways, parts, builder.slots))
        total = builder.append(Rescale(builder.append(SwitchProduct(products, 0))))
        layout = default_layout((self._rows, self._side), builder.slots)
        builder.append(Output(builder.append(TwiceReal(total))), layout)
        return layout

    def _masked(self, rotated: dict[int, int], distances: NDArray[np.int64]) -> int:
        """In each slot the rotation by the distance given for it; 0 where that is negative."""
        masks = {
            each: self.builder.constant(np.where(distances == each, 1.0, 0.0))
            for each in np.unique(distances[distances >= 0]).tolist()
        }
        terms = (self.builder.append(Mul(rotated[each], mask)) for each, mask in masks.items())
        return self.builder.append(Rescale(reduce(self._sum, terms)))

    def _lowered(self, value: int, level: int) -> int:
        own = self.builder.level(value)
        return value if own == level else self.builder.append(DropLevel(value, level))

    def _sum(self, one: int, other: int) -> int:
        return self.builder.append(Add(one, other))

    def _rotated(self, value: int, steps: int) -> int:
        steps %= self.builder.slots
        return self.builder.append(Rotate(value, steps)) if steps else value
