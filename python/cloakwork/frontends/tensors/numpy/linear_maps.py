"""Functions of numpy that are linear: products with the matrix that numpy makes of an identity."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import integer, shown
from cloakwork.base.arrays import real_array
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError
from cloakwork.frontends.tensors.clear_operands import clear_operand
from cloakwork.frontends.tensors.einsum import einsum
from cloakwork.frontends.tensors.methods import (
    TensorMethods,
    as_operand,
    axes_of,
    axis_number,
    refuse_of_truths,
    refuse_sums_of_truths,
)
from cloakwork.frontends.tensors.numpy.assembling import concatenated, padded
from cloakwork.frontends.tensors.numpy.rearranging import asked, require_clear

_MOST_SPACED = 1 << 16


def along(x: Any, axis: Any, name: str, function: Callable[[NDArray[np.float64]], Any]) -> Any:
    """What a linear function makes of each vector along an axis: a vector, or a number."""
    place = axis_number(axis, x.ndim, name)
    matrix = np.asarray(asked(name, lambda: function(np.eye(x.shape[place]))), dtype=np.float64)
    if not matrix.size:
        raise ShapeMismatchError(f"cannot {name} a tensor of shape {x.shape}: nothing is left")
    axes, new = [*range(x.ndim)], x.ndim
    output = [new if each == place else each for each in axes]
    if matrix.ndim == 1:
        return einsum(x, axes, matrix, [place], [each for each in axes if each != place])
    return einsum(x, axes, matrix, [new, place], output)


def running_sums(a: Any, axis: Any = None, include_initial: bool = False) -> Any:
    """Sums of all elements so far, as `numpy.cumsum`; from 0 on, if that is included."""
    read = 1.0 * (a.reshape(-1) if axis is None else a)
    above = 1 if include_initial else 0

    def summed(identity: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.pad(np.cumsum(identity, axis=0), [(above, 0), (0, 0)])

    return along(read, 0 if axis is None else axis, "cumsum", summed)


def running_sums_of_vector(x: Any, axis: Any = None, include_initial: bool = False) -> Any:
    """The same as `numpy.cumulative_sum`, which asks for the axis of several.

    Raises:
        InvalidArgumentError: There are several axes, and none is given.
    """
    if axis is None and x.ndim != 1:
        raise InvalidArgumentError(
            f"cannot sum cumulatively: expected an axis, as the tensor has {x.ndim}; give one"
        )
    return running_sums(x, axis, include_initial)


def differences(a: Any, n: Any = 1, axis: Any = -1, prepend: Any = None, append: Any = None) -> Any:
    """Differences of neighbours, n times, as `numpy.diff`."""
    refuse_of_truths("numpy.diff", a)
    # numpy joins nothing then.
    if isinstance(n, Integral) and n == 0:
        return a
    ends = [_end_of_axis(each, a, axis) for each in (prepend, append)]
    parts = [*(ends[:1] if prepend is not None else []), a]
    parts += ends[1:] if append is not None else []
    joined = a if len(parts) == 1 else concatenated(parts, axis)
    return along(joined, axis, "diff", lambda identity: np.diff(identity, n, axis=0))


def _end_of_axis(value: Any, a: Any, axis: Any) -> Any:
    if value is None:
        return None
    read = as_operand(value, "diff")
    if read.ndim:
        return read
    place = axis_number(axis, a.ndim, "diff")
    shape = (*a.shape[:place], 1, *a.shape[place + 1 :])
    return np.broadcast_to(read, shape)


def differences_between(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """Differences of neighbours with others around them, as `numpy.ediff1d`."""
    made = differences(ary.reshape(-1))
    around = [
        as_operand(each, "ediff1d").reshape(-1) for each in (to_begin, to_end) if each is not None
    ]
    if not around:
        return made
    before = around[:1] if to_begin is not None else []
    return concatenated([*before, made, *around[len(before) :]])


def slopes(f: Any, *varargs: Any, axis: Any = None, edge_order: Any = 1) -> Any:
    """Second-order differences along axes, as `numpy.gradient`.

    Raises:
        InvalidArgumentError: Spacings are neither none, one, nor one for each axis.
    """
    require_clear("gradient", *varargs)
    refuse_of_truths("numpy.gradient", f)
    several = axis if isinstance(axis, tuple | list) else (axis,)
    places = (
        range(f.ndim) if axis is None else [axis_number(e, f.ndim, "gradient") for e in several]
    )
    spacings = varargs or (1.0,)
    if len(spacings) == 1 and np.ndim(spacings[0]) == 0:
        spacings *= len(places)
    if len(spacings) != len(places):
        raise InvalidArgumentError(
            f"cannot compute numpy.gradient: expected one spacing, or one for each of "
            f"{len(places)} axes, got {len(spacings)}"
        )
    made = tuple(
        _slope(f, place, by, edge_order) for place, by in zip(places, spacings, strict=True)
    )
    return made[0] if len(made) == 1 else made


def _slope(f: Any, axis: int, by: Any, edge_order: Any) -> Any:
    def of_identity(identity: NDArray[np.float64]) -> Any:
        return np.gradient(identity, by, axis=0, edge_order=edge_order)

    return along(f, axis, "gradient", of_identity)


def trapezoids(y: Any, x: Any = None, dx: Any = 1.0, axis: Any = -1) -> Any:
    """The integral along an axis by trapezoids, as `numpy.trapezoid`, of known places."""
    require_clear("trapezoid", x, dx)
    refuse_of_truths("numpy.trapezoid", y)
    if x is not None and np.ndim(x) != 1:
        raise ShapeMismatchError(
            f"cannot compute numpy.trapezoid: expected places x along one axis, got {shown(x)}"
        )

    def weights(identity: NDArray[np.float64]) -> NDArray[np.float64]:
        steps = np.diff(real_array(x, "trapezoid")) if x is not None else dx
        halves = np.broadcast_to(steps, (len(identity) - 1,)) / 2
        return np.pad(halves, (0, 1)) + np.pad(halves, (1, 0))

    return along(y, axis, "trapezoid", weights)


def weighted_mean(a: Any, axis: Any = None, weights: Any = None, keepdims: bool = False) -> Any:
    """The mean by known weights, as `numpy.average`.

    Raises:
        ShapeMismatchError: The weights fit neither the tensor nor the axes.
        InvalidArgumentError: The weights add up to 0.
    """
    require_clear("average", weights)
    if weights is None:
        return a.mean(axis, keepdims=keepdims)
    each = clear_operand(weights, "average")
    if each.shape != a.shape:
        # numpy has weights of axes in the order in which these are given.
        several = axis if isinstance(axis, tuple) else (axis,)
        places = [] if axis is None else [axis_number(one, a.ndim, "average") for one in several]
        if each.shape != tuple(a.shape[place] for place in places):
            raise ShapeMismatchError(
                f"cannot average: expected weights of the tensor's shape {a.shape}, or of the axes "
                f"averaged over, got the shape {each.shape}"
            )
        each = each.transpose(np.argsort(places))
        each = each.reshape([size if n in places else 1 for n, size in enumerate(a.shape)])
    gone = tuple(sorted(axes_of(axis, a.ndim, "average")))
    total = np.broadcast_to(each, a.shape).sum(gone, keepdims=True)
    if not total.all():
        raise InvalidArgumentError("cannot average: expected weights that do not add up to 0")
    return (a * (each / total)).sum(gone, keepdims=keepdims)


def between_places(x: Any, xp: Any, fp: Any, period: Any = None) -> Any:
    """Encrypted values at known places between known places, as `numpy.interp`."""
    require_clear("interp", x, xp, period)
    if fp.ndim != 1:
        raise ShapeMismatchError(f"cannot interp: expected a vector of values, got {fp.shape}")
    at = real_array(x, "interp")

    def columns(identity: NDArray[np.float64]) -> NDArray[np.float64]:
        found = [np.interp(at.reshape(-1), xp, row, period=period) for row in identity]
        return np.stack(found, axis=1)

    return along(1.0 * fp, 0, "interp", columns).reshape(at.shape)


def spaced(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, axis: Any = 0) -> Any:
    """Evenly spaced numbers between two ends, as `numpy.linspace`."""
    start, stop = as_operand(start, "linspace"), as_operand(stop, "linspace")
    count = integer(num, "num", "linspace", least=1, most=_MOST_SPACED)
    ends = np.broadcast_arrays(start, stop)
    parts = np.linspace(0.0, 1.0, count, endpoint=endpoint).reshape(-1, *(1,) * ends[0].ndim)
    made = ends[0] * (1.0 - parts) + ends[1] * parts
    return np.moveaxis(made, 0, axis_number(axis, made.ndim, "linspace"))


def fitted(x: Any, y: Any, deg: Any, w: Any = None) -> Any:
    """The coefficients of least squares at known places, as `numpy.polyfit`."""
    require_clear("polyfit", x, deg, w)
    return along(1.0 * y, 0, "polyfit", lambda identity: np.polyfit(x, identity, deg, w=w))


def convolved(a: Any, v: Any, mode: str = "full") -> Any:
    """The convolution of two vectors, one or both encrypted, as `numpy.convolve`."""
    return _slid(np.convolve, a, v, mode)


def correlated(a: Any, v: Any, mode: str = "valid") -> Any:
    """The correlation of two vectors, one or both encrypted, as `numpy.correlate`."""
    return _slid(np.correlate, a, v, mode)


def _slid(function: Any, a: Any, v: Any, mode: str) -> Any:
    name = function.__name__
    refuse_sums_of_truths(name, a, v)
    a, v = (np.atleast_1d(as_operand(each, name)) for each in (a, v))
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise ShapeMismatchError(
            f"cannot {name}: expected two vectors with elements, got {a.shape} and {v.shape}"
        )
    if not isinstance(v, TensorMethods):
        return along(
            a, 0, name, lambda identity: _columns(identity, lambda e: function(e, v, mode))
        )
    if not isinstance(a, TensorMethods):
        return along(
            v, 0, name, lambda identity: _columns(identity, lambda e: function(a, e, mode))
        )
    return _slid_encrypted(function, a, v, mode)


def _columns(identity: NDArray[np.float64], of: Callable[..., Any]) -> NDArray[np.float64]:
    return np.stack([of(row) for row in identity], axis=1)


def _slid_encrypted(function: Any, a: Any, v: Any, mode: str) -> Any:
    """One vector times the matrix whose rows are windows of the other, zeros around it."""
    # Which element of v, from 1 on, each element of a is multiplied by for each result; 0 for none.
    units, places = np.eye(a.size), np.arange(1.0, v.size + 1)
    meets = asked(function.__name__, lambda: _columns(units, lambda e: function(e, places, mode)))
    return padded(v, (1, 0))[np.rint(meets).astype(np.int64)] @ a
