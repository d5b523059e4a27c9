"""numpy's functions that fold an axis by a function of two: extremes, products, any and all."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from cloakwork.errors import UnsupportedOperationError
from cloakwork.frontends.tensors.methods import axes_of, axis_number, is_truths
from cloakwork.frontends.tensors.numpy.assembling import concatenated, larger, padded, smaller


def largest(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest elements along axes, as `numpy.max`: halves are compared until one is left."""
    return _folded(a, axis, keepdims, larger, "max")


def smallest(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest elements along axes, as `numpy.min`."""
    return _folded(a, axis, keepdims, smaller, "min")


def spread(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest less the smallest elements along axes, as `numpy.ptp`."""
    numbers = 1.0 * a
    return largest(numbers, axis, keepdims) - smallest(numbers, axis, keepdims)


def any_of(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether one of several comparisons holds, as `numpy.any`."""
    return _folded(_truths(a, "any"), axis, keepdims, lambda x, y: x | y, "any")


def all_of(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all of several comparisons hold, as `numpy.all`."""
    return _folded(_truths(a, "all"), axis, keepdims, lambda x, y: x & y, "all")


def count_of_truths(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many comparisons hold, as `numpy.count_nonzero`."""
    return _truths(a, "count_nonzero").sum(axis, keepdims=keepdims)


def product(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The products of elements along axes, as `numpy.prod`."""
    count = math.prod(a.shape[each] for each in axes_of(axis, a.ndim, "prod"))
    return _folded(1.0 * a, axis, keepdims, lambda x, y: x * y, "prod", filled=_filled_up(count))


def running_products(a: Any, axis: Any = None) -> Any:
    """Products of all elements so far, as `numpy.cumprod`, at as many levels as doublings."""
    made = 1.0 * (a.reshape(-1) if axis is None else a)
    place = axis_number(0 if axis is None else axis, made.ndim, "cumprod")
    before, step = (slice(None),) * place, 1
    while step < made.shape[place]:
        start, rest = made[(*before, slice(step))], made[(*before, slice(step, None))]
        earlier = made[(*before, slice(-step))]
        made = concatenated([start, rest * earlier], place)
        step *= 2
    return made


def running_products_of_vector(x: Any, axis: Any = None, include_initial: bool = False) -> Any:
    """The same as `numpy.cumulative_prod`, which may begin with 1."""
    place = 0 if axis is None and x.ndim == 1 else axis_number(axis, x.ndim, "cumulative_prod")
    made = running_products(x, place)
    if not include_initial:
        return made
    widths = [(int(number == place), 0) for number in range(x.ndim)]
    return padded(made, widths, constant_values=1.0)


def _filled_up(count: int) -> int:
    """The least power of two that is not less."""
    return 1 << (max(count, 1) - 1).bit_length()


def _folded(
    a: Any,
    axis: Any,
    keepdims: bool,
    pair: Callable[[Any, Any], Any],
    name: str,
    filled: int = 0,
) -> Any:
    """The fold of a function that may meet an element twice, or else once with 1s beside it."""
    gone = sorted(axes_of(axis, a.ndim, name))
    if not gone:
        return a
    kept = [each for each in range(a.ndim) if each not in gone]
    made = a.transpose(kept + gone).reshape([*(a.shape[each] for each in kept), -1])
    if filled > made.shape[-1]:
        widths = [(0, 0)] * len(kept) + [(0, filled - made.shape[-1])]
        made = padded(made, widths, constant_values=1.0)
    while (count := made.shape[-1]) > 1:
        half = -(-count // 2)
        made = pair(made[..., :half], made[..., count - half :])
    left = (1 if each in gone else a.shape[each] for each in range(a.ndim))
    return made.reshape([*left] if keepdims else [a.shape[each] for each in kept])


def _truths(a: Any, name: str) -> Any:
    if not is_truths(a):
        raise UnsupportedOperationError(
            f"cannot compute numpy.{name} of an encrypted tensor: expected comparisons, got "
            f"numbers, and nobody here knows which are 0; write numpy.{name}(x > 0), or "
            f"numpy.{name}(numpy.abs(x) > gap)"
        )
    return a
