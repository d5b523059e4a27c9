"""The linear layers of a network as sparse matrices, found by index arithmetic."""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cloakwork.programs.ir import layers as g

Matrix: TypeAlias = sparse.csr_array


def matrix_of(node: g.Node, shape: g.Shape) -> tuple[Matrix, g.Array]:
    """The matrix of a linear layer of one operand, and what is added to its product.

    Example:
        >>> layer = g.LinearLayer(np.array([[1.0, 2.0]]), np.array([3.0]))
        >>> matrix, bias = matrix_of(g.Node("y", layer, (0,), (1,)), (2,))
        >>> matrix.toarray().tolist(), bias.tolist()
        ([[1.0, 2.0]], [3.0])
    """
    rows, columns = prod(node.shape), prod(shape)
    match node.operation:
        case g.LinearLayer(weight=weight, bias=bias):
            copies = prod(shape[:-1])
            dense = sparse.csr_array(weight)
            matrix = dense if copies == 1 else sparse.kron(sparse.eye_array(copies), dense)
            return sparse.csr_array(matrix), np.tile(bias, copies)
        case g.ConvolutionLayer():
            return _convolution(node.operation, node.shape, shape)
        case g.AveragePool():
            return _average(node.operation, node.shape, shape), np.zeros(rows)
        case g.Affine(scale=scale, shift=shift):
            factors = np.broadcast_to(scale, shape).ravel()
            return _diagonal(factors), np.broadcast_to(shift, shape).ravel()
        case g.Rearrange(indices=indices):
            filled = np.flatnonzero(indices >= 0)
            ones = np.ones(len(filled))
            return _built(ones, filled, indices[filled], (rows, columns)), np.zeros(rows)
        case _:
            raise AssertionError(f"{node.name} is not a linear layer of one operand")


def beside(shapes: list[g.Shape], axis: int, number: int) -> Matrix:
    """The matrix that puts an operand of a concatenation where it belongs in the result.

    Example:
        >>> beside([(1,), (2,)], 0, 1).toarray().tolist()
        [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    """
    numbered = [np.full(shape, -1) for shape in shapes]
    size = prod(shapes[number])
    numbered[number] = np.arange(size).reshape(shapes[number])
    found = np.concatenate(numbered, axis=axis).ravel()
    rows = np.flatnonzero(found >= 0)
    return _built(np.ones(size), rows, found[rows], (len(found), size))


def identity(size: int) -> Matrix:
    """The identity.

    Example:
        >>> identity(2).toarray().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    return _diagonal(np.ones(size))


def multiple_of(matrix: Matrix) -> float | None:
    """The number that a matrix is this many times the identity by; None of other matrices.

    Example:
        >>> multiple_of(Matrix(3.0 * identity(2))), multiple_of(beside([(1,), (2,)], 0, 1))
        (3.0, None)
    """
    rows, columns = matrix.shape
    if rows != columns or not rows or matrix.nnz != rows:
        return None
    factor = float(matrix.data[0])
    is_multiple = (matrix - factor * identity(rows)).count_nonzero() == 0
    return factor if is_multiple else None


def _diagonal(factors: g.Array) -> Matrix:
    return sparse.csr_array(sparse.diags_array(factors))


def _built(
    weights: g.Array, rows: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]
) -> Matrix:
    return sparse.csr_array((weights, (rows, columns)), shape=shape)


def _convolution(
    layer: g.ConvolutionLayer, after: g.Shape, before: g.Shape
) -> tuple[Matrix, g.Array]:
    outer, inner, *kernel = layer.weight.shape
    per_group = outer // layer.groups
    pixels, taps, found = _taps(
        after, before, (kernel[0], kernel[1]), layer.stride, layer.padding, layer.dilation
    )
    out = np.arange(outer)[:, np.newaxis, np.newaxis]
    into = np.arange(inner)[np.newaxis, :, np.newaxis]
    rows = out * prod(after[1:]) + pixels
    columns = (out // per_group * inner + into) * prod(before[1:]) + found
    weights = layer.weight.reshape(outer, inner, -1)[:, :, taps]
    rows, columns = (np.broadcast_to(each, weights.shape).ravel() for each in (rows, columns))
    matrix = _built(weights.ravel(), rows, columns, (prod(after), prod(before)))
    return matrix, np.repeat(layer.bias, prod(after[1:]))


def _average(layer: g.AveragePool, after: g.Shape, before: g.Shape) -> Matrix:
    pixels, _, found = _taps(after, before, layer.kernel, layer.stride, layer.padding, (1, 1))
    size = prod(after[1:])
    counts = np.full(size, prod(layer.kernel))
    if not layer.padding_counts:
        counts = np.bincount(pixels, minlength=size)
    channels = np.arange(before[0])[:, np.newaxis]
    rows = (channels * size + pixels).ravel()
    columns = (channels * prod(before[1:]) + found).ravel()
    weights = np.tile(1.0 / counts[pixels], before[0])
    return _built(weights, rows, columns, (prod(after), prod(before)))


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
