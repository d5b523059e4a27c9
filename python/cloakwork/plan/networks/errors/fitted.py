"""A bound on the difference between a network of fitted polynomials and the exact one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from cloakwork.plan.networks.fit import Fitted
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import layer_value, polynomial_of

# Errors of fits and values of polynomials are sampled on a grid; between its points they are larger
# by up to this factor.
_BETWEEN = 1.001
_POINTS = 2001


def largest_difference(
    graph: g.Graph, fitted: Fitted, of_inputs: Mapping[str, float] = MappingProxyType({})
) -> float:
    """A bound on the difference of any result, for every input that a client accepts.

    At every layer all fits are off by their largest error, in the direction in which the
    weights after them add up, and products have the largest operands that there may be. So the
    bound holds for inputs made on purpose, too. The deeper a network is, the more the bound
    exceeds the errors of other inputs.

    Args:
        graph: The network.
        fitted: The network of polynomials.
        of_inputs: How far inputs may be off, by their names.

    Example:
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> from cloakwork.plan.networks.fit import fit
        >>> nodes = [g.node("x", g.InputLayer((2,), bound=1.0), (), [])]
        >>> total = g.LinearLayer(np.ones((1, 2)), np.zeros(1))
        >>> for name, layer in [("act", g.Activation("tanh")), ("sum", total),
        ...                     ("y", g.OutputLayer())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> graph, inputs = g.build(nodes), np.array([[-1.0, 1.0]])
        >>> fitted = fit(graph, calibrate(graph, [inputs]), precision=8)
        >>> bool(1.9 < largest_difference(graph, fitted) / fitted.fits[0].error < 2.1)
        True
    """
    if not any(each.error for each in fitted.fits) and not any(of_inputs.values()):
        return 0.0
    bounds = _bounds(fitted.graph)
    fits = iter([each for each in fitted.fits if each.function != "polynomial"])
    errors: list[g.Array] = []
    for node, number in zip(graph.nodes, fitted.numbers, strict=True):
        wrong = [errors[each] for each in node.inputs]
        if not all(np.isfinite(each).all() for each in wrong):
            # Through several norms the worst case grows beyond every number.
            return math.inf
        match node.operation:
            case g.InputLayer():
                errors.append(np.full_like(bounds[number], of_inputs.get(node.name, 0.0)))
            case g.Activation(function=function, parameters=parameters) as activation:
                made, off = next(fits), float(wrong[0].max())
                # A client sees to it that the polynomial's operand is in its range.
                ends = made.low - off, made.high + off
                slope = FUNCTIONS[function].slope(*ends, *parameters)
                own = fit_errors(activation, made.error, bounds[number])
                errors.append(_BETWEEN * own + slope * wrong[0])
            case g.PolynomialLayer():
                # Of an unknown range in the graph with activations.
                polynomial = fitted.graph.nodes[number].operation
                assert isinstance(polynomial, g.PolynomialLayer)
                off = float(wrong[0].max())
                errors.append(_slope(polynomial, off) * wrong[0])
            case _:
                operands = [bounds[fitted.numbers[each]] for each in node.inputs]
                errors.append(errors_after(node.operation, operands, wrong))
    return max(float(errors[number].max()) for number in graph.output_numbers)


def fit_errors(operation: g.Operation, error: float, values: g.Array) -> g.Array:
    """How far fits of some error are off where an activation has these values."""
    is_factor = isinstance(operation, g.Activation) and operation.is_factor
    return error * np.abs(values) if is_factor else np.full_like(values, error)


def _bounds(graph: g.Graph) -> list[g.Array]:
    """Bounds on the absolute values of each layer's result, by interval arithmetic."""
    bounds: list[g.Array] = []
    for node, (low, high) in zip(graph.nodes, g.operand_ranges(graph), strict=True):
        operands = [bounds[each] for each in node.inputs]
        bounds.append(np.minimum(_bound_after(node, operands), max(-low, high)))
    return bounds


def _bound_after(node: g.Node, operands: Sequence[g.Array]) -> g.Array:
    match node.operation:
        case g.InputLayer(shape=shape, bound=bound):
            return np.full((1, *shape), bound)
        case g.PolynomialLayer(low=low, high=high) as polynomial:
            largest = np.abs(polynomial_of(polynomial, np.linspace(low, high, _POINTS))).max()
            return np.full((1, *node.shape), _BETWEEN * largest)
        case _:
            return layer_value(_absolute(node.operation), operands)


def _absolute(operation: g.Operation) -> g.Operation:
    """A linear operation with absolute weights."""
    match operation:
        case g.LinearLayer(weight=weight, bias=bias) | g.ConvolutionLayer(weight=weight, bias=bias):
            return replace(operation, weight=np.abs(weight), bias=np.abs(bias))
        case g.Affine(scale=scale, shift=shift):
            return g.Affine(np.abs(scale), np.abs(shift))
        case _:
            return operation


def _unbiased(operation: g.Operation) -> g.Operation:
    match operation:
        case g.LinearLayer(bias=bias) | g.ConvolutionLayer(bias=bias):
            return replace(operation, bias=np.zeros_like(bias))
        case g.Affine(scale=scale, shift=shift):
            return g.Affine(scale, np.zeros_like(shift))
        case _:
            return operation


def _slope(polynomial: g.PolynomialLayer, beyond: float) -> float:
    """The steepest slope of a polynomial in its range and a little beyond."""
    low, high = polynomial.low - beyond, polynomial.high + beyond
    points = np.linspace(low, high, _POINTS)
    if polynomial.basis == "monomial":
        slopes = np.polynomial.Polynomial(polynomial.coefficients).deriv()(points)
    else:
        domain = [polynomial.low, polynomial.high]
        slopes = np.polynomial.Chebyshev(polynomial.coefficients, domain=domain).deriv()(points)
    return _BETWEEN * float(np.abs(slopes).max())


def errors_after(
    operation: g.Operation, operands: Sequence[g.Array], errors: Sequence[g.Array]
) -> g.Array:
    """Bounds on the errors of the result of an operation that is linear, or a product."""
    if isinstance(operation, g.Multiply):
        (left, right), (wrong, amiss) = operands, errors
        return np.asarray(left * amiss + right * wrong + wrong * amiss)
    if isinstance(operation, g.Contraction):
        (left, right), (wrong, amiss) = operands, errors
        of_right = layer_value(operation, [left + wrong, amiss])
        return of_right + layer_value(operation, [wrong, right])
    return layer_value(_unbiased(_absolute(operation)), errors)
