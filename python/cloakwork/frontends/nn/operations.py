"""The operations of torch that a network may use, and the function that reads each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from cloakwork.frontends.nn import (
    arithmetic,
    attention,
    compared,
    contraction,
    distances,
    layers,
    maxima,
    norms,
    quotients,
    recurrent,
    volumes,
)
from cloakwork.frontends.nn.call import BATCH_FIRST, TorchCall, Value
from cloakwork.frontends.nn.compared import Compared
from cloakwork.frontends.nn.known import terms_of
from cloakwork.frontends.nn.masked import Masked
from cloakwork.frontends.nn.rearranging import (
    MOVING,
    moved_as,
    moved_axes,
    padded_term,
    spread_term,
)
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g

# SELU's constants (Klambauer et al., "Self-normalizing neural networks", 2017).
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805

# What softplus may jump by at its threshold, where torch goes on with the identity.
_MAX_JUMP = 2.0**-20


def _same(call: TorchCall) -> Value:
    first = next(iter(call.arguments.values()))
    return first if isinstance(first, Masked | Compared) else call.value()


def _typed_as(call: TorchCall) -> Value:
    """A value as it is; known numbers in the type of one."""
    import torch  # noqa: PLC0415

    first: Any = call.arguments["self"]
    typed: Value = first if isinstance(first, Term | Masked | Compared) else first.to(torch.float64)
    return typed


def _dropout(call: TorchCall) -> Value:
    if call.arguments["train"]:
        raise call.unsupported("chance")
    return _same(call)


def _overwritten(call: TorchCall) -> Value:
    """What stands where a value stood, spread to its shape."""
    source, place = call.arguments["src"], call.arguments["self"]
    if not isinstance(source, Term):
        return _constant(call)
    shape = call.trace.shape(place) if isinstance(place, Term) else tuple(place.shape[1:])
    return spread_term(call, source, shape)


def _normalised(call: TorchCall) -> list[Value]:
    # Torch's form for inference gives the result and two tensors that nothing uses.
    return [layers.batch_norm(call)]


def _concatenated(call: TorchCall) -> Term:
    given = call.arguments["tensors"]
    # Torch takes tensors of one axis and no element beside any others.
    values = terms_of(call, [each for each in given if isinstance(each, Term) or each.numel()])
    axes = len(call.trace.shape(values[0])) + 1
    axis = int(call.arguments["dim"]) % axes
    if axis == 0:
        raise call.unsupported("concatenation along the batch", BATCH_FIRST)
    filled = [value for value in values if call.trace.shape(value)[axis - 1]]
    if not filled:
        raise call.unsupported("no elements")
    return call.append(g.Concatenate(axis - 1), *filled)


def _constant(call: TorchCall) -> Value:
    """Known numbers in the shape of a value, or of its type."""
    import torch  # noqa: PLC0415

    shape = (call.batch, *call.trace.shape(call.value()))
    arguments = {**call.arguments, "self": torch.zeros(shape, dtype=torch.float64)}
    if any(isinstance(each, Term) for each in arguments.values()):
        raise call.unsupported("a number that depends on the network's input")
    return call.function(**arguments)  # type: ignore[no-any-return]


def _new_constant(call: TorchCall) -> Value:
    """Known numbers in a shape of their own."""
    import torch  # noqa: PLC0415

    typed = torch.zeros((), dtype=torch.float64)
    return call.function(**{**call.arguments, "self": typed})  # type: ignore[no-any-return]


def _activation(function: str, *parameters: str) -> Callable[[TorchCall], Term]:
    def read(call: TorchCall) -> Term:
        numbers = tuple(call.number(parameter) for parameter in parameters)
        return call.append(g.Activation(function, numbers), call.value())

    return read


def _gelu(call: TorchCall) -> Term:
    exact = call.arguments["approximate"] == "none"
    return call.append(g.Activation("gelu" if exact else "gelu_tanh"), call.value())


def _softplus(call: TorchCall) -> Term:
    beta, threshold = call.number("beta"), call.number("threshold")
    if not beta:
        raise call.unsupported("beta of 0", "give Softplus a beta other than 0")
    if not np.logaddexp(0.0, -threshold) <= _MAX_JUMP * abs(beta):
        least = math.ceil(-math.log(math.expm1(min(_MAX_JUMP * abs(beta), 1.0))))
        raise call.unsupported(
            f"a jump at the threshold {threshold:g}", f"give a threshold of at least {least}"
        )
    return call.append(g.Activation("softplus", (beta,)), call.value())


def _elu(call: TorchCall) -> Term:
    """scale * (x above 0, alpha * (exp(input_scale * x) - 1) below)."""
    alpha, scale = call.number("alpha"), call.number("scale")
    return _exponential(call, alpha, scale, call.number("input_scale"))


def _celu(call: TorchCall) -> Term:
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
    alpha = call.number("alpha")
    if not alpha:
        raise call.unsupported("alpha of 0", "give CELU an alpha other than 0")
    return _exponential(call, alpha, 1.0, 1.0 / alpha)


def _selu(call: TorchCall) -> Term:
    return _exponential(call, _SELU_ALPHA, _SELU_SCALE, 1.0)


def _exponential(call: TorchCall, alpha: float, scale: float, inner: float) -> Term:
    """What ELU, CELU and SELU are: smooth, and a ReLU of what they bend by at 0."""
    if inner <= 0:
        raise call.unsupported(f"an exponential of {inner:g} x", "give it a factor above 0")
    value = call.value()
    smooth = call.append(g.Activation("elu"), call.trace.scaled(call.layer, value, inner, 0.0))
    found = call.trace.scaled(call.layer, smooth, scale * alpha, 0.0)
    bend = 1.0 - alpha * inner
    if not bend:
        return found
    above = call.trace.scaled(call.layer, maxima.rectified(call, value), scale * bend, 0.0)
    return call.trace.sum(call.layer, found, above)


def _gated(call: TorchCall) -> Term:
    """The first half along an axis, times the sigmoid of the second."""
    value = call.value()
    shape = call.trace.shape(value)
    axis = int(call.arguments["dim"]) % (len(shape) + 1) - 1
    if axis < 0:
        raise call.unsupported("halves of the batch", BATCH_FIRST)
    halves = np.split(np.arange(math.prod(shape)).reshape(shape), 2, axis)
    first, second = (call.append(g.Rearrange(half.ravel(), half.shape), value) for half in halves)
    gate = call.append(g.Activation("sigmoid"), second)
    return call.trace.product(call.layer, first, gate)


def _leaky_by_chance(call: TorchCall) -> Term:
    """A ReLU whose slope below 0 is drawn in training alone; otherwise it is the mean."""
    if call.arguments["training"]:
        raise call.unsupported("chance")
    slope = (call.number("lower") + call.number("upper")) / 2
    return call.append(g.Activation("leaky_relu", (slope,)), call.value())


def _log_sigmoid(call: TorchCall) -> Term:
    """-softplus(-x)."""
    turned = call.trace.scaled(call.layer, call.value(), -1.0, 0.0)
    soft = call.append(g.Activation("softplus", (1.0,)), turned)
    return call.trace.scaled(call.layer, soft, -1.0, 0.0)


# Operations of values with minus infinity: softmax, and what leaves them as they are.
OF_MASKED = frozenset(
    {
        *("_softmax", "softmax", "_to_copy", "add", "clone", "contiguous", "dropout", "to"),
        "type_as",
    }
)

# Operations that make booleans of numbers, and those that take them.
COMPARING = (
    *("ge", "greater", "greater_equal", "gt", "le", "less", "less_equal", "lt"),
    *("bitwise_not", "logical_not"),
)
OF_COMPARED = frozenset(
    {
        *("_to_copy", "bitwise_not", "clone", "logical_not", "masked_fill", "mul", "multiply"),
        *("to", "type_as", "where"),
    }
)

# Operations that make known numbers, in the type of a value.
_NEW = "new_full", "new_ones", "new_zeros"

# Interpolation between pixels.
_INTERPOLATION = (
    *("_upsample_bicubic2d_aa", "_upsample_bilinear2d_aa", "upsample_bicubic2d"),
    *("upsample_bilinear2d", "upsample_linear1d", "upsample_trilinear3d"),
)

# Layers that may have the sequence first.
_RECURRENT = "gru", "lstm", "rnn_relu", "rnn_tanh"

# Operations that see where every element goes of a value whose first axis is not the batch.
OF_MOVED = frozenset({*MOVING, *_NEW, *_RECURRENT, "expand_as", "reshape_as", "view_as"})

READERS: Mapping[str, Callable[[TorchCall], Value]] = MappingProxyType(
    {
        **dict.fromkeys(MOVING, moved_axes),
        **dict.fromkeys(("expand_as", "reshape_as", "view_as"), moved_as),
        **dict.fromkeys(("fill", "full_like", "ones_like", "zero", "zeros_like"), _constant),
        **dict.fromkeys(_NEW, _new_constant),
        "_native_batch_norm_legit_no_training": _normalised,
        "_to_copy": _same,
        "alpha_dropout": _dropout,
        **dict.fromkeys(("abs", "absolute"), maxima.absolute),
        "adaptive_avg_pool1d": layers.adaptive_average_pool,
        "_adaptive_avg_pool2d": layers.adaptive_average_pool,
        "adaptive_avg_pool2d": layers.adaptive_average_pool,
        "adaptive_max_pool1d": maxima.adaptive_max_pool,
        "adaptive_max_pool2d": maxima.adaptive_max_pool,
        "add": arithmetic.added_terms,
        "addcmul": arithmetic.multiplied_and_added,
        "addmm": contraction.added_product,
        "amax": maxima.largest_over_axes,
        "amin": maxima.smallest_over_axes,
        "avg_pool1d": layers.average_pool,
        "avg_pool2d": layers.average_pool,
        "baddbmm": contraction.added_product,
        "batch_norm": layers.batch_norm,
        "bmm": contraction.matrix_product,
        **dict.fromkeys(("cat", "concat", "concatenate"), _concatenated),
        "celu": _celu,
        **dict.fromkeys(("clamp", "clamp_max", "clamp_min", "clip", "hardtanh"), maxima.clamped),
        "clone": _same,
        **dict.fromkeys(("constant_pad_nd", "pad"), padded_term),
        "contiguous": _same,
        "copy": _overwritten,
        "bilinear": contraction.bilinear,
        "cdist": distances.of_rows,
        "col2im": layers.overlapped,
        "conv1d": layers.convolution,
        "conv2d": layers.convolution,
        "conv3d": volumes.convolution,
        "adaptive_avg_pool3d": volumes.average_pool,
        "avg_pool3d": volumes.average_pool,
        **dict.fromkeys(_RECURRENT, recurrent.recurrent),
        **dict.fromkeys((f"{name}_cell" for name in _RECURRENT), recurrent.cell),
        **dict.fromkeys(("_log_softmax", "log_softmax"), norms.log_softmax),
        "max_pool3d": maxima.max_pool,
        "pairwise_distance": distances.of_pairs,
        "rrelu": _leaky_by_chance,
        "conv_transpose1d": layers.transposed_convolution,
        "conv_transpose2d": layers.transposed_convolution,
        "convolution": layers.convolution,
        "cumsum": layers.running_total,
        "detach": _same,
        "dropout": _dropout,
        "exp": _activation("exp"),
        "feature_alpha_dropout": _dropout,
        "feature_dropout": _dropout,
        "cos": _activation("cos"),
        "cosine_similarity": quotients.similarity,
        **dict.fromkeys(("div", "divide", "true_divide"), quotients.divided),
        "einsum": contraction.einsum,
        "elu": _elu,
        "erf": _activation("erf"),
        "gelu": _gelu,
        "glu": _gated,
        "group_norm": norms.group_norm,
        **dict.fromkeys(("ge", "greater", "greater_equal", "gt"), compared.compared_above),
        **dict.fromkeys(("le", "less", "less_equal", "lt"), compared.compared_below),
        **dict.fromkeys(("bitwise_not", "logical_not"), compared.turned_over),
        "hardsigmoid": maxima.hard_sigmoid,
        "hardswish": maxima.hard_swish,
        "instance_norm": norms.instance_norm,
        "layer_norm": norms.layer_norm,
        "leaky_relu": _activation("leaky_relu", "negative_slope"),
        "lerp": arithmetic.interpolated_term,
        "lift_fresh_copy": _same,
        "linalg_vector_norm": quotients.length,
        "linear": layers.linear,
        "log": _activation("log"),
        "log_sigmoid": _log_sigmoid,
        "masked_fill": compared.filled_by_comparison,
        "matmul": contraction.matrix_product,
        "max": maxima.largest_of_axis,
        "max_pool1d": maxima.max_pool,
        "max_pool2d": maxima.max_pool,
        "maximum": maxima.maximum,
        "mean": layers.mean,
        "min": maxima.smallest,
        "minimum": maxima.minimum,
        "mish": _activation("mish"),
        "mm": contraction.matrix_product,
        **dict.fromkeys(("mul", "multiply"), compared.multiplied_by_comparison),
        "native_layer_norm": norms.native_layer_norm,
        **dict.fromkeys(("neg", "negative"), arithmetic.negated),
        "pow": quotients.raised,
        "prelu": _activation("leaky_relu", "weight"),
        "reciprocal": _activation("reciprocal"),
        "relu": _activation("relu"),
        "relu6": maxima.relu6,
        "rms_norm": norms.rms_norm,
        "rsqrt": _activation("rsqrt"),
        "rsub": arithmetic.subtracted_from,
        "scaled_dot_product_attention": attention.scaled_dot_product,
        "sigmoid": _activation("sigmoid"),
        "selu": _selu,
        "silu": _activation("silu"),
        **dict.fromkeys(("_softmax", "softmax"), norms.softmax),
        "softplus": _softplus,
        "sin": _activation("sin"),
        "softshrink": maxima.soft_shrink,
        "sqrt": _activation("sqrt"),
        "square": arithmetic.squared,
        "std": quotients.deviation,
        **dict.fromkeys(("sub", "subtract"), arithmetic.subtracted),
        "sum": layers.total_of_terms,
        "tanh": _activation("tanh"),
        "to": _same,
        "type_as": _typed_as,
        **dict.fromkeys(_INTERPOLATION, layers.resized),
        "var": quotients.variance,
        "threshold": compared.beyond_threshold,
        "where": compared.chosen_by_comparison,
    }
)
