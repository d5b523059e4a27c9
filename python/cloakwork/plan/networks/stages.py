"""A network as stages: one product with a clear matrix between any two nonlinear layers.

All linear layers between two nonlinear ones are multiplied into one matrix, where that
does not take many more elements: convolutions, pools, normalisations, rearrangements,
residual sums, concatenations, and the scaling of a polynomial's operand.

Where two inputs of a batch share their slots as real and imaginary part, matrices multiply both at
once. What is not linear takes the parts apart, each twice itself (`plan.networks.writer`): its
operands are halved by the matrix before, and inputs are halved where they are packed.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.fitting.minimax import interpolated
from cloakwork.plan.networks.matrices import beside, matrix_of
from cloakwork.plan.networks.matrix import Matrix, identity
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import polynomial_of

# A merged matrix may have this many times the elements of its two factors.
_GROWTH = 2
# A sum of more terms that several layers take is computed once.
_MOST_TERMS = 2
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
        places: Where its elements lie in slots; None where that is to be chosen.
    """

    name: str
    shape: g.Shape
    layers: tuple[str, ...]
    terms: Mapping[int, Matrix]
    bias: g.Array
    node: int
    places: NDArray[np.int64] | None = None

    @property
    def signs(self) -> tuple[float, ...] | None:
        """The factor 1 or -1 of each term, None where a term is more than that."""
        signs: list[float] = []
        for matrix in self.terms.values():
            factor = matrix.multiple()
            if factor is None or abs(factor) != 1.0:
                return None
            signs.append(factor)
        return tuple(signs)


@dataclass(frozen=True, slots=True, eq=False)
class ActivationStage:
    """A polynomial of each element of a stage; a square where the coefficients are 0, 0, 1.

    Args:
        name: Of the layer.
        shape: Of the result.
        operand: The number of the operand's stage.
        coefficients: From degree 0 up.
        basis: Of the coefficients.
        low: The least operand of the layer that the polynomial is meant for.
        high: The greatest.
        scale: The operand is the layer's operand times the scale, plus a shift.
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


@dataclass(frozen=True, slots=True)
class FactorRange:
    """What a factor of a product must be within.

    Args:
        low: The least number.
        high: The greatest.
        scale: What is multiplied is the factor times the scale.
    """

    low: float
    high: float
    scale: float


@dataclass(frozen=True, slots=True, eq=False)
class CiphertextProduct:
    """The product of two stages, element by element.

    Args:
        name: Of the layer.
        shape: Of the result.
        left: The number of the stage of one factor.
        right: The number of the other's.
        node: The number of the layer's node.
        ranges: What the factors must be within; None for any numbers.
    """

    name: str
    shape: g.Shape
    left: int
    right: int
    node: int
    ranges: tuple[FactorRange, FactorRange] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DistanceProduct:
    """A product of tokens by their distance, see `programs.ir.distances`.

    Args:
        name: Of the layer.
        shape: Of the result.
        left: The number of the stage of one factor.
        right: The number of the other's.
        node: The number of the layer's node.
        operation: What it computes.
        multiple: What the sums of products of the stages are multiplied by.
        ranges: What the factors, and the result, must be within; None for any numbers.
    """

    name: str
    shape: g.Shape
    left: int
    right: int
    node: int
    operation: g.ProductsByDistance | g.SumsOverDistances
    multiple: float
    ranges: tuple[FactorRange, FactorRange, FactorRange] | None = None


Stage: TypeAlias = (
    EncryptedInput | MatrixProduct | ActivationStage | CiphertextProduct | DistanceProduct
)


@dataclass(frozen=True, slots=True, eq=False)
class _StageSum:
    """What a layer computes, as products of stages with matrices and a bias."""

    terms: Mapping[int, Matrix]
    bias: g.Array
    layers: tuple[str, ...] = ()

    @property
    def single(self) -> tuple[int, float] | None:
        """The stage that this is a multiple of, and the multiple; None of other sums."""
        if len(self.terms) != 1 or self.bias.any():
            return None
        [(stage, matrix)] = self.terms.items()
        multiple = matrix.multiple()
        return None if multiple is None else (stage, multiple)

    def scaled(self, factor: float, shift: float) -> _StageSum:
        if (factor, shift) == (1.0, 0.0):
            return self
        terms = {stage: matrix.scaled(factor) for stage, matrix in self.terms.items()}
        return _StageSum(terms, self.bias * factor + shift, self.layers)


class _StageMerging:
    """The stages so far, and each layer's result in terms of them.

    Args:
        graph: The network.
        scaled: The numbers of the polynomials and products that are divided by what they reach.
        part: What of an operand that is an input or a sum a slot holds, where what follows is not
            linear: all, or one half.
    """

    def __init__(self, graph: g.Graph, scaled: Collection[int], part: float) -> None:
        self.graph = graph
        self.part = part
        self.stages: list[Stage] = []
        self.sums: dict[int, _StageSum] = {}
        self._scaled = scaled

    def of_stage(self, stage: Stage) -> _StageSum:
        """Append a stage and return its result."""
        self.stages.append(stage)
        size = math.prod(stage.shape)
        return _StageSum({len(self.stages) - 1: identity(stage.shape)}, np.zeros(size))

    def settled(self, number: int, factor: float = 1.0, shift: float = 0.0) -> int:
        """The stage that is a layer's result, scaled and shifted; later layers start from it."""
        result = self.sums[number].scaled(factor, shift)
        node = self.graph.nodes[number]
        single = result.single
        if single is not None and single[1] == 1.0:
            return single[0]
        layers = result.layers or (node.name,)
        product = MatrixProduct(node.name, node.shape, layers, result.terms, result.bias, number)
        made = self.of_stage(product)
        self.sums[number] = made.scaled(1 / factor, -shift / factor)
        return len(self.stages) - 1

    def operand(self, number: int, factor: float = 1.0, shift: float = 0.0) -> int:
        """The stage of which a layer's result, scaled and shifted, is taken where it is not linear.

        It is the result of another stage that is not linear, or this part of a sum.
        """
        single = self.sums[number].single
        if single is not None and not shift and is_nonlinear(self.stages[single[0]]):
            stage, multiple = single
            if multiple * factor == 1.0:
                return stage
            if multiple * factor * self.part == 1.0:
                # The stage holds as much as a part of this, but all of itself.
                return self._copied(number, stage)
        return self.settled(number, factor * self.part, shift * self.part)

    def _copied(self, number: int, stage: int) -> int:
        node, shape = self.graph.nodes[number], self.stages[stage].shape
        terms, bias = {stage: identity(shape)}, np.zeros(math.prod(shape))
        self.stages.append(MatrixProduct(node.name, node.shape, (node.name,), terms, bias, number))
        return len(self.stages) - 1

    def through(self, number: int, operand: int) -> _StageSum:
        """A linear layer of an operand, merged with the layers before where that costs no more."""
        node, before = self.graph.nodes[number], self.graph.nodes[operand]
        matrix, bias = matrix_of(node, before.shape)
        merged = self._merged(matrix, self.sums[operand])
        if merged is None:
            self._settle_in_place(operand)
            merged = self._merged(matrix, self.sums[operand])
            assert merged is not None
        return _StageSum(merged.terms, merged.bias + bias, (*merged.layers, node.name))

    def _settle_in_place(self, number: int) -> None:
        """Settle a layer's result, or rather what it puts in another order.

        Elements that keep their places share diagonals, and the next matrix reorders them as well.
        """
        if not _is_permutation(self.graph, number):
            self.settled(number)
            return
        [operand] = self.graph.nodes[number].inputs
        self._settle_in_place(operand)
        self.sums[number] = self.through(number, operand)

    def settle_if_repeated(self, number: int) -> None:
        """Settle a sum of many terms that several layers take.

        Along the residuals of many blocks each layer would multiply all terms before it anew.
        """
        terms = self.sums[number].terms
        if len(terms) > _MOST_TERMS and len(self.graph.users[number]) > 1:
            reached = self._reached(self.sums[number]) if number in self._scaled else 1.0
            self.settled(number, 1 / reached)

    def factor(self, number: int, product: int, expected: g.Range | None) -> tuple[int, float]:
        """A layer's result as a factor of a product: a stage, and what it is multiplied by."""
        if product not in self._scaled:
            return self.operand(number), 1.0
        single = self.sums[number].single
        if single is not None and single[1] > 0:
            stage, multiple = single
            return stage, multiple * self._held(self.stages[stage])
        reached = self._reached(self.sums[number]) if expected is None else max(map(abs, expected))
        return self.operand(number, 1 / reached), reached

    def _held(self, stage: Stage) -> float:
        """What of the operand that a stage is a slot holds."""
        return 1.0 if is_nonlinear(stage) else self.part

    def root(self, top: float, number: int, reached: float) -> tuple[float, float]:
        """How a multiple of a square becomes the square of a multiple."""
        if number in self._scaled:
            return 1 / reached, top * reached * reached
        return math.sqrt(abs(top)), math.copysign(1.0, top)

    def unit(
        self, number: int, coefficients: Sequence[float], basis: g.Basis, operand: float
    ) -> float:
        """What a polynomial is divided by, to be multiplied by later."""
        if number not in self._scaled:
            return 1.0
        growth = operand if basis == "monomial" else 1.0
        return sum(abs(each) * growth**power for power, each in enumerate(coefficients))

    def settle_if_result(self, number: int) -> None:
        """Settle a sum of stages as they are that is a result, and that other layers take, too.

        Such as a state with what is new: what takes it then takes what goes out.
        """
        users = [self.graph.nodes[user].operation for user in self.graph.users[number]]
        is_result = any(isinstance(each, g.OutputLayer) for each in users)
        result = self.sums[number]
        factors = (matrix.multiple() for matrix in result.terms.values())
        if is_result and len(users) > 1 and not result.bias.any() and {*factors} <= {1.0, -1.0}:
            self.settled(number)

    def _reached(self, result: _StageSum) -> float:
        """A bound on the elements of a sum, all stages being within 1, and inputs in their bounds.

        A sum of nothing but zeros is taken to reach 1.
        """
        total = np.abs(result.bias)
        for stage, matrix in result.terms.items():
            operand = self.stages[stage]
            is_input = isinstance(operand, EncryptedInput)
            bound = self.graph.bounds[operand.node] * self.part if is_input else 1.0
            total = total + bound * matrix.row_sums()
        return float(total.max()) or 1.0

    def _merged(self, matrix: Matrix, inner: _StageSum) -> _StageSum | None:
        terms: dict[int, Matrix] = {}
        for stage, other in inner.terms.items():
            most = _GROWTH * (matrix.nnz + other.nnz) if inner.layers else math.inf
            # One that is too large may be too large for memory.
            if matrix.least_nnz_of_product(other) > most:
                return None
            terms[stage] = matrix @ other
            if terms[stage].nnz > most:
                return None
        # Of values beside one another a layer may take some alone.
        taken = {stage: each for stage, each in terms.items() if each.nnz}
        return _StageSum(taken or terms, matrix.applied(inner.bias), inner.layers)


@dataclass(frozen=True, slots=True, eq=False)
class Stages:
    """The stages of a network.

    Args:
        all: In order of computation.
        outputs: For each result the number of its stage.
    """

    all: tuple[Stage, ...]
    outputs: tuple[int, ...]


def is_nonlinear(stage: Stage) -> bool:
    """Whether a stage is an activation or a product of ciphertexts.

    Example:
        >>> is_nonlinear(CiphertextProduct("y", (2,), 0, 0, 1))
        True
    """
    return isinstance(stage, ActivationStage | CiphertextProduct | DistanceProduct)


def stages_of(graph: g.Graph, part: float = 1.0) -> Stages:
    """The stages of a network.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((3,)), (), [])]
        >>> for name, layer in [("a", g.LinearLayer(np.ones((2, 3)), np.ones(2))),
        ...                     ("b", g.LinearLayer(np.ones((2, 2)), np.ones(2))),
        ...                     ("y", g.OutputLayer())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> [type(stage).__name__ for stage in stages_of(g.build(nodes)).all]
        ['EncryptedInput', 'MatrixProduct']
    """
    return _stages(graph, frozenset(), part)


def stages_within_one(graph: g.Graph, part: float = 1.0) -> Stages:
    """The stages of a network that is to be bootstrapped: what may be refreshed is within 1.

    A bootstrap is as precise as its bound is small. So operands of polynomials are scaled to
    [-1, 1], as they are without bootstraps, too, and results of polynomials and factors of products
    are divided by what they reach where operands are in their ranges. Matrices after them make up
    for it; where none follows, and between two matrices, values keep their size.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((3,), 1.0), (), [])]
        >>> square = g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -8.0, 8.0)
        >>> for name, layer in [("a", square), ("b", g.LinearLayer(np.ones((1, 3)), np.zeros(1))),
        ...                     ("y", g.OutputLayer())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> scaled, squared, total = stages_within_one(g.build(nodes)).all[1:]
        >>> matrices = scaled.terms[0], total.terms[2]
        >>> [matrix.sparse().toarray()[0].tolist() for matrix in matrices]
        [[0.125, 0.0, 0.0], [64.0, 64.0, 64.0]]
    """
    numbers = range(len(graph.nodes))
    scaled = {number for number in numbers if not _keeps_size(graph, number)}
    return _stages(graph, scaled, part)


def _keeps_size(graph: g.Graph, number: int) -> bool:
    """Whether some layer takes a result as it is: no matrix follows that would scale it."""
    return any(_takes_size(graph, user) for user in graph.users[number])


def _takes_size(graph: g.Graph, number: int) -> bool:
    match graph.nodes[number].operation:
        case g.OutputLayer() | g.PolynomialLayer():
            return True
        case g.Multiply():
            return _keeps_size(graph, number)
        case g.AddLayer():
            users = graph.users[number]
            return any(isinstance(graph.nodes[user].operation, g.OutputLayer) for user in users)
        case _:
            return False


def _stages(graph: g.Graph, scaled: Collection[int], part: float) -> Stages:
    merging = _StageMerging(graph, scaled, part)
    for number, node in enumerate(graph.nodes):
        merging.sums[number] = _result(merging, number, node)
        if isinstance(node.operation, g.AddLayer):
            merging.settle_if_repeated(number)
            merging.settle_if_result(number)
    outputs = tuple(merging.settled(each.inputs[0]) for each in graph.outputs)
    return Stages(tuple(merging.stages), outputs)


def _result(merging: _StageMerging, number: int, node: g.Node) -> _StageSum:
    match node.operation, node.inputs:
        case g.InputLayer(), _:
            packed = merging.of_stage(EncryptedInput(node.name, node.shape, number))
            return packed.scaled(1 / merging.part, 0.0)
        case g.OutputLayer(), [operand]:
            return merging.sums[operand]
        case g.AddLayer(), [left, right]:
            return _total([merging.sums[left], merging.sums[right]], node.name)
        case g.Concatenate(axis=axis), operands:
            shapes = [merging.graph.nodes[each].shape for each in operands]
            parts: list[_StageSum] = []
            for place, operand in enumerate(operands):
                placing = beside(shapes, axis, place)
                inner = merging.sums[operand]
                terms = {key: placing @ each for key, each in inner.terms.items()}
                parts.append(_StageSum(terms, placing.applied(inner.bias), inner.layers))
            return _total(parts, node.name)
        case ((g.Multiply() | g.ProductsByDistance() | g.SumsOverDistances()), _):
            return _product(merging, number, node)
        case g.PolynomialLayer(), [operand]:
            return _polynomial(merging, number, node, operand)
        case _, [operand]:
            return merging.through(number, operand)
        case _:
            raise AssertionError(f"{node.name} has operands that its operation does not take")


def _is_permutation(graph: g.Graph, number: int) -> bool:
    """Whether a layer does nothing but put its operand's elements in another order."""
    node = graph.nodes[number]
    if not isinstance(node.operation, g.Rearrange):
        return False
    elements = np.arange(math.prod(graph.nodes[node.inputs[0]].shape))
    return bool(np.array_equal(np.sort(node.operation.indices), elements))


def _product(merging: _StageMerging, number: int, node: g.Node) -> _StageSum:
    expected = g.expected_ranges(node.operation)
    (left, one), (right, other) = (
        merging.factor(operand, number, ends)
        for operand, ends in zip(node.inputs, expected or (None, None), strict=True)
    )
    ranges = None
    if expected:
        ends, others = expected
        ranges = FactorRange(*ends, 1 / one), FactorRange(*others, 1 / other)
    operation, parts = node.operation, (node.name, node.shape, left, right, number)
    if not isinstance(operation, g.ProductsByDistance | g.SumsOverDistances):
        product = CiphertextProduct(*parts, ranges)
        return merging.of_stage(product).scaled(one * other, 0.0)
    reached = 1.0
    of_three = None
    if ranges and operation.reach:
        reached = max(map(abs, operation.reach))
        of_three = (*ranges, FactorRange(*operation.reach, 1 / reached))
    by_distance = DistanceProduct(*parts, operation, one * other / reached, of_three)
    return merging.of_stage(by_distance).scaled(reached, 0.0)


def _total(parts: list[_StageSum], name: str) -> _StageSum:
    terms: dict[int, Matrix] = {}
    for part in parts:
        for stage, matrix in part.terms.items():
            terms[stage] = matrix if stage not in terms else terms[stage] + matrix
    layers = dict.fromkeys([each for part in parts for each in part.layers])
    return _StageSum(terms, np.sum([part.bias for part in parts], axis=0), (*layers, name))


def _in_chebyshev(operation: g.PolynomialLayer) -> g.PolynomialLayer:
    """The same polynomial in Chebyshev polynomials of its range, which stay within 1 there.

    Powers of large numbers would multiply errors.
    """
    middle, half = (operation.high + operation.low) / 2, (operation.high - operation.low) / 2
    found = interpolated(
        lambda u: polynomial_of(operation, middle + half * u), len(operation.coefficients) - 1
    )
    return replace(operation, coefficients=found.coefficients, basis="chebyshev")


def _polynomial(merging: _StageMerging, number: int, node: g.Node, operand: int) -> _StageSum:
    operation = node.operation
    assert isinstance(operation, g.PolynomialLayer)
    if operation.basis == "monomial" and len(operation.coefficients) > _SQUARE:
        operation = _in_chebyshev(operation)
    coefficients = np.polynomial.polynomial.polytrim(operation.coefficients)
    factor, shift = 1.0, 0.0
    if operation.basis == "chebyshev":
        width = operation.high - operation.low
        factor, shift = 2 / width, -(operation.low + operation.high) / width
    if operation.basis == "chebyshev" and len(coefficients) <= _SQUARE:
        coefficients = np.asarray(np.polynomial.chebyshev.cheb2poly(coefficients), np.float64)
    ends = [factor * end + shift for end in (operation.low, operation.high)]
    if len(coefficients) == _SQUARE:
        constant, slope, top = map(float, coefficients)
        centre = slope / (2 * top)
        if abs(centre) <= _LARGEST_SHIFT:
            # top (t + centre)^2 + rest, the root of top moved into the matrix before.
            root, sign = merging.root(top, number, max(abs(end + centre) for end in ends))
            stage = merging.operand(operand, factor * root, (shift + centre) * root)
            square = merging.of_stage(
                ActivationStage(
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
            return square.scaled(sign, constant - top * centre * centre)
    if len(coefficients) < 2:
        coefficients = np.array([coefficients[0], _NEGLIGIBLE_SLOPE])
    # A polynomial of degree 2 in the monomial basis is one in t already.
    basis: g.Basis = "monomial" if len(coefficients) <= _SQUARE else operation.basis
    stage = merging.operand(operand, factor, shift)
    powers = [float(each) for each in coefficients]
    unit = merging.unit(number, powers, basis, max(map(abs, ends)))
    made = merging.of_stage(
        ActivationStage(
            node.name,
            node.shape,
            stage,
            tuple(each / unit for each in powers),
            basis,
            operation.low,
            operation.high,
            factor,
            shift,
            number,
        )
    )
    return made.scaled(unit, 0.0)
