"""Layouts: which element of a tensor sits in which slot.

A layout is a stride per axis: element (i, j, ...) sits in slot
i * stride_i + j * stride_j + ... . Replicas are further axes along which every
element is repeated. All other slots are empty (known to be zero) or dirty
(anything).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import (
    InvalidLayoutError,
    ShapeMismatchError,
    SlotMismatchError,
    TooManySlotsError,
)

# Those of the largest ring, of degree 2^17.
MAX_SLOTS = 1 << 16


@dataclass(frozen=True, slots=True)
class Axis:
    """`size` elements, `stride` slots apart; `name` is for pictures only."""

    size: int
    stride: int
    name: str = field(default="", compare=False)


def positions(axes: Sequence[Axis]) -> NDArray[np.int64]:
    """The slot of every element of a tensor with these axes, in the tensor's shape.

    Example:
        >>> positions([Axis(2, 8), Axis(3, 1)]).tolist()
        [[0, 1, 2], [8, 9, 10]]
    """
    slots = np.zeros((), dtype=np.int64)
    for axis in axes:
        slots = slots[..., np.newaxis] + axis.stride * np.arange(axis.size, dtype=np.int64)
    return slots


def are_distinct(axes: Sequence[Axis], slots: int) -> bool:
    """Whether every element gets a slot of its own among `slots` slots.

    Example:
        >>> are_distinct([Axis(2, 2), Axis(3, 1)], 8)
        False
    """
    if math.prod(axis.size for axis in axes) > slots:
        return False
    if sum((axis.size - 1) * axis.stride for axis in axes) >= slots:
        return False
    occupied = np.bincount(positions(axes).ravel(), minlength=1)
    return bool(occupied.max() <= 1)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the elements of one tensor sit in the slots of one ciphertext.

    Args:
        slots: Slots of the ciphertext.
        axes: One axis per dimension of the tensor.
        replicas: Axes along which every element is repeated.
        dirty: Whether slots without an element may hold anything. If not, they hold zero.

    Raises:
        InvalidLayoutError: Two elements share a slot or an element falls outside.

    Example:
        >>> Layout(8, (Axis(2, 4), Axis(3, 1))).pack(np.arange(6.0).reshape(2, 3)).tolist()
        [0.0, 1.0, 2.0, 0.0, 3.0, 4.0, 5.0, 0.0]
    """

    slots: int
    axes: tuple[Axis, ...]
    replicas: tuple[Axis, ...] = ()
    dirty: bool = False

    def __post_init__(self) -> None:
        everything = self.axes + self.replicas
        if any(axis.size < 1 or axis.stride < 0 for axis in everything):
            raise InvalidLayoutError(f"cannot lay out {everything}: sizes start at 1, strides at 0")
        if not are_distinct(everything, self.slots):
            raise InvalidLayoutError(
                f"cannot lay out {everything} in {self.slots} slots: "
                "two elements share a slot or one falls outside"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the tensor."""
        return tuple(axis.size for axis in self.axes)

    def pack(self, array: NDArray[np.float64]) -> NDArray[np.float64]:
        """Put an array of this layout's shape into a vector of slots, zero where empty.

        Raises:
            ShapeMismatchError: The array has another shape.
        """
        if array.shape != self.shape:
            raise ShapeMismatchError(f"cannot pack: expected shape {self.shape}, got {array.shape}")
        vector = np.zeros(self.slots)
        repeated = array.reshape(array.shape + (1,) * len(self.replicas))
        vector[positions(self.axes + self.replicas)] = repeated
        return vector

    def unpack(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Take the tensor back out of a vector of slots.

        Raises:
            SlotMismatchError: The vector has another number of slots.
        """
        if vector.shape != (self.slots,):
            raise SlotMismatchError(
                f"cannot unpack: expected {self.slots} slots, got shape {vector.shape}"
            )
        return np.array(vector[positions(self.axes)])

    def __str__(self) -> str:
        axes = [
            f"{axis.name or number}:{axis.size}@{axis.stride}"
            for number, axis in enumerate(self.axes)
        ]
        axes += [f"copies {axis.name}:{axis.size}@{axis.stride}" for axis in self.replicas]
        return " ".join(axes) if axes else "one number in slot 0"


def row_major(shape: Sequence[int], slots: int) -> Layout:
    """The layout that fills slots from 0 on in C order.

    Raises:
        ShapeMismatchError: The shape has a dimension of size 0.
        TooManySlotsError: The elements outnumber the slots.

    Example:
        >>> row_major((2, 3), 8).axes
        (Axis(size=2, stride=3, name=''), Axis(size=3, stride=1, name=''))
    """
    if 0 in shape:
        raise ShapeMismatchError(f"cannot lay out shape {tuple(shape)}: it has no elements")
    needed = math.prod(shape)
    if needed > slots:
        raise TooManySlotsError(
            f"cannot lay out shape {tuple(shape)}: it needs {needed} slots, one ciphertext has "
            f"{slots}; {more_slots(needed)}"
        )
    return Layout(slots, nest([("", size) for size in shape], innermost=1))


def more_slots(needed: int) -> str:
    """What to do where one ciphertext has too few slots.

    Example:
        >>> more_slots(5000)
        'make the session with slots=5000 or split the tensor'
    """
    if needed <= MAX_SLOTS:
        return f"make the session with slots={needed} or split the tensor"
    return (
        f"no ciphertext has more than {MAX_SLOTS}, and tensors over several ciphertexts are not "
        "supported yet; split the tensor"
    )


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
