"""Copies of an image over all slots, turned against one another by channels.

Channels of an image on a grid lie in units of as many slots: one channel in all its stride phases,
or those that fill the gaps of one another. A copy turned by whole units has every pixel as far from
its neighbours as before, so that a weight of a convolution stays one number with a pattern of
pixels, and a diagonal that went between channels of one distance goes between those of another in
every copy (`plan.networks.spread_operands`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.grouping import Grouping
from cloakwork.plan.networks.matrix import Elements, Matrix, PixelPairs, Sparse
from cloakwork.plan.networks.packings.convolution import Image, ImageGrid
from cloakwork.plan.networks.packings.product_prices import ProductDiagonals
from cloakwork.plan.networks.turned_copies import FILLED, TurnedCopies
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.places import Places

# With fewer the diagonals that are saved take less than the level: those of copies that are all
# alike repeat themselves, and are encoded sooner.
_FEWEST_TURNS = 4


@dataclass(frozen=True, slots=True)
class ImageProduct:
    """A product of an image with a matrix that gives an image.

    Args:
        matrix: The matrix.
        operand: The image.
        result: What it becomes.
    """

    matrix: Matrix
    operand: Image
    result: Image

    @property
    def is_large(self) -> bool:
        """Whether it is one between most channels of two images of one size."""
        operand, result = self.operand, self.result
        if operand.shape[1:] != result.shape[1:] or operand.strides != result.strides:
            return False
        sides = (self.matrix.rows, result), (self.matrix.columns, operand)
        if not all(_is_of(grouping, image) for grouping, image in sides):
            return False
        channels = self.matrix.channels
        size = sum(each.shape[0] * each.shape[1] for each in channels)
        return bool(sum(each.nnz for each in channels) >= FILLED * size)

    def packings(self, grid: ImageGrid, slots: int) -> tuple[Places, Places] | None:
        """The operand and the result on a grid; None where that holds them not."""
        operand, result = (grid.packing(each, slots) for each in (self.operand, self.result))
        return None if operand is None or result is None else (operand, result)


def _is_of(grouping: Grouping, image: Image) -> bool:
    """Whether channels and pixels are those of an image."""
    return np.array_equal(grouping.elements, Grouping.of(image.shape).elements)


def best_grid(
    products: Sequence[ImageProduct],
    grids: Sequence[ImageGrid],
    slots: int,
    known: ProductDiagonals,
) -> ImageGrid:
    """The grid on which the products of a network take the fewest diagonals, with copies."""

    def diagonals(grid: ImageGrid) -> int:
        total = 0
        for each in products:
            packings = each.packings(grid, slots)
            copies = TurnedImages.of([each], grid, slots) if each.is_large else None
            turns = 1 if copies is None else copies.turns
            # A grid on which a product does not fit is worse than any on which it does.
            total += slots if packings is None else known.count(each.matrix, *packings) // turns
        return total

    whole = [
        grid
        for grid in grids
        if grid.block == power_of_two(grid.block) and grid.row == power_of_two(grid.row)
    ]
    return min(whole, key=diagonals)


@dataclass(frozen=True, slots=True, eq=False)
class TurnedImages:
    """Copies of an image over all slots.

    Args:
        units: How the units of the channels are copied and turned.
        unit: Slots of a unit.
        packing: The image on the grid.
        image: Its shape.
        grid: The grid.
    """

    units: TurnedCopies
    unit: int
    packing: Places
    image: Image
    grid: ImageGrid

    @classmethod
    def of(
        cls, products: Sequence[ImageProduct], grid: ImageGrid, slots: int
    ) -> TurnedImages | None:
        """Those for the convolutions of one image; None where they do not fit, or are too few."""
        image = products[0].operand
        packing = grid.packing(image, slots)
        if packing is None or packing.ciphertexts > 1 or packing.period % grid.unit(image):
            return None
        unit = grid.unit(image)
        count = packing.period // unit
        results: list[int] = []
        for each in products:
            result = grid.packing(each.result, slots)
            if result is None or result.ciphertexts > 1 or result.period % unit:
                return None
            results.append(result.period // unit)
        copies = TurnedCopies.of(count, results, min(slots // unit, count * count))
        if copies is None or copies.count // copies.alike < _FEWEST_TURNS:
            return None
        return cls(copies, unit, packing, image, grid)

    @property
    def turns(self) -> int:
        """How many different turns the copies have."""
        return self.units.count // self.units.alike

    @property
    def places(self) -> NDArray[np.int64]:
        """The place of each element of each copy."""
        copies = np.arange(self.units.count)
        turned = copies // self.units.alike * self.units.step * self.unit
        period = self.packing.period
        within = np.subtract.outer(self.packing.places, turned).T % period
        return np.asarray(copies[:, np.newaxis] * period + within).ravel()

    @property
    def matrix(self) -> Matrix:
        """What makes the copies."""
        channels, pixels = self.image.shape[0], self.image.shape[1] * self.image.shape[2]
        rows = np.arange(channels * self.units.count)
        shape = len(rows), channels
        every = Sparse((np.ones(len(rows)), (rows, rows % channels)), shape=shape)
        return Matrix.of_images((every,), PixelPairs.equal(pixels))

    def spread(self, matrix: Matrix) -> Matrix:
        """A convolution as one of the copies, each weight in the copy that has its channel."""
        into, out = (self._units_of(each) for each in (matrix.columns, matrix.rows))
        channels = self.image.shape[0]
        parts: list[Sparse] = []
        for each in matrix.channels:
            found = each.tocoo(copy=False)
            elements = Elements(out[found.row], into[found.col], found.data)
            columns = self.units.copies_of(elements, power_of_two(int(out.max()) + 1)) * channels
            shape = each.shape[0], channels * self.units.count
            parts.append(Sparse((found.data, (found.row, columns + found.col)), shape=shape))
        pixels = self.image.shape[1] * self.image.shape[2]
        copied = Grouping.of_images(channels * self.units.count, pixels)
        return Matrix(tuple(parts), matrix.pixels, matrix.rows, copied)

    def _units_of(self, grouping: Grouping) -> NDArray[np.int64]:
        """The unit of each channel of an image of this size."""
        shape = grouping.channels, *self.image.shape[1:]
        packing = self.grid.packing(Image(shape, self.image.strides), self.packing.slots)
        assert packing is not None
        return packing.places[grouping.elements[:, 0]] // self.unit
