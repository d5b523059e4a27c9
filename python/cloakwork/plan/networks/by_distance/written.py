"""The operations of attentions by distance.

Queries times keys: first halves of heads' features are real parts, second halves imaginary ones,
negative in keys, so that the real part of a product has both halves' products. Keys are turned by
whole tokens to every distance, and a product of blocks has the terms of the sums over each head's
slots. They are collected into as many slots as the head has, those of the next distance behind
those of the last. Sums by weights go the other way: a weight is repeated over its head's slots, and
multiplies values, both halves of them, that are turned to its distance.

What belongs to the r-th of as many distances as a head has slots is moved on by r slots, all of it.
So every collecting moves by 0, 1, 2, ... slots back, whatever the distance, and every repeating as
many forth: rotations that sums of 32 products, or 32 repetitions of one ciphertext, share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.stages import DistanceProduct
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.distances import Band, Distances
from cloakwork.programs.patterns import Patterns
from cloakwork.programs.slots import (
    Add,
    Builder,
    DropLevel,
    Linear,
    Mul,
    Rescale,
    Rotate,
    Sub,
    TimesI,
    TwiceReal,
)


def append_by_distance(
    builder: Builder, stage: DistanceProduct, left: Sequence[int], right: Sequence[int]
) -> list[int]:
    """Append a product of tokens by distance, of two levels, and return its ciphertexts."""
    writer = _DistanceWriter(builder, stage.operation.distances, stage.multiple)
    is_summed = isinstance(stage.operation, g.SumsOverDistances)
    return (writer.sums if is_summed else writer.products)(left, right)


@dataclass(frozen=True, slots=True)
class _DistanceWriter:
    """Appends attentions by distance.

    Args:
        builder: Where the operations go.
        distances: Where features and products stand.
        multiple: What sums of products are multiplied by.
    """

    builder: Builder
    distances: Distances
    multiple: float

    def products(self, left: Sequence[int], right: Sequence[int]) -> list[int]:
        """Append the products of blocks of features, which take two levels."""
        totals: dict[int, int] = {}
        for block, values in enumerate(
            zip(self._pairs(left, 1), self._pairs(right, -1), strict=True)
        ):
            terms = self._terms(*values)
            for part, products in enumerate(zip(*terms, strict=True)):
                for band in self._bands_of(block):
                    number, steps = self._result(band, part)
                    total = self.builder.append(Rescale(self._collected(band, products)))
                    total = self._turned(total, -steps)
                    totals[number] = self._added(totals.get(number), total)
        return [self.builder.append(TwiceReal(totals[number])) for number in range(len(totals))]

    def sums(self, weights: Sequence[int], values: Sequence[int]) -> list[int]:
        """Append the sums of values, by blocks of features, which take two levels."""
        append = self.builder.append
        made: list[int] = []
        for block, value in enumerate(self._pairs(values, -1)):
            made.append(self._weighted(block, weights, value))
        # Of a - i b the product with the imaginary unit has the real part b.
        return [append(TwiceReal(each)) for each in (*made, *(append(TimesI(e)) for e in made))]

    def _weighted(self, block: int, weights: Sequence[int], value: int) -> int:
        """The sums of a block's values, turned to all distances, by their weights."""
        append, half = self.builder.append, self.distances.half
        parts = range(self.distances.tokens // half)
        repeated = [self._repeated(block, part, weights) for part in parts]
        level = self.builder.level(repeated[0][0])
        if self.builder.level(value) != level:
            value = append(DropLevel(value, level))
        total: int | None = None
        for rest, turned in enumerate(self._at_distances(value)):
            products: int | None = None
            for part, other in enumerate(turned):
                products = self._added(products, append(Mul(repeated[part][rest], other)))
            assert products is not None
            total = self._added(total, self._turned(append(Rescale(products)), rest))
        assert total is not None
        return total

    def _pairs(self, halves: Sequence[int], sign: int) -> Iterator[int]:
        """The blocks of features, those of second halves times the imaginary unit and a sign."""
        append, blocks = self.builder.append, self.distances.blocks
        join = Add if sign > 0 else Sub
        for first, second in zip(halves[:blocks], halves[blocks:], strict=True):
            yield append(join(first, append(TimesI(second))))

    def _terms(self, left: int, right: int) -> Iterator[list[int]]:
        """For each distance within a head's slots the products at it, and those further on."""
        append = self.builder.append
        moved = [self._turned(left, -rest) for rest in range(self.distances.half)]
        for rest, turned in enumerate(self._at_distances(right)):
            yield [append(Rescale(append(Mul(moved[rest], other)))) for other in turned]

    def _at_distances(self, value: int) -> list[list[int]]:
        """A block turned to each distance within a head's slots, and from there on.

        The r-th is moved on by r slots.
        """
        half, row = self.distances.half, self.distances.row
        first = [self._turned(value, rest * (row - 1)) for rest in range(half)]
        steps = range(0, self.distances.tokens * row, half * row)
        return [[self._turned(each, step) for step in steps] for each in first]

    def _bands_of(self, block: int) -> Iterator[Band]:
        return (band for band in self.distances.bands if band.block == block)

    def _result(self, band: Band, part: int) -> tuple[int, int]:
        """The block of results that has a part of the distances, and the steps to it."""
        number, place = self.distances.result(band, part * self.distances.half)
        return number, place - band.first * self.distances.half

    def _collected(self, band: Band, products: Sequence[int]) -> int:
        """The sums over each head's slots, those of the r-th product in its r-th slot."""
        total: int | None = None
        for rest, product in enumerate(products):
            steps = np.arange(self.distances.half)
            diagonals = self._diagonals(band, steps, np.full_like(steps, rest))
            total = self._added(total, self.builder.append(Linear(product, diagonals, 1)))
        assert total is not None
        return total

    def _repeated(self, block: int, part: int, weights: Sequence[int]) -> list[int]:
        """The weights at some distances, each repeated over the slots of its head."""
        append, slots = self.builder.append, self.builder.slots
        steps = np.arange(self.distances.half)
        turned = []
        for band in self._bands_of(block):
            number, on = self._result(band, part)
            turned.append((band, self._turned(weights[number], on)))
        made: list[int] = []
        for rest in range(self.distances.half):
            total: int | None = None
            for band, value in turned:
                diagonals = self._diagonals(band, -steps, rest + steps)
                total = self._added(total, append(Linear(value, diagonals, slots)))
            assert total is not None
            made.append(append(Rescale(total)))
        return made

    def _diagonals(
        self, band: Band, steps: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> SparseDiagonals:
        """From some steps on to targets, counted from the first slot of every head of a band.

        Twice the real part is taken of what follows.
        """
        row, slots = self.distances.row, self.builder.slots
        heads = (band.first + np.arange(band.count)) * self.distances.half
        weights = np.full(len(steps), self.multiple / 2)
        pattern = Patterns(np.add.outer(np.arange(0, slots, row), heads).ravel())
        return SparseDiagonals.repeated(slots, steps, targets, weights, pattern)

    def _turned(self, value: int, step: int) -> int:
        steps = step % self.builder.slots
        return self.builder.append(Rotate(value, steps)) if steps else value

    def _added(self, left: int | None, right: int) -> int:
        return right if left is None else self.builder.append(Add(left, right))
