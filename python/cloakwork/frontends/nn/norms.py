"""Torch's norms over the features of each input, and softmax: sums, products and activations.

What they have in common is a sum along an axis that every element of the axis then needs. A product
with a matrix of ones gives it to all of them at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from cloakwork.frontends.nn.call import BATCH_FIRST, TorchCall, Value
from cloakwork.frontends.nn.layers import batch_norm, moved_axis, reduced_axes
from cloakwork.frontends.nn.masked import Masked
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g

_FACTORS = "weight", "bias"


def layer_norm(call: TorchCall) -> Term:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes of each input."""
    return _over_last_axes(call, _normalised)


def native_layer_norm(call: TorchCall) -> list[Value]:
    """Torch's form that gives mean and deviation as well, which nothing uses."""
    return [layer_norm(call)]


def group_norm(call: TorchCall) -> Term:
    """(x - mean) / sqrt(variance + eps) over groups of channels, * weight + bias per channel."""
    return _over_groups(call, int(call.arguments["num_groups"]))


def instance_norm(call: TorchCall) -> Term:
    """A group norm in which each channel is a group; batch norm where its statistics are known."""
    if not call.arguments["use_input_stats"]:
        return batch_norm(call)
    return _over_groups(call, call.trace.shape(call.value())[0])


def rms_norm(call: TorchCall) -> Term:
    """x / sqrt(the mean of squares + eps) * weight over the last axes of each input."""
    given = call.arguments["eps"]
    eps = float(np.finfo(np.float32).eps) if given is None else float(given)
    return _over_last_axes(call, partial(_of_mean_square_one, eps=eps))


def softmax(call: TorchCall) -> Term:
    """exp(x) / the sum of exp(x) along an axis."""
    first, value = next(iter(call.arguments.items()))
    if not isinstance(value, Masked):
        return _softmax(call, None)
    # The batch, too, counts as an axis.
    axis = int(call.arguments["dim"]) % (value.seen.ndim + 1) - 1
    mask = np.moveaxis(value.seen, axis, -1)
    rows: g.Array = mask.max(-1, keepdims=True)
    if value.is_equal and not rows.all():
        return _softmax(
            _of_rows(call, first, value, np.moveaxis(rows, -1, axis)), mask + 1.0 - rows
        )
    is_seen = bool(rows.all())
    make = value.value if is_seen else value.plain
    if make is None:
        raise call.unsupported("a mask that hides all elements", "leave one in each row")
    plain = replace(call, arguments={**call.arguments, first: make()})
    return _softmax(plain, mask if is_seen else None)


def _of_rows(call: TorchCall, name: str, value: Masked, rows: g.Array) -> TorchCall:
    """The softmax of zeros in the rows of which nothing is seen, as their numbers are equal."""
    kept = g.Affine(rows, np.zeros((1,) * rows.ndim))
    return replace(call, arguments={**call.arguments, name: call.append(kept, value.value())})


def _softmax(call: TorchCall, mask: g.Array | None) -> Term:
    (axis,) = reduced_axes(call)
    last = moved_axis(call, call.value(), axis, -1)
    return moved_axis(call, softmax_of_last(call, last, mask), -1, axis)


def log_softmax(call: TorchCall) -> Term:
    """x - log(the sum of exp(x)) along an axis."""
    (axis,) = reduced_axes(call)
    last = moved_axis(call, call.value(), axis, -1)
    size = call.trace.shape(last)[-1]
    centred = _centred(call, last, None)
    powers = call.append(g.Activation("exp", unit=1.0), centred)
    total = call.append(g.Activation("log"), _along_last(call, powers, np.ones((size, size))))
    turned = call.trace.scaled(call.layer, total, -1.0, 0.0)
    return moved_axis(call, call.trace.sum(call.layer, centred, turned), -1, axis)


def softmax_of_last(call: TorchCall, value: Term, mask: g.Array | None = None) -> Term:
    """The softmax along the last axis, of elements that a known mask leaves in.

    Subtracting the mean changes nothing, and narrows the range of the exponential: the sum of the
    powers of numbers with a mean of 0 is at least how many they are.

    Args:
        call: The operation.
        value: What it is of.
        mask: Ones where elements count, zeros elsewhere, of the value's shape; None for ones.
    """
    size = call.trace.shape(value)[-1]
    exp = g.Activation("exp", unit=1.0)
    powers = call.append(exp, _centred(call, value, mask))
    if mask is not None:
        powers = call.append(g.Affine(mask, np.zeros((1,) * mask.ndim)), powers)
    sums = _along_last(call, powers, np.ones((size, size)))
    parts = call.append(g.Activation("reciprocal"), sums)
    return call.trace.product(call.layer, powers, parts)


def _centred(call: TorchCall, value: Term, mask: g.Array | None) -> Term:
    """A value less its mean along the last axis, of what a mask leaves in; zeros elsewhere."""
    size = call.trace.shape(value)[-1]
    if mask is None:
        return _along_last(call, value, np.eye(size) - 1.0 / size)
    zeros = np.zeros((1,) * mask.ndim)
    shares = mask / mask.sum(-1, keepdims=True)
    means = _along_last(call, call.append(g.Affine(shares, zeros), value), np.ones((size, size)))
    seen, away = call.append(g.Affine(mask, zeros), value), g.Affine(-mask, zeros)
    return call.trace.sum(call.layer, seen, call.append(away, means))


def _over_last_axes(call: TorchCall, norm: Callable[[TorchCall, Term], Term]) -> Term:
    """A norm along the last axes together, weighted."""
    value = call.value()
    shape = call.trace.shape(value)
    axes = len(list(call.arguments["normalized_shape"]))
    if axes > len(shape):
        raise call.unsupported("a norm over the batch", BATCH_FIRST)
    lead, features = shape[: len(shape) - axes], shape[len(shape) - axes :]
    flat = call.reshaped(value, (*lead, math.prod(features)))
    found = call.reshaped(norm(call, flat), shape)
    return _scaled(call, found, (1,) * len(lead) + features)


def _over_groups(call: TorchCall, groups: int) -> Term:
    """A norm along all channels and pixels of each group, weighted per channel."""
    value = call.value()
    shape = call.trace.shape(value)
    flat = call.reshaped(value, (groups, math.prod(shape) // groups))
    found = call.reshaped(_normalised(call, flat), shape)
    return _scaled(call, found, (shape[0],) + (1,) * (len(shape) - 1))


def _normalised(call: TorchCall, value: Term) -> Term:
    """(x - mean) / sqrt(variance + eps) along the last axis."""
    size = call.trace.shape(value)[-1]
    centred = _along_last(call, value, np.eye(size) - 1.0 / size)
    return _of_mean_square_one(call, centred, call.number("eps"))


def _of_mean_square_one(call: TorchCall, value: Term, eps: float) -> Term:
    """x / sqrt(the mean of squares + eps) along the last axis."""
    size = call.trace.shape(value)[-1]
    squares = call.trace.power(call.layer, value, 2)
    mean = _along_last(call, squares, np.full((size, size), 1.0 / size), eps)
    return call.trace.product(call.layer, value, call.append(g.Activation("rsqrt"), mean))


def _along_last(call: TorchCall, value: Term, matrix: g.Array, shift: float = 0.0) -> Term:
    return call.append(g.LinearLayer(matrix, np.full(len(matrix), shift)), value)


def _scaled(call: TorchCall, value: Term, along: g.Shape) -> Term:
    # An RMS norm has no bias.
    weight, bias = (call.array(each) if each in call.arguments else None for each in _FACTORS)
    if weight is None and bias is None:
        return value
    ones = (1,) * len(along)
    scale = np.ones(ones) if weight is None else weight.reshape(along)
    shift = np.zeros(ones) if bias is None else bias.reshape(along)
    return call.append(g.Affine(scale, shift), value)
