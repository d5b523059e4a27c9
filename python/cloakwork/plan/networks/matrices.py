"""The linear layers of a network as matrices, found by index arithmetic."""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.plan.networks.grouping import Grouping
from cloakwork.plan.networks.matrix import Matrix, PixelPairs, Sparse
from cloakwork.programs.ir import layers as g


def matrix_of(node: g.Node, shape: g.Shape) -> tuple[Matrix, g.Array]:
    """The matrix of a linear layer of one operand, and what is added to its product.

    Example:
        >>> layer = g.LinearLayer(np.array([[1.0, 2.0]]), np.array([3.0]))
        >>> matrix, bias = matrix_of(g.Node("y", layer, (0,), (1,)), (2,))
        >>> matrix.sparse().toarray().tolist(), bias.tolist()
        ([[1.0, 2.0]], [3.0])
    """
    rows = prod(node.shape)
    match node.operation:
        case g.LinearLayer(weight=weight, bias=bias):
            copies = prod(shape[:-1])
            sides = (Grouping.of_tokens(copies, width) for width in weight.shape)
            matrix = Matrix((Sparse(weight),), PixelPairs.equal(copies), *sides)
            return matrix, np.tile(bias, copies)
        case g.ConvolutionLayer():
            return _convolution(node.operation, node.shape, shape)
        case g.AveragePool():
            return _average(node.operation, node.shape, shape), np.zeros(rows)
        case g.Affine(scale=scale, shift=shift):
            return _scaling(scale, shape), np.broadcast_to(shift, shape).ravel()
        case g.Rearrange(indices=indices):
            return _gathering(indices, node.shape, shape), np.zeros(rows)
        case _:
            raise AssertionError(f"{node.name} is not a linear layer of one operand")


def beside(shapes: list[g.Shape], axis: int, number: int) -> Matrix:
    """The matrix that puts an operand of a concatenation where it belongs in the result.

    Example:
        >>> beside([(1,), (2,)], 0, 1).sparse().toarray().tolist()
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    numbered = [np.full(shape, -1) for shape in shapes]
    numbered[number] = np.arange(prod(shapes[number])).reshape(shapes[number])
    found = np.concatenate(numbered, axis=axis)
    return _gathering(found.ravel(), found.shape, shapes[number])


def _gathering(indices: NDArray[np.int64], after: g.Shape, before: g.Shape) -> Matrix:
    """The matrix that takes, for each element, one of the operand's, or none where that is -1."""
    rows, columns = Grouping.of(after), Grouping.of(before)
    table = indices[rows.elements]
    # Channels that hold something, and the channel and the pixels that each takes.
    filled = np.flatnonzero((table >= 0).any(axis=1))
    table = table[filled]
    channels = np.where(table >= 0, columns.channel_of[table], -1)
    pixels = np.where(table >= 0, columns.pixel_of[table], -1)
    taken = channels.max(axis=1, initial=-1)
    is_of_channels = (
        len(filled) > 0
        and (pixels == pixels[0]).all()
        and ((channels == taken[:, np.newaxis]) | (pixels < 0)).all()
    )
    if not is_of_channels:
        found = np.flatnonzero(indices >= 0)
        size = (prod(after), prod(before))
        return Matrix.of(_built(np.ones(len(found)), found, indices[found], size))
    here = np.flatnonzero(pixels[0] >= 0)
    pairs = PixelPairs(here, pixels[0][here], np.zeros_like(here), (rows.pixels, columns.pixels))
    size = (rows.channels, columns.channels)
    return Matrix((_built(np.ones(len(filled)), filled, taken, size),), pairs, rows, columns)


def _scaling(scale: g.Array, shape: g.Shape) -> Matrix:
    grouping = Grouping.of(shape)
    every = np.broadcast_to(scale, shape).ravel()
    factors = every[grouping.elements]
    if (factors == factors[:, :1]).all():
        pairs = PixelPairs.equal(grouping.pixels)
        return Matrix((_diagonal(factors[:, 0]),), pairs, grouping, grouping)
    return Matrix.of(_diagonal(every))


def _diagonal(factors: g.Array) -> Sparse:
    return Sparse(sparse.diags_array(factors))


def _built(
    weights: g.Array, rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]
) -> Sparse:
    return Sparse((weights, (rows, columns)), shape=shape)


def _convolution(
    layer: g.ConvolutionLayer, after: g.Shape, before: g.Shape
) -> tuple[Matrix, g.Array]:
    outer, inner, *kernel = layer.weight.shape
    pixels, taps, found = _taps(
        after, before, (kernel[0], kernel[1]), layer.stride, layer.padding, layer.dilation
    )
    pairs = PixelPairs(pixels, found, taps, (prod(after[1:]), prod(before[1:])))
    rows = np.repeat(np.arange(outer), inner)
    of_groups = rows // (outer // layer.groups) * inner
    columns = of_groups + np.tile(np.arange(inner), outer)
    by_tap = layer.weight.reshape(outer * inner, -1).T
    size = (outer, inner * layer.groups)
    channels = tuple(_built(weights, rows, columns, size) for weights in by_tap)
    return Matrix.of_images(channels, pairs), np.repeat(layer.bias, prod(after[1:]))


def _average(layer: g.AveragePool, after: g.Shape, before: g.Shape) -> Matrix:
    pixels, _, found = _taps(after, before, layer.kernel, layer.stride, layer.padding, (1, 1))
    size = prod(after[1:])
    counts = np.full(size, prod(layer.kernel))
    if not layer.padding_counts:
        counts = np.bincount(pixels, minlength=size)
    averaged, numbers = np.unique(counts, return_inverse=True)
    pairs = PixelPairs(pixels, found, numbers[pixels], (size, prod(before[1:])))
    channels = tuple(_diagonal(np.full(before[0], 1.0 / count)) for count in averaged)
    return Matrix.of_images(channels, pairs)


def _taps(
    after: g.Shape,
    before: g.Shape,
    kernel: g.Pair,
    stride: g.Pair,
    padding: g.Sides,
    dilation: g.Pair,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Each pixel of a result with each element of the kernel, and the pixel that they meet.

    Pixels in the padding are left out.
    """
    y, x, i, j = np.indices((*after[1:], *kernel)).reshape(4, -1)
    down = y * stride[0] + i * dilation[0] - padding[0][0]
    right = x * stride[1] + j * dilation[1] - padding[1][0]
    inside = (down >= 0) & (down < before[1]) & (right >= 0) & (right < before[2])
    pixels, taps = y * after[2] + x, i * kernel[1] + j
    return pixels[inside], taps[inside], (down * before[2] + right)[inside]
