"""Torch's layers with weights and windows, read into nodes of the graph."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.nn.call import BATCH_FIRST, TorchCall
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g


def linear(call: TorchCall) -> Term:
    """input @ weight.T + bias."""
    weight, bias = call.array("weight"), call.array("bias")
    assert weight is not None
    return call.append(_linear(weight, bias), call.value())


def convolution(call: TorchCall) -> Term:
    """Convolution in one dimension or two, by numbers of padding or 'same' and 'valid'."""
    weight, bias = call.array("weight"), call.array("bias")
    assert weight is not None
    kernel = weight.shape[2:]
    value = call.value()
    if call.arguments.get("transposed") or len(kernel) not in (1, 2):
        raise call.unsupported("only one dimension or two")
    image = _as_image(call, value, len(kernel))
    flat = len(kernel) == 1
    dilation = _spatial(call, "dilation", flat, 1)
    layer = g.ConvolutionLayer(
        weight[:, :, None] if flat else weight,
        np.zeros(len(weight)) if bias is None else bias,
        _spatial(call, "stride", flat, 1),
        _padding(call, (1, *kernel) if flat else kernel, dilation, flat),
        dilation,
        int(call.arguments["groups"]),
    )
    return _from_image(call, call.append(layer, image), flat)


def transposed_convolution(call: TorchCall) -> Term:
    """Transposed convolution in one dimension or two.

    It is the convolution of the image, with zeros between its pixels and around them, by the
    kernel turned around.
    """
    weight, bias = call.array("weight"), call.array("bias")
    assert weight is not None
    flat = weight.ndim == 3
    weight = weight[:, :, None] if flat else weight
    groups, kernel = int(call.arguments["groups"]), weight.shape[2:]
    if len(kernel) != 2:
        raise call.unsupported("only one dimension or two")
    image = _as_image(call, call.value(), 1 if flat else 2)
    stride, dilation = (_spatial(call, name, flat, 1) for name in ("stride", "dilation"))
    padding, longer = (_spatial(call, name, flat, 0) for name in ("padding", "output_padding"))
    indices = np.arange(math.prod(call.trace.shape(image))).reshape(call.trace.shape(image))
    for axis in range(2):
        reach = dilation[axis] * (kernel[axis] - 1) - padding[axis]
        indices = _widened(indices, axis + 1, stride[axis], reach, reach + longer[axis])
    # Torch has the channels of the input first.
    of_groups = weight.reshape(groups, -1, *weight.shape[1:]).swapaxes(1, 2)
    turned = of_groups.reshape(-1, *of_groups.shape[2:])[:, :, ::-1, ::-1]
    shift = np.zeros(len(turned)) if bias is None else bias
    layer = g.ConvolutionLayer(turned, shift, dilation=dilation, groups=groups)
    wide = call.append(g.Rearrange(indices.ravel(), indices.shape), image)
    return _from_image(call, call.append(layer, wide), flat)


def batch_norm(call: TorchCall) -> Term:
    """(input - mean) / sqrt(variance + eps) * weight + bias, each per channel."""
    if call.arguments.get("training"):
        raise call.unsupported("statistics of the batch")
    mean, variance = call.array("running_mean"), call.array("running_var")
    if mean is None or variance is None:
        raise call.unsupported("statistics of the batch")
    spread = variance + call.number("eps")
    if spread.min() <= 0:
        raise InvalidArgumentError(
            f"cannot read layer {call.layer!r}: expected variances of batch norm above 0, got one "
            f"of {variance.min():g}; train the network again"
        )
    weight, bias = call.array("weight"), call.array("bias")
    scale = 1.0 / np.sqrt(spread)
    scale = scale if weight is None else scale * weight
    shift = -mean * scale if bias is None else bias - mean * scale
    value = call.value()
    along = (-1,) + (1,) * (len(call.trace.shape(value)) - 1)
    return call.append(g.Affine(scale.reshape(along), shift.reshape(along)), value)


def average_pool(call: TorchCall) -> Term:
    """Means over windows."""
    flat = call.name.endswith("1d")
    value = call.value()
    kernel = _spatial(call, "kernel_size", flat, 1)
    stride = _spatial(call, "stride", flat, 1) if call.arguments["stride"] else kernel
    low, right = _spatial(call, "padding", flat, 0)
    sizes = call.trace.shape(_as_image(call, value, 1 if flat else 2))[1:]
    whole = all(
        (size + 2 * pad - width) % step == 0
        for size, pad, width, step in zip(sizes, (low, right), kernel, stride, strict=True)
    )
    if call.arguments.get("divisor_override") or (call.arguments["ceil_mode"] and not whole):
        return spatial_map(call)
    sides = ((low, low), (right, right))
    pool = g.AveragePool(kernel, stride, sides, bool(call.arguments["count_include_pad"]))
    image = _as_image(call, value, 1 if flat else 2)
    return _from_image(call, call.append(pool, image), flat)


def adaptive_average_pool(call: TorchCall) -> Term:
    """Means over a number of windows; windows of one size are an average pool."""
    flat = call.name.endswith("1d")
    image = _as_image(call, call.value(), 1 if flat else 2)
    sizes = call.trace.shape(image)[1:]
    counts = _spatial(call, "output_size", flat, 1)
    if 0 in counts:
        raise call.unsupported("no windows", "ask for an output size of at least 1")
    if any(size % count for size, count in zip(sizes, counts, strict=True)):
        return spatial_map(call)
    window = (sizes[0] // counts[0], sizes[1] // counts[1])
    return _from_image(call, call.append(g.AveragePool(window, window), image), flat)


def mean(call: TorchCall) -> Term:
    """The mean over some axes."""
    return reduced(call, call.value(), 1.0 / _elements(call))


def total_of_terms(call: TorchCall) -> Term:
    """The sum over some axes."""
    _elements(call)
    return reduced(call, call.value(), 1.0)


def _elements(call: TorchCall) -> int:
    """How many elements are reduced to one."""
    shape = call.trace.shape(call.value())
    count = math.prod(shape[axis] for axis in reduced_axes(call))
    if not count:
        raise call.unsupported("a sum or mean of no elements", "leave it out")
    return count


def running_total(call: TorchCall) -> Term:
    """Of each number the sum with all before it along an axis."""
    value, (axis,) = call.value(), reduced_axes(call)
    last = moved_axis(call, value, axis, -1)
    size = call.trace.shape(value)[axis]
    sums = call.append(_linear(np.tril(np.ones((size, size))), None), last)
    return moved_axis(call, sums, -1, axis)


def spatial_map(call: TorchCall) -> Term:
    """Any linear map of a channel's pixels, found by running it on each pixel alone."""
    import torch  # noqa: PLC0415

    value = call.value()
    channels, *sizes = call.trace.shape(value)
    pixels = math.prod(sizes)
    ones = torch.eye(pixels, dtype=torch.float64).reshape(pixels, 1, *sizes)
    first = next(iter(call.arguments))
    images = call.function(**{**call.arguments, first: ones})
    matrix = images.reshape(pixels, -1).numpy().T
    flat = call.reshaped(value, (channels, pixels))
    result = call.append(_linear(np.array(matrix), None), flat)
    return call.reshaped(result, (channels, *images.shape[2:]))


def resized(call: TorchCall) -> Term:
    """Pixels between pixels, which torch computes along one axis after another."""
    value, first = call.value(), next(iter(call.arguments))
    for axis in range(1, len(call.trace.shape(value))):
        last = moved_axis(call, value, axis, -1)
        sums = call.append(_linear(_interpolation(call, first, axis), None), last)
        value = moved_axis(call, sums, -1, axis)
    return value


def _interpolation(call: TorchCall, first: str, axis: int) -> g.Array:
    """The matrix of an interpolation along one axis, whose rows add up to 1."""
    import torch  # noqa: PLC0415

    _, *sizes = call.trace.shape(call.value())
    places = [-1 if number == axis else 1 for number in range(1, len(sizes) + 1)]
    ones = torch.eye(sizes[axis - 1], dtype=torch.float64)
    lines = ones.reshape(len(ones), 1, *places).expand(-1, 1, *sizes)
    found = call.function(**{**call.arguments, first: lines})[:, 0].movedim(axis, 1)
    return np.array(found.flatten(2)[:, :, 0].numpy().T)


def overlapped(call: TorchCall) -> Term:
    """Patches put side by side, and summed where they overlap."""
    import torch  # noqa: PLC0415

    value = call.value()
    rows, count = call.trace.shape(value)
    size = math.prod(call.numbers("kernel_size", 2))
    patches = size * count
    ones = torch.eye(patches, dtype=torch.float64).reshape(patches, size, count)
    first = next(iter(call.arguments))
    images = call.function(**{**call.arguments, first: ones})[:, 0]
    flat = call.reshaped(value, (rows // size, patches))
    matrix = images.reshape(patches, -1).numpy().T
    result = call.append(_linear(np.array(matrix), None), flat)
    return call.reshaped(result, (rows // size, *images.shape[1:]))


def _linear(weight: g.Array, bias: g.Array | None) -> g.LinearLayer:
    return g.LinearLayer(weight, np.zeros(len(weight)) if bias is None else bias)


def reduced_axes(call: TorchCall) -> tuple[int, ...]:
    """The axes that a reduction takes, counted without the batch."""
    axes = len(call.trace.shape(call.value())) + 1
    asked = call.arguments.get("dim")
    if not asked:
        raise call.unsupported("a reduction over the batch", "name the other axes")
    taken = sorted({int(axis) % axes for axis in ([asked] if isinstance(asked, int) else asked)})
    if taken[0] == 0:
        raise call.unsupported("a reduction over the batch", BATCH_FIRST)
    return tuple(axis - 1 for axis in taken)


def reduced(call: TorchCall, value: Term, factor: float) -> Term:
    """The sum over axes, times a factor: a linear map of those axes, brought to the end."""
    shape = call.trace.shape(value)
    taken = reduced_axes(call)
    left = [axis for axis in range(len(shape)) if axis not in taken]
    count = math.prod(shape[axis] for axis in taken)
    order = np.arange(math.prod(shape)).reshape(shape).transpose(*left, *taken)
    lead = tuple(shape[axis] for axis in left)
    together = call.append(g.Rearrange(order.ravel(), (*lead, count)), value)
    sums = call.append(_linear(np.full((1, count), factor), None), together)
    ones = tuple(1 if axis in taken else size for axis, size in enumerate(shape))
    return call.reshaped(sums, ones if call.arguments["keepdim"] else lead)


def moved_axis(call: TorchCall, value: Term, source: int, target: int) -> Term:
    """A value with an axis in another place, counted without the batch."""
    shape = call.trace.shape(value)
    numbers = np.moveaxis(np.arange(math.prod(shape)).reshape(shape), source, target)
    if numbers.shape == shape and np.all(np.diff(numbers.ravel()) == 1):
        return value
    return call.append(g.Rearrange(numbers.ravel(), numbers.shape), value)


def _widened(
    indices: NDArray[np.int64], axis: int, stride: int, before: int, after: int
) -> NDArray[np.int64]:
    """Elements with zeros between them, and so many around; fewer than none are cut off."""
    size = stride * (indices.shape[axis] - 1) + 1
    places = np.arange(-before, size + after)
    inside = (places >= 0) & (places < size) & (places % stride == 0)
    taken = np.take(indices, np.where(inside, places, 0) // stride, axis=axis)
    return np.where(np.expand_dims(inside, [each for each in range(3) if each != axis]), taken, -1)


def image_shape(call: TorchCall, value: Term, dimensions: int) -> g.Shape:
    """Channels and sizes of an image, which has so many dimensions.

    Raises:
        UnsupportedLayerError: It has more or fewer.
    """
    shape = call.trace.shape(value)
    if len(shape) != dimensions + 1:
        raise call.unsupported(f"a batch of shape (batch, {', '.join(map(str, shape))})")
    return shape


def _as_image(call: TorchCall, value: Term, dimensions: int) -> Term:
    shape = image_shape(call, value, dimensions)
    return call.reshaped(value, (shape[0], 1, shape[1])) if dimensions == 1 else value


def _from_image(call: TorchCall, image: Term, flat: bool) -> Term:
    channels, _, width = call.trace.shape(image)
    return call.reshaped(image, (channels, width)) if flat else image


def _spatial(call: TorchCall, argument: str, flat: bool, upright: int) -> g.Pair:
    """An argument for down and to the right; of one dimension, `upright` stands for down."""
    down, right = call.pair(argument)
    return (upright if flat else down), right


def _padding(call: TorchCall, kernel: tuple[int, ...], dilation: g.Pair, flat: bool) -> g.Sides:
    if call.arguments["padding"] == "valid":
        return ((0, 0), (0, 0))
    if call.arguments["padding"] == "same":
        above, left = (spread * (width - 1) for width, spread in zip(kernel, dilation, strict=True))
        return ((above // 2, above - above // 2), (left // 2, left - left // 2))
    down, right = _spatial(call, "padding", flat, 0)
    return ((down, down), (right, right))
