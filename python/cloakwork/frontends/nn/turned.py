"""Values whose batch is along another axis than the first, as permute(1, 0, 2) makes them.

What works on each input by itself works on such a value as on one that has the batch first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from cloakwork.errors import UnsupportedLayerError
from cloakwork.frontends.nn.call import TorchCall, Value
from cloakwork.frontends.nn.folded import (
    ALONG_AXES,
    OF_ELEMENTS,
    Folded,
    folded_values,
    of_entries,
    without_batch_axis,
)
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g


@dataclass(frozen=True, slots=True)
class Turned:
    """A value whose batch is along a later axis.

    Args:
        value: The value with the batch first, its other axes in their order.
        axis: Where the batch is, above 0.
        made_by: The operation that put it there.
    """

    value: Term | Folded
    axis: int
    made_by: TorchCall

    @property
    def shape(self) -> g.Shape:
        """As torch sees it."""
        entries, own = 1, [*self.made_by.trace.shape(_term(self.value))]
        if isinstance(self.value, Folded):
            entries, *own = own
        return (*own[: self.axis], self.made_by.batch * entries, *own[self.axis :])

    def refusal(self) -> UnsupportedLayerError:
        """That what follows needs the batch as the first axis."""
        return without_batch_axis(self.made_by, self.shape)


def _term(value: Term | Folded) -> Term:
    return value.term if isinstance(value, Folded) else value


def turned_values(argument: Any) -> list[Turned]:
    """The values in an argument whose batch is along another axis."""
    if isinstance(argument, Turned):
        return [argument]
    if isinstance(argument, list | tuple):
        return [found for each in argument for found in turned_values(each)]
    return []


def of_each_input(call: TorchCall, read: Callable[[TorchCall], Value]) -> Value:
    """What an operation makes of values whose batch is along another axis.

    Args:
        call: The operation, with turned values among its arguments.
        read: Reads it, of values that have the batch first.

    Raises:
        UnsupportedLayerError: It works on several inputs at once, or lines the batch up with
            another axis.
    """
    given = [*call.arguments.values()]
    first, *others = turned_values(given)
    rank = len(first.shape)
    alike = all((each.axis, len(each.shape)) == (first.axis, rank) for each in others)
    if not _works_on_each(call) or not alike or folded_values(given):
        raise first.refusal()
    behind = len([*call.arguments.get("normalized_shape", (0,))])
    if call.name in {*_NORMS, *_PRODUCTS} and first.axis >= rank - behind:
        raise first.refusal()
    lined_up = frozenset() if call.name in _PRODUCTS else _LINED_UP
    arguments = {
        name: _with_batch_first(each, first, name in lined_up)
        for name, each in call.arguments.items()
    }
    if "dim" in arguments:
        arguments["dim"] = _counted_anew(arguments["dim"], first)
        # An axis that is summed over before the batch takes that to another place.
        keeps = arguments.get("keepdim", call.name not in _SUMMING)
        if not keeps:
            raise first.refusal()
    plain = replace(call, arguments=arguments)
    is_folded = bool(folded_values([*arguments.values()]))
    return _again_turned(of_entries(plain, read) if is_folded else read(plain), first)


def _works_on_each(call: TorchCall) -> bool:
    """Whether an operation does the same to each input, a product by a known matrix among them."""
    if call.name == "matmul":
        return getattr(call.arguments["other"], "ndim", 0) == 2
    return call.name in OF_ELEMENTS or call.name in ALONG_AXES


_PRODUCTS = frozenset({"linear", "matmul"})
_NORMS = frozenset({"layer_norm", "native_layer_norm", "rms_norm"})
_SUMMING = frozenset({"amax", "amin", "linalg_vector_norm", "mean", "std", "sum", "var"})
# Known arguments that torch lines up with values; others are weights.
_LINED_UP = frozenset({"other", "self", "tensor1", "tensor2", "tensors"})


def _with_batch_first(argument: Any, like: Turned, is_lined_up: bool) -> Any:
    if isinstance(argument, list | tuple):
        return [_with_batch_first(each, like, is_lined_up) for each in argument]
    if isinstance(argument, Turned):
        return argument.value
    if isinstance(argument, Term):
        raise like.refusal()
    rank = len(like.shape)
    if not is_lined_up or getattr(argument, "ndim", 0) < rank - like.axis:
        return argument
    if argument.ndim > rank:
        raise like.refusal()
    return argument.reshape(*[1] * (rank - argument.ndim), *argument.shape).movedim(like.axis, 0)


def _counted_anew(axes: Any, like: Turned) -> Any:
    """Axes by their places in a value that has the batch first."""
    if isinstance(axes, list | tuple):
        return [_counted_anew(axis, like) for axis in axes]
    if axes is None or axes % len(like.shape) == like.axis:
        raise like.refusal()
    place = axes % len(like.shape)
    return place + 1 if place < like.axis else place


def _again_turned(made: Value, like: Turned) -> Value:
    if isinstance(made, list):
        return [_again_turned(each, like) for each in made]
    if not isinstance(made, Term | Folded):
        raise like.refusal()
    return Turned(made, like.axis, like.made_by)
