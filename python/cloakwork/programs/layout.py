"""Layouts: which element of a tensor sits in which slot of which ciphertext.

A layout is a stride per axis: element (i, j, ...) sits in slot
offset + i * stride_i + j * stride_j + ... . An axis may be cut into tiles: then
i counts from the start of its tile, and the tile says which ciphertext.
Ciphertexts are numbered in C order over the tiles of all axes. Replicas are
further axes along which every element is repeated. All other slots are empty
(known to be zero) or garbage (anything).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Limits, Word
from cloakwork.errors import (
    InvalidLayoutError,
    ShapeMismatchError,
    SlotMismatchError,
)
from cloakwork.programs.port import MAX_AXES, MAX_SIZE

# Those of the largest ring, of degree 2^17.
MAX_SLOTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Axis:
    """`size` elements, `stride` slots apart, the first `tile` of them in one ciphertext.

    Args:
        size: How many elements.
        stride: Slots from one element to the next; it may be negative.
        name: For pictures, and for labels while a contraction is planned.
        tile: Elements in one ciphertext, 0 for all.
    """

    size: Annotated[int, Limits(1, MAX_SIZE)]
    stride: Annotated[int, Limits(-MAX_SLOTS, MAX_SLOTS)]
    name: Word = field(default="", compare=False)
    tile: Annotated[int, Limits(0, MAX_SLOTS)] = 0

    @property
    def extent(self) -> int:
        """Elements in one ciphertext; the last tile may have fewer.

        Example:
            >>> Axis(300, 1, tile=64).extent, Axis(300, 1).extent
            (64, 300)
        """
        return min(self.tile, self.size) if self.tile else self.size

    @property
    def tiles(self) -> int:
        """Ciphertexts along the axis.

        Example:
            >>> Axis(300, 1, tile=64).tiles, Axis(300, 1).tiles
            (5, 1)
        """
        return -(-self.size // self.extent)

    @property
    def ragged(self) -> bool:
        """Whether the last tile has fewer elements than the others.

        Example:
            >>> Axis(300, 1, tile=64).ragged, Axis(300, 1, tile=100).ragged
            (True, False)
        """
        return self.size % self.extent != 0

    @property
    def in_tile(self) -> Axis:
        """The axis as it lies within one ciphertext.

        Example:
            >>> Axis(300, 2, "i", tile=64).in_tile
            Axis(size=64, stride=2, name='i', tile=0)
        """
        return Axis(self.extent, self.stride, self.name)


def positions(axes: Sequence[Axis]) -> NDArray[np.int64]:
    """The slot of every element of one tile, from an offset of 0, in the tile's shape.

    Example:
        >>> positions([Axis(2, 8), Axis(3, 1)]).tolist()
        [[0, 1, 2], [8, 9, 10]]
    """
    slots = np.zeros((), dtype=np.int64)
    for axis in axes:
        slots = slots[..., np.newaxis] + axis.stride * np.arange(axis.extent, dtype=np.int64)
    return slots


def are_distinct(axes: Sequence[Axis], slots: int, offset: int = 0) -> bool:
    """Whether every element of a tile gets a slot of its own among `slots` slots.

    Example:
        >>> are_distinct([Axis(2, 2), Axis(3, 1)], 8)
        False
    """
    if math.prod(axis.extent for axis in axes) > slots:
        return False
    spans = [(axis.extent - 1) * axis.stride for axis in axes]
    lowest = offset + sum(span for span in spans if span < 0)
    highest = offset + sum(span for span in spans if span > 0)
    if lowest < 0 or highest >= slots:
        return False
    reached = 0
    for axis in sorted(axes, key=lambda axis: abs(axis.stride)):
        if axis.extent > 1 and abs(axis.stride) <= reached:
            break
        reached += (axis.extent - 1) * abs(axis.stride)
    else:
        return True
    occupied = np.bincount((positions(axes) + (offset - lowest)).ravel(), minlength=1)
    return bool(occupied.max() <= 1)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the elements of one tensor sit in the slots of its ciphertexts.

    Args:
        slots: Slots of one ciphertext.
        axes: One axis per dimension of the tensor.
        replicas: Axes along which every element is repeated; they are not cut into tiles.
        garbage: Whether slots without an element may hold anything. If not, they hold zero.
        offset: Slot of the first element of every tile.

    Raises:
        InvalidLayoutError: Two elements share a slot, an element falls outside, or there are too
            many axes or elements.

    Example:
        >>> layout = Layout(8, (Axis(2, 4), Axis(3, 1)))
        >>> layout.pack(np.arange(6.0).reshape(2, 3))[0].tolist()
        [0.0, 1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 0.0]
        >>> print(Layout(4, (Axis(6, 1, "i", tile=4),)))
        i:6@1/4
    """

    slots: Annotated[int, Limits(1, MAX_SLOTS)]
    axes: tuple[Axis, ...]
    replicas: tuple[Axis, ...] = ()
    garbage: bool = False
    offset: Annotated[int, Limits(0, MAX_SLOTS)] = 0

    def __post_init__(self) -> None:
        everything = self.axes + self.replicas
        if any(axis.size < 1 or not 0 <= axis.tile <= self.slots for axis in everything):
            raise InvalidLayoutError(
                f"cannot lay out {everything}: expected sizes from 1 on and tiles from 0 up to "
                f"{self.slots}"
            )
        # What elements there are has to fit the slots of as many ciphertexts, and these a list.
        if len(everything) > MAX_AXES or math.prod(self.shape) > MAX_SIZE:
            raise InvalidLayoutError(
                f"cannot lay out {len(everything)} axes: expected up to {MAX_AXES}, and "
                f"{MAX_SIZE} elements"
            )
        if any(axis.tiles > 1 for axis in self.replicas):
            raise InvalidLayoutError(f"cannot lay out {everything}: replicas are not tiled")
        if not are_distinct(everything, self.slots, self.offset):
            raise InvalidLayoutError(
                f"cannot lay out {everything} from slot {self.offset} in {self.slots} slots: "
                "two elements share a slot or one falls outside"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return tuple(axis.size for axis in self.axes)

    @property
    def grid(self) -> tuple[int, ...]:
        """Ciphertexts along each axis."""
        return tuple(axis.tiles for axis in self.axes)

    @property
    def ciphertexts(self) -> int:
        """How many ciphertexts there are."""
        return math.prod(self.grid)

    @property
    def ragged(self) -> bool:
        """Whether some ciphertexts hold fewer elements than others."""
        return any(axis.ragged for axis in self.axes)

    def tile_places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The ciphertext and the slot of every element, in the tensor's shape.

        Example:
            >>> [each.tolist() for each in Layout(4, (Axis(6, 1, tile=4),)).tile_places()]
            [[0, 0, 0, 0, 1, 1], [0, 1, 2, 3, 0, 1]]
        """
        tiles = np.zeros((), dtype=np.int64)
        slots = np.full((), self.offset, dtype=np.int64)
        for axis in self.axes:
            index = np.arange(axis.size, dtype=np.int64)
            tiles = tiles[..., np.newaxis] * axis.tiles + index // axis.extent
            slots = slots[..., np.newaxis] + axis.stride * (index % axis.extent)
        return tiles, slots

    def pack(self, array: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Put an array of this layout's shape into vectors of slots, zero where empty."""
        if array.shape != self.shape:
            raise ShapeMismatchError(f"cannot pack: expected shape {self.shape}, got {array.shape}")
        vectors = np.zeros((self.ciphertexts, self.slots))
        extra = (1,) * len(self.replicas)
        tiles, slots = (each.reshape(each.shape + extra) for each in self.tile_places())
        vectors[tiles, slots + positions(self.replicas)] = array.reshape(array.shape + extra)
        return list(vectors)

    def occupied(self) -> list[NDArray[np.float64]]:
        """For each ciphertext 1 in the slots that hold an element or a copy of one, 0 elsewhere.

        Example:
            >>> Layout(4, (Axis(2, 2),)).occupied()[0].tolist()
            [1.0, 0.0, 1.0, 0.0]
        """
        return self.pack(np.ones(self.shape))

    def filled(self) -> list[NDArray[np.float64]]:
        """For each ciphertext 1 in the slots that may hold other numbers than 0.

        Example:
            >>> Layout(4, (Axis(2, 2),), garbage=True).filled()[0].tolist()
            [1.0, 1.0, 1.0, 1.0]
        """
        return [np.ones(self.slots)] * self.ciphertexts if self.garbage else self.occupied()

    def unpack(self, vectors: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Take the tensor back out of its vectors of slots."""
        shapes = {vector.shape for vector in vectors}
        if len(vectors) != self.ciphertexts or shapes != {(self.slots,)}:
            raise SlotMismatchError(
                f"cannot unpack: expected {self.ciphertexts} vector(s) of {self.slots} slots, "
                f"got {len(vectors)} of shapes {sorted(shapes)}"
            )
        tiles, slots = self.tile_places()
        found = np.empty(self.shape)
        for number, vector in enumerate(vectors):
            here = tiles == number
            found[here] = vector[slots[here]]
        return found

    def tile_indices(self) -> Iterator[tuple[int, ...]]:
        """The place of every ciphertext in the grid, in order."""
        return iter(np.ndindex(*self.grid))

    def __str__(self) -> str:
        axes = [
            f"{axis.name or number}:{_axis_text(axis)}" for number, axis in enumerate(self.axes)
        ]
        axes += [f"copies {axis.name}:{_axis_text(axis)}" for axis in self.replicas]
        axes += [f"from {self.offset}"] if self.offset else []
        return " ".join(axes) if axes else "one number in slot 0"


def _axis_text(axis: Axis) -> str:
    return f"{axis.size}@{axis.stride}" + (f"/{axis.tile}" if axis.tiles > 1 else "")


def default_layout(shape: Sequence[int], slots: int) -> Layout:
    """The layout of a tensor about which nothing else is known.

    In C order from slot 0 where one ciphertext holds it. Otherwise in tiles whose sides
    are powers of two, as nearly equal as they can be, so that tensors with a dimension
    in common are mostly cut alike.

    Example:
        >>> print(default_layout((2, 3), 8))
        0:2@3 1:3@1
        >>> print(default_layout((512, 300), 4096))
        0:512@64/64 1:300@1/64
    """
    if 0 in shape:
        raise ShapeMismatchError(f"cannot lay out shape {tuple(shape)}: it has no elements")
    if math.prod(shape) <= slots:
        return Layout(slots, nest([("", size) for size in shape], innermost=1))
    sides = [power_of_two(size) for size in shape]
    while math.prod(sides) > slots:
        sides[sides.index(max(sides))] //= 2
    within = nest([("", side) for side in sides], innermost=1)
    return Layout(
        slots,
        tuple(
            Axis(size, axis.stride, tile=side if side < size else 0)
            for size, side, axis in zip(shape, sides, within, strict=True)
        ),
    )


def in_strides(
    slots: int, tiles: NDArray[np.int64], places: NDArray[np.int64], *, garbage: bool
) -> tuple[Layout, list[int]] | None:
    """The layout of elements in these ciphertexts and slots, and which ciphertexts it is of.

    None where no layout says where they are.

    Example:
        >>> tiles, places = np.array([[3, 3], [1, 1]]), np.array([[0, 2], [0, 2]])
        >>> layout, chosen = in_strides(4, tiles, places, garbage=False)
        >>> print(layout, chosen)
        0:2@0/1 1:2@2 [3, 1]
    """
    first = (0,) * tiles.ndim
    axes: list[Axis] = []
    for number, size in enumerate(tiles.shape):
        along = tuple(slice(None) if axis == number else 0 for axis in range(tiles.ndim))
        changes = np.flatnonzero(np.diff(tiles[along]))
        extent = int(changes[0]) + 1 if len(changes) else size
        stride = int(places[along][1] - places[first]) if extent > 1 else 0
        axes.append(Axis(size, stride, tile=extent if extent < size else 0))
    try:
        layout = Layout(slots, tuple(axes), garbage=garbage, offset=int(places[first]))
    except InvalidLayoutError:
        return None
    starts = tuple(slice(None, None, axis.extent) for axis in axes)
    chosen = tiles[starts].ravel()
    numbers, found = layout.tile_places()
    if not (np.array_equal(found, places) and np.array_equal(chosen[numbers], tiles)):
        return None
    return layout, chosen.tolist()


def power_of_two(size: int) -> int:
    """The least power of two that is not below a size.

    Example:
        >>> power_of_two(5), power_of_two(8), power_of_two(1)
        (8, 8, 1)
    """
    return 1 << (size - 1).bit_length()


def nest(sizes: Sequence[tuple[str, int]], *, innermost: int) -> tuple[Axis, ...]:
    """Axes without gaps, the last one at stride `innermost`; an axis of size 1 takes stride 0.

    Example:
        >>> [axis.stride for axis in nest([("i", 4), ("j", 5)], innermost=2)]
        [10, 2]
    """
    axes: list[Axis] = []
    stride = innermost
    for name, size in reversed(sizes):
        axes.append(Axis(size, stride if size > 1 else 0, name))
        stride *= size
    return tuple(reversed(axes))
