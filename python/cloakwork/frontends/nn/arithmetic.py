"""Torch's elementwise arithmetic, of values of the network and known numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.call import Call, array_of
from cloakwork.frontends.nn.rearranging import spread
from cloakwork.frontends.nn.trace import Term


def added(call: Call) -> Term:
    """self + alpha * other."""
    return _sum(call, call.arguments["self"], call.arguments["other"], call.number("alpha"))


def subtracted(call: Call) -> Term:
    """self - alpha * other."""
    return _sum(call, call.arguments["self"], call.arguments["other"], -call.number("alpha"))


def subtracted_from(call: Call) -> Term:
    """other - alpha * self."""
    return _sum(call, call.arguments["other"], call.arguments["self"], -call.number("alpha"))


def negated(call: Call) -> Term:
    """-self."""
    return call.trace.scaled(call.layer, call.value(), -1.0, 0.0)


def multiplied(call: Call) -> Term:
    """self * other."""
    left, right = call.arguments["self"], call.arguments["other"]
    if isinstance(left, Term) and isinstance(right, Term):
        shape = _common(call, left, right)
        operands = spread(call, left, shape), spread(call, right, shape)
        return call.trace.product(call.layer, *operands)
    known, value = (right, left) if isinstance(left, Term) else (left, right)
    return _affine(call, value, array_of(known), np.zeros(()))


def divided(call: Call) -> Term:
    """self / other, the other known."""
    divisor = call.array("other")
    assert divisor is not None
    if call.arguments.get("rounding_mode") is not None or not np.all(divisor):
        raise call.unsupported("division that rounds, or by zero")
    return _affine(call, call.value(), 1.0 / divisor, np.zeros(()))


def squared(call: Call) -> Term:
    """self * self."""
    return call.trace.power(call.layer, call.value(), 2)


def raised(call: Call) -> Term:
    """self ** exponent, a whole number."""
    exponent = call.number("exponent")
    if not exponent.is_integer() or exponent < 0:
        raise call.unsupported(f"the power {exponent}; whole powers from 0 up are polynomials")
    return call.trace.power(call.layer, call.value(), int(exponent))


def term_of(call: Call, value: Any, like: Term) -> Term:
    """A value of the network as it is; a known tensor as one that is the same for every input."""
    if isinstance(value, Term):
        return value
    known = _without_batch(call, like, array_of(value))
    nothing = call.append(g.Rearrange(np.full(known.size, -1), known.shape), like)
    return call.append(g.Affine(np.ones((1,) * known.ndim), known), nothing)


def _sum(call: Call, left: Any, right: Any, factor: float) -> Term:
    """left + factor * right, of which at least one is of the network."""
    if isinstance(left, Term) and isinstance(right, Term):
        right = call.trace.scaled(call.layer, right, factor, 0.0)
        shape = _common(call, left, right)
        operands = spread(call, left, shape), spread(call, right, shape)
        return call.trace.sum(call.layer, *operands)
    if isinstance(left, Term):
        return _affine(call, left, np.ones(()), factor * array_of(right))
    return _affine(call, right, np.full((), factor), array_of(left))


def _affine(call: Call, value: Term, scale: g.Array, shift: g.Array) -> Term:
    if scale.size == shift.size == 1 and max(scale.ndim, shift.ndim) <= _axes(call, value):
        return call.trace.scaled(call.layer, value, scale.item(), shift.item())
    scale, shift = (_without_batch(call, value, known) for known in (scale, shift))
    shape = call.trace.shape(value)
    full = np.broadcast_shapes(shape, scale.shape, shift.shape)
    return call.append(g.Affine(scale, shift), spread(call, value, full))


def _axes(call: Call, value: Term) -> int:
    return len(call.trace.shape(value)) + 1


def _without_batch(call: Call, value: Term, known: g.Array) -> g.Array:
    """A known tensor with the value's axes but for the batch, along which it must not differ."""
    axes = _axes(call, value)
    if known.ndim > axes:
        raise call.unsupported("a known tensor with more axes than the network's")
    known = known.reshape((1,) * (axes - known.ndim) + known.shape)
    if known.shape[0] not in (1, call.batch) or not np.array_equal(known, known[:1] + 0 * known):
        raise call.unsupported("a known tensor that differs along the batch")
    return np.asarray(known[0])


def _common(call: Call, left: Term, right: Term) -> g.Shape:
    shapes = call.trace.shape(left), call.trace.shape(right)
    if len(shapes[0]) != len(shapes[1]):
        raise call.unsupported("operands with different numbers of axes")
    return np.broadcast_shapes(*shapes)
