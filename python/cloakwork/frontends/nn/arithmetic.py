"""Torch's elementwise arithmetic, of values of the network and known numbers."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from cloakwork.frontends.nn.call import TorchCall, Value, array_of
from cloakwork.frontends.nn.known import without_batch
from cloakwork.frontends.nn.masked import Masked, held_apart, is_lowest
from cloakwork.frontends.nn.rearranging import spread_term
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g


def added_terms(call: TorchCall) -> Value:
    """self + alpha * other; where a mask hides elements, it does so in the sum."""
    operands = [call.arguments["self"], call.arguments["other"]]
    for masked, other in (operands, operands[::-1]):
        if isinstance(masked, Masked):
            return _added_to_masked(call, masked, other)
    return _weighted_sum(call, call.number("alpha"))


def subtracted(call: TorchCall) -> Value:
    """self - alpha * other."""
    return _weighted_sum(call, -call.number("alpha"))


def subtracted_from(call: TorchCall) -> Term:
    """other - alpha * self."""
    return sum_of(call, call.arguments["other"], call.arguments["self"], -call.number("alpha"))


def negated(call: TorchCall) -> Term:
    """-self."""
    return call.trace.scaled(call.layer, call.value(), -1.0, 0.0)


def multiplied_terms(call: TorchCall) -> Term:
    """self * other."""
    return product_of(call, call.arguments["self"], call.arguments["other"])


def multiplied_and_added(call: TorchCall) -> Term:
    """self + value * tensor1 * tensor2."""
    left, right = call.arguments["tensor1"], call.arguments["tensor2"]
    product = (
        product_of(call, left, right)
        if isinstance(left, Term) or isinstance(right, Term)
        else array_of(left) * array_of(right)
    )
    return sum_of(call, call.arguments["self"], product, call.number("value"))


def interpolated_term(call: TorchCall) -> Term:
    """self + weight * (end - self)."""
    start, end = call.arguments["self"], call.arguments["end"]
    step = (
        sum_of(call, end, start, -1.0)
        if isinstance(start, Term) or isinstance(end, Term)
        else array_of(end) - array_of(start)
    )
    return sum_of(call, product_of(call, step, call.arguments["weight"]), start, 1.0)


def divided(call: TorchCall) -> Term:
    """self / other, the other known."""
    divisor = call.array("other")
    assert divisor is not None
    if call.arguments.get("rounding_mode") is not None:
        raise call.unsupported("division that rounds")
    if not np.all(divisor):
        raise call.unsupported("division by zero", "divide by other numbers")
    return _affine(call, call.value(), 1.0 / divisor, np.zeros(()))


def squared(call: TorchCall) -> Term:
    """self * self."""
    return call.trace.power(call.layer, call.value(), 2)


def raised(call: TorchCall) -> Term:
    """self ** exponent, a whole number."""
    exponent = call.number("exponent")
    if not exponent.is_integer() or exponent < 0:
        raise call.unsupported(f"the power {exponent}; whole powers from 0 up are polynomials")
    return call.trace.power(call.layer, call.value(), int(exponent))


def chosen_terms(call: TorchCall) -> Value:
    """self where a known condition holds, other elsewhere."""
    condition = call.array("condition")
    assert condition is not None
    return _chosen(call, condition, call.arguments["self"], call.arguments["other"])


def filled_term(call: TorchCall) -> Value:
    """A known number where a known mask holds, self elsewhere."""
    mask, number = call.array("mask"), call.number("value")
    assert mask is not None
    return _chosen(call, mask, number, call.value())


def _weighted_sum(call: TorchCall, factor: float) -> Value:
    left, right = call.arguments["self"], call.arguments["other"]
    if isinstance(right, Term):
        right = call.trace.scaled(call.layer, right, factor, 0.0)
    else:
        right = factor * array_of(right)
    return _sum_with_mask(call, left, right)


def _added_to_masked(call: TorchCall, masked: Masked, other: Any) -> Masked:
    """A value some elements of which a softmax does not see, and another or known numbers."""
    if isinstance(other, Masked) or call.number("alpha") != 1.0:
        raise call.unsupported("a sum of masked values", "mask it once, behind the sum")
    plain, visible, seen = masked.plain, other, masked.seen
    if not isinstance(other, Term):
        known = array_of(other)
        visible, hidden = held_apart(known)
        seen = seen * (1.0 - without_batch(call, masked.value(), hidden))
        plain = plain if np.isfinite(known).all() else None
    shape = call.trace.shape(sum_of(call, masked.value(), visible, 1.0))
    return Masked(
        np.broadcast_to(seen, shape),
        lambda: sum_of(call, masked.value(), visible, 1.0),
        None if plain is None else lambda: sum_of(call, plain(), other, 1.0),
    )


def _chosen(call: TorchCall, condition: g.Array, yes: Any, no: Any) -> Value:
    # Numbers that are not chosen may be anything.
    left, right = (
        _affine(call, each, weight, np.zeros(()))
        if isinstance(each, Term)
        else np.where(weight, array_of(each), 0.0)
        for each, weight in ((yes, condition), (no, 1.0 - condition))
    )
    return _sum_with_mask(call, left, right)


def _sum_with_mask(call: TorchCall, left: Any, right: Any) -> Value:
    """left + right, of which at least one is of the network and a known one may hide elements."""
    if not isinstance(left, Term):
        left, right = right, left
    if isinstance(right, Term):
        return sum_of(call, left, right, 1.0)
    known = array_of(right)
    visible, hidden = held_apart(known)
    if not hidden.any():
        return sum_of(call, left, known, 1.0)
    unseen = without_batch(call, left, hidden)
    shape = np.broadcast_shapes(call.trace.shape(left), unseen.shape)
    is_finite = bool(np.isfinite(known).all())
    return Masked(
        np.broadcast_to(1.0 - unseen, shape),
        partial(sum_of, call, left, visible, 1.0),
        partial(sum_of, call, left, known, 1.0) if is_finite else None,
        is_lowest(known),
    )


def sum_of(call: TorchCall, left: Any, right: Any, factor: float) -> Term:
    """left + factor * right, of which at least one is of the network."""
    if isinstance(left, Term) and isinstance(right, Term):
        right = call.trace.scaled(call.layer, right, factor, 0.0)
        shape = _common(call, left, right)
        operands = spread_term(call, left, shape), spread_term(call, right, shape)
        return call.trace.sum(call.layer, *operands)
    if isinstance(left, Term):
        return _affine(call, left, np.ones(()), factor * array_of(right))
    return _affine(call, right, np.full((), factor), array_of(left))


def product_of(call: TorchCall, left: Any, right: Any) -> Term:
    """left * right, of which at least one is of the network."""
    if isinstance(left, Term) and isinstance(right, Term):
        shape = _common(call, left, right)
        operands = spread_term(call, left, shape), spread_term(call, right, shape)
        return call.trace.product(call.layer, *operands)
    known, value = (right, left) if isinstance(left, Term) else (left, right)
    return _affine(call, value, array_of(known), np.zeros(()))


def _affine(call: TorchCall, value: Term, scale: g.Array, shift: g.Array) -> Term:
    if not (np.isfinite(scale).all() and np.isfinite(shift).all()):
        raise call.unsupported("a known tensor with NaN or an infinity", "leave it out")
    if (
        scale.size == shift.size == 1
        and max(scale.ndim, shift.ndim) <= len(call.trace.shape(value)) + 1
    ):
        return call.trace.scaled(call.layer, value, scale.item(), shift.item())
    scale, shift = (without_batch(call, value, known) for known in (scale, shift))
    shape = call.trace.shape(value)
    full = np.broadcast_shapes(shape, scale.shape, shift.shape)
    return call.append(g.Affine(scale, shift), spread_term(call, value, full))


def _common(call: TorchCall, left: Term, right: Term) -> g.Shape:
    shapes = call.trace.shape(left), call.trace.shape(right)
    if len(shapes[0]) != len(shapes[1]):
        raise call.unsupported("operands with different numbers of axes")
    return np.broadcast_shapes(*shapes)
