"""ONNX operators of each element by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from cloakwork.frontends.nn.onnx.onnx_call import OnnxCall

_REAL = frozenset({1, 10, 11, 16})  # FLOAT, FLOAT16, DOUBLE, BFLOAT16


def _of_one(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[OnnxCall], torch.Tensor]:
    return lambda call: function(call.tensor(0))


def _of_two(function: Callable[..., torch.Tensor]) -> Callable[[OnnxCall], torch.Tensor]:
    return lambda call: function(call.tensor(0), call.tensor(1))


def _of_all(function: Callable[..., torch.Tensor]) -> Callable[[OnnxCall], torch.Tensor]:
    return lambda call: reduce(function, map(call.tensor, range(len(call.inputs))))


def _mean(call: OnnxCall) -> torch.Tensor:
    return _of_all(torch.add)(call) / len(call.inputs)


def _clipped(call: OnnxCall) -> torch.Tensor:
    ends = (call.known_or(1, "min"), call.known_or(2, "max"))
    low, high = (None if end is None or abs(end) > 3e38 else float(end) for end in ends)
    return call.tensor(0) if low is high is None else torch.clamp(call.tensor(0), low, high)


def _power(call: OnnxCall) -> torch.Tensor:
    if isinstance(call.inputs[1], torch.Tensor):
        return torch.pow(call.tensor(0), call.tensor(1))
    exponents = call.known(1)
    if exponents.size == 1:
        return torch.pow(call.tensor(0), float(exponents.item()))
    return torch.pow(call.tensor(0), call.tensor(1))


def _leaky(call: OnnxCall) -> torch.Tensor:
    return functional.leaky_relu(call.tensor(0), call.attribute("alpha", 0.01))


def _sloped(call: OnnxCall) -> torch.Tensor:
    slopes, value = call.known(1), call.tensor(0)
    if slopes.size == 1:
        return functional.leaky_relu(value, float(slopes.item()))
    return torch.relu(value) - call.tensor(1) * torch.relu(-value)


def _elu(call: OnnxCall) -> torch.Tensor:
    return functional.elu(call.tensor(0), call.attribute("alpha", 1.0))


def _celu(call: OnnxCall) -> torch.Tensor:
    return functional.celu(call.tensor(0), call.attribute("alpha", 1.0))


def _selu(call: OnnxCall) -> torch.Tensor:
    alpha, gamma = call.attribute("alpha", 1.67326319217681884765625), call.attribute("gamma")
    return (1.05070102214813232421875 if gamma is None else gamma) * functional.elu(
        call.tensor(0), alpha
    )


def _hard_sigmoid(call: OnnxCall) -> torch.Tensor:
    alpha, beta = call.attribute("alpha", 0.2), call.attribute("beta", 0.5)
    return torch.clamp(alpha * call.tensor(0) + beta, 0.0, 1.0)


def _gelu(call: OnnxCall) -> torch.Tensor:
    return functional.gelu(call.tensor(0), approximate=call.attribute("approximate", "none"))


def _above_threshold(call: OnnxCall) -> torch.Tensor:
    value, alpha = call.tensor(0), call.attribute("alpha", 1.0)
    return torch.where(value > alpha, value, 0.0)


def _chosen(call: OnnxCall) -> torch.Tensor:
    return torch.where(call.tensor(0), call.tensor(1), call.tensor(2))


def _cast(call: OnnxCall) -> torch.Tensor:
    """Types of real numbers are the network's own; whole numbers there are none of."""
    value = call.tensor(0)
    if call.operator == "CastLike" or call.attribute("to") in _REAL:
        return value if value.is_floating_point() else value.to(torch.get_default_dtype())
    if not value.is_floating_point():
        return value.long()
    raise call.unsupported("whole numbers of encrypted ones")


def _remainder(call: OnnxCall) -> torch.Tensor:
    return torch.remainder(call.tensor(0), call.tensor(1))


def _dropout(call: OnnxCall) -> tuple[Any, ...]:
    if call.has(2) and bool(np.any(call.known(2))):
        raise call.unsupported("training_mode", "export the network in eval mode")
    return (call.tensor(0), None)[: call.outputs]


OPERATORS: Mapping[str, Callable[[OnnxCall], Any]] = MappingProxyType(
    {
        "Abs": _of_one(torch.abs),
        "Add": _of_two(torch.add),
        "And": _of_two(torch.logical_and),
        "Cast": _cast,
        "CastLike": _cast,
        "Ceil": _of_one(torch.ceil),
        "Celu": _celu,
        "Clip": _clipped,
        "Cos": _of_one(torch.cos),
        "Div": _of_two(torch.div),
        "Dropout": _dropout,
        "Elu": _elu,
        "Equal": _of_two(torch.eq),
        "Erf": _of_one(torch.erf),
        "Exp": _of_one(torch.exp),
        "Floor": _of_one(torch.floor),
        "Gelu": _gelu,
        "Greater": _of_two(torch.gt),
        "GreaterOrEqual": _of_two(torch.ge),
        "HardSigmoid": _hard_sigmoid,
        "HardSwish": _of_one(functional.hardswish),
        "Identity": _of_one(lambda value: value),
        "LeakyRelu": _leaky,
        "Less": _of_two(torch.lt),
        "LessOrEqual": _of_two(torch.le),
        "Log": _of_one(torch.log),
        "Max": _of_all(torch.maximum),
        "Mean": _mean,
        "Min": _of_all(torch.minimum),
        "Mish": _of_one(functional.mish),
        "Mod": _remainder,
        "Mul": _of_two(torch.mul),
        "Neg": _of_one(torch.neg),
        "Not": _of_one(torch.logical_not),
        "Or": _of_two(torch.logical_or),
        "PRelu": _sloped,
        "Pow": _power,
        "Reciprocal": _of_one(torch.reciprocal),
        "Relu": _of_one(torch.relu),
        "Round": _of_one(torch.round),
        "Selu": _selu,
        "Sigmoid": _of_one(torch.sigmoid),
        "Sign": _of_one(torch.sign),
        "Sin": _of_one(torch.sin),
        "Softplus": _of_one(functional.softplus),
        "Softsign": _of_one(functional.softsign),
        "Sqrt": _of_one(torch.sqrt),
        "Sub": _of_two(torch.sub),
        "Sum": _of_all(torch.add),
        "Tanh": _of_one(torch.tanh),
        "ThresholdedRelu": _above_threshold,
        "Where": _chosen,
    }
)
