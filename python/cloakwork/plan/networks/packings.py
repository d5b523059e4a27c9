"""The packings that each stage of a network may have.

An image lies on a canvas of rows. Where layers before it had strides, its pixels keep their
distance on the canvas and other channels fill the gaps: multiplexed packing (Lee et al.,
"Low-complexity deep convolutional neural networks on FHE using multiplexed parallel
convolutions", ICML 2022, section 4; Orion, ASPLOS 2025, section 4.3). Where layers after it
have strides, it may be cut into phases beforehand, one block of slots for each: then strided
layers leave no gaps. The stride at which pixels are neighbours on the canvas is its resolution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cloakwork.programs.ir import layers as g
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.places import Places


@dataclass(frozen=True, slots=True)
class Image:
    """A tensor with what is known of its place in the network.

    Args:
        shape: Its shape; three axes are channels, height and width.
        strides: How far its pixels are apart in pixels of the input; None where that has no
            meaning.
    """

    shape: g.Shape
    strides: g.Pair | None


@dataclass(frozen=True, slots=True)
class Canvas:
    """Where images of one resolution lie.

    Args:
        resolution: The strides, down and to the right, at which pixels are neighbours.
        row: Slots from one row to the next.
        block: Slots from one channel to the next.
    """

    resolution: g.Pair
    row: int
    block: int

    def packing(self, image: Image, slots: int) -> Places | None:
        """How an image lies on the canvas; None where its strides do not fit.

        Example:
            >>> canvas = Canvas((1, 1), 4, 16)
            >>> canvas.packing(Image((2, 2, 2), (2, 2)), 64).places.tolist()
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
        parts += [f"phases of {phases_y}x{phases_x}"] if phases > 1 else []
        return Places(slots, places.ravel(), ", ".join(parts))


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


def canvases(images: Sequence[Image]) -> list[Canvas]:
    """The canvases that the images of a network may lie on.

    Example:
        >>> canvases([Image((1, 6, 6), (1, 1)), Image((4, 3, 3), (2, 2))])[0]
        Canvas(resolution=(1, 1), row=6, block=36)
    """
    found: dict[Canvas, None] = {}
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
            found[Canvas(resolution, row, block)] = None
    return list(found)


def plain(size: int, slots: int) -> Places:
    """Elements one after another.

    Example:
        >>> plain(3, 8).places.tolist()
        [0, 1, 2]
    """
    return Places(slots, np.arange(size), "in order")


def strides_of(graph: g.Graph) -> list[g.Pair | None]:
    """For each layer how far the pixels of its result are apart in pixels of the input.

    Example:
        >>> nodes = [g.node("x", g.Input((1, 4, 4)), (), [])]
        >>> nodes.append(g.node("pool", g.AveragePool((2, 2), (2, 2)), (0,), nodes))
        >>> nodes.append(g.node("y", g.Output(), (1,), nodes))
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
            case g.Convolution(stride=stride) | g.AveragePool(stride=stride):
                down, right = before or (1, 1)
                found.append((down * stride[0], right * stride[1]))
            case g.Rearrange():
                found.append((1, 1))
            case _:
                found.append(before)
    return found
