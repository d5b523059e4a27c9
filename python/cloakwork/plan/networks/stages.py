"""A network as stages: one product with a clear matrix between any two nonlinear layers.

All linear layers between two nonlinear ones are multiplied into one matrix, where that
does not take many more elements: convolutions, pools, normalisations, rearrangements,
residual sums, concatenations, and the scaling of a polynomial's operand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np

from cloakwork.plan.fitting.minimax import interpolated
from cloakwork.plan.networks.matrices import Matrix, beside, identity, matrix_of
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import polynomial_of

# A merged matrix may have this many times the elements of its two factors.
_GROWTH = 2
# Beyond this many times the range of x, (x + shift)^2 would lose the digits of x.
_LARGEST_SHIFT = 16.0
# Of a fit that is constant: it stays a polynomial, whose range is checked.
_NEGLIGIBLE_SLOPE = 2.0**-48
_SQUARE = 3


@dataclass(frozen=True, slots=True, eq=False)
class EncryptedInput:
    """An input.

    Args:
        name: The name of its port.
        shape: Of the input.
        node: The number of its node.
    """

    name: str
    shape: g.Shape
    node: int


@dataclass(frozen=True, slots=True, eq=False)
class MatrixProduct:
    """The sum of products of stages with clear matrices, and a bias.

    Args:
        name: Of the last layer in it.
        shape: Of the result.
        layers: The names of all layers in it.
        terms: The matrix for each operand.
        bias: The bias, flat.
        node: The number of the last layer's node.
    """

    name: str
    shape: g.Shape
    layers: tuple[str, ...]
    terms: Mapping[int, Matrix]
    bias: g.Array
    node: int

    @property
    def signs(self) -> tuple[float, ...] | None:
        """The factor 1 or -1 of each term, None where a term is more than that."""
        signs: list[float] = []
        for matrix in self.terms.values():
            sign = next((each for each in (1.0, -1.0) if _is_multiple(matrix, each)), None)
            if sign is None:
                return None
            signs.append(sign)
        return tuple(signs)


def _is_multiple(matrix: Matrix, factor: float) -> bool:
    """Whether a matrix is this multiple of the identity."""
    rows, columns = matrix.shape
    if rows != columns or matrix.nnz != rows:
        return False
    return bool((matrix - factor * identity(rows)).count_nonzero() == 0)


@dataclass(frozen=True, slots=True, eq=False)
class Activation:
    """A polynomial of each element of a stage; a square where the coefficients are 0, 0, 1.

    Args:
        name: Of the layer.
        shape: Of the result.
        operand: The number of the operand's stage.
        coefficients: From degree 0 up.
        basis: Of the coefficients.
        low: The least operand of the layer that the polynomial is meant for.
        high: The greatest.
        scale: The operand's stage is the layer's operand times the scale, plus a shift.
        shift: The shift.
        node: The number of the layer's node.
    """

    name: str
    shape: g.Shape
    operand: int
    coefficients: tuple[float, ...]
    basis: g.Basis
    low: float
    high: float
    scale: float
    shift: float
    node: int

    @property
    def squares(self) -> bool:
        """Whether it is the square."""
        return self.basis == "monomial" and self.coefficients == (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class CiphertextProduct:
    """The product of two stages, element by element."""

    name: str
    shape: g.Shape
    left: int
    right: int
    node: int


Stage: TypeAlias = EncryptedInput | MatrixProduct | Activation | CiphertextProduct


@dataclass(frozen=True, slots=True, eq=False)
class _Sum:
    """What a layer computes, as products of stages with matrices and a bias."""

    terms: Mapping[int, Matrix]
    bias: g.Array
    layers: tuple[str, ...] = ()

    def scaled(self, factor: float, shift: float) -> _Sum:
        if (factor, shift) == (1.0, 0.0):
            return self
        terms = {stage: matrix * factor for stage, matrix in self.terms.items()}
        return _Sum(terms, self.bias * factor + shift, self.layers)


@dataclass(slots=True, eq=False)
class _Merging:
    """The stages so far, and each layer's result in terms of them."""

    graph: g.Graph
    stages: list[Stage] = field(default_factory=list)
    sums: dict[int, _Sum] = field(default_factory=dict)

    def of_stage(self, stage: Stage) -> _Sum:
        """Append a stage and return its result."""
        self.stages.append(stage)
        size = math.prod(stage.shape)
        return _Sum({len(self.stages) - 1: identity(size)}, np.zeros(size))

    def settled(self, number: int, factor: float = 1.0, shift: float = 0.0) -> int:
        """The stage that is a layer's result, scaled and shifted; later layers start from it."""
        result = self.sums[number].scaled(factor, shift)
        node = self.graph.nodes[number]
        if len(result.terms) == 1 and not result.bias.any():
            [(stage, matrix)] = result.terms.items()
            if _is_multiple(matrix, 1.0):
                return stage
        layers = result.layers or (node.name,)
        product = MatrixProduct(node.name, node.shape, layers, result.terms, result.bias, number)
        made = self.of_stage(product)
        self.sums[number] = made.scaled(1 / factor, -shift / factor)
        return len(self.stages) - 1

    def through(self, number: int, operand: int) -> _Sum:
        """A linear layer of an operand, merged with the layers before where that costs no more."""
        node, before = self.graph.nodes[number], self.graph.nodes[operand]
        matrix, bias = matrix_of(node, before.shape)
        merged = self._merged(matrix, self.sums[operand])
        if merged is None:
            self.settled(operand)
            merged = self._merged(matrix, self.sums[operand])
            assert merged is not None
        return _Sum(merged.terms, merged.bias + bias, (*merged.layers, node.name))

    def _merged(self, matrix: Matrix, inner: _Sum) -> _Sum | None:
        terms: dict[int, Matrix] = {}
        for stage, other in inner.terms.items():
            terms[stage] = Matrix(matrix @ other)
            if inner.layers and terms[stage].nnz > _GROWTH * (matrix.nnz + other.nnz):
                return None
        return _Sum(terms, matrix @ inner.bias, inner.layers)


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """The stages of a network.

    Args:
        all: In order of computation.
        outputs: For each result the number of its stage.
    """

    all: tuple[Stage, ...]
    outputs: tuple[int, ...]


def stages_of(graph: g.Graph) -> Stages:
    """The stages of a network.

    Args:
        graph: A network whose activations are polynomials.

    Example:
        >>> nodes = [g.node("x", g.Input((3,)), (), [])]
        >>> for name, layer in [("a", g.Linear(np.ones((2, 3)), np.ones(2))),
        ...                     ("b", g.Linear(np.ones((2, 2)), np.ones(2))), ("y", g.Output())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> [type(stage).__name__ for stage in stages_of(g.build(nodes)).all]
        ['EncryptedInput', 'MatrixProduct']
    """
    merging = _Merging(graph)
    for number, node in enumerate(graph.nodes):
        merging.sums[number] = _result(merging, number, node)
    outputs = tuple(merging.settled(each.inputs[0]) for each in graph.outputs)
    return Stages(tuple(merging.stages), outputs)


def _result(merging: _Merging, number: int, node: g.Node) -> _Sum:
    match node.operation, node.inputs:
        case g.Input(), _:
            return merging.of_stage(EncryptedInput(node.name, node.shape, number))
        case g.Output(), [operand]:
            return merging.sums[operand]
        case g.Add(), [left, right]:
            return _total([merging.sums[left], merging.sums[right]], node.name)
        case g.Concatenate(axis=axis), operands:
            shapes = [merging.graph.nodes[each].shape for each in operands]
            parts: list[_Sum] = []
            for place, operand in enumerate(operands):
                placing = beside(shapes, axis, place)
                inner = merging.sums[operand]
                terms = {key: Matrix(placing @ each) for key, each in inner.terms.items()}
                parts.append(_Sum(terms, placing @ inner.bias, inner.layers))
            return _total(parts, node.name)
        case g.Multiply(), [left, right]:
            first, second = merging.settled(left), merging.settled(right)
            product = CiphertextProduct(node.name, node.shape, first, second, number)
            return merging.of_stage(product)
        case g.Polynomial(), [operand]:
            return _polynomial(merging, number, node, operand)
        case _, [operand]:
            return merging.through(number, operand)
        case _:
            raise AssertionError(f"{node.name} has operands that its operation does not take")


def _total(parts: list[_Sum], name: str) -> _Sum:
    terms: dict[int, Matrix] = {}
    for part in parts:
        for stage, matrix in part.terms.items():
            terms[stage] = matrix if stage not in terms else Matrix(terms[stage] + matrix)
    layers = dict.fromkeys([each for part in parts for each in part.layers])
    return _Sum(terms, np.sum([part.bias for part in parts], axis=0), (*layers, name))


def _in_chebyshev(operation: g.Polynomial) -> g.Polynomial:
    """The same polynomial in Chebyshev polynomials of its range, which stay within 1 there.

    Powers of large numbers would multiply errors.
    """
    middle, half = (operation.high + operation.low) / 2, (operation.high - operation.low) / 2
    found = interpolated(
        lambda u: polynomial_of(operation, middle + half * u), len(operation.coefficients) - 1
    )
    return replace(operation, coefficients=found.coefficients, basis="chebyshev")


def _polynomial(merging: _Merging, number: int, node: g.Node, operand: int) -> _Sum:
    operation = node.operation
    assert isinstance(operation, g.Polynomial)
    if operation.basis == "monomial" and len(operation.coefficients) > _SQUARE:
        operation = _in_chebyshev(operation)
    coefficients = np.polynomial.polynomial.polytrim(operation.coefficients)
    factor, shift = 1.0, 0.0
    if operation.basis == "chebyshev":
        width = operation.high - operation.low
        factor, shift = 2 / width, -(operation.low + operation.high) / width
    if operation.basis == "chebyshev" and len(coefficients) <= _SQUARE:
        coefficients = np.asarray(np.polynomial.chebyshev.cheb2poly(coefficients), np.float64)
    if len(coefficients) == _SQUARE:
        constant, slope, top = map(float, coefficients)
        centre = slope / (2 * top)
        if abs(centre) <= _LARGEST_SHIFT:
            # top (t + centre)^2 + rest, the root of top moved into the matrix before.
            root = math.sqrt(abs(top))
            stage = merging.settled(operand, factor * root, (shift + centre) * root)
            square = merging.of_stage(
                Activation(
                    node.name,
                    node.shape,
                    stage,
                    (0.0, 0.0, 1.0),
                    "monomial",
                    operation.low,
                    operation.high,
                    factor * root,
                    (shift + centre) * root,
                    number,
                )
            )
            return square.scaled(math.copysign(1.0, top), constant - top * centre * centre)
    if len(coefficients) < 2:
        coefficients = np.array([coefficients[0], _NEGLIGIBLE_SLOPE])
    # A polynomial of degree 2 in the monomial basis is one in t already.
    basis: g.Basis = "monomial" if len(coefficients) <= _SQUARE else operation.basis
    stage = merging.settled(operand, factor, shift)
    return merging.of_stage(
        Activation(
            node.name,
            node.shape,
            stage,
            tuple(map(float, coefficients)),
            basis,
            operation.low,
            operation.high,
            factor,
            shift,
            number,
        )
    )
