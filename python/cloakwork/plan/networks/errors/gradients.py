"""Slopes of single elements of a network's layers along every element of its input.

They are followed from the element back to the input (Rumelhart, Hinton, Williams, "Learning
representations by back-propagating errors", Nature 323, 1986): all slopes of an element take about
what a run of the network takes, however many inputs there are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import layer_value, values

# Between two points so far to either side of a number the slope there is measured.
_STEP = 2.0**-20


class Gradients:
    """The slopes of a network's layers at an input.

    Args:
        graph: The network.
        row: The input, as `joined_rows` makes it.
    """

    def __init__(self, graph: g.Graph, row: g.Array) -> None:
        self._graph = graph
        self._values = [*values(graph, row[np.newaxis])]

    def of(self, number: int, elements: Sequence[int]) -> g.Array:
        """Of some elements of a layer's result the slopes along all of the input, a row each.

        Example:
            >>> nodes = [g.node("x", g.InputLayer((2,)), (), [])]
            >>> nodes.append(g.node("square", g.Multiply(), (0, 0), nodes))
            >>> nodes.append(g.node("y", g.OutputLayer(), (1,), nodes))
            >>> Gradients(g.build(nodes), np.array([3.0, 5.0])).of(1, [0, 1]).tolist()
            [[6.0, 0.0], [0.0, 10.0]]
        """
        nodes = self._graph.nodes
        ends = np.zeros((len(elements), prod(nodes[number].shape)))
        ends[np.arange(len(elements)), elements] = 1.0
        waiting = {number: ends.reshape(len(elements), *nodes[number].shape)}
        inputs = len(self._graph.inputs)
        for each in range(number, inputs - 1, -1):
            slopes = waiting.pop(each, None)
            if slopes is None:
                continue
            node = nodes[each]
            operands = [self._values[operand] for operand in node.inputs]
            for operand, before in zip(
                node.inputs, _slopes_before(node.operation, operands, slopes), strict=True
            ):
                waiting[operand] = waiting[operand] + before if operand in waiting else before
        found = [
            waiting.get(each, np.zeros((len(elements), *nodes[each].shape)))
            for each in range(inputs)
        ]
        return np.concatenate([each.reshape(len(elements), -1) for each in found], axis=1)


def _slopes_before(
    operation: g.Operation, operands: Sequence[g.Array], slopes: g.Array
) -> Sequence[g.Array]:
    """Slopes along each operand of a layer, of slopes along its result."""
    match operation:
        case g.InputLayer():
            return []
        case g.OutputLayer():
            return [slopes]
        case g.LinearLayer(weight=weight):
            return [slopes @ weight]
        case g.ConvolutionLayer():
            return [_before_convolution(operation, operands[0].shape[1:], slopes)]
        case g.AveragePool():
            return [_before_pool(operation, operands[0].shape[1:], slopes)]
        case g.Affine(scale=scale):
            return [slopes * scale]
        case g.Rearrange(indices=indices):
            return [_before_rearranging(indices, operands[0].shape[1:], slopes)]
        case g.AddLayer():
            return [slopes, slopes]
        case g.Multiply():
            return [slopes * operands[1], slopes * operands[0]]
        case g.Contraction(left=left, right=right, result=result):
            of_left, of_right = (
                g.Contraction(result, right, left),
                g.Contraction(result, left, right),
            )
            return [
                layer_value(of_left, [slopes, operands[1]]),
                layer_value(of_right, [slopes, operands[0]]),
            ]
        case g.Concatenate(axis=axis):
            ends = np.cumsum([each.shape[axis + 1] for each in operands])[:-1]
            return np.split(slopes, ends, axis=axis + 1)
        case g.PolynomialLayer() | g.Activation():
            return [slopes * _own_slopes(operation, operands[0])]
        case g.ProductsByDistance() | g.SumsOverDistances():
            raise AssertionError("contractions go by distance in stages alone")
        case _ as never:
            assert_never(never)


def _own_slopes(operation: g.Operation, numbers: g.Array) -> g.Array:
    step = _STEP * np.maximum(np.abs(numbers), 1.0)
    above, below = (layer_value(operation, [numbers + each]) for each in (step, -step))
    return np.asarray((above - below) / (2 * step))


def _before_rearranging(indices: NDArray[np.int64], shape: g.Shape, slopes: g.Array) -> g.Array:
    taken = np.flatnonzero(indices >= 0)
    rows = slopes.reshape(len(slopes), -1)[:, taken]
    size = prod(shape)
    summed = [np.bincount(indices[taken], weights=row, minlength=size) for row in rows]
    return np.reshape(summed, (len(slopes), *shape))


def _before_convolution(layer: g.ConvolutionLayer, shape: g.Shape, slopes: g.Array) -> g.Array:
    outer, inner, *kernel = layer.weight.shape
    rows, (height, width) = len(slopes), slopes.shape[2:]
    by_group = slopes.reshape(rows, layer.groups, outer // layer.groups, height * width)
    weights = layer.weight.reshape(layer.groups, outer // layer.groups, inner, *kernel)
    windows = _Windows((kernel[0], kernel[1]), layer.stride, layer.padding, layer.dilation)

    def of_tap(down: int, right: int) -> g.Array:
        made = weights[..., down, right].swapaxes(1, 2) @ by_group
        return np.asarray(made.reshape(rows, -1, height, width))

    return windows.summed(of_tap, rows, shape)


def _before_pool(layer: g.AveragePool, shape: g.Shape, slopes: g.Array) -> g.Array:
    counts = np.full(slopes.shape[2:], float(prod(layer.kernel)))
    if not layer.padding_counts:
        own = replace(layer, padding_counts=True)
        counts = counts * layer_value(own, [np.ones((1, 1, *shape[1:]))])[0, 0]
    shares = slopes / counts
    windows = _Windows(layer.kernel, layer.stride, layer.padding, (1, 1))
    return windows.summed(lambda _down, _right: shares, len(slopes), shape)


@dataclass(frozen=True, slots=True)
class _Windows:
    """The windows of an image that a layer takes."""

    kernel: g.Pair
    stride: g.Pair
    padding: g.Sides
    dilation: g.Pair

    def summed(self, of_tap: Callable[[int, int], g.Array], rows: int, shape: g.Shape) -> g.Array:
        """Of what every element of the kernel has for each window the sums, where it lay."""
        channels, height, width = shape
        (above, below), (left, right) = self.padding
        total = np.zeros((rows, channels, above + height + below, left + width + right))
        for down, across in np.ndindex(*self.kernel):
            made = of_tap(down, across)
            first = down * self.dilation[0], across * self.dilation[1]
            places = tuple(
                slice(start, start + step * (count - 1) + 1, step)
                for start, step, count in zip(first, self.stride, made.shape[2:], strict=True)
            )
            total[:, :, *places] += made
        return total[:, :, above : above + height, left : left + width]
