"""Activations replaced by polynomials over the ranges that calibration saw."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from cloakwork.base.arguments import integer, shown
from cloakwork.errors import ActivationFitError, InvalidArgumentError
from cloakwork.plan.fitting.minimax import (
    MAX_DEGREE,
    Approximation,
    Function,
    least_degree,
    nearest,
)
from cloakwork.plan.fitting.sign import MAX_BITS, Stages, error_of, sign_stages
from cloakwork.plan.functions.observed import MARGIN
from cloakwork.plan.networks.calibration import Calibration
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir import layers as g
from cloakwork.programs.slots import polynomial_depth

# Of a function with a corner: beyond, a composition is cheaper.
_MAX_DEGREE_AT_CORNERS = 63

_SAMPLES = 10001


@dataclass(frozen=True, slots=True)
class ActivationFit:
    """How one activation was fitted.

    Args:
        layer: Its name in the module.
        function: The activation, or "polynomial" where the layer was one already.
        low: Lower end of the range.
        high: Upper end of the range.
        degrees: Degree of each polynomial in turn; several are composed.
        depth: Levels that it takes.
        error: Largest error over the range; where errors count beside values, as parts of these.
        precision: Bits between the activation's largest absolute value, or its unit, and the error.
    """

    layer: str
    function: str
    low: float
    high: float
    degrees: tuple[int, ...]
    depth: int
    error: float
    precision: float


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """A network without activations.

    Args:
        graph: The network.
        numbers: For each layer of the network with activations, which layer is the same here.
        fits: How each activation was fitted.
    """

    graph: g.Graph
    numbers: tuple[int, ...]
    fits: tuple[ActivationFit, ...]


def fit(
    graph: g.Graph,
    calibration: Calibration,
    precision: float = 16.0,
    margin: float = MARGIN,
    degrees: Mapping[str, int] | None = None,
    of_nodes: Mapping[int, int] = MappingProxyType({}),
) -> Fitted:
    """Replace activations by polynomials, and give each polynomial and product its range.

    ReLU and LeakyReLU, which have a corner, become x times a composition of polynomials near
    the sign of x, unless one polynomial takes as few levels. Degrees are given by the names of
    layers or functions, or by the numbers of nodes.


    >>> import numpy as np
    >>> from cloakwork.programs.ir import layers as g
    >>> from cloakwork.plan.networks.calibration import calibrate
    >>> nodes = [g.node("x", g.InputLayer((1,)), (), [])]
    >>> nodes.append(g.node("act", g.Activation("silu"), (0,), nodes))
    >>> nodes.append(g.node("y", g.OutputLayer(), (1,), nodes))
    >>> graph = g.build(nodes)
    >>> fits = fit(graph, calibrate(graph, [np.array([[-4.0], [4.0]])]), precision=8).fits
    >>> fits[0].degrees, fits[0].depth
    ((8,), 4)
    """
    given = checked_degrees(graph, degrees)
    nodes: list[g.Node] = []
    renamed: list[int] = []
    fits: list[ActivationFit] = []
    for number, node in enumerate(graph.nodes):
        inputs = tuple(renamed[operand] for operand in node.inputs)
        operation = node.operation
        if isinstance(operation, (g.Activation, g.PolynomialLayer)):
            low, high = calibration.widened_for(node, margin)
        if isinstance(operation, g.Activation):
            asked = given.get(node.name, given.get(operation.function, of_nodes.get(number)))
            made = _found(_FitSearch(node.name, operation, low, high, precision), asked)
            fits.append(made.fit)
            renamed.append(_append(nodes, made, node, inputs[0]))
            continue
        if isinstance(operation, g.PolynomialLayer) and math.isinf(operation.high - operation.low):
            operation = replace(operation, low=low, high=high)
            fits.append(_exact(node.name, operation))
        if isinstance(operation, g.Multiply | g.Contraction) and operation.ranges is not None:
            left, right = (calibration.widened(operand, margin) for operand in node.inputs)
            operation = replace(operation, ranges=(left, right))
            if isinstance(operation, g.Contraction):
                operation = replace(operation, reach=calibration.widened(number, margin))
        renamed.append(g.appended(nodes, node.name, operation, *inputs))
    return Fitted(g.build(nodes, graph.form), tuple(renamed), tuple(fits))


def checked_degrees(graph: g.Graph, degrees: Mapping[str, int] | None) -> Mapping[str, int]:
    """Degrees by the names of a network's activations or their functions."""
    known = {
        name
        for node in graph.nodes
        if isinstance(node.operation, g.Activation)
        for name in (node.name, node.operation.function)
    }
    for name in degrees or {}:
        if name not in known:
            raise InvalidArgumentError(
                f"cannot fit activations: expected degrees of {sorted(known)}, got one of "
                f"{shown(name)}; other layers are polynomials already, or not activations"
            )
    return {
        name: integer(degree, f"the degree of {name!r}", "fit", least=1, most=MAX_DEGREE)
        for name, degree in (degrees or {}).items()
    }


@dataclass(frozen=True, slots=True)
class _MadeFit:
    """The polynomials of an activation, composed, and whether x is multiplied by the last."""

    fit: ActivationFit
    polynomials: tuple[g.PolynomialLayer, ...]
    times_x: bool


def _append(nodes: list[g.Node], made: _MadeFit, node: g.Node, source: int) -> int:
    last = source
    for polynomial in made.polynomials:
        last = g.appended(nodes, node.name, polynomial, last)
    if made.times_x:
        return g.appended(nodes, node.name, g.Multiply(), source, last)
    return last


def _exact(layer: str, polynomial: g.PolynomialLayer) -> ActivationFit:
    degree = len(polynomial.coefficients) - 1
    low, high = polynomial.low, polynomial.high
    depth = polynomial_depth(polynomial.coefficients)
    return ActivationFit(layer, "polynomial", low, high, (degree,), depth, 0.0, math.inf)


@dataclass(frozen=True, slots=True)
class _FitSearch:
    """One activation over its range."""

    layer: str
    activation: g.Activation
    low: float
    high: float
    precision: float

    def precise(self) -> _MadeFit:
        """Polynomials as precise as asked, of the least depth."""
        allowed = self._largest_unit() * 2.0**-self.precision
        if self._slopes() is None:
            return self._single(self._least_degree(allowed, MAX_DEGREE))
        stages = sign_stages(allowed / self._sign_error_weight())
        depth = math.inf if stages is None else self._composed(stages).fit.depth
        try:
            single = self._single(self._least_degree(allowed, _MAX_DEGREE_AT_CORNERS))
        except ActivationFitError as error:
            if stages is None:
                expected = f"{self.precision:g} bits by composed polynomials"
                raise self._refusal(expected, f"{MAX_BITS} at the most") from error
            return self._composed(stages)
        return single if stages is None or single.fit.depth <= depth else self._composed(stages)

    def of_degree(self, degree: int) -> _MadeFit:
        """One polynomial of a given degree."""
        return self._single(nearest(self._of_t(), degree, self._bend(), self._unit()))

    def _least_degree(self, allowed: float, highest: int) -> Approximation:
        best = least_degree(self._of_t(), allowed, highest, self._bend(), self._unit())
        if best.error > allowed:
            found = math.log2(self._largest_unit() / best.error)
            raise self._refusal(
                f"{self.precision:g} bits by degree {highest} or less", f"{found:.1f} bits"
            )
        return best

    def _bend(self) -> float:
        """Where activations bend, at 0, as t."""
        return -(self.high + self.low) / (self.high - self.low)

    def _single(self, approximation: Approximation) -> _MadeFit:
        polynomial = g.PolynomialLayer(approximation.coefficients, "chebyshev", self.low, self.high)
        degree = len(approximation.coefficients) - 1
        made = self._fit((degree,), polynomial_depth(polynomial.coefficients), approximation.error)
        return _MadeFit(made, (polynomial,), False)

    def _composed(self, stages: Stages) -> _MadeFit:
        """x * (middle + half * sign(x)), the sign composed of stages."""
        slope, bound = self._slopes() or 0.0, self._bound()
        middle, half = (1.0 + slope) / 2, (1.0 - slope) / 2
        *first, last = stages
        first_of_last, *rest = (half * each for each in last)
        coefficients = [*first, (middle + first_of_last, *rest)]
        ranges = [bound] + [1.0] * (len(stages) - 1)
        polynomials = tuple(
            g.PolynomialLayer(stage, "chebyshev", -end, end)
            for stage, end in zip(coefficients, ranges, strict=True)
        )
        degrees = tuple(len(stage) - 1 for stage in stages)
        depth = sum(map(polynomial_depth, coefficients)) + 1
        error = error_of(stages) * self._sign_error_weight()
        return _MadeFit(self._fit(degrees, depth, error), polynomials, True)

    def _fit(self, degrees: tuple[int, ...], depth: int, error: float) -> ActivationFit:
        bits = math.log2(self._largest_unit() / error) if error else math.inf
        function = self.activation.function
        return ActivationFit(self.layer, function, self.low, self.high, degrees, depth, error, bits)

    def _slopes(self) -> float | None:
        """The slope below 0 of an activation with a corner there, if it has one."""
        if not self.low < 0 < self.high:
            return None
        match self.activation:
            case g.Activation("relu"):
                return 0.0
            case g.Activation("leaky_relu", (slope,)) if slope != 1.0:
                return slope
            case _:
                return None

    def _bound(self) -> float:
        return max(-self.low, self.high)

    def _sign_error_weight(self) -> float:
        """What an error of x times the sign, over [-1, 1], makes of the activation's."""
        return self._bound() * abs(1.0 - (self._slopes() or 0.0)) / 2

    def _unit(self) -> Function:
        """What errors are parts of, at each t."""
        return self._of_t() if self.activation.is_factor else np.ones_like

    def _largest_unit(self) -> float:
        """What errors are small beside: the largest absolute value over the range, or less."""
        if self.activation.is_factor:
            return 1.0
        values = self._of_t()(np.linspace(-1.0, 1.0, _SAMPLES))
        return min(float(np.abs(values).max()), self.activation.unit)

    def _of_t(self) -> Function:
        function = FUNCTIONS[self.activation.function].value
        half, middle = (self.high - self.low) / 2, (self.high + self.low) / 2
        return lambda t: function(half * t + middle, *self.activation.parameters)

    def _refusal(self, expected: str, came: str) -> ActivationFitError:
        return ActivationFitError(
            f"cannot fit {self.activation.function} of layer {self.layer!r} over "
            f"[{self.low:.4g}, {self.high:.4g}]: expected {expected}, got {came}; ask for less "
            "precision, calibrate on narrower inputs, or train with a smoother activation"
        )


@lru_cache(maxsize=256)
def _found(fitting: _FitSearch, degree: int | None) -> _MadeFit:
    """The polynomials of a degree or as precise as asked; most stay while some are fitted again."""
    return fitting.precise() if degree is None else fitting.of_degree(degree)
