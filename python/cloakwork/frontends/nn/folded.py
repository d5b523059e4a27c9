"""Values whose first axis is the batch and an axis of each input in one, as view(-1, n) makes them.

Every input has as many entries of such a value, one after another. What works on each entry by
itself works on it as on a value that has the axis of entries behind the batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from cloakwork.errors import UnsupportedLayerError
from cloakwork.frontends.nn.call import BATCH_FIRST, TorchCall, Value, array_of
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g

OF_ELEMENTS = (
    *("_to_copy", "clone", "contiguous", "detach", "to", "type_as", "alpha_dropout", "dropout"),
    *("feature_alpha_dropout", "feature_dropout"),
    *("add", "addcmul", "div", "maximum", "minimum", "mul", "rsub", "sub"),
    *("abs", "celu", "clamp", "clamp_max", "clamp_min", "cos", "elu", "erf", "exp", "gelu"),
    *("hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log", "log_sigmoid", "mish", "neg"),
    *("pow", "reciprocal", "relu", "relu6", "rsqrt", "selu", "sigmoid", "silu", "sin", "softplus"),
    *("softshrink", "sqrt", "square", "tanh"),
)
ALONG_AXES = (
    *("_softmax", "amax", "amin", "cat", "cumsum", "glu", "layer_norm", "linalg_vector_norm"),
    *("linear", "mean", "native_layer_norm", "rms_norm", "softmax", "std", "sum", "var"),
)
# Arguments that a product of matrices multiplies entry by entry, where they have three axes.
_FACTORS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "addmm": frozenset({"mat1", "mat2"}),
        "baddbmm": frozenset({"batch1", "batch2"}),
        "bmm": frozenset({"self", "mat2"}),
        "matmul": frozenset({"self", "other"}),
        "mm": frozenset({"self", "mat2"}),
        "scaled_dot_product_attention": frozenset({"query", "key", "value"}),
    }
)
# Of two axes, these alone may have entries.
_ROWS = frozenset({"mat1", "self"})
# Operations of channels and what lies behind them, which have as many times as many channels.
_OF_CHANNELS = (
    *("batch_norm", "_native_batch_norm_legit_no_training", "group_norm", "instance_norm"),
    *("convolution", "conv1d", "conv2d", "conv3d", "avg_pool1d", "avg_pool2d", "avg_pool3d"),
    *("max_pool1d", "max_pool2d", "max_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d"),
    *("_adaptive_avg_pool2d", "adaptive_avg_pool3d", "upsample_bilinear2d", "upsample_linear1d"),
)
# Arguments of these with numbers for each channel.
_OF_EACH_CHANNEL = frozenset({"bias", "running_mean", "running_var", "weight"})
_GROUPS = frozenset({"groups", "num_groups"})
# Operations that work on each entry by itself.
_OF_ENTRIES = frozenset((*OF_ELEMENTS, *ALONG_AXES, *_FACTORS))
# Known arguments that torch lines up with entries; others are weights, which all of them share.
_LINED_UP = frozenset({"attn_mask", "other", "self", "tensor1", "tensor2", "tensors"})


@dataclass(frozen=True, slots=True)
class Folded:
    """A value whose first axis is the batch and the first axis of a term in one.

    Args:
        term: The value with the axis of entries behind the batch.
        made_by: The operation that put both in one axis.
    """

    term: Term
    made_by: TorchCall

    @property
    def shape(self) -> g.Shape:
        """The entries of an input, and the axes behind: as many axes as torch sees."""
        return self.made_by.trace.shape(self.term)

    def refusal(self) -> UnsupportedLayerError:
        """That what follows needs the batch as an axis of its own."""
        entries, *others = self.shape
        return without_batch_axis(self.made_by, (self.made_by.batch * entries, *others))


def without_batch_axis(call: TorchCall, shape: g.Shape) -> UnsupportedLayerError:
    """The refusal of a result of such a shape, the first axis of which is not the batch."""
    return call.unsupported(
        f"a result of shape {shape} from a batch of {call.batch}: the first axis must remain the "
        "batch",
        BATCH_FIRST,
    )


def folded_values(argument: Any) -> list[Folded]:
    """The values in an argument that have the batch and another axis in one."""
    if isinstance(argument, Folded):
        return [argument]
    if isinstance(argument, list | tuple):
        return [found for each in argument for found in folded_values(each)]
    return []


def of_entries(call: TorchCall, read: Callable[[TorchCall], Value]) -> Value:
    """What an operation makes of each entry.

    Args:
        call: The operation, with folded values among its arguments.
        read: Reads it, of values that have the axis of entries behind the batch.

    Raises:
        UnsupportedLayerError: It works on several entries at once.
    """
    given = [*call.arguments.values()]
    first, *others = folded_values(given)
    if call.name in _OF_CHANNELS and not others and folded_values(given[0]):
        return _again_folded(_of_more_channels(call, first, read), first)
    if call.name not in _OF_ENTRIES or any(each.shape[0] != first.shape[0] for each in others):
        raise first.refusal()
    arguments = {name: _unfolded(call, name, each, first) for name, each in call.arguments.items()}
    if "dim" in arguments:
        arguments["dim"] = _behind_entries(arguments["dim"], first)
    if len(list(arguments.get("normalized_shape", ()))) >= len(first.shape):
        raise first.refusal()
    return _again_folded(read(replace(call, arguments=arguments)), first)


def _of_more_channels(call: TorchCall, folded: Folded, read: Callable[[TorchCall], Value]) -> Value:
    """What an operation makes of all entries' channels beside one another, in as many groups."""
    entries, *channels = folded.shape
    beside = call.reshaped(folded.term, (entries * channels[0], *channels[1:]))
    arguments: dict[str, Any] = {}
    for name, given in call.arguments.items():
        if isinstance(given, Folded):
            arguments[name] = beside
        elif name in _GROUPS:
            arguments[name] = entries * given
        elif name in _OF_EACH_CHANNEL and given is not None:
            arguments[name] = np.concatenate([array_of(given)] * entries)
        else:
            arguments[name] = given
    return _apart(call, read(replace(call, arguments=arguments)), entries)


def _apart(call: TorchCall, made: Value, entries: int) -> Value:
    """Channels of all entries beside one another, with an axis of entries of their own."""
    if isinstance(made, list):
        return [_apart(call, each, entries) for each in made]
    assert isinstance(made, Term)
    channels, *behind = call.trace.shape(made)
    return call.reshaped(made, (entries, channels // entries, *behind))


def _unfolded(call: TorchCall, name: str, argument: Any, like: Folded) -> Any:
    """An argument with the axis of entries behind the batch."""
    if isinstance(argument, list | tuple):
        return [_unfolded(call, name, each, like) for each in argument]
    is_factor = name in _FACTORS.get(call.name, ())
    least = 3 if is_factor else len(like.shape)
    if isinstance(argument, Folded):
        axes = len(argument.shape)
        if is_factor and axes < least and not (axes == 2 and name in _ROWS):
            raise argument.refusal()
        return argument.term
    if isinstance(argument, Term):
        raise like.refusal()
    axes = getattr(argument, "ndim", 0)
    if axes < least or not (is_factor or name in _LINED_UP):
        return argument
    if axes > len(like.shape):
        raise like.refusal()
    entries = 1 if len(argument) == 1 else like.shape[0]
    return argument.reshape(-1, entries, *argument.shape[1:])


def _behind_entries(axes: Any, like: Folded) -> Any:
    """Axes counted from the last, of which none is that of the entries."""
    if isinstance(axes, list | tuple):
        return [_behind_entries(axis, like) for axis in axes]
    if axes is None or axes % len(like.shape) == 0:
        raise like.refusal()
    return axes % len(like.shape) - len(like.shape)


def _again_folded(made: Value, like: Folded) -> Value:
    if isinstance(made, list):
        return [_again_folded(each, like) for each in made]
    if not isinstance(made, Term):
        raise like.refusal()
    return Folded(made, like.made_by)
