"""The graph of a network's layers, in numpy's float64, between frontends and the planner.

A node is one layer: its name in the module, for errors and summaries, an operation, the
numbers of the nodes that it works on, and the shape of its result without the batch.
Nodes stand in order of computation: inputs first, results last. `shape_after` is the whole
of what makes an operation legal.

Images have the shape (channels, height, width); those of one dimension have height 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.ir.distances import Distances
from cloakwork.programs.packing.results import Form, plain_form

Array: TypeAlias = NDArray[np.float64]
Shape: TypeAlias = tuple[int, ...]
Pair: TypeAlias = tuple[int, int]
Sides: TypeAlias = tuple[Pair, Pair]
Range: TypeAlias = tuple[float, float]
Basis: TypeAlias = Literal["monomial", "chebyshev"]


@dataclass(frozen=True, slots=True, eq=False)
class InputLayer:
    """An encrypted input.

    Args:
        shape: Its shape.
        bound: The largest absolute value allowed, inf if not yet known.
        is_mask: Whether its numbers are 0 or all one and the same, which is above 0.
    """

    shape: Shape
    bound: float = float("inf")
    is_mask: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LinearLayer:
    """Of the last axis: x @ weight.T + bias. Weight (out, in), bias (out,)."""

    weight: Array
    bias: Array


@dataclass(frozen=True, slots=True, eq=False)
class ConvolutionLayer:
    """Torch's convolution: a correlation of an image with kernels, and a bias per channel.

    Args:
        weight: (channels out, channels in / groups, kernel height, kernel width).
        bias: (channels out,).
        stride: Down and to the right.
        padding: Zeros (above, below) and (left, right).
        dilation: Down and to the right.
        groups: Into how many parts channels in and out are cut.
    """

    weight: Array
    bias: Array
    stride: Pair = (1, 1)
    padding: Sides = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)
    groups: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class AveragePool:
    """Means over windows of each channel; `padding_counts`: whether the zeros do in the mean."""

    kernel: Pair
    stride: Pair
    padding: Sides = ((0, 0), (0, 0))
    padding_counts: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Affine:
    """x * scale + shift, each of as many axes as x and of x's size or 1 along each."""

    scale: Array
    shift: Array


@dataclass(frozen=True, slots=True, eq=False)
class Rearrange:
    """Element i of the result, of `shape`, is element `indices[i]` of x, or 0 where that is -1.

    Both are counted in row-major order.
    """

    indices: NDArray[np.int64]
    shape: Shape


@dataclass(frozen=True, slots=True, eq=False)
class AddLayer:
    """The sum of two nodes of one shape."""


@dataclass(frozen=True, slots=True, eq=False)
class Multiply:
    """The product of two nodes of one shape, element by element.

    Args:
        ranges: What the factors must be within, (-inf, inf) if not yet known; None for any numbers.
    """

    ranges: tuple[Range, Range] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Contraction:
    """Sums of products of two nodes' elements, as torch's einsum has them.

    Args:
        left: A letter for each axis of the one, the batch aside.
        right: The same of the other.
        result: The same of the result. A letter that it lacks is one of both, and summed over.
        ranges: As of a product of elements.
        reach: What results are within, where operands are in their ranges, as seen in calibration.
    """

    left: str
    right: str
    result: str
    ranges: tuple[Range, Range] | None = None
    reach: Range | None = None

    @property
    def summed(self) -> str:
        """The letters that are summed over."""
        return "".join(letter for letter in self.left if letter not in self.result)

    def sizes(self, left: Shape, right: Shape) -> dict[str, int]:
        """The size of every letter's axis.

        Example:
            >>> Contraction("ik", "jk", "ij").sizes((2, 3), (4, 3))
            {'i': 2, 'k': 3, 'j': 4}
        """
        return dict(zip(self.left + self.right, (*left, *right), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class ProductsByDistance:
    """For each token, head and distance the product of features with those of the other's token.

    Of two nodes (tokens, features of all heads); the result is (tokens, results), see `Distances`.

    Args:
        distances: Where features and products stand.
        ranges: As of a product of elements.
        reach: As of a contraction.
    """

    distances: Distances
    ranges: tuple[Range, Range] | None = None
    reach: Range | None = None


@dataclass(frozen=True, slots=True, eq=False)
class SumsOverDistances:
    """For each token and head the other's features at every distance, weighted and summed.

    The weights are the left node, (tokens, results); the right one is (tokens, features).

    Args:
        distances: Where features and weights stand.
        ranges: As of a product of elements.
        reach: As of a contraction.
    """

    distances: Distances
    ranges: tuple[Range, Range] | None = None
    reach: Range | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Concatenate:
    """Nodes beside one another along an axis, counted without the batch."""

    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class PolynomialLayer:
    """A polynomial of each element, coefficients from degree 0 up, for x in [low, high].

    In the Chebyshev basis it is one of t = (2 x - low - high) / (high - low); in the
    monomial basis one of x itself, and an unknown range is (-inf, inf).
    """

    coefficients: tuple[float, ...]
    basis: Basis
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """A function of each element that is no polynomial; only before activations are fitted.

    Args:
        function: Its name in `programs.functions.FUNCTIONS`.
        parameters: Its further arguments.
        unit: What errors of polynomials near it are small beside, where that is less than its
            largest absolute value.
        is_factor: Whether its values are multiplied by what they were made of, so that each error
            counts beside its own value.
    """

    function: str
    parameters: tuple[float, ...] = ()
    unit: float = float("inf")
    is_factor: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class OutputLayer:
    """A result."""


Operation: TypeAlias = (
    InputLayer
    | LinearLayer
    | ConvolutionLayer
    | AveragePool
    | Affine
    | Rearrange
    | AddLayer
    | Multiply
    | Contraction
    | ProductsByDistance
    | SumsOverDistances
    | Concatenate
    | PolynomialLayer
    | Activation
    | OutputLayer
)


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """One layer.

    Args:
        name: Qualified name in the module, or of the operation for a function call; the names of
            inputs and results are those of the program's ports.
        operation: What it computes.
        inputs: Numbers of the nodes that it works on, all before it.
        shape: Shape of the result, without the batch.
    """

    name: str
    operation: Operation
    inputs: tuple[int, ...]
    shape: Shape


@dataclass(frozen=True, eq=False)
class Graph:
    """A network, checked by `build`.

    Args:
        nodes: Its layers in order.
        form: How results stand in lists, tuples and dicts.
    """

    nodes: tuple[Node, ...]
    form: Form

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The inputs, which are the first nodes."""
        return tuple(each for each in self.nodes if isinstance(each.operation, InputLayer))

    @cached_property
    def outputs(self) -> tuple[Node, ...]:
        """The results, which are the last nodes."""
        return tuple(each for each in self.nodes if isinstance(each.operation, OutputLayer))

    @property
    def output_numbers(self) -> range:
        """The numbers of the results' nodes."""
        return range(len(self.nodes) - len(self.outputs), len(self.nodes))

    @property
    def bounds(self) -> tuple[float, ...]:
        """For each input the largest absolute value allowed."""
        operations = [each.operation for each in self.nodes]
        return tuple(each.bound for each in operations if isinstance(each, InputLayer))

    @cached_property
    def users(self) -> tuple[tuple[int, ...], ...]:
        """For each node the numbers of those that work on it."""
        users: list[list[int]] = [[] for _ in self.nodes]
        for number, node in enumerate(self.nodes):
            for operand in node.inputs:
                users[operand].append(number)
        return tuple(map(tuple, users))


def node(name: str, operation: Operation, inputs: Sequence[int], nodes: Sequence[Node]) -> Node:
    """The node of an operation after those there are, its shape found."""
    shapes = [nodes[number].shape for number in inputs]
    return Node(name, operation, tuple(inputs), shape_after(name, operation, shapes))


def appended(nodes: list[Node], name: str, operation: Operation, *inputs: int) -> int:
    """The number of a node that is appended to those there are.

    Example:
        >>> nodes = [node("x", InputLayer((3,)), (), [])]
        >>> appended(nodes, "y", OutputLayer(), 0), nodes[1].shape
        (1, (3,))
    """
    nodes.append(node(name, operation, inputs, nodes))
    return len(nodes) - 1


def build(nodes: Sequence[Node], form: Form | None = None) -> Graph:
    """A graph of nodes, checked.


    >>> import numpy as np
    >>> from cloakwork.programs.ir import layers as graph
    >>> nodes = [graph.node("x", graph.InputLayer((3,)), (), [])]
    >>> layer = graph.LinearLayer(np.ones((2, 3)), np.zeros(2))
    >>> nodes.append(graph.node("sum", layer, (0,), nodes))
    >>> nodes.append(graph.node("y", graph.OutputLayer(), (1,), nodes))
    >>> graph.build(nodes).outputs[0].shape
    (2,)
    """
    for number, each in enumerate(nodes):
        if not all(0 <= operand < number for operand in each.inputs):
            raise _illegal(each.name, "works on nodes before it", f"{each.inputs} at {number}")
        expected = node(each.name, each.operation, each.inputs, nodes).shape
        if each.shape != expected:
            raise _illegal(each.name, f"has shape {expected}", f"{each.shape}")
    inputs = [number for number, each in enumerate(nodes) if isinstance(each.operation, InputLayer)]
    outputs = [
        number for number, each in enumerate(nodes) if isinstance(each.operation, OutputLayer)
    ]
    first_output = len(nodes) - len(outputs)
    in_order = (inputs, outputs) == (
        [*range(len(inputs))],
        [*range(first_output, len(nodes))],
    )
    if not (inputs and outputs and in_order):
        raise _illegal("graph", "has its inputs first and its results last", f"{inputs}, {outputs}")
    for ports in inputs, outputs:
        names = [nodes[number].name for number in ports]
        if len(set(names)) < len(names):
            raise _illegal("graph", "has inputs and results of different names", f"{names}")
    return Graph(tuple(nodes), form or plain_form(len(outputs)))


def shape_after(name: str, operation: Operation, shapes: Sequence[Shape]) -> Shape:
    """The shape of an operation's result, given those of its operands."""
    match operation, [*shapes]:
        case InputLayer(shape=shape), []:
            return shape
        case LinearLayer(weight=weight, bias=bias), [(*lead, last)]:
            if weight.ndim == 2 and weight.shape[1] == last and bias.shape == weight.shape[:1]:
                return (*lead, weight.shape[0])
        case ConvolutionLayer(), [(channels, height, width)]:
            return _after_convolution(name, operation, channels, (height, width))
        case AveragePool(kernel=kernel, stride=stride, padding=padding), [(channels, *sizes)]:
            if len(sizes) == 2:
                return (channels, *_windows(name, sizes, kernel, stride, padding, (1, 1)))
        case Affine(scale=scale, shift=shift), [shape]:
            if all(_stretches(values.shape, shape) for values in (scale, shift)):
                return shape
        case Rearrange(indices=indices, shape=shape), [source]:
            size = prod(source)
            if indices.shape == (prod(shape),) and np.all((indices >= -1) & (indices < size)):
                return shape
        case ((AddLayer() | Multiply()), [left, right]):
            if left == right:
                return left
        case Contraction(), [left, right]:
            if _contracts(operation, left, right):
                axes = operation.sizes(left, right)
                return tuple(axes[letter] for letter in operation.result)
        case ProductsByDistance(distances=distances), [left, right]:
            if left == right == (distances.tokens, distances.heads * distances.features):
                return (distances.tokens, distances.results)
        case SumsOverDistances(distances=distances), [left, right]:
            mixed = (distances.tokens, distances.heads * distances.features)
            if (left, right) == ((distances.tokens, distances.results), mixed):
                return mixed
        case Concatenate(axis=axis), [first, *_]:
            without = {shape[:axis] + shape[axis + 1 :] for shape in shapes}
            if 0 <= axis < len(first) and len(without) == 1:
                joined = sum(shape[axis] for shape in shapes)
                return (*first[:axis], joined, *first[axis + 1 :])
        case PolynomialLayer(coefficients=coefficients, low=low, high=high), [shape]:
            if coefficients and low < high:
                return shape
        case ((Activation() | OutputLayer()), [shape]):
            return shape
    kind = type(operation).__name__
    raise _illegal(name, f"{kind} fits its operands", f"operands of shapes {[*shapes]}")


def _after_convolution(name: str, layer: ConvolutionLayer, channels: int, size: Pair) -> Shape:
    weight, groups = layer.weight, layer.groups
    fits = (
        weight.ndim == 4
        and channels == weight.shape[1] * groups
        and weight.shape[0] % groups == 0
        and layer.bias.shape == weight.shape[:1]
    )
    if not fits:
        came = f"{channels} channels, weight {weight.shape}, {groups} groups"
        raise _illegal(name, "Convolution fits its operand", came)
    kernel = (weight.shape[2], weight.shape[3])
    windows = _windows(name, size, kernel, layer.stride, layer.padding, layer.dilation)
    return (weight.shape[0], *windows)


def _windows(
    name: str, sizes: Sequence[int], kernel: Pair, stride: Pair, padding: Sides, dilation: Pair
) -> Shape:
    counts = tuple(
        (size + sum(sides) - spread * (width - 1) - 1) // step + 1
        for size, width, step, sides, spread in zip(
            sizes, kernel, stride, padding, dilation, strict=True
        )
    )
    if min(counts) < 1:
        raise _illegal(name, "a window fits the padded image", f"{kernel} on {tuple(sizes)}")
    return counts


def _contracts(operation: Contraction, left: Shape, right: Shape) -> bool:
    """Whether every axis has a letter, of one size, once in an operand, and all go somewhere."""
    letters = operation.left, operation.right, operation.result
    of_axes = {*zip(operation.left + operation.right, (*left, *right), strict=False)}
    return (
        (len(operation.left), len(operation.right)) == (len(left), len(right))
        and all(len({*each}) == len(each) for each in letters)
        and len(of_axes) == len({letter for letter, _ in of_axes})
        and {*operation.left} ^ {*operation.right} <= {*operation.result}
        and {*operation.result} <= {*operation.left, *operation.right}
    )


def _stretches(shape: Shape, target: Shape) -> bool:
    return len(shape) == len(target) and all(
        size in (1, other) for size, other in zip(shape, target, strict=True)
    )


def _illegal(name: str, expected: str, came: str) -> InvalidProgramError:
    return InvalidProgramError(
        f"cannot build the graph of a network: expected that {expected} at {name!r}, got {came}; "
        "the pass that made the graph is at fault"
    )


def operand_ranges(graph: Graph) -> list[tuple[float, float]]:
    """For each node the range that its results must be within: that of all layers after it.

    Example:
        >>> nodes = [node("x", InputLayer((1,)), (), [])]
        >>> cube = PolynomialLayer((0, 0, 0, 1), "monomial", -2, 3)
        >>> nodes.append(node("cube", cube, (0,), nodes))
        >>> nodes.append(node("y", OutputLayer(), (1,), nodes))
        >>> operand_ranges(build(nodes))
        [(-2, 3), (-inf, inf), (-inf, inf)]
    """
    ranges = [(-float("inf"), float("inf"))] * len(graph.nodes)
    for each in graph.nodes:
        for operand, (least, most) in zip(
            each.inputs, expected_ranges(each.operation), strict=False
        ):
            low, high = ranges[operand]
            ranges[operand] = max(low, least), min(high, most)
    return ranges


def expected_ranges(operation: Operation) -> tuple[Range, ...]:
    """The range that each operand must be within; none where an operation takes any numbers.

    Example:
        >>> line = PolynomialLayer((0.0, 1.0), "monomial", -2.0, 3.0)
        >>> expected_ranges(line), expected_ranges(AddLayer())
        (((-2.0, 3.0),), ())
    """
    match operation:
        case PolynomialLayer(low=low, high=high):
            return ((low, high),)
        case (
            Multiply(ranges=(left, right))
            | Contraction(ranges=(left, right))
            | ProductsByDistance(ranges=(left, right))
            | SumsOverDistances(ranges=(left, right))
        ):
            return left, right
        case _:
            return ()
