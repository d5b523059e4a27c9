"""How far a network of fitted polynomials may be from the one with its activations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.evaluate import applied, values
from cloakwork.frontends.nn.fit import Fit

# Above the steepest slope of any activation, GELU's of 1.13.
_STEEPEST = 1.2
# The largest error of a fit is sought on a grid, between whose points it is somewhat larger.
_SEEN = 1.001


def largest_difference(graph: g.Graph, fits: Sequence[Fit], batch: g.Array) -> float:
    """A bound on the difference of any result, from the errors of the fits alone.

    Infinite where an activation's operand may have left the range that it was fitted to.
    """
    fitted = iter([each for each in fits if each.function != "polynomial"])
    seen: list[g.Array] = []
    errors: list[g.Array] = []
    for node, value in zip(graph.nodes, values(graph, batch), strict=True):
        operands = [seen[each] for each in node.inputs]
        wrong = [errors[each] for each in node.inputs]
        seen.append(value)
        if isinstance(node.operation, g.Activation):
            fit = next(fitted)
            low, high = operands[0] - wrong[0], operands[0] + wrong[0]
            inside = fit.low <= low.min() and high.max() <= fit.high
            own = _SEEN * fit.error if inside else np.inf
            errors.append(own + _STEEPEST * wrong[0])
        else:
            errors.append(_error_after(node.operation, operands, wrong) if wrong else 0 * value)
    return float(errors[-1].max())


def _error_after(
    operation: g.Operation, operands: Sequence[g.Array], errors: Sequence[g.Array]
) -> g.Array:
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
        case _:
            return applied(operation, errors)
