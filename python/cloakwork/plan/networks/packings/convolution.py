"""The packings that each stage of a network may have.

An image lies on a grid of rows. After layers with strides, the pixels of an image keep their
distance on the grid and other channels fill the gaps: multiplexed packing (Lee et al.,
"Low-complexity deep convolutional neural networks on FHE using multiplexed parallel
convolutions", ICML 2022, section 4; Orion, ASPLOS 2025, section 4.3). Before layers with
strides, an image may be cut into stride phases, one block of slots for each: then strided
layers leave no gaps. The stride at which pixels are neighbours on the grid is its resolution.

Tokens of different widths lie on rows of one length, so that a matrix that is the same for every
token has no more diagonals than for one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cloakwork.programs.ir import layers as g
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.places import Places


@dataclass(frozen=True, slots=True)
class Image:
    """The shape of a stage's tensor, and the strides of the layers before it.

    Args:
        shape: Its shape; three axes are channels, height and width.
        strides: The distance of its pixels, in pixels of the input; None where there is no such
            distance.
    """

    shape: g.Shape
    strides: g.Pair | None


@dataclass(frozen=True, slots=True)
class ImageGrid:
    """A grid of slots for images of one resolution.

    Args:
        resolution: The strides, down and to the right, at which pixels are neighbours.
        row: Slots from one row to the next.
        block: Slots from one channel to the next.
    """

    resolution: g.Pair
    row: int
    block: int

    def packing(self, image: Image, slots: int) -> Places | None:
        """How an image lies on the grid; None where its strides do not fit.

        Example:
            >>> grid = ImageGrid((1, 1), 4, 16)
            >>> grid.packing(Image((2, 2, 2), (2, 2)), 64).places.tolist()
            [0, 2, 8, 10, 1, 3, 9, 11]
        """
        scaled = _scaled(image, self.resolution)
        if scaled is None:
            return None
        (gap_y, phases_y), (gap_x, phases_x) = scaled
        channel, y, x = np.indices(image.shape)
        gaps, phases = gap_y * gap_x, phases_y * phases_x
        block = channel // gaps * phases + y % phases_y * phases_x + x % phases_x
        down = y // phases_y * gap_y + channel % gaps // gap_x
        right = x // phases_x * gap_x + channel % gap_x
        places = block * self.block + down * self.row + right
        parts = [f"rows of {self.row}, channels of {self.block}"]
        parts += [f"gaps of {gap_y}x{gap_x}"] if gaps > 1 else []
        parts += [f"stride phases of {phases_y}x{phases_x}"] if phases > 1 else []
        return Places(slots, places.ravel(), ", ".join(parts))

    def unit(self, image: Image) -> int:
        """Slots of the least channels of an image on the grid that lie in slots of their own.

        Example:
            >>> grid = ImageGrid((2, 2), 4, 16)
            >>> [grid.unit(Image((4, 4, 4), (stride, stride))) for stride in (1, 2, 4)]
            [64, 16, 16]
        """
        scaled = _scaled(image, self.resolution)
        assert scaled is not None, "the image has no packing on the grid"
        (_, phases_y), (_, phases_x) = scaled
        return self.block * phases_y * phases_x


def _scaled(image: Image, resolution: g.Pair) -> tuple[g.Pair, g.Pair] | None:
    """Gap and phases, down and to the right; None where the strides do not fit."""
    if len(image.shape) != 3 or image.strides is None:
        return None
    both: list[g.Pair] = []
    for stride, fine in zip(image.strides, resolution, strict=True):
        if stride % fine and fine % stride:
            return None
        both.append((max(1, stride // fine), max(1, fine // stride)))
    return both[0], both[1]


def image_grids(images: Sequence[Image]) -> list[ImageGrid]:
    """The grids that the images of a network may lie on.

    Example:
        >>> image_grids([Image((1, 6, 6), (1, 1)), Image((4, 3, 3), (2, 2))])[0]
        ImageGrid(resolution=(1, 1), row=6, block=36)
    """
    found: dict[ImageGrid, None] = {}
    for resolution in sorted({image.strides for image in images if image.strides is not None}):
        height = width = 1
        for image in images:
            scaled = _scaled(image, resolution)
            if scaled is not None:
                (gap_y, phases_y), (gap_x, phases_x) = scaled
                height = max(height, -(-image.shape[1] // phases_y) * gap_y)
                width = max(width, -(-image.shape[2] // phases_x) * gap_x)
        for row, block in (
            (width, width * height),
            (width, power_of_two(width * height)),
            (power_of_two(width), power_of_two(power_of_two(width) * height)),
        ):
            found[ImageGrid(resolution, row, block)] = None
    return list(found)


@dataclass(frozen=True, slots=True)
class TokenRows:
    """Rows of slots, one for the features of each token, and further blocks for further features.

    Args:
        row: Slots from one token to the next.
        block: Slots from one block to the next.
    """

    row: int
    block: int

    def packing(self, image: Image, slots: int) -> Places | None:
        """How the features of tokens lie in rows; None of other tensors.

        Example:
            >>> TokenRows(2, 4).packing(Image((2, 4), None), 64).places.tolist()
            [0, 1, 4, 5, 2, 3, 6, 7]
        """
        if len(image.shape) != 2 or power_of_two(image.shape[0]) * self.row != self.block:
            return None
        token, feature = np.indices(image.shape)
        places = feature // self.row * self.block + token * self.row + feature % self.row
        return Places(slots, places.ravel(), f"tokens of {self.row}, blocks of {self.block}")


Grid: TypeAlias = ImageGrid | TokenRows


def token_rows(images: Sequence[Image]) -> list[TokenRows]:
    """The rows that as many tokens of different widths may lie on.

    Example:
        >>> token_rows([Image((4, 3), None), Image((4, 8), None)])
        [TokenRows(row=4, block=16), TokenRows(row=8, block=32)]
    """
    widths: dict[int, set[int]] = {}
    for image in images:
        if len(image.shape) == 2:
            tokens, features = image.shape
            widths.setdefault(tokens, set()).add(power_of_two(features))
    return [
        TokenRows(row, power_of_two(tokens) * row)
        for tokens, rows in widths.items()
        for row in sorted(rows)
        if len(rows) > 1
    ]


def plain(size: int, slots: int) -> Places:
    """Elements one after another.

    Example:
        >>> plain(3, 8).places.tolist()
        [0, 1, 2]
    """
    return Places(slots, np.arange(size), "in order")


def strides_of(graph: g.Graph) -> list[g.Pair | None]:
    """For each layer the distance of its result's pixels, in pixels of the input.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((1, 4, 4)), (), [])]
        >>> nodes.append(g.node("pool", g.AveragePool((2, 2), (2, 2)), (0,), nodes))
        >>> nodes.append(g.node("y", g.OutputLayer(), (1,), nodes))
        >>> strides_of(g.build(nodes))
        [(1, 1), (2, 2), (2, 2)]
    """
    found: list[g.Pair | None] = []
    for node in graph.nodes:
        before = found[node.inputs[0]] if node.inputs else (1, 1)
        if len(node.shape) != 3:
            found.append(None)
            continue
        match node.operation:
            case g.ConvolutionLayer(stride=stride) | g.AveragePool(stride=stride):
                down, right = before or (1, 1)
                found.append((down * stride[0], right * stride[1]))
            case g.Rearrange():
                found.append((1, 1))
            case _:
                found.append(before)
    return found
