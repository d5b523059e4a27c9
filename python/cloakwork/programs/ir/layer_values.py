"""A graph of layers computed in the clear, in float64: the meaning of its encrypted run."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, assert_never

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.polynomial import Chebyshev
from numpy.polynomial import Polynomial as Monomial
from numpy.typing import NDArray

from cloakwork.errors import ShapeMismatchError
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.distances import Distances
from cloakwork.programs.packing.results import filled

# So many that they stay in a cache from one term of a polynomial to the next.
_NUMBERS_AT_ONCE = 1 << 14
# Numbers of the largest layer that are worked on by one thread at a time.
_NUMBERS_OF_A_PART = 1 << 18

_NO_ERRORS: Mapping[int, g.Array] = MappingProxyType({})

_Made = TypeVar("_Made")
_Rows = TypeVar("_Rows", bound=NDArray[Any])
Compute: TypeAlias = Callable[[g.Node, Sequence[g.Array]], g.Array]


def evaluate(graph: g.Graph, *inputs: g.Array) -> Any:
    """The network's results for a batch.



    >>> import numpy as np
    >>> from cloakwork.programs.ir import layers as g
    >>> nodes = [g.node("x", g.InputLayer((3,)), (), [])]
    >>> nodes.append(g.node("square", g.PolynomialLayer((0, 0, 1), "monomial", -9, 9), (0,), nodes))
    >>> nodes.append(g.node("y", g.OutputLayer(), (1,), nodes))
    >>> evaluate(g.build(nodes), np.array([[1.0, 2.0, 3.0]]))
    array([[1., 4., 9.]])
    """
    made = enumerate(values(graph, table_of_inputs(graph, inputs)))
    return filled(graph.form, [value for number, value in made if number in graph.output_numbers])


def table_of_inputs(graph: g.Graph, inputs: Sequence[g.Array]) -> g.Array:
    """A batch as a table: an entry of the batch in each row, the elements of all inputs in it."""
    arrays = [np.asarray(each, dtype=np.float64) for each in inputs]
    expected = [each.shape for each in graph.inputs]
    counts = {len(each) for each in arrays if each.ndim}
    if [each.shape[1:] for each in arrays if each.ndim] != expected or len(counts) != 1:
        shapes = ", ".join(f"({', '.join(map(str, ('batch', *shape)))})" for shape in expected)
        raise ShapeMismatchError(
            f"cannot evaluate the network: expected a batch of shape {shapes}, got "
            f"{', '.join(str(each.shape) for each in arrays)}; put the inputs along a first axis"
        )
    return np.concatenate(
        [each.reshape(len(each), prod(each.shape[1:])) for each in arrays], axis=1
    )


def element_bounds(graph: g.Graph) -> g.Array:
    """For each element of a row of `joined_rows` the largest absolute value allowed.

    Example:
        >>> ports = {"x": g.InputLayer((2,), 3.0), "y": g.InputLayer((1,), 5.0)}
        >>> nodes = [g.node(name, port, (), []) for name, port in ports.items()]
        >>> element_bounds(g.build([*nodes, g.node("z", g.OutputLayer(), (1,), nodes)])).tolist()
        [3.0, 3.0, 5.0]
    """
    return np.repeat(graph.bounds, [prod(each.shape) for each in graph.inputs])


def results(graph: g.Graph, rows: g.Array, errors: Mapping[int, g.Array] = _NO_ERRORS) -> g.Array:
    """The elements of all results, those of an entry of the batch in a row."""

    def of(part: g.Array) -> g.Array:
        made = enumerate(values(graph, part, errors))
        found = [value for number, value in made if number in graph.output_numbers]
        return np.concatenate(
            [value.reshape(len(part), prod(value.shape[1:])) for value in found], axis=1
        )

    return np.concatenate(by_parts(graph, of, rows))


def by_parts(graph: g.Graph, work: Callable[[_Rows], _Made], rows: _Rows) -> list[_Made]:
    """What some work makes of the entries of a batch, in parts that fit a cache, side by side."""
    largest = max(prod(node.shape) for node in graph.nodes)
    length = max(1, _NUMBERS_OF_A_PART // max(1, largest))
    parts = [rows[start : start + length] for start in range(0, max(1, len(rows)), length)]
    if len(parts) == 1:
        return [work(rows)]
    # Only compiling a network, which takes it, works on as many.
    from threadpoolctl import threadpool_limits  # noqa: PLC0415

    # Threads of BLAS would wait for cores that the parts have.
    with (
        threadpool_limits(limits=1, user_api="blas"),
        ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as threads,
    ):
        return list(threads.map(work, parts))


def values(
    graph: g.Graph,
    rows: g.Array,
    errors: Mapping[int, g.Array] = _NO_ERRORS,
    compute: Compute | None = None,
) -> Iterator[g.Array]:
    """What each node computes for a batch, in the order of the nodes; freed after its last use."""
    compute = compute or computed_layers
    sizes = [prod(each.shape) for each in graph.inputs]
    inputs = np.split(rows, np.cumsum(sizes)[:-1], axis=1)
    live: dict[int, g.Array] = {}
    for number, node in enumerate(graph.nodes):
        if node.inputs:
            value = compute(node, [live[operand] for operand in node.inputs])
        else:
            value = inputs[number].reshape(len(rows), *node.shape)
        live[number] = value = value + errors[number] if number in errors else value
        yield value
        for operand in {*node.inputs}:
            if graph.users[operand][-1] == number:
                del live[operand]


def computed_layers(node: g.Node, operands: Sequence[g.Array]) -> g.Array:
    """What the operation of a node makes of its operands; see `layer_value`."""
    return layer_value(node.operation, operands)


def polynomial_of(operation: g.PolynomialLayer, x: g.Array) -> g.Array:
    """A polynomial of each element."""
    series = (
        Monomial(operation.coefficients)
        if operation.basis == "monomial"
        else Chebyshev(operation.coefficients, domain=[operation.low, operation.high])
    )
    numbers = np.ascontiguousarray(x, dtype=np.float64).ravel()
    made = np.empty_like(numbers)
    for start in range(0, len(numbers), _NUMBERS_AT_ONCE):
        part = slice(start, start + _NUMBERS_AT_ONCE)
        made[part] = series(numbers[part])
    return made.reshape(np.shape(x))


def layer_value(operation: g.Operation, operands: Sequence[g.Array]) -> g.Array:
    """What an operation makes of its operands, the batch along the first axis of each."""
    x = operands[0]
    match operation:
        case g.InputLayer() | g.OutputLayer():
            return x
        case g.LinearLayer(weight=weight, bias=bias):
            # One product of matrices, not one for each of the batch.
            rows = x.reshape(-1, weight.shape[1])
            return np.asarray(rows @ weight.T + bias).reshape(*x.shape[:-1], len(weight))
        case g.ConvolutionLayer():
            return _convolve(operation, x)
        case g.AveragePool():
            return _pool(operation, x)
        case g.Affine(scale=scale, shift=shift):
            return x * scale + shift
        case g.Rearrange(indices=indices, shape=shape):
            return _rearranged(x.reshape(len(x), -1), indices).reshape(len(x), *shape)
        case g.AddLayer():
            return x + operands[1]
        case g.Multiply():
            return x * operands[1]
        case g.Contraction():
            return _contracted(operation, x, operands[1])
        case g.ProductsByDistance(distances=distances):
            return _products_by_distance(distances, x, operands[1])
        case g.SumsOverDistances(distances=distances):
            return _sums_over_distances(distances, x, operands[1])
        case g.Concatenate(axis=axis):
            return np.concatenate(operands, axis=axis + 1)
        case g.PolynomialLayer():
            return polynomial_of(operation, x)
        case g.Activation(function=function, parameters=parameters):
            return FUNCTIONS[function].value(x, *parameters)
        case _ as never:
            assert_never(never)


def _rearranged(rows: g.Array, indices: NDArray[np.int64]) -> g.Array:
    """The columns of these numbers, and zeros for -1."""
    if np.array_equal(indices, np.arange(rows.shape[1])):
        return rows
    gathered = rows.take(indices, axis=1)
    is_zero = indices < 0
    if is_zero.any():
        gathered[:, is_zero] = 0.0
    return gathered


def _contracted(layer: g.Contraction, left: g.Array, right: g.Array) -> g.Array:
    """As products of matrices, one for each element of the axes that all three have."""
    both = "".join(each for each in layer.left if each in layer.right and each in layer.result)
    rows = "".join(each for each in layer.left if each not in layer.right)
    columns = "".join(each for each in layer.right if each not in layer.left)

    def lined(values: g.Array, letters: str, order: str, sides: tuple[int, int]) -> g.Array:
        axes = [1 + letters.index(letter) for letter in order]
        moved = values.transpose(0, *axes)
        return moved.reshape(*moved.shape[: 1 + len(both)], *sides)

    sizes = layer.sizes(left.shape[1:], right.shape[1:])
    count, height, width = (
        prod(sizes[letter] for letter in letters) for letters in (layer.summed, rows, columns)
    )
    made = lined(left, layer.left, both + rows + layer.summed, (height, count)) @ lined(
        right, layer.right, both + layer.summed + columns, (count, width)
    )
    order = both + rows + columns
    whole = made.reshape(len(left), *(sizes[letter] for letter in order))
    return whole.transpose(0, *(1 + order.index(letter) for letter in layer.result))


def _products_by_distance(distances: Distances, left: g.Array, right: g.Array) -> g.Array:
    table = distances.table()
    made = np.empty((len(left), distances.tokens, distances.results))
    of_heads = (len(left), distances.tokens, 2, distances.heads, distances.half)
    for distance in range(distances.tokens):
        product = left * np.roll(right, -distance, axis=1)
        made[:, :, table[:, distance]] = product.reshape(of_heads).sum(axis=(2, 4))
    return made


def _sums_over_distances(distances: Distances, weights: g.Array, values: g.Array) -> g.Array:
    table = distances.table()
    total = np.zeros_like(values)
    for distance in range(distances.tokens):
        of_half = np.repeat(weights[:, :, table[:, distance]], distances.half, axis=-1)
        total += np.tile(of_half, 2) * np.roll(values, -distance, axis=1)
    return total


def _convolve(layer: g.ConvolutionLayer, x: g.Array) -> g.Array:
    """One product of matrices for each group: the kernels with every window of all images."""
    outer, inner, *kernel = layer.weight.shape
    batch, groups = len(x), layer.groups
    windows = _windows(x, (kernel[0], kernel[1]), layer.stride, layer.padding, layer.dilation)
    height, width = windows.shape[2:4]
    columns = np.empty((groups, inner, *kernel, batch, height, width))
    by_group = windows.reshape(batch, groups, inner, height, width, *kernel)
    columns[:] = by_group.transpose(1, 2, 5, 6, 0, 3, 4)
    kernels = layer.weight.reshape(groups, outer // groups, -1)
    made = kernels @ columns.reshape(groups, -1, batch * height * width)
    images = made.reshape(outer, batch, height, width).transpose(1, 0, 2, 3)
    return np.ascontiguousarray(images) + layer.bias[:, None, None]


def _pool(layer: g.AveragePool, x: g.Array) -> g.Array:
    def sums(image: g.Array) -> g.Array:
        windows = _windows(image, layer.kernel, layer.stride, layer.padding, (1, 1))
        return np.asarray(windows.sum(axis=(-2, -1)))

    if layer.padding_counts:
        return sums(x) / (layer.kernel[0] * layer.kernel[1])
    return sums(x) / sums(np.ones((1, 1, *x.shape[2:])))


def _windows(
    x: g.Array, kernel: g.Pair, stride: g.Pair, padding: g.Sides, dilation: g.Pair
) -> g.Array:
    """Every window of each channel, its rows and columns on two further axes."""
    padded = np.pad(x, ((0, 0), (0, 0), *padding))
    spans = tuple(spread * (width - 1) + 1 for width, spread in zip(kernel, dilation, strict=True))
    windows = sliding_window_view(padded, spans, axis=(2, 3))
    down, right = stride
    return windows[:, :, ::down, ::right, :: dilation[0], :: dilation[1]]
