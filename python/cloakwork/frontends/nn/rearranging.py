"""Torch's operations that only move elements, read by running them on elements' numbers."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.nn.call import BATCH_FIRST, TorchCall, Value, array_of
from cloakwork.frontends.nn.folded import Folded, folded_values, without_batch_axis
from cloakwork.frontends.nn.known import constant, first_of_batch, terms_of
from cloakwork.frontends.nn.trace import Term
from cloakwork.frontends.nn.turned import Turned, turned_values
from cloakwork.programs.ir import layers as g

if TYPE_CHECKING:
    import torch

MOVING = frozenset(
    {
        "_unsafe_view",
        "_upsample_nearest_exact1d",
        "_upsample_nearest_exact2d",
        "_upsample_nearest_exact3d",
        "alias",
        "broadcast_to",
        "channel_shuffle",
        "chunk",
        "diagonal",
        "dstack",
        "expand",
        "flatten",
        "flip",
        "gather",
        "hsplit",
        "hstack",
        "im2col",
        "index",
        "index_select",
        "mT",
        "moveaxis",
        "movedim",
        "narrow",
        "permute",
        "pixel_shuffle",
        "pixel_unshuffle",
        "reflection_pad1d",
        "reflection_pad2d",
        "repeat",
        "repeat_interleave",
        "replication_pad1d",
        "replication_pad2d",
        "reshape",
        "roll",
        "rot90",
        "select",
        "select_scatter",
        "slice",
        "slice_scatter",
        "split",
        "split_with_sizes",
        "squeeze",
        "stack",
        "swapaxes",
        "swapdims",
        "t",
        "take_along_dim",
        "tensor_split",
        "tile",
        "transpose",
        "tril",
        "triu",
        "unbind",
        "unflatten",
        "unfold",
        "unsqueeze",
        "upsample_nearest1d",
        "upsample_nearest2d",
        "upsample_nearest3d",
        "view",
    }
)

# Arguments with elements; others say where they go.
_ELEMENTS = frozenset({"input", "self", "src", "tensors"})


def moved_axes(call: TorchCall) -> Value:
    """What an operation that only moves elements makes of its operands.

    Elements are numbered from 1; a 0 that the operation puts in is a zero.
    """
    if _terms(value for name, value in call.arguments.items() if name not in _ELEMENTS):
        raise call.unsupported("places that depend on the network's input")
    like = _terms(call.arguments.values())[0]
    given = {
        name: _elements(call, value, like) if name in _ELEMENTS else value
        for name, value in call.arguments.items()
    }
    operands = _terms(given.values())
    sizes = [prod(call.trace.shape(operand)) for operand in operands]
    starts = [0, *accumulate(sizes)]
    numbered = {
        operand: _numbers(call, operand, start, starts[-1])
        for operand, start in zip(operands, starts, strict=False)
    }
    arguments = {name: _replaced(value, numbered) for name, value in given.items()}
    try:
        result = call.function(**arguments)
    except (IndexError, RuntimeError) as error:
        raise call.unsupported(f"torch refuses it: {error}") from error
    source = _joined(call, [each for each in operands if prod(call.trace.shape(each))])
    if isinstance(result, (list, tuple)):
        return [_gathered(call, source, each, starts[-1]) for each in result]
    return _gathered(call, source, result, starts[-1])


def moved_as(call: TorchCall) -> Value:
    """What an operation that only moves elements makes of its first operand in another's shape."""
    import torch  # noqa: PLC0415

    other = call.arguments["other"]
    if isinstance(other, Term):
        other = torch.zeros((call.batch, *call.trace.shape(other)), dtype=torch.float64)
    if isinstance(other, Turned):
        other = torch.zeros(other.shape, dtype=torch.float64)
    if isinstance(other, Folded):
        entries, *behind = other.shape
        other = torch.zeros((call.batch * entries, *behind), dtype=torch.float64)
    arguments = {**call.arguments, "other": other}
    if not isinstance(call.arguments["self"], Term | Folded | Turned):
        return call.function(**arguments)  # type: ignore[no-any-return]
    return moved_axes(replace(call, arguments=arguments))


def padded_term(call: TorchCall) -> Value:
    """What padding makes of a value: zeros, to which the number is added that stands there."""
    number = call.arguments.get("value") or 0.0
    if not np.isfinite(number):
        raise call.unsupported("NaN or an infinity around", "pad by a finite number")
    zeros = replace(call, arguments={**call.arguments, "value": 0.0})
    value = moved_axes(zeros)
    if not number or not isinstance(value, Term):
        return value
    import torch  # noqa: PLC0415

    first = next(iter(call.arguments))
    ones = torch.ones((1, *call.trace.shape(call.value())), dtype=torch.float64)
    inside = call.function(**{**zeros.arguments, first: ones}).numpy()[0]
    shift = np.where(inside == 0, float(number), 0.0)
    return call.append(g.Affine(np.ones((1,) * shift.ndim), shift), value)


def spread_term(call: TorchCall, value: Term, shape: g.Shape) -> Term:
    """A value repeated along axes of size 1, and along new ones before it, up to a shape."""
    own = call.trace.shape(value)
    if own == shape:
        return value
    # Torch lines up the batch with whatever axis stands as far from the last.
    if len(own) != len(shape):
        raise call.unsupported("operands with different numbers of axes")
    indices = np.broadcast_to(np.arange(prod(own)).reshape(own), shape)
    return call.append(g.Rearrange(indices.ravel(), shape), value)


def _elements(call: TorchCall, value: Any, like: Term) -> Any:
    """An argument, known tensors in it as values that are the same for every input."""
    folded: list[Folded | Turned] = [*folded_values(value), *turned_values(value)]
    if folded:
        if not isinstance(value, Folded | Turned) and len(folded) < len(value):
            raise folded[0].refusal()
        return value
    if isinstance(value, list):
        return terms_of(call, value)
    return (
        constant(call, first_of_batch(call, array_of(value)), like)
        if hasattr(value, "detach")
        else value
    )


def _terms(values: Any) -> list[Term]:
    found: list[Term] = []
    for value in values:
        if isinstance(value, Term):
            found.append(value)
        elif isinstance(value, Turned):
            found += _terms([value.value])
        elif isinstance(value, Folded):
            found.append(value.term)
        elif isinstance(value, (list, tuple)):
            found += _terms(value)
    return list(dict.fromkeys(found))


def _replaced(value: Any, numbered: dict[Term, torch.Tensor]) -> Any:
    if isinstance(value, Term):
        return numbered[value]
    if isinstance(value, Folded):
        return numbered[value.term].flatten(0, 1)
    if isinstance(value, Turned):
        first: torch.Tensor = _replaced(value.value, numbered)
        return first.movedim(0, value.axis)
    if isinstance(value, (list, tuple)):
        return [_replaced(each, numbered) for each in value]
    return value


def _numbers(call: TorchCall, operand: Term, start: int, total: int) -> torch.Tensor:
    """The numbers of an operand's elements; those of the next input follow after `total`."""
    import torch  # noqa: PLC0415

    shape = call.trace.shape(operand)
    # Torch pads float64 in every mode, and it counts up to 2^53.
    own = torch.arange(prod(shape), dtype=torch.float64).reshape(1, *shape)
    inputs = torch.arange(call.batch, dtype=torch.float64).reshape(-1, *(1 for _ in shape))
    return own + (start + 1) + total * inputs


def _joined(call: TorchCall, operands: list[Term]) -> Term:
    if not operands:
        raise call.unsupported("no elements")
    if len(operands) == 1:
        return operands[0]
    flat = [call.reshaped(each, (prod(call.trace.shape(each)),)) for each in operands]
    return call.append(g.Concatenate(0), *flat)


def _gathered(call: TorchCall, source: Term, numbers: torch.Tensor, total: int) -> Value:
    """The elements of such numbers, the batch along one of their axes, alone or with another."""
    found = numbers.numpy().astype(np.int64)
    for axis in range(found.ndim):
        value = _of_batches(call, source, np.moveaxis(found, axis, 0), total)
        if value is not None:
            return Turned(value, axis, call) if axis else value
    if found.shape[:1] == (call.batch,):
        raise call.unsupported("it mixes the inputs of a batch", BATCH_FIRST)
    raise without_batch_axis(call, found.shape)


def _of_batches(
    call: TorchCall, source: Term, found: NDArray[np.int64], total: int
) -> Term | Folded | None:
    """The elements of such numbers, where the first axis is the batch, alone or with another."""
    entries = len(found) // call.batch
    if not len(found) or len(found) % call.batch:
        return None
    rows = found.reshape(call.batch, -1)
    if not _is_of_each_input(rows, total):
        return None
    of_input = found.shape[1:] if entries == 1 else (entries, *found.shape[1:])
    if np.array_equal(rows[0], np.arange(1, total + 1)):
        made = call.reshaped(source, of_input)
    else:
        made = call.append(g.Rearrange(rows[0] - 1, of_input), source)
    return made if entries == 1 else Folded(made, call)


def _is_of_each_input(rows: NDArray[np.int64], total: int) -> bool:
    """Whether every row of numbers has those of one input, the same of each."""
    first = rows[0]
    following = np.arange(len(rows))[:, None] * total + first
    same = np.array_equal(rows, np.where(first == 0, 0, following))
    return same and bool(first.max(initial=0) <= total)
