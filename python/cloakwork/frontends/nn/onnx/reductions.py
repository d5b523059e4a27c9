"""ONNX's sums, means and norms along axes, and softmax."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType
from typing import Any

import torch
from torch.nn import functional

from cloakwork.frontends.nn.onnx.onnx_call import OnnxCall


def _reduced(function: Callable[..., torch.Tensor]) -> Callable[[OnnxCall], torch.Tensor]:
    def reduce(call: OnnxCall) -> torch.Tensor:
        value, axes = call.tensor(0), call.known_or(1, "axes")
        if not axes:
            if call.attribute("noop_with_empty_axes", 0):
                return function(value[..., None], (-1,), False)
            axes = [*range(value.ndim)]
        return function(value, tuple(axes), bool(call.attribute("keepdims", 1)))

    return reduce


def _mean(value: torch.Tensor, axes: tuple[int, ...], keep: bool) -> torch.Tensor:
    return value.mean(axes, keepdim=keep)


def _sum(value: torch.Tensor, axes: tuple[int, ...], keep: bool) -> torch.Tensor:
    return value.sum(axes, keepdim=keep)


def _largest(value: torch.Tensor, axes: tuple[int, ...], keep: bool) -> torch.Tensor:
    return torch.amax(value, axes, keepdim=keep)


def _least(value: torch.Tensor, axes: tuple[int, ...], keep: bool) -> torch.Tensor:
    return torch.amin(value, axes, keepdim=keep)


def _softmax(call: OnnxCall) -> torch.Tensor:
    return _along(call, torch.softmax)


def _log_softmax(call: OnnxCall) -> torch.Tensor:
    return _along(call, torch.log_softmax)


def _along(call: OnnxCall, function: Callable[..., torch.Tensor]) -> torch.Tensor:
    """A function along an axis; before version 13 along all axes from there on, as one."""
    value = call.tensor(0)
    if call.opset >= 13:
        return function(value, call.attribute("axis", -1))
    axis = call.attribute("axis", 1) % value.ndim
    flat = value.reshape(*value.shape[:axis], prod(value.shape[axis:]))
    return function(flat, -1).reshape(value.shape)


def _batch_norm(call: OnnxCall) -> torch.Tensor:
    if call.attribute("training_mode", 0):
        raise call.unsupported("training_mode", "export the network in eval mode")
    scale, bias, mean, variance = (call.tensor(place) for place in range(1, 5))
    epsilon = call.attribute("epsilon", 1e-5)
    return functional.batch_norm(call.tensor(0), mean, variance, scale, bias, eps=epsilon)


def _instance_norm(call: OnnxCall) -> torch.Tensor:
    epsilon = call.attribute("epsilon", 1e-5)
    value, scale, bias = (call.tensor(place) for place in range(3))
    return functional.instance_norm(value, weight=scale, bias=bias, eps=epsilon)


def _layer_norm(call: OnnxCall) -> torch.Tensor:
    if call.outputs > 1:
        raise call.unsupported("mean and deviation as results", "use the first result alone")
    value, scale, bias = call.tensor(0), call.tensor(1), call.optional(2)
    shape = value.shape[call.attribute("axis", -1) % value.ndim :]
    found = functional.layer_norm(value, shape, eps=call.attribute("epsilon", 1e-5))
    found = found * scale
    return found if bias is None else found + bias


def _rms_norm(call: OnnxCall) -> torch.Tensor:
    value = call.tensor(0)
    shape = value.shape[call.attribute("axis", -1) % value.ndim :]
    epsilon = call.attribute("epsilon", 1e-5)
    return functional.rms_norm(value, list(shape), eps=epsilon) * call.tensor(1)


def _group_norm(call: OnnxCall) -> torch.Tensor:
    value, scale, bias = (call.tensor(place) for place in range(3))
    groups, epsilon = call.attribute("num_groups"), call.attribute("epsilon", 1e-5)
    if call.opset < 21:
        # There a group has one scale.
        each = value.shape[1] // groups
        scale, bias = scale.repeat_interleave(each), bias.repeat_interleave(each)
    return functional.group_norm(value, groups, scale, bias, epsilon)


def _unit_length(call: OnnxCall) -> torch.Tensor:
    value, axis = call.tensor(0), call.attribute("axis", -1)
    if call.attribute("p", 2) == 1:
        return value / torch.sum(torch.abs(value), axis, keepdim=True)
    return value * torch.rsqrt(torch.sum(value * value, axis, keepdim=True))


OPERATORS: Mapping[str, Callable[[OnnxCall], Any]] = MappingProxyType(
    {
        "BatchNormalization": _batch_norm,
        "GroupNormalization": _group_norm,
        "InstanceNormalization": _instance_norm,
        "LayerNormalization": _layer_norm,
        "LogSoftmax": _log_softmax,
        "LpNormalization": _unit_length,
        "RMSNormalization": _rms_norm,
        "ReduceL1": _reduced(lambda value, axes, keep: _sum(torch.abs(value), axes, keep)),
        "ReduceL2": _reduced(lambda value, axes, keep: torch.sqrt(_sum(value**2, axes, keep))),
        "ReduceLogSum": _reduced(lambda value, axes, keep: torch.log(_sum(value, axes, keep))),
        "ReduceLogSumExp": _reduced(
            lambda value, axes, keep: torch.log(_sum(torch.exp(value), axes, keep))
        ),
        "ReduceMax": _reduced(_largest),
        "ReduceMean": _reduced(_mean),
        "ReduceMin": _reduced(_least),
        "ReduceSum": _reduced(_sum),
        "ReduceSumSquare": _reduced(lambda value, axes, keep: _sum(value**2, axes, keep)),
        "Softmax": _softmax,
    }
)
