"""ONNX's convolutions and pools, and what resizes images."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from torch.nn import functional

from cloakwork.frontends.nn.onnx.onnx_call import OnnxCall

_CONVOLUTIONS = {1: functional.conv1d, 2: functional.conv2d, 3: functional.conv3d}
_TRANSPOSED = {
    1: functional.conv_transpose1d,
    2: functional.conv_transpose2d,
    3: functional.conv_transpose3d,
}
_AVERAGES = {1: functional.avg_pool1d, 2: functional.avg_pool2d, 3: functional.avg_pool3d}
_MAXIMA = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}


def _sides(call: OnnxCall, sizes: Sequence[int], kernel: Sequence[int]) -> list[tuple[int, int]]:
    """The zeros before and behind along each axis of an image."""
    axes = len(sizes)
    mode = call.attribute("auto_pad", "NOTSET")
    pads = call.attribute("pads", [0] * 2 * axes)
    if mode == "NOTSET":
        return [*zip(pads[:axes], pads[axes:], strict=True)]
    if mode == "VALID":
        return [(0, 0)] * axes
    found = []
    strides = call.attribute("strides", [1] * axes)
    dilations = call.attribute("dilations", [1] * axes)
    for size, width, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        reach = (width - 1) * dilation + 1
        total = max((-(-size // stride) - 1) * stride + reach - size, 0)
        less, more = total // 2, total - total // 2
        found.append((less, more) if mode == "SAME_UPPER" else (more, less))
    return found


def _padded(value: torch.Tensor, sides: Sequence[tuple[int, int]], number: float) -> torch.Tensor:
    return functional.pad(value, [n for side in reversed(sides) for n in side], value=number)


def _even(sides: Sequence[tuple[int, int]]) -> bool:
    return all(before == after for before, after in sides)


def _convolution(call: OnnxCall) -> torch.Tensor:
    value, weight = call.tensor(0), call.tensor(1)
    axes = weight.ndim - 2
    sides = _sides(call, value.shape[2:], weight.shape[2:])
    padding: Any = [before for before, _ in sides]
    if not _even(sides):
        value, padding = _padded(value, sides, 0.0), 0
    found: torch.Tensor = _CONVOLUTIONS[axes](
        value,
        weight,
        call.optional(2),
        call.attribute("strides", [1] * axes),
        padding,
        call.attribute("dilations", [1] * axes),
        call.attribute("group", 1),
    )
    return found


def _transposed_convolution(call: OnnxCall) -> torch.Tensor:
    value, weight = call.tensor(0), call.tensor(1)
    axes = weight.ndim - 2
    if call.attribute("output_shape") or call.attribute("auto_pad", "NOTSET") != "NOTSET":
        raise call.unsupported("output_shape or auto_pad", "give it pads")
    pads = call.attribute("pads", [0] * 2 * axes)
    longer = call.attribute("output_padding", [0] * axes)
    whole: torch.Tensor = _TRANSPOSED[axes](
        value,
        weight,
        call.optional(2),
        call.attribute("strides", [1] * axes),
        0,
        longer,
        call.attribute("group", 1),
        call.attribute("dilations", [1] * axes),
    )
    for axis in range(axes):
        size = whole.shape[axis + 2]
        whole = whole.narrow(axis + 2, pads[axis], size - pads[axis] - pads[axis + axes])
    return whole


def _average_pool(call: OnnxCall) -> torch.Tensor:
    value, kernel = call.tensor(0), call.attribute("kernel_shape")
    axes = len(kernel)
    sides = _sides(call, value.shape[2:], kernel)
    ceil, counts = (
        bool(call.attribute("ceil_mode", 0)),
        bool(call.attribute("count_include_pad", 0)),
    )
    strides = call.attribute("strides", [1] * axes)
    if set(call.attribute("dilations", [1] * axes)) != {1} or (ceil and not _even(sides)):
        raise call.unsupported("dilations, or ceil_mode with uneven pads", "use Conv")
    padding = [before for before, _ in sides]
    if _even(sides) and all(2 * pad <= size for pad, size in zip(padding, kernel, strict=True)):
        found: torch.Tensor = _AVERAGES[axes](value, kernel, strides, padding, ceil, counts)
        return found
    means: torch.Tensor = _AVERAGES[axes](_padded(value, sides, 0.0), kernel, strides)
    if counts:
        return means
    ones = np.pad(np.ones((1, 1, *value.shape[2:])), [(0, 0), (0, 0), *sides])
    shares = _AVERAGES[axes](torch.from_numpy(ones), kernel, strides)
    return means * (1.0 / shares).to(means.dtype)


def _max_pool(call: OnnxCall) -> torch.Tensor:
    value, kernel = call.tensor(0), call.attribute("kernel_shape")
    axes = len(kernel)
    if call.outputs > 1:
        raise call.unsupported("places of the largest as a result", "use the first result alone")
    sides = _sides(call, value.shape[2:], kernel)
    ceil = bool(call.attribute("ceil_mode", 0))
    strides = call.attribute("strides", [1] * axes)
    dilations = call.attribute("dilations", [1] * axes)
    padding = [before for before, _ in sides]
    if not _even(sides) or any(2 * p > k for p, k in zip(padding, kernel, strict=True)):
        raise call.unsupported("uneven pads", "pad evenly, by at most half of the kernel")
    found: torch.Tensor = _MAXIMA[axes](value, kernel, strides, padding, dilations, ceil)
    return found


def _global_mean(call: OnnxCall) -> torch.Tensor:
    value = call.tensor(0)
    return value.mean(tuple(range(2, value.ndim)), keepdim=True)


def _global_maximum(call: OnnxCall) -> torch.Tensor:
    value = call.tensor(0)
    return torch.amax(value, tuple(range(2, value.ndim)), keepdim=True)


def _resized(call: OnnxCall) -> torch.Tensor:
    """A resize along one axis after another, each a product with a known matrix."""
    value = call.tensor(0)
    scales, sizes = _asked(call, value.shape)
    for axis, size in enumerate(value.shape):
        if sizes[axis] != size or scales[axis] != 1.0:
            matrix = torch.from_numpy(_matrix(call, size, scales[axis], sizes[axis]))
            value = (value.movedim(axis, -1) @ matrix.to(value.dtype).T).movedim(-1, axis)
    return value


def _asked(call: OnnxCall, shape: Sequence[int]) -> tuple[list[float], list[int | None]]:
    """Along each axis the scale, and the size where it is given."""
    if call.attribute("keep_aspect_ratio_policy", "stretch") != "stretch":
        raise call.unsupported("a policy of aspect ratios", "give it scales")
    if call.attribute("coordinate_transformation_mode") == "tf_crop_and_resize":
        raise call.unsupported("tf_crop_and_resize", "give it another mode of coordinates")
    axes = [axis % len(shape) for axis in call.attribute("axes", range(len(shape)))]
    place = 2 if call.operator == "Resize" and call.opset >= 11 else 1
    scales, sizes = [1.0] * len(shape), [*map(int, shape)]
    given = call.known_or(place, "scales") or []
    for axis, scale in zip(axes, given, strict=False):
        scales[axis], sizes[axis] = float(scale), int(np.floor(shape[axis] * np.float32(scale)))
    for axis, size in zip(axes, call.known(3) if call.has(3) else [], strict=False):
        scales[axis], sizes[axis] = int(size) / shape[axis], int(size)
    return scales, [*sizes]


def _matrix(call: OnnxCall, size: int, scale: float, made: int | None) -> NDArray[np.float64]:
    """What a resize along one axis multiplies by, found by resizing the unit vectors."""
    names = "antialias", "cubic_coeff_a", "exclude_outside", "mode", "nearest_mode"
    kept = {name: call.attributes[name] for name in names if name in call.attributes}
    old = "asymmetric" if call.opset < 11 else "half_pixel"
    kept["coordinate_transformation_mode"] = call.attribute("coordinate_transformation_mode", old)
    if call.opset < 11:
        kept["nearest_mode"] = "floor"
    given_sizes = call.has(3)
    names_in = ["x", "", "", "sizes"] if given_sizes else ["x", "", "scales"]
    node = helper.make_node("Resize", names_in, ["y"], **kept)
    graph = helper.make_graph(
        [node],
        "resize",
        [
            helper.make_tensor_value_info("x", TensorProto.DOUBLE, [size, size]),
            helper.make_tensor_value_info("sizes", TensorProto.INT64, [2])
            if given_sizes
            else helper.make_tensor_value_info("scales", TensorProto.FLOAT, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    ends = (
        {"sizes": np.array([size, made])}
        if given_sizes
        else {"scales": np.array([1, scale], np.float32)}
    )
    [rows] = ReferenceEvaluator(model).run(None, {"x": np.eye(size), **ends})
    return np.asarray(rows, np.float64).T.copy()


OPERATORS: Mapping[str, Callable[[OnnxCall], Any]] = MappingProxyType(
    {
        "AveragePool": _average_pool,
        "Conv": _convolution,
        "ConvTranspose": _transposed_convolution,
        "GlobalAveragePool": _global_mean,
        "GlobalMaxPool": _global_maximum,
        "MaxPool": _max_pool,
        "Resize": _resized,
        "Upsample": _resized,
    }
)
