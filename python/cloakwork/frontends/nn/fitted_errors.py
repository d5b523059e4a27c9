"""How far a network of fitted polynomials may be from the one with its activations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.evaluate import applied, values
from cloakwork.frontends.nn.fit import Fitted

# Above the steepest slope of any activation, GELU's of 1.13.
_STEEPEST = 1.2
# The largest error of a fit is sought on a grid, between whose points it is somewhat larger.
_SEEN = 1.001
# Inputs that are run through the networks at once.
_AT_ONCE = 256


def largest_difference(graph: g.Graph, fitted: Fitted, inputs: g.Array) -> float:
    """A bound on the difference of any result, from the errors of the fits.

    At every layer all fits are taken to be off by their largest error, in the direction that
    the weights after them add up in; so the bound holds for inputs made on purpose too, where
    their numbers are no larger than those of the inputs given.

    Args:
        graph: The network with its activations.
        fitted: The one with polynomials.
        inputs: Inputs that take no polynomial out of its range, along the first axis.

    Example:
        >>> from cloakwork.frontends.nn.calibration import calibrate
        >>> from cloakwork.frontends.nn.fit import fit
        >>> nodes = [g.node("x", g.Input((2,)), (), [])]
        >>> for name, layer in [("act", g.Activation("tanh")),
        ...                     ("sum", g.Linear(np.ones((1, 2)), np.zeros(1))), ("y", g.Output())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> graph, inputs = g.build(nodes), np.array([[-1.0, 1.0]])
        >>> fitted = fit(graph, calibrate(graph, inputs), precision=8)
        >>> bool(1.9 < largest_difference(graph, fitted, inputs) / fitted.fits[0].error < 2.1)
        True
    """
    if not any(each.error for each in fitted.fits):
        return 0.0
    starts = range(0, len(inputs), _AT_ONCE)
    return max(_of_batch(graph, fitted, inputs[start : start + _AT_ONCE]) for start in starts)


def _of_batch(graph: g.Graph, fitted: Fitted, batch: g.Array) -> float:
    made = list(values(fitted.graph, batch))
    fits = iter([each for each in fitted.fits if each.function != "polynomial"])
    errors: list[g.Array] = []
    for node, number in zip(graph.nodes, fitted.numbers, strict=True):
        operands = [made[fitted.numbers[each]] for each in node.inputs]
        wrong = [errors[each] for each in node.inputs]
        if not operands:
            errors.append(np.zeros_like(made[number]))
        elif isinstance(node.operation, g.Activation):
            errors.append(_SEEN * next(fits).error + _STEEPEST * wrong[0])
        else:
            errors.append(_after(node.operation, operands, wrong))
    return float(errors[-1].max())


def _after(
    operation: g.Operation, operands: Sequence[g.Array], errors: Sequence[g.Array]
) -> g.Array:
    """What an operation makes of errors of its operands at the most."""
    match operation:
        case g.Linear(weight=weight, bias=bias) | g.Convolution(weight=weight, bias=bias):
            absolute = replace(operation, weight=np.abs(weight), bias=np.zeros_like(bias))
            return applied(absolute, errors)
        case g.Affine(scale=scale, shift=shift):
            return applied(g.Affine(np.abs(scale), np.zeros_like(shift)), errors)
        case g.Multiply():
            (left, right), (wrong, amiss) = map(np.abs, operands), errors
            return np.asarray(left * amiss + right * wrong + wrong * amiss)
        case g.Polynomial(coefficients=coefficients, basis="monomial"):
            slope = np.polynomial.Polynomial(np.abs(coefficients)).deriv()
            return np.asarray(slope(np.abs(operands[0]) + errors[0]) * errors[0])
        case g.Polynomial(coefficients=coefficients, low=low, high=high):
            # A Chebyshev polynomial of degree k is nowhere steeper than k^2 in [-1, 1].
            steepest = sum(k * k * abs(each) for k, each in enumerate(coefficients))
            return errors[0] * steepest * 2 / (high - low)
        case _:
            return applied(operation, errors)
