"""Torch's quotients and roots of values, and the lengths and deviations that are made of them."""

from __future__ import annotations

import math
from dataclasses import replace

from cloakwork.frontends.nn import arithmetic
from cloakwork.frontends.nn.call import TorchCall
from cloakwork.frontends.nn.layers import reduced, reduced_axes
from cloakwork.frontends.nn.trace import Term, is_of_node
from cloakwork.programs.ir import layers as g

# A root that is to be no lower than such a number is as close to it without that.
NEXT_TO_ZERO = 1e-7

_OF_POWERS = {-1.0: "reciprocal", -0.5: "rsqrt", 0.5: "sqrt"}


def divided(call: TorchCall) -> Term:
    """self / other."""
    other = call.arguments["other"]
    if not isinstance(other, Term):
        return arithmetic.divided(call)
    if call.arguments.get("rounding_mode") is not None:
        raise call.unsupported("division that rounds")
    return arithmetic.product_of(call, call.arguments["self"], _inverse(call, other))


def raised(call: TorchCall) -> Term:
    """self ** exponent: a whole number from 0 up, -1, -1/2 or 1/2."""
    function = _OF_POWERS.get(call.number("exponent"))
    if function is None:
        return arithmetic.raised(call)
    return call.append(g.Activation(function), call.value())


def length(call: TorchCall) -> Term:
    """The root of the sum of squares over some axes."""
    if (order := call.number("ord")) != 2:
        raise call.unsupported(f"a norm of order {order:g}", "use one of order 2")
    return call.append(g.Activation("sqrt"), _sum_of_squares(call, call.value(), 1.0))


def similarity(call: TorchCall) -> Term:
    """The cosine of the angle between x1 and x2 along an axis, by which neither is 0."""
    left, right = (call.arguments[each] for each in ("x1", "x2"))
    if not (isinstance(left, Term) and isinstance(right, Term)):
        raise call.unsupported("a known factor", "divide by norms instead")
    kept = replace(call, arguments={**call.arguments, "keepdim": False})
    product = reduced(kept, arithmetic.product_of(call, left, right), 1.0)
    for each in left, right:
        inverse = call.append(g.Activation("rsqrt"), _sum_of_squares(kept, each, 1.0))
        product = call.trace.product(call.layer, product, inverse)
    return product


def variance(call: TorchCall) -> Term:
    """The sum of squared differences from the mean over some axes, by their number."""
    value = call.value()
    count = math.prod(call.trace.shape(value)[axis] for axis in reduced_axes(call))
    left = count - _correction(call)
    if left <= 0:
        raise call.unsupported(f"a variance of {count} elements", "use more, or correction=0")
    kept = replace(call, arguments={**call.arguments, "keepdim": True})
    centred = arithmetic.sum_of(call, value, reduced(kept, value, 1.0 / count), -1.0)
    return _sum_of_squares(call, centred, 1.0 / left)


def deviation(call: TorchCall) -> Term:
    """The root of the variance."""
    return call.append(g.Activation("sqrt"), variance(call))


def is_root(call: TorchCall, value: Term) -> bool:
    """Whether a value is a root, and so at least 0."""
    return is_of_node(value) and _function(call.trace.nodes[value.number]) == "sqrt"


def _sum_of_squares(call: TorchCall, value: Term, factor: float) -> Term:
    """The sum of squares over the axes of a reduction, times a factor."""
    return reduced(call, call.trace.power(call.layer, value, 2), factor)


def _inverse(call: TorchCall, value: Term) -> Term:
    """1 / value; of a root by one function, before the root is repeated."""
    node = call.trace.nodes[value.number]
    if is_root(call, value):
        return call.append(g.Activation("rsqrt"), call.trace.of_node(node.inputs[0], call.layer))
    repeats = isinstance(node.operation, g.Rearrange) and node.operation.indices.min() >= 0
    if repeats and is_of_node(value):
        inner = call.trace.of_node(node.inputs[0], call.layer)
        return call.append(node.operation, _inverse(call, inner))
    return call.append(g.Activation("reciprocal"), value)


def _function(node: g.Node) -> str | None:
    return node.operation.function if isinstance(node.operation, g.Activation) else None


def _correction(call: TorchCall) -> float:
    """What is taken off the number of elements: 1 unless torch is told otherwise."""
    if "unbiased" in call.arguments:
        return float(bool(call.arguments["unbiased"]))
    given = call.arguments.get("correction")
    return 1.0 if given is None else float(given)
