"""Torch's operations that pick the larger of numbers, read as ReLU of differences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.nn import arithmetic
from cloakwork.frontends.nn.call import TorchCall, array_of
from cloakwork.frontends.nn.layers import image_shape, reduced_axes
from cloakwork.frontends.nn.quotients import NEXT_TO_ZERO, is_root
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g

# How hardsigmoid rises from 0 to 1.
_HARD_SLOPE, _HARD_MIDDLE = 1.0 / 6.0, 0.5


def rectified(call: TorchCall, value: Term) -> Term:
    """The larger of a value and 0."""
    return call.append(g.Activation("relu"), value)


def absolute(call: TorchCall) -> Term:
    """|self| = 2 relu(self) - self."""
    value = call.value()
    twice = call.trace.scaled(call.layer, rectified(call, value), 2.0, 0.0)
    return _minus(call, twice, value)


def maximum(call: TorchCall) -> Term:
    """The larger of self and other: other + relu(self - other)."""
    return _larger(call, call.arguments["self"], call.arguments["other"])


def minimum(call: TorchCall) -> Term:
    """The smaller of self and other: self - relu(self - other)."""
    left, right = call.arguments["self"], call.arguments["other"]
    if not isinstance(left, Term):
        left, right = right, left
    if _is_everywhere(np.inf, right):
        return _spread_as(call, left, right)
    above = rectified(call, arithmetic.sum_of(call, left, right, -1.0))
    return _minus(call, left, above)


def clamped(call: TorchCall) -> Term:
    """self, but no lower than one number and no higher than another."""
    low, high = (_end(call, *names) for names in (("min", "min_val"), ("max", "max_val")))
    return _between(call, call.value(), low, high)


def relu6(call: TorchCall) -> Term:
    """self, but no lower than 0 and no higher than 6."""
    return _between(call, call.value(), 0.0, 6.0)


def hard_sigmoid(call: TorchCall) -> Term:
    """self / 6 + 1/2, but no lower than 0 and no higher than 1."""
    line = call.trace.scaled(call.layer, call.value(), _HARD_SLOPE, _HARD_MIDDLE)
    return _between(call, line, 0.0, 1.0)


def hard_swish(call: TorchCall) -> Term:
    """self * hardsigmoid(self)."""
    return call.trace.product(call.layer, call.value(), hard_sigmoid(call))


def soft_shrink(call: TorchCall) -> Term:
    """self brought nearer to 0 by a number, and 0 where it was nearer."""
    value, width = call.value(), call.number("lambd")
    above = rectified(call, call.trace.scaled(call.layer, value, 1.0, -width))
    below = rectified(call, call.trace.scaled(call.layer, value, -1.0, -width))
    return _minus(call, above, below)


def max_pool(call: TorchCall) -> Term:
    """The largest number in each window."""
    value = call.value()
    axes = int(call.name[-2])
    channels, *sizes = image_shape(call, value, axes)
    kernel = _numbers(call, "kernel_size", axes)
    stride = _numbers(call, "stride", axes) if call.arguments["stride"] else kernel
    padding = _numbers(call, "padding", axes)
    dilation = _numbers(call, "dilation", axes)
    counts = _windows(call, value)
    starts = [
        np.arange(count) * step - pad
        for count, step, pad in zip(counts, stride, padding, strict=True)
    ]
    taken = [
        _within(begin[:, None] + spread * np.arange(width), size)
        for begin, spread, width, size in zip(starts, dilation, kernel, sizes, strict=True)
    ]
    return _largest_in(call, value, channels, sizes, taken)


def adaptive_max_pool(call: TorchCall) -> list[Any]:
    """The largest number in each of some windows; torch's second result, their places, is none."""
    value = call.value()
    channels, *sizes = image_shape(call, value, 1 if call.name.endswith("1d") else 2)
    counts = _numbers(call, "output_size", len(sizes))
    if 0 in counts:
        raise call.unsupported("no windows", "ask for an output size of at least 1")
    taken = [_shares(size, count) for size, count in zip(sizes, counts, strict=True)]
    return [_largest_in(call, value, channels, sizes, taken)]


def largest_of_axis(call: TorchCall) -> Term | list[Any]:
    """The larger of two, or the largest along an axis; of these, the places are no result."""
    if "other" in call.arguments:
        return maximum(call)
    return [largest_over_axes(call)]


def smallest(call: TorchCall) -> Term | list[Any]:
    """The smaller of two, or the smallest along an axis; of these, the places are no result."""
    if "other" in call.arguments:
        return minimum(call)
    return [smallest_over_axes(call)]


def smallest_over_axes(call: TorchCall) -> Term:
    """The smallest number along some axes."""
    found = _over_axes(call, call.trace.scaled(call.layer, call.value(), -1.0, 0.0))
    return call.trace.scaled(call.layer, found, -1.0, 0.0)


def largest_over_axes(call: TorchCall) -> Term:
    """The largest number along some axes."""
    return _over_axes(call, call.value())


def _over_axes(call: TorchCall, value: Term) -> Term:
    """The largest number of a value along the axes that are asked for."""
    shape = call.trace.shape(value)
    taken = reduced_axes(call)
    left = [axis for axis in range(len(shape)) if axis not in taken]
    numbers = np.arange(math.prod(shape)).reshape(shape).transpose(*taken, *left)
    lead = tuple(shape[axis] for axis in left)
    found = _tournament(call, value, numbers.reshape(-1, *lead))
    ones = tuple(1 if axis in taken else size for axis, size in enumerate(shape))
    return call.reshaped(found, ones if call.arguments["keepdim"] else lead)


def _end(call: TorchCall, *names: str) -> float | None:
    """One end of a range, under either of torch's names."""
    name = next((name for name in names if call.arguments.get(name) is not None), None)
    return None if name is None else call.number(name)


def _between(call: TorchCall, value: Term, low: float | None, high: float | None) -> Term:
    """A value, but no lower than one number and no higher than another, which wins."""
    if high is not None:
        low = None if low is None else min(low, high)
        above = rectified(call, call.trace.scaled(call.layer, value, 1.0, -high))
        rest = value if low is None else _at_least(call, value, low)
        return _minus(call, rest, above)
    return value if low is None else _at_least(call, value, low)


def _at_least(call: TorchCall, value: Term, low: float) -> Term:
    if low <= NEXT_TO_ZERO and is_root(call, value):
        return value
    above = rectified(call, call.trace.scaled(call.layer, value, 1.0, -low))
    return call.trace.scaled(call.layer, above, 1.0, low)


def _minus(call: TorchCall, left: Term, right: Term) -> Term:
    return call.trace.sum(call.layer, left, call.trace.scaled(call.layer, right, -1.0, 0.0))


def _larger(call: TorchCall, left: Any, right: Any) -> Term:
    """The larger of two, of which at least one is of the network."""
    if not isinstance(left, Term):
        left, right = right, left
    if _is_everywhere(-np.inf, right):
        return _spread_as(call, left, right)
    above = rectified(call, arithmetic.sum_of(call, left, right, -1.0))
    return arithmetic.sum_of(call, above, right, 1.0)


def _is_everywhere(end: float, operand: Any) -> bool:
    """Whether an operand is known and an end of all numbers, with which a maximum may begin."""
    return not isinstance(operand, Term) and bool((array_of(operand) == end).all())


def _spread_as(call: TorchCall, value: Term, like: Any) -> Term:
    """A value in the shape of a sum with known numbers."""
    return arithmetic.sum_of(call, value, np.zeros(array_of(like).shape), 1.0)


def _numbers(call: TorchCall, argument: str, axes: int) -> tuple[int, ...]:
    return call.numbers(argument, axes)


def _windows(call: TorchCall, value: Term) -> g.Shape:
    """How many windows there are along each axis, as torch has them."""
    import torch  # noqa: PLC0415

    first = next(iter(call.arguments))
    image = torch.zeros((1, *call.trace.shape(value)), dtype=torch.float64)
    return tuple(call.function(**{**call.arguments, first: image}).shape[2:])


def _within(positions: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Positions of each window, those beside the image replaced by one that is in it."""
    inside = (positions >= 0) & (positions < size)
    first = np.take_along_axis(positions, inside.argmax(axis=1)[:, None], axis=1)
    return np.where(inside, positions, first)


def _shares(size: int, count: int) -> NDArray[np.int64]:
    """The positions in each of some windows that cover an axis; the last repeats in short ones."""
    windows = np.arange(count)
    starts, ends = windows * size // count, -(-(windows + 1) * size // count)
    reach = np.arange((ends - starts).max())
    return np.minimum(starts[:, None] + reach, ends[:, None] - 1)


def _largest_in(
    call: TorchCall,
    value: Term,
    channels: int,
    sizes: Sequence[int],
    taken: Sequence[NDArray[np.int64]],
) -> Term:
    """The largest number of each window, its positions along each axis given."""
    numbers = np.arange(channels * math.prod(sizes)).reshape(channels, *sizes)
    windows: list[NDArray[np.int64]] = []
    for place in product(*(range(axis.shape[1]) for axis in taken)):
        positions = (axis[:, at] for axis, at in zip(taken, place, strict=True))
        windows.append(numbers[np.ix_(np.arange(channels), *positions)])
    return _tournament(call, value, np.stack(windows))


def _tournament(call: TorchCall, value: Term, numbers: NDArray[np.int64]) -> Term:
    """The largest along the first axis of a value's elements, given by their numbers.

    Half of them meet the other half; where they are odd in number, one meets itself.
    """
    found = call.append(g.Rearrange(numbers.ravel(), numbers.shape), value)
    while len(numbers) > 1:
        half = (len(numbers) + 1) // 2
        numbers = np.arange(numbers.size).reshape(numbers.shape)
        left, right = (
            call.append(g.Rearrange(each.ravel(), each.shape), found)
            for each in (numbers[:half], numbers[-half:])
        )
        found, numbers = _larger(call, left, right), numbers[:half]
    return call.reshaped(found, numbers.shape[1:])
