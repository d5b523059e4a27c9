"""The operations of attentions by distance.

Queries times keys: keys are turned by whole tokens to every distance, and a product of blocks has
the terms of the sums over each head's features. They are collected into as many slots as the head
has features, those of the next distance behind those of the last. Sums by weights go the other
way: a weight is repeated over the slots of its head's features, and multiplies values that are
turned to its distance.

What belongs to the r-th of as many distances as a head has features is moved on by r slots, all of
it. So every collecting moves by 0, 1, 2, ... slots back, whatever the distance, and every repeating
as many forth: rotations that sums of 32 products, or 32 repetitions of one ciphertext, share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.stages import DistanceProduct
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.distances import Distances
from cloakwork.programs.patterns import Patterns
from cloakwork.programs.slots import Add, Builder, DropLevel, Linear, Mul, Rescale, Rotate


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
        for block, values in enumerate(zip(left, right, strict=True)):
            terms = self._terms(*values)
            for part, products in enumerate(zip(*terms, strict=True)):
                number, place = self._result(block, part)
                total = self.builder.append(Rescale(self._collected(block, products)))
                total = self._turned(total, -place)
                totals[number] = self._added(totals.get(number), total)
        return [totals[number] for number in range(len(totals))]

    def sums(self, weights: Sequence[int], values: Sequence[int]) -> list[int]:
        """Append the sums of values, by blocks of features, which take two levels."""
        append = self.builder.append
        made: list[int] = []
        for block, each in enumerate(values):
            value, parts = each, self.distances.tokens // self.distances.group
            repeated = [self._repeated(block, part, weights) for part in range(parts)]
            level = self.builder.level(repeated[0][0])
            if self.builder.level(value) != level:
                value = append(DropLevel(value, level))
            sums: list[int | None] = [None] * self.distances.group
            for rest, turned in enumerate(self._at_distances(value)):
                for part, other in enumerate(turned):
                    sums[rest] = self._added(sums[rest], append(Mul(repeated[part][rest], other)))
            total: int | None = None
            for rest, products in enumerate(sums):
                assert products is not None
                total = self._added(total, self._turned(append(Rescale(products)), rest))
            assert total is not None
            made.append(total)
        return made

    def _terms(self, left: int, right: int) -> Iterator[list[int]]:
        """For each distance within a head's slots the products at it, and those further on."""
        append = self.builder.append
        moved = [self._turned(left, -rest) for rest in range(self.distances.group)]
        for rest, turned in enumerate(self._at_distances(right)):
            yield [append(Rescale(append(Mul(moved[rest], other)))) for other in turned]

    def _at_distances(self, value: int) -> list[list[int]]:
        """A block turned to each distance within a head's slots, and from there on.

        The r-th is moved on by r slots.
        """
        group, row = self.distances.group, self.distances.row
        first = [self._turned(value, rest * (row - 1)) for rest in range(group)]
        steps = range(0, self.distances.tokens * row, group * row)
        return [[self._turned(each, step) for step in steps] for each in first]

    def _result(self, block: int, part: int) -> tuple[int, int]:
        """The block of results that has a part of the distances, and its first slot there."""
        return self.distances.result(block, part * self.distances.group)

    def _collected(self, block: int, products: Sequence[int]) -> int:
        """The sums over each head's features, those of the r-th product in its r-th slot."""
        total: int | None = None
        for rest, product in enumerate(products):
            steps = np.arange(self.distances.group)
            diagonals = self._diagonals(block, steps, np.full_like(steps, rest))
            total = self._added(total, self.builder.append(Linear(product, diagonals, 1)))
        assert total is not None
        return total

    def _repeated(self, block: int, part: int, weights: Sequence[int]) -> list[int]:
        """The weights at some distances, each repeated over the slots of its head."""
        append, slots = self.builder.append, self.builder.slots
        number, place = self._result(block, part)
        value = self._turned(weights[number], place)
        steps = np.arange(self.distances.group)
        made: list[int] = []
        for rest in range(self.distances.group):
            diagonals = self._diagonals(block, -steps, rest + steps)
            made.append(append(Rescale(append(Linear(value, diagonals, slots)))))
        return made

    def _diagonals(
        self, block: int, steps: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> SparseDiagonals:
        """From some steps on to targets, counted from the first slot of every head."""
        row, slots = self.distances.row, self.builder.slots
        heads = np.arange(self.distances.heads_of(block)) * self.distances.group
        weights = np.full(len(steps), self.multiple)
        pattern = Patterns(np.add.outer(np.arange(0, slots, row), heads).ravel())
        return SparseDiagonals.repeated(slots, steps, targets, weights, pattern)

    def _turned(self, value: int, step: int) -> int:
        steps = step % self.builder.slots
        return self.builder.append(Rotate(value, steps)) if steps else value

    def _added(self, left: int | None, right: int) -> int:
        return right if left is None else self.builder.append(Add(left, right))
