"""Finds convolutions among tensor operations: one small encrypted matrix times many windows.

Of kernels W, one a row, and of images X, one a column and a pixel a row,

    Y[(c, p), n] = sum over k of W[c, k] * X[windows[k, p], n]

where which pixel each window has in each place is known in the clear. Written as one matrix of all
windows, the kernels would be mostly zeros, which nobody sees once they are encrypted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.matmul.recognise import MatrixView
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Source, Sum

_Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Convolution:
    """A matrix that has a row for each kernel and window, and a column for each image.

    Args:
        kernels: The tensor of the kernels, one along its first axis.
        images: The tensor of the images, one along its last axis.
        windows: For each place of a kernel and each window, which pixel of an image.
        origin: The user's line.
    """

    kernels: Source
    images: Source
    windows: _Indices
    origin: str

    @property
    def channels(self) -> int:
        """How many kernels."""
        return self.kernels.shape[0]

    @property
    def places(self) -> int:
        """Numbers of a kernel."""
        return len(self.windows)

    @property
    def positions(self) -> int:
        """Windows of an image."""
        return int(self.windows.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.channels * self.positions, self.images.shape[-1]

    @property
    def multiplications(self) -> int:
        """Of numbers, in the clear."""
        return math.prod(self.shape) * self.places

    @property
    def kernel_view(self) -> MatrixView:
        """The kernels as a matrix that has one in each column."""
        axes = range(1, len(self.kernels.shape))
        return MatrixView((*axes, 0), (*self.kernels.shape[1:], self.channels))

    @property
    def image_view(self) -> MatrixView:
        """The images as a matrix that has one in each column."""
        return MatrixView(tuple(range(len(self.images.shape))), self.images.shape)


@dataclass(frozen=True, slots=True)
class _Term:
    """Products that are summed: elements of two tensors, by axis of the result and summed place."""

    kernels: Source
    images: Source
    elements: _Indices
    pixels: _Indices


def kernel_product(node: Node) -> Convolution | None:
    """The convolution that a node is, as a matrix; None where it is anything else.

    It is one contraction of kernels with rearranged images, or a sum of them, one for each place of
    a kernel.

    Example:
        >>> kernels, images = Source("w", (1, 2)), Source("x", (3, 4))
        >>> rows = np.arange(12).reshape(3, 4)
        >>> windows = Rearrange(images, np.stack([rows[:2], rows[1:]]))
        >>> maps = Contract((kernels, windows), ("ck", "kpn"), "cpn", (1, 2, 4))
        >>> kernel_product(Rearrange(maps, np.arange(8).reshape(2, 4))).windows.tolist()
        [[0, 1], [1, 2]]
    """
    inner = node
    if isinstance(node, Rearrange):
        rows = (math.prod(node.operand.shape[:-1]), *node.operand.shape[-1:])
        if node.shape != rows or not (node.elements.ravel() == np.arange(math.prod(rows))).all():
            return None
        inner = node.operand
    if not isinstance(inner, Contract | Sum):
        return None
    summands = _summands(inner)
    if summands is None:
        return None
    terms: list[_Term] = []
    for each in summands:
        found = _term(each)
        if found is None:
            return None
        terms.append(found)
    of_one = {(each.kernels, each.images) for each in terms}
    return _of_terms(terms, summands[0].origin) if len(of_one) == 1 else None


def _summands(node: Contract | Sum) -> list[Contract] | None:
    """The contractions that a node is the sum of."""
    if isinstance(node, Contract):
        return [node]
    found: list[Contract] = []
    for term, sign in zip(node.terms, node.signs, strict=True):
        below = _summands(term) if isinstance(term, Contract | Sum) else None
        if below is None or sign < 0 or term.shape != node.shape:
            return None
        found += below
    return found if node.constant is None else None


def _term(node: Contract) -> _Term | None:
    if len(node.operands) != 2 or not node.output:
        return None
    image = node.output[-1]
    pairs = sorted(zip(node.operands, node.labels, strict=True), key=lambda pair: image in pair[1])
    (_, of_kernels), (_, of_images) = pairs
    if image in of_kernels or not of_images.endswith(image):
        return None
    kernels, images = (_elements(operand) for operand, _ in pairs)
    if kernels is None or images is None:
        return None
    pixels = _rows_of(images[1], images[0].shape[-1])
    if pixels is None:
        return None
    summed = sorted({*of_kernels, *of_images} - {*node.output})
    axes = node.output[:-1] + "".join(summed)
    left, right = _along(kernels[1], of_kernels, axes), _along(pixels, of_images[:-1], axes)
    if left is None or right is None:
        return None
    shape = np.broadcast_shapes(left.shape, right.shape)
    if (*shape[: len(node.output) - 1], images[0].shape[-1]) != node.shape:
        return None
    rows = math.prod(node.shape[:-1])
    elements, pixels = (np.broadcast_to(each, shape).reshape(rows, -1) for each in (left, right))
    return _Term(kernels[0], images[0], elements, pixels)


def _elements(operand: Node | NDArray[np.float64]) -> tuple[Source, _Indices] | None:
    """A tensor from outside, and which of its elements an operand has."""
    if isinstance(operand, Source):
        return operand, np.arange(math.prod(operand.shape)).reshape(operand.shape)
    if isinstance(operand, Rearrange):
        found = _elements(operand.operand)
        return None if found is None else (found[0], found[1].ravel()[operand.elements])
    return None


def _rows_of(elements: _Indices, columns: int) -> _Indices | None:
    """Which row each row of elements is, of a matrix of so many columns."""
    rows, start = np.divmod(elements[..., 0], columns)
    is_whole = elements.shape[-1] == columns and not start.any()
    if not is_whole or not (elements - elements[..., :1] == np.arange(columns)).all():
        return None
    return rows


def _along(indices: _Indices, labels: str, axes: str) -> _Indices | None:
    """Indices by other axes, of size 1 where there are none."""
    if len(set(labels)) < len(labels) or not set(labels) <= set(axes):
        return None
    ordered = indices.transpose([labels.index(each) for each in axes if each in labels])
    missing = tuple(axis for axis, each in enumerate(axes) if each not in labels)
    return np.expand_dims(ordered, missing)


def _of_terms(terms: list[_Term], origin: str) -> Convolution | None:
    """The convolution whose every row is a sum of these products."""
    kernels, images = terms[0].kernels, terms[0].images
    if len(kernels.shape) < 2:
        return None
    elements, pixels = (
        np.concatenate(sides, axis=1)
        for sides in ([each.elements for each in terms], [each.pixels for each in terms])
    )
    channels, places = kernels.shape[0], math.prod(kernels.shape[1:])
    rows = len(elements)
    if rows % channels or elements.shape[1] != places:
        return None
    by_channel = elements.reshape(channels, -1, places)
    order = np.argsort(by_channel[0, 0])
    expected = np.arange(channels * places).reshape(channels, 1, places)
    by_pixel = pixels.reshape(channels, -1, places)
    if not (by_channel[..., order] == expected).all() or not (by_pixel == by_pixel[0]).all():
        return None
    return Convolution(kernels, images, by_pixel[0][:, order].T, origin)
