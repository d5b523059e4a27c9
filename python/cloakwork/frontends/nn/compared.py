"""Comparisons that choose between values which meet where the comparison turns over.

`where(x > 0, x, 0.1 * x)` and `(x > 0) * x` are made of ReLU and lose nothing. A choice that jumps
would be neither of its values near the jump, and is refused.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.polynomial import polynomial as monomials

from cloakwork.errors import UnsupportedLayerError
from cloakwork.frontends.nn import arithmetic
from cloakwork.frontends.nn.call import TorchCall, Value
from cloakwork.frontends.nn.maxima import rectified
from cloakwork.frontends.nn.trace import Term

# Of the largest coefficient: what is left of a division that leaves nothing but rounding.
_ROUNDING = 1e-6
_JUMP = (
    "choose between values that are equal where the comparison turns over, as "
    "torch.where(x > 0, x, 0.1 * x), or take a smooth function such as sigmoid(8 * x)"
)


@dataclass(frozen=True, slots=True)
class Compared:
    """Where a value is above 0, or not below it: what is chosen there is equal either way.

    Args:
        distance: The value.
        made_by: The operation that compared.
    """

    distance: Term
    made_by: TorchCall

    def refusal(self) -> UnsupportedLayerError:
        """What a network is refused with whose result this is."""
        return jump(self.made_by)


def compared_above(call: TorchCall) -> Compared:
    """self > other, or self >= other."""
    return Compared(_distance(call, call.arguments["self"], call.arguments["other"]), call)


def compared_below(call: TorchCall) -> Compared:
    """self < other, or self <= other."""
    return Compared(_distance(call, call.arguments["other"], call.arguments["self"]), call)


def _distance(call: TorchCall, left: Any, right: Any) -> Term:
    if isinstance(left, Compared) or isinstance(right, Compared):
        raise jump(call)
    return arithmetic.sum_of(call, left, right, -1.0)


def turned_over(call: TorchCall) -> Compared:
    """not self."""
    found = _condition(call, "self")
    return Compared(call.trace.scaled(call.layer, found.distance, -1.0, 0.0), call)


def chosen_by_comparison(call: TorchCall) -> Value:
    """self where a condition holds, other elsewhere."""
    if not isinstance(call.arguments["condition"], Compared):
        return arithmetic.chosen_terms(call)
    return _chosen(call, call.arguments["condition"], "self", "other")


def filled_by_comparison(call: TorchCall) -> Value:
    """A number where a condition holds, self elsewhere."""
    if not isinstance(call.arguments["mask"], Compared):
        return arithmetic.filled_term(call)
    return _chosen(call, call.arguments["mask"], "value", "self")


def multiplied_by_comparison(call: TorchCall) -> Value:
    """self * other, of which one may be a comparison, as 1 where it holds and 0 elsewhere."""
    left, right = call.arguments["self"], call.arguments["other"]
    if isinstance(left, Compared):
        left, right = right, left
    if not isinstance(right, Compared):
        return arithmetic.multiplied_terms(call)
    if not isinstance(left, Term):
        raise jump(call)
    return _above(call, right.distance, [left])


def beyond_threshold(call: TorchCall) -> Value:
    """self where it is above a number, another number elsewhere."""
    value, end = call.value(), call.number("threshold")
    condition = Compared(call.trace.scaled(call.layer, value, 1.0, -end), call)
    return _chosen(call, condition, "self", "value")


def jump(call: TorchCall) -> UnsupportedLayerError:
    """The refusal of a comparison that is used otherwise."""
    return call.unsupported("a comparison of encrypted numbers", _JUMP)


def _condition(call: TorchCall, name: str) -> Compared:
    found = call.arguments[name]
    if not isinstance(found, Compared):
        raise jump(call)
    return found


def _chosen(call: TorchCall, condition: Compared, yes: str, no: str) -> Value:
    """One of two arguments: the other and, where the condition holds, their difference."""
    above, below = call.arguments[yes], call.arguments[no]
    if not (isinstance(above, Term) or isinstance(below, Term)):
        raise jump(call)
    # The sum of two nodes is that of the comparison in one of both orders.
    turned = call.trace.scaled(call.layer, arithmetic.sum_of(call, below, above, -1.0), -1.0, 0.0)
    difference = arithmetic.sum_of(call, above, below, -1.0)
    step = _above(call, condition.distance, [difference, turned])
    return arithmetic.sum_of(call, step, below, 1.0)


def _above(call: TorchCall, distance: Term, ways: list[Term]) -> Term:
    """A value, written in several ways, where a distance is above 0, and 0 elsewhere."""
    for value in ways:
        if value.number != distance.number or not any(distance.coefficients):
            continue
        found, rest = monomials.polydiv(value.coefficients, distance.coefficients)
        if np.abs(rest).max() <= _ROUNDING * np.abs(value.coefficients).max():
            factor = replace(value, coefficients=tuple(np.asarray(found).tolist()))
            positive = rectified(call, distance)
            if len(factor.coefficients) == 1:
                return call.trace.scaled(call.layer, positive, *factor.coefficients, 0.0)
            return call.trace.product(call.layer, positive, factor)
    raise jump(call)
