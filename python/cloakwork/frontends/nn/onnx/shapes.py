"""ONNX operators that move elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from cloakwork.frontends.nn.onnx.onnx_call import OnnxCall


def _reshaped(call: OnnxCall) -> torch.Tensor:
    """A reshape; a batch of fixed size, as many exporters write it, is that of the inputs."""
    value = call.tensor(0)
    sizes = [int(each) for each in call.known(1)]
    if not call.attribute("allowzero", 0):
        sizes = [value.shape[at] if size == 0 else size for at, size in enumerate(sizes)]
    fixed = call.declared_batch
    if fixed not in (None, call.batch) and sizes[:1] == [fixed] and len(value) == call.batch:
        sizes[0] = call.batch
    return value.reshape(sizes)


def _flattened(call: OnnxCall) -> torch.Tensor:
    value, axis = call.tensor(0), call.attribute("axis", 1)
    axis %= value.ndim + 1
    if axis == 1:
        return torch.flatten(value, 1) if value.ndim > 1 else value[:, None]
    return value.reshape(prod(value.shape[:axis]), prod(value.shape[axis:]))


def _transposed(call: OnnxCall) -> torch.Tensor:
    value = call.tensor(0)
    return value.permute(call.attribute("perm", [*reversed(range(value.ndim))]))


def _squeezed(call: OnnxCall) -> torch.Tensor:
    value, axes = call.tensor(0), call.known_or(1, "axes")
    return value.squeeze() if axes is None else value.squeeze(tuple(axes))


def _unsqueezed(call: OnnxCall) -> torch.Tensor:
    value, axes = call.tensor(0), call.known_or(1, "axes")
    rank = value.ndim + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        value = value.unsqueeze(axis)
    return value


def _joined(call: OnnxCall) -> torch.Tensor:
    parts = [call.tensor(place) for place in range(len(call.inputs))]
    real = [part.dtype for part in parts if part.is_floating_point()]
    typed = [part.to(real[0]) for part in parts] if real else parts
    return torch.cat(typed, call.attribute("axis", 1))


def _split(call: OnnxCall) -> tuple[torch.Tensor, ...]:
    value, axis = call.tensor(0), call.attribute("axis", 0)
    sizes = call.known_or(1, "split")
    if sizes is None:
        each = -(-value.shape[axis] // call.outputs)
        sizes = [each] * (call.outputs - 1)
        sizes.append(value.shape[axis] - sum(sizes))
    return torch.split(value, [int(size) for size in sizes], axis)


def _sliced(call: OnnxCall) -> torch.Tensor:
    value = call.tensor(0)
    starts, ends = call.known_or(1, "starts"), call.known_or(2, "ends")
    axes = call.known_or(3, "axes") or range(len(starts))
    steps = call.known_or(4, "steps") or [1] * len(starts)
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        size = value.shape[axis]
        if step > 0:
            first, last, _ = slice(start, end).indices(size)
            value = _slice_of(value, axis, slice(first, last, step))
        else:
            taken = range(size)[slice(start, end, step)]
            value = torch.index_select(value, axis, torch.tensor([*taken], dtype=torch.long))
    return value


def _slice_of(value: torch.Tensor, axis: int, taken: slice) -> torch.Tensor:
    whole = [slice(None)] * value.ndim
    whole[axis] = taken
    return value[tuple(whole)]


def _gathered(call: OnnxCall) -> torch.Tensor:
    """Elements at known places; rows of a known table at words."""
    axis = call.attribute("axis", 0)
    if isinstance(call.inputs[1], torch.Tensor):
        if isinstance(call.inputs[0], torch.Tensor) or axis != 0:
            raise call.unsupported("places that depend on the network's inputs")
        return functional.embedding(call.tensor(1).long(), call.tensor(0))
    value, places = call.tensor(0), call.known(1)
    axis %= value.ndim
    if places.ndim == 0:
        return value.select(axis, int(places) % value.shape[axis])
    flat = torch.tensor(np.ravel(places) % value.shape[axis], dtype=torch.long)
    found = torch.index_select(value, axis, flat)
    return found.reshape(*value.shape[:axis], *places.shape, *value.shape[axis + 1 :])


def _gathered_elements(call: OnnxCall) -> torch.Tensor:
    value, axis = call.tensor(0), call.attribute("axis", 0)
    return torch.gather(value, axis, torch.tensor(call.known(1) % value.shape[axis]))


def _expanded(call: OnnxCall) -> torch.Tensor:
    value = call.tensor(0)
    return value.expand(np.broadcast_shapes(value.shape, tuple(call.known(1).tolist())))


def _tiled(call: OnnxCall) -> torch.Tensor:
    return call.tensor(0).repeat(call.known(1).tolist())


def _padded(call: OnnxCall) -> torch.Tensor:
    value, mode = call.tensor(0), call.attribute("mode", "constant")
    pads, number = call.known_or(1, "pads"), call.known_or(2, "value", 0.0)
    axes = call.known(3).tolist() if call.has(3) else range(value.ndim)
    sides = [(0, 0)] * value.ndim
    for place, axis in enumerate(axes):
        sides[axis] = (pads[place], pads[place + len(pads) // 2])
    if mode == "constant":
        return functional.pad(value, _for_torch(sides), value=float(np.ravel(number or 0.0)[0]))
    for axis, side in enumerate(sides):
        if any(side):
            places = np.pad(np.arange(value.shape[axis]), side, mode=mode)
            value = torch.index_select(value, axis, torch.from_numpy(places))
    return value


def _for_torch(sides: Sequence[tuple[int, int]]) -> list[int]:
    """Padding as torch has it: from the last axis on."""
    while sides and sides[0] == (0, 0):
        sides = sides[1:]
    return [number for side in reversed(sides) for number in side]


def _depth_to_space(call: OnnxCall) -> torch.Tensor:
    value, block = call.tensor(0), call.attribute("blocksize")
    batch, channels, height, width = value.shape
    left = channels // block**2
    if call.attribute("mode", "DCR") == "DCR":
        parts = value.reshape(batch, block, block, left, height, width).permute(0, 3, 4, 1, 5, 2)
    else:
        parts = value.reshape(batch, left, block, block, height, width).permute(0, 1, 4, 2, 5, 3)
    return parts.reshape(batch, left, height * block, width * block)


def _space_to_depth(call: OnnxCall) -> torch.Tensor:
    value, block = call.tensor(0), call.attribute("blocksize")
    batch, channels, height, width = value.shape
    rows, columns = height // block, width // block
    parts = value.reshape(batch, channels, rows, block, columns, block).permute(0, 3, 5, 1, 2, 4)
    return parts.reshape(batch, channels * block**2, rows, columns)


def _triangle(call: OnnxCall) -> torch.Tensor:
    diagonal = int(call.known(1).item()) if call.has(1) else 0
    take = torch.triu if call.attribute("upper", 1) else torch.tril
    return take(call.tensor(0), diagonal)


OPERATORS: Mapping[str, Callable[[OnnxCall], Any]] = MappingProxyType(
    {
        "Concat": _joined,
        "DepthToSpace": _depth_to_space,
        "Expand": _expanded,
        "Flatten": _flattened,
        "Gather": _gathered,
        "GatherElements": _gathered_elements,
        "Pad": _padded,
        "Reshape": _reshaped,
        "Slice": _sliced,
        "SpaceToDepth": _space_to_depth,
        "Split": _split,
        "Squeeze": _squeezed,
        "Tile": _tiled,
        "Transpose": _transposed,
        "Trilu": _triangle,
        "Unsqueeze": _unsqueezed,
    }
)
