"""Finds convolutions among tensor operations: one small encrypted matrix times many windows.

Of kernels W, one a row, and of images X, one a column and a pixel a row,

    Y[(c, p), n] = sum over k of W[c, k] * X[windows[k, p], n]

where which pixel each window has in each place is known in the clear. Written as one matrix of all
windows, the kernels would be mostly zeros, which nobody sees once they are encrypted. Kernels and
images may be several tensors each; a bias is a number of a kernel that meets no pixel.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.matmul.recognise import MatrixView
from cloakwork.plan.matmul.terms import ONE, Indices, TermReader, Terms
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Source, Sum

# In place of a pixel: where a window has none for a number of the kernels, and where this number is
# added as it is.
NO_PIXEL = -1
ADDED = -2

_MATRIX_AXES = 2


@dataclass(frozen=True, slots=True)
class Seen:
    """A tensor from outside as a matrix.

    Args:
        source: The tensor.
        axis: The axis along which its columns are counted; None where it is one column.
    """

    source: Source
    axis: int | None

    @property
    def columns(self) -> int:
        """How many columns."""
        return 1 if self.axis is None else self.source.shape[self.axis]

    @property
    def rows(self) -> int:
        """How many numbers a column has."""
        return math.prod(self.source.shape) // self.columns

    @property
    def view(self) -> MatrixView:
        """The tensor as this matrix."""
        others = [axis for axis in range(len(self.source.shape)) if axis != self.axis]
        order = (*others, *([] if self.axis is None else [self.axis]))
        return MatrixView(order, tuple(self.source.shape[axis] for axis in order))


@dataclass(frozen=True, slots=True, eq=False)
class Convolution:
    """A matrix that has a row for each kernel and window, and a column for each image.

    Args:
        kernels: The tensors of the kernels, one in each column.
        images: The tensors of the images, one in each column.
        windows: For each number of a kernel and each window, which pixel of an image it meets, or
            `NO_PIXEL` or `ADDED`.
        shape: Rows and columns.
        constant: The matrix in the clear that is added, if any.
        origin: The user's line.
    """

    kernels: tuple[Seen, ...]
    images: tuple[Seen, ...]
    windows: Indices
    shape: tuple[int, int]
    constant: NDArray[np.float64] | None
    origin: str

    @property
    def channels(self) -> int:
        """How many kernels."""
        return self.shape[0] // self.positions

    @property
    def places(self) -> int:
        """Pixels that a window has at the most."""
        return int((self.windows >= 0).sum(axis=0).max())

    @property
    def positions(self) -> int:
        """Windows of an image."""
        return int(self.windows.shape[1])

    @property
    def multiplications(self) -> int:
        """Of numbers, in the clear."""
        return self.channels * int((self.windows >= 0).sum()) * self.shape[1]


def kernel_product(node: Node, *, transposed: bool = False) -> Convolution | None:
    """The convolution that a node is, as a matrix, or its transpose; None where it is another.

    Example:
        >>> kernels, images = Source("w", (1, 2)), Source("x", (3, 4))
        >>> rows = np.arange(12).reshape(3, 4)
        >>> windows = Rearrange(images, np.stack([rows[:2], rows[1:]]))
        >>> maps = Contract((kernels, windows), ("ck", "kpn"), "cpn", (1, 2, 4))
        >>> kernel_product(Rearrange(maps, np.arange(8).reshape(2, 4))).windows.tolist()
        [[0, 1], [1, 2]]
    """
    axis = 0 if transposed else 1
    if not isinstance(node, Contract | Sum | Rearrange) or len(node.shape) != _MATRIX_AXES:
        return None
    reader = TermReader()
    found = reader.read(node, axis)
    if found is None or not reader.images:
        return None
    for channels in _numbers_of_channels(reader.numbers, node.shape[1 - axis]):
        kernels = _kernels(reader.numbers, found.numbers, channels)
        windows = None if kernels is None else _windows(reader.numbers, kernels, found, channels)
        constant = found.constant
        if kernels is None or windows is None or not _is_shared(windows, constant):
            continue
        return Convolution(
            kernels,
            tuple(Seen(source, own) for source, (_, own) in reader.images.items()),
            windows,
            (node.shape[1 - axis], node.shape[axis]),
            constant.T if constant is not None and transposed else constant,
            node.origin,
        )
    return None


def _numbers_of_channels(sources: Mapping[Source, int], rows: int) -> list[int]:
    """How many kernels there may be, the most first."""
    sizes = {1, *(size for source in sources for size in source.shape if rows % size == 0)}
    return sorted(sizes, reverse=True)


def _kernels(
    sources: Mapping[Source, int], numbers: Indices, channels: int
) -> tuple[Seen, ...] | None:
    """The tensors of kernels, if each has those of a channel along one axis."""
    found: list[Seen] = []
    for source, first in sources.items():
        own = _of(source, first, numbers)
        channel = np.broadcast_to(_channel_of_row(len(numbers), channels), numbers.shape)[own]
        local = numbers[own] - first
        axes: list[int | None] = [
            axis
            for axis, size in enumerate(source.shape)
            if size == channels and (_along(source, axis, local) == channel).all()
        ]
        if not axes and channels > 1:
            return None
        found.append(Seen(source, axes[0] if axes else None))
    return tuple(found)


def _windows(
    sources: Mapping[Source, int], kernels: tuple[Seen, ...], found: Terms, channels: int
) -> Indices | None:
    """The pixel of each number of a kernel in each window; None where kernels differ in these."""
    places, start = np.full_like(found.numbers, ONE), 0
    for each in kernels:
        first = sources[each.source]
        own = _of(each.source, first, found.numbers)
        places[own] = start + _place(each, found.numbers[own] - first)
        start += each.rows
    if ((places == ONE) & (found.rows != ONE)).any():
        return None
    pixels = np.where(places == ONE, NO_PIXEL, np.where(found.rows == ONE, ADDED, found.rows))
    by_channel = [each.reshape(channels, -1, each.shape[-1]) for each in (places, pixels)]
    order = np.argsort(by_channel[0], axis=-1, kind="stable")
    ordered = [np.take_along_axis(each, order, -1) for each in by_channel]
    if any((each != each[:1]).any() for each in ordered):
        return None
    windows = np.full((start, len(places) // channels), NO_PIXEL)
    position = np.broadcast_to(np.arange(windows.shape[1])[:, np.newaxis], ordered[0][0].shape)
    is_held = ordered[0][0] != ONE
    windows[ordered[0][0][is_held], position[is_held]] = ordered[1][0][is_held]
    is_once = np.count_nonzero(windows != NO_PIXEL) == np.count_nonzero(is_held)
    has_products = (windows >= 0).any(axis=0).all() and (windows != NO_PIXEL).any(axis=1).all()
    return windows if is_once and has_products else None


def _is_shared(windows: Indices, constant: NDArray[np.float64] | None) -> bool:
    """Whether windows share numbers of kernels; of one window it is a product of matrices."""
    if windows.shape[1] == 1:
        return constant is None and not (windows == ADDED).any()
    products = (windows >= 0).sum(axis=1)
    return bool(products.sum() >= 2 * np.count_nonzero(products))


def _of(source: Source, first: int, numbers: Indices) -> NDArray[np.bool_]:
    return (numbers >= first) & (numbers < first + math.prod(source.shape))


def _along(source: Source, axis: int, elements: Indices) -> Indices:
    """Where elements are along an axis."""
    found: Indices = elements // math.prod(source.shape[axis + 1 :]) % source.shape[axis]
    return found


def _place(each: Seen, elements: Indices) -> Indices:
    """Which number of a kernel elements are."""
    if each.axis is None:
        return elements
    stride = math.prod(each.source.shape[each.axis + 1 :])
    found: Indices = elements // (stride * each.columns) * stride + elements % stride
    return found


def _channel_of_row(rows: int, channels: int) -> Indices:
    return np.arange(rows)[:, np.newaxis] // (rows // channels)
