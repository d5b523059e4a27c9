"""Torch's layers of three dimensions, by those of two: depths stand beside one another."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.nn.call import TorchCall
from cloakwork.frontends.nn.layers import image_shape, spatial_map
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g


def convolution(call: TorchCall) -> Term:
    """Convolution in three dimensions.

    What the kernel meets at one depth of the result is an image with the kernel's depths among its
    channels; all depths of the result are groups of one convolution.
    """
    weight, bias = call.array("weight"), call.array("bias")
    assert weight is not None
    value = call.value()
    shape = image_shape(call, value, 3)
    if isinstance(call.arguments["padding"], str):
        raise call.unsupported("padding by a word", "give padding by numbers")
    (step, *stride), (zeros, *sides), (spread, *dilation) = (
        call.numbers(name, 3) for name in ("stride", "padding", "dilation")
    )
    groups, made = int(call.arguments["groups"]), len(weight)
    numbers = _met(shape, groups, weight.shape[2], step, zeros, spread)
    depths = len(numbers)
    images = numbers.reshape(-1, *shape[2:])
    wide = call.append(g.Rearrange(images.ravel(), images.shape), value)
    # (out, in / groups, depths, height, width), as the channels of an image lie.
    flat = weight.reshape(made, -1, *weight.shape[3:])
    shift = np.zeros(made) if bias is None else bias
    layer = g.ConvolutionLayer(
        np.tile(flat, (depths, 1, 1, 1)),
        np.tile(shift, depths),
        (stride[0], stride[1]),
        ((sides[0], sides[0]), (sides[1], sides[1])),
        (dilation[0], dilation[1]),
        groups * depths,
    )
    found = call.append(layer, wide)
    _, *sizes = call.trace.shape(found)
    order = np.arange(depths * made * math.prod(sizes)).reshape(depths, made, *sizes)
    turned = order.swapaxes(0, 1)
    return call.append(g.Rearrange(turned.ravel(), turned.shape), found)


def average_pool(call: TorchCall) -> Term:
    """Means over windows, each a sum of pixels."""
    image_shape(call, call.value(), 3)
    return spatial_map(call)


def _met(
    shape: g.Shape, groups: int, width: int, stride: int, padding: int, dilation: int
) -> NDArray[np.int64]:
    """For each depth of a result the elements that a kernel meets, -1 outside of the volume.

    Returns:
        (depths, channels, depths of the kernel, height, width), the channels by groups.
    """
    channels, depth, height, breadth = shape
    count = (depth + 2 * padding - dilation * (width - 1) - 1) // stride + 1
    places = (np.arange(count) * stride - padding)[:, None] + dilation * np.arange(width)
    numbers = np.arange(math.prod(shape)).reshape(channels, depth, height, breadth)
    inside = (places >= 0) & (places < depth)
    taken = numbers[:, np.where(inside, places, 0)]
    outside = np.where(inside[None, :, :, None, None], taken, -1)
    return outside.transpose(1, 0, 2, 3, 4).reshape(
        count, groups, channels // groups, width, height, breadth
    )
