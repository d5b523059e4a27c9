"""The operations of torch that a network may use, and the function that reads each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from cloakwork.frontends.nn import arithmetic, layers
from cloakwork.frontends.nn.call import Call, Value
from cloakwork.frontends.nn.known import terms_of
from cloakwork.frontends.nn.rearranging import MOVING, moved, spread
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g

# What softplus may jump by at its threshold, where torch goes on with the identity.
_MAX_JUMP = 2.0**-20


def _same(call: Call) -> Term:
    return call.value()


def _dropout(call: Call) -> Term:
    if call.arguments["train"]:
        raise call.unsupported("chance")
    return call.value()


def _overwritten(call: Call) -> Term:
    source = call.arguments["src"]
    if not isinstance(source, Term):
        raise call.unsupported("known numbers among the network's")
    return spread(call, source, call.trace.shape(call.value()))


def _normalised(call: Call) -> list[Value]:
    # Torch's form for inference gives the result and two tensors that nothing uses.
    return [layers.batch_norm(call)]


def _concatenated(call: Call) -> Term:
    given = call.arguments["tensors"]
    # Torch takes tensors of one axis and no element beside any others.
    values = terms_of(call, [each for each in given if isinstance(each, Term) or each.numel()])
    axes = len(call.trace.shape(values[0])) + 1
    axis = int(call.arguments["dim"]) % axes
    if axis == 0:
        raise call.unsupported("concatenation along the batch")
    filled = [value for value in values if call.trace.shape(value)[axis - 1]]
    if not filled:
        raise call.unsupported("no elements")
    return call.append(g.Concatenate(axis - 1), *filled)


def _constant(call: Call) -> Value:
    """Known numbers in the shape of a value, or of its type."""
    import torch  # noqa: PLC0415

    shape = (call.batch, *call.trace.shape(call.value()))
    arguments = {**call.arguments, "self": torch.zeros(shape, dtype=torch.float64)}
    return call.function(**arguments)  # type: ignore[no-any-return]


def _activation(function: str, *parameters: str) -> Callable[[Call], Term]:
    def read(call: Call) -> Term:
        numbers = tuple(call.number(parameter) for parameter in parameters)
        return call.append(g.Activation(function, numbers), call.value())

    return read


def _gelu(call: Call) -> Term:
    exact = call.arguments["approximate"] == "none"
    return call.append(g.Activation("gelu" if exact else "gelu_tanh"), call.value())


def _softplus(call: Call) -> Term:
    beta, threshold = call.number("beta"), call.number("threshold")
    if not beta:
        raise call.unsupported("beta of 0", "give Softplus a beta other than 0")
    if not np.logaddexp(0.0, -threshold) <= _MAX_JUMP * abs(beta):
        least = math.ceil(-math.log(math.expm1(min(_MAX_JUMP * abs(beta), 1.0))))
        raise call.unsupported(
            f"a jump at the threshold {threshold:g}", f"give a threshold of at least {least}"
        )
    return call.append(g.Activation("softplus", (beta,)), call.value())


READERS: Mapping[str, Callable[[Call], Value]] = MappingProxyType(
    {
        **dict.fromkeys(MOVING, moved),
        **dict.fromkeys(("full_like", "ones_like", "zeros_like"), _constant),
        **dict.fromkeys(("new_full", "new_ones", "new_zeros"), _constant),
        "_native_batch_norm_legit_no_training": _normalised,
        "_to_copy": _same,
        "alpha_dropout": _dropout,
        "adaptive_avg_pool1d": layers.adaptive_average_pool,
        "_adaptive_avg_pool2d": layers.adaptive_average_pool,
        "adaptive_avg_pool2d": layers.adaptive_average_pool,
        "add": arithmetic.added,
        "avg_pool1d": layers.average_pool,
        "avg_pool2d": layers.average_pool,
        "batch_norm": layers.batch_norm,
        **dict.fromkeys(("cat", "concat", "concatenate"), _concatenated),
        "clone": _same,
        "contiguous": _same,
        "copy": _overwritten,
        "conv1d": layers.convolution,
        "conv2d": layers.convolution,
        "convolution": layers.convolution,
        "detach": _same,
        "dropout": _dropout,
        "feature_alpha_dropout": _dropout,
        "feature_dropout": _dropout,
        "div": arithmetic.divided,
        "gelu": _gelu,
        "leaky_relu": _activation("leaky_relu", "negative_slope"),
        "lift_fresh_copy": _same,
        "linear": layers.linear,
        "matmul": layers.matrix_product,
        "mean": layers.mean,
        "mm": layers.matrix_product,
        "mul": arithmetic.multiplied,
        "neg": arithmetic.negated,
        "pow": arithmetic.raised,
        "prelu": _activation("leaky_relu", "weight"),
        "relu": _activation("relu"),
        "rsub": arithmetic.subtracted_from,
        "sigmoid": _activation("sigmoid"),
        "silu": _activation("silu"),
        "softplus": _softplus,
        "square": arithmetic.squared,
        "sub": arithmetic.subtracted,
        "sum": layers.total,
        "tanh": _activation("tanh"),
        "to": _same,
        "upsample_bilinear2d": layers.spatial_map,
        "upsample_linear1d": layers.spatial_map,
    }
)
