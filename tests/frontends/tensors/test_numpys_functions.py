"""numpy's functions of tensors against numpy's of arrays, over ranks 0 to 4, by random calls.

The tables of dispatched functions drive the tests: what is added to them needs arguments here.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import (
    ActivationFitError,
    CloakworkError,
    InvalidArgumentError,
    ShapeMismatchError,
    UnsupportedOperationError,
)
from cloakwork.frontends.tensors.methods import TensorMethods
from cloakwork.frontends.tensors.numpy.complex_tensors import ComplexTensor
from cloakwork.frontends.tensors.numpy.functions import FUNCTIONS, GROUPS
from cloakwork.frontends.tensors.numpy.protocol import UFUNCS
from cloakwork.frontends.tensors.samples import spec_of_samples
from cloakwork.frontends.tensors.tracing import Trace, TracedTensor
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.functions.intervals import of_spec
from cloakwork.plan.functions.observed import MARGIN
from cloakwork.programs.ir.tensors import Source
from tests.thoroughness import part

Array: TypeAlias = NDArray[Any]
# Arguments by position, and by name.
Call: TypeAlias = tuple[list[Any], dict[str, Any]]
Arguments: TypeAlias = Callable[[Generator], Call]


def _is_numpys(name: str) -> bool:
    """Whether the installed numpy has a function; some came with later versions."""
    try:
        return callable(attrgetter(name)(np))
    except AttributeError:
        return False


NAMES = sorted(filter(_is_numpys, UFUNCS.union(FUNCTIONS)))
PRECISION = 10
SESSION = cw.Session(
    depth=40, precision=PRECISION, backend="clear", insecure=True, log_n=8, bound=256
)
_CALLS = -(-2000 // len(NAMES))
_FEWEST = 8
_TRACED = 100
_COMPILED = 4
# Of double rounding.
_ROUNDING = 1e-9


def _known(values: Any) -> Any:
    """Numbers that are always in the clear, as lists, of which no tensor is made."""
    return np.asarray(values).tolist()


def _shape(rng: Generator, ndim: int | None = None) -> tuple[int, ...]:
    """Of mostly 1 to 3, and rarely 0, along each axis."""
    ndim = int(rng.integers(5)) if ndim is None else ndim
    return tuple(int(size) for size in rng.choice((0, 1, 2, 3), ndim, p=(0.02, 0.28, 0.35, 0.35)))


def _fitting(rng: Generator, shape: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that stretches to this one, or more rarely does not."""
    kept = shape[int(rng.integers(len(shape) + 1)) :]
    made = tuple(1 if rng.random() < 0.25 else size for size in kept)
    return _shape(rng) if rng.random() < 0.05 else made


def _numbers(rng: Generator, shape: tuple[int, ...], low: float = -1.0) -> Array:
    """Multiples of 1/2 from an end to 1, so that two compared ones are equal or far apart."""
    return np.asarray(rng.integers(math.ceil(2 * low), 3, shape) / 2)


def _axis(rng: Generator, ndim: int) -> int:
    """An axis, or rarely none that there is."""
    return int(
        rng.integers(-ndim - 1, ndim + 2)
        if rng.random() < 0.1
        else rng.integers(-ndim, max(ndim, 1))
    )


def _axes(rng: Generator, ndim: int) -> int | tuple[int, ...] | None:
    kind = rng.integers(3)
    if kind == 0:
        return None
    if kind == 1:
        return _axis(rng, ndim)
    count = int(rng.integers(ndim + 1))
    return tuple(int(each) - ndim * int(rng.integers(2)) for each in rng.permutation(ndim)[:count])


def _placed(rng: Generator, function: Callable[..., Any], values: Mapping[str, Any]) -> Call:
    """Arguments by position up to a random one, with numpy's defaults between, others by name."""
    parameters = [
        each
        for each in inspect.signature(function).parameters.values()
        if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    least = sum(each.kind is each.POSITIONAL_ONLY for each in parameters)
    most = max(number for number, each in enumerate(parameters) if each.name in values) + 1
    count = int(rng.integers(min(least, most), most + 1))
    given = [values.get(each.name, each.default) for each in parameters[:count]]
    leading = {each.name for each in parameters[:count]}
    return given, {name: value for name, value in values.items() if name not in leading}


def _some(rng: Generator, **values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if rng.random() < 0.5}


def _of_one(low: float = -1.0) -> Callable[[Generator], Call]:
    return lambda rng: ([_numbers(rng, _shape(rng), low)], {})


def _of_two(low: float = -1.0) -> Callable[[Generator], Call]:
    def made(rng: Generator) -> Call:
        shape = _shape(rng)
        both = [_numbers(rng, shape, low), _numbers(rng, _fitting(rng, shape), low)]
        return both if rng.random() < 0.5 else both[::-1], {}

    return made


def _compared(rng: Generator) -> Call:
    [x, y], _ = _of_two()(rng)
    return [x, np.asarray(y + 0.25)], {}


def _truths(count: int) -> Callable[[Generator], Call]:
    def made(rng: Generator) -> Call:
        shape = _shape(rng)
        shapes = [shape, _fitting(rng, shape)][:count]
        return [np.asarray(rng.integers(0, 2, each) == 1) for each in shapes], {}

    return made


def _power(rng: Generator) -> Call:
    x = _numbers(rng, _shape(rng), 0.5)
    return [x, float(rng.choice((-2, -0.5, 0, 0.5, 1, 2, 3)))] if rng.random() < 0.7 else [
        2.0,
        x,
    ], {}


def _products(rng: Generator) -> Call:
    """Operands of matmul, dot and inner, which mostly fit."""
    inner = int(rng.integers(1, 4))
    batch = _shape(rng, int(rng.integers(3)))
    shapes = [
        (*batch, *_shape(rng, int(rng.integers(2))), inner),
        (*_fitting(rng, batch), inner, *_shape(rng, 1)),
        (inner,),
        (*_shape(rng, int(rng.integers(3))), inner),
        (),
    ]
    left, right = (shapes[int(number)] for number in rng.integers(0, len(shapes), 2))
    return [_numbers(rng, left), _numbers(rng, right)], {}


def _clip(rng: Generator) -> Call:
    shape = _shape(rng)
    x = _numbers(rng, shape)
    low = np.asarray(_numbers(rng, _fitting(rng, shape)) - 0.25)
    high = np.asarray(_numbers(rng, _fitting(rng, shape)) + 0.25)
    if rng.random() < 0.5:
        return _placed(rng, np.clip, {"a": x, **_some(rng, min=low, max=high)})
    ends = {"a_min": low, "a_max": high}
    dropped = [None, "a_min", "a_max"][int(rng.integers(3))]
    return _placed(rng, np.clip, {"a": x, **ends, **({dropped: None} if dropped else {})})


def _sums(name: str) -> Callable[[Generator], Call]:
    function = attrgetter(name)(np)

    def made(rng: Generator) -> Call:
        x = _numbers(rng, _shape(rng))
        more = {"ddof": int(rng.integers(2))} if name in ("var", "std") else {}
        options = _some(rng, axis=_axes(rng, x.ndim), keepdims=bool(rng.integers(2)), **more)
        return _placed(rng, function, {"a": x, **options})

    return made


def _trace(rng: Generator) -> Call:
    size = int(rng.integers(1, 4))
    shape = _shape(rng) if rng.random() < 0.2 else (size, size, *_shape(rng, int(rng.integers(3))))
    return _placed(rng, np.trace, {"a": _numbers(rng, shape), **_diagonals(rng, len(shape))})


def _transpose(rng: Generator) -> Call:
    x = _numbers(rng, _shape(rng))
    axes = tuple(map(int, rng.permutation(x.ndim)))
    return _placed(rng, np.transpose, {"a": x, **_some(rng, axes=axes)})


def _reshape(rng: Generator) -> Call:
    x = _numbers(rng, _shape(rng))
    shapes = [(-1,), (x.size,), x.shape[::-1], (1, *x.shape, 1), -1, (2, -1), (x.size + 1,)]
    shape: Any = shapes[int(rng.integers(len(shapes)))]
    return _placed(rng, np.reshape, {"a": x, "shape": shape, **_some(rng, order="C")})


def _ravel(rng: Generator) -> Call:
    return _placed(rng, np.ravel, {"a": _numbers(rng, _shape(rng)), **_some(rng, order="C")})


def _where(rng: Generator) -> Call:
    shape = _shape(rng)
    holds = np.asarray(rng.integers(0, 2, _fitting(rng, shape)) == 1)
    return [holds, _numbers(rng, shape), _numbers(rng, _fitting(rng, shape))], {}


def _concatenate(rng: Generator) -> Call:
    shape = _shape(rng, int(rng.integers(1, 4)))
    axis = _axis(rng, len(shape))
    there = axis % len(shape)
    shapes = [
        (*shape[:there], int(rng.integers(1, 4)), *shape[there + 1 :])
        for _ in range(int(rng.integers(1, 4)))
    ]
    arrays = [_numbers(rng, each) for each in shapes]
    chosen = _some(rng, axis=None if rng.random() < 0.2 else axis)
    return _placed(rng, np.concatenate, {"arrays": arrays, **chosen})


def _stack(rng: Generator) -> Call:
    shape = _shape(rng, int(rng.integers(4)))
    arrays = [_numbers(rng, shape) for _ in range(int(rng.integers(1, 4)))]
    return _placed(rng, np.stack, {"arrays": arrays, **_some(rng, axis=_axis(rng, len(shape) + 1))})


def _pad(rng: Generator) -> Call:
    x = _numbers(rng, _shape(rng, int(rng.integers(1, 4))))
    widths = [1, (0, 2), [tuple(map(int, rng.integers(0, 3, 2))) for _ in x.shape]]
    width: Any = widths[int(rng.integers(3))]
    values = {"array": x, "pad_width": width, **_some(rng, mode="constant")}
    given, named = _placed(rng, np.pad, values)
    return given, {**named, **_some(rng, constant_values=0.5)}


def _diagonals(rng: Generator, ndim: int) -> dict[str, Any]:
    """Some of the arguments that say which diagonal."""
    one, other = int(_axis(rng, ndim)), int(_axis(rng, ndim))
    return {**_some(rng, offset=int(rng.integers(-1, 2))), "axis1": one, "axis2": other}


def _with(
    name: str, make: Callable[[Generator, Array], dict[str, Any]], ndim: int = 0
) -> Arguments:
    """Calls of a function with an array first, of some rank or of any, and what else is made."""

    def made(rng: Generator) -> Call:
        x = _numbers(rng, _shape(rng, ndim or None))
        function = attrgetter(name)(np)
        values = {next(iter(inspect.signature(function).parameters)): x, **make(rng, x)}
        return _placed(rng, function, values)

    return made


def _alone(_rng: Generator, _x: Array) -> dict[str, Any]:
    return {}


def _chosen(rng: Generator, x: Array) -> dict[str, Any]:
    """Indices along an axis, sometimes beyond."""
    axis = _axis(rng, x.ndim) if rng.random() < 0.7 else None
    inside = -x.ndim <= (axis or 0) < x.ndim
    size = x.size if axis is None else x.shape[axis] if inside else 1
    indices = rng.integers(-size, size + (rng.random() < 0.1) or 1, _shape(rng, 2)) if size else 0
    return {"indices": np.asarray(indices).tolist(), **_some(rng, axis=axis)}


def _take_along(rng: Generator) -> Call:
    x = _numbers(rng, (2, 3))
    axis = int(rng.integers(-2, 2))
    indices = rng.integers(0, x.shape[axis], (2, 3))
    return _placed(rng, np.take_along_axis, {"arr": x, "indices": indices, "axis": axis})


def _masked(name: str, array: str) -> Arguments:
    def made(rng: Generator) -> Call:
        x = _numbers(rng, _shape(rng, int(rng.integers(1, 3))))
        mask = rng.integers(0, 2, x.shape[0] if name == "compress" else x.shape).tolist()
        axis = {"axis": 0} if name == "compress" and rng.random() < 0.7 else {}
        return _placed(rng, getattr(np, name), {"condition": _known(mask), array: x, **axis})

    return made


def _several(name: str, parameter: str = "tup") -> Arguments:
    def made(rng: Generator) -> Call:
        shape = _shape(rng, int(rng.integers(4)))
        arrays = [_numbers(rng, shape) for _ in range(int(rng.integers(1, 4)))]
        return _placed(rng, getattr(np, name), {parameter: arrays})

    return made


def _each(*options: str) -> Arguments:
    def made(rng: Generator) -> Call:
        shapes = [(3,), (2, 3), (1, 3), (), (2, 1)]
        count = int(rng.integers(1, 4))
        chosen = [shapes[int(number)] for number in rng.integers(0, len(shapes), count)]
        named = _some(rng, indexing="ij", sparse=True)
        return [_numbers(rng, shape) for shape in chosen], {
            option: value for option, value in named.items() if option in options
        }

    return made


def _append(rng: Generator) -> Call:
    x = _numbers(rng, (2, 3))
    y = _numbers(rng, (int(rng.integers(1, 3)), 3))
    return _placed(rng, np.append, {"arr": x, "values": y, **_some(rng, axis=_axis(rng, 2))})


def _insert(rng: Generator) -> Call:
    x = _numbers(rng, (2, 3))
    value = _numbers(rng, [(), (3,), (1, 3), (2,)][int(rng.integers(4))])
    values = {"arr": x, "obj": int(rng.integers(-2, 4)), "values": value}
    return _placed(rng, np.insert, {**values, **_some(rng, axis=_axis(rng, 2))})


def _block(rng: Generator) -> Call:
    a, b = _numbers(rng, (2, 1)), _numbers(rng, (2, 2))
    rows: list[Any] = [[a, b], [b, a]] if rng.random() < 0.8 else [[a, b], [b]]
    return [rows if rng.random() < 0.7 else rows[0]], {}


def _select(rng: Generator) -> Call:
    shape = _shape(rng)
    count = int(rng.integers(1, 3))
    holds = [rng.integers(0, 2, shape) == 1 for _ in range(count)]
    choices = [_numbers(rng, shape) for _ in range(count)]
    return _placed(
        rng,
        np.select,
        {
            "condlist": [_known(each) for each in holds],
            "choicelist": choices,
            **_some(rng, default=0.5),
        },
    )


def _slid(name: str) -> Arguments:
    def made(rng: Generator) -> Call:
        x, y = (_numbers(rng, (int(rng.integers(1, 5)),)) for _ in range(2))
        modes = _some(rng, mode=("full", "same", "valid")[int(rng.integers(3))])
        return _placed(rng, getattr(np, name), {"a": x, "v": y, **modes})

    return made


def _two(*shapes: tuple[tuple[int, ...], tuple[int, ...]]) -> Arguments:
    """Calls of a function of two arrays of such shapes."""

    def made(rng: Generator) -> Call:
        one, other = shapes[int(rng.integers(len(shapes)))]
        return [_numbers(rng, one), _numbers(rng, other)], {}

    return made


def _tensordot(rng: Generator) -> Call:
    axes: list[Any] = [0, 1, 2, ([0, 1], [0, 1]), (0, 0), ([1], [1]), ([0], [1])]
    a, b = _numbers(rng, (2, 3)), _numbers(rng, [(2, 3), (3, 2)][int(rng.integers(2))])
    return _placed(rng, np.tensordot, {"a": a, "b": b, "axes": axes[int(rng.integers(len(axes)))]})


def _cross(rng: Generator) -> Call:
    a, b = _numbers(rng, (2, 3)), _numbers(rng, [(3,), (2, 3), (1, 3)][int(rng.integers(3))])
    return _placed(rng, np.cross, {"a": a, "b": b, **_some(rng, axisc=int(rng.integers(-2, 2)))})


def _multi_dot(rng: Generator) -> Call:
    sizes = [int(each) for each in rng.integers(1, 4, 4)]
    shapes = [(sizes[0], sizes[1]), (sizes[1], sizes[2]), (sizes[2], sizes[3])]
    shapes[0] = shapes[0] if rng.random() < 0.5 else shapes[0][1:]  # type: ignore[assignment]
    shapes[2] = shapes[2] if rng.random() < 0.5 else shapes[2][:1]  # type: ignore[assignment]
    return [[_numbers(rng, shape) for shape in shapes]], {}


def _average(rng: Generator, x: Array) -> dict[str, Any]:
    axis = _axis(rng, x.ndim) if rng.random() < 0.5 else None
    shape = x.shape if rng.random() < 0.5 or not x.ndim else x.shape[:1]
    weights = _known(rng.integers(1, 3, shape) / 2)
    return _some(rng, axis=axis, weights=weights, keepdims=bool(rng.integers(2)))


def _gradient(rng: Generator) -> Call:
    x = _numbers(rng, _shape(rng, int(rng.integers(1, 4))))
    axis = _axis(rng, x.ndim)
    by = [0.5] if rng.random() < 0.5 else []
    return [x, *by], _some(rng, axis=axis, edge_order=int(rng.integers(1, 3)))


def _interp(rng: Generator) -> Call:
    at = rng.integers(-1, 8, _shape(rng, 2)) / 2
    return [_known(at), _known([0.0, 1.0, 2.5]), _numbers(rng, (3,))], {}


def _polyval(rng: Generator) -> Call:
    return [_numbers(rng, (int(rng.integers(1, 4)),)), _numbers(rng, _shape(rng, 1))], {}


def _polyfit(rng: Generator) -> Call:
    y = _numbers(rng, (4,) if rng.random() < 0.5 else (4, 2))
    return [_known([0.0, 1.0, 2.0, 4.0]), y, int(rng.integers(3))], {}


def _moved(rng: Generator, x: Array) -> dict[str, Any]:
    return {"source": _axis(rng, x.ndim), "destination": _axis(rng, x.ndim)}


def _size(rng: Generator) -> Call:
    x = _numbers(rng, _shape(rng))
    return _placed(rng, np.size, {"a": x, **_some(rng, axis=_axes(rng, x.ndim))})


def _extreme(name: str) -> Arguments:
    def made(rng: Generator) -> Call:
        x = _numbers(rng, _shape(rng, int(rng.integers(3))))
        options = _some(rng, axis=_axes(rng, x.ndim), keepdims=bool(rng.integers(2)))
        return _placed(rng, attrgetter(name)(np), {"a": x, **options})

    return made


def _folded_truths(name: str) -> Arguments:
    def made(rng: Generator) -> Call:
        x = np.asarray(rng.integers(0, 2, _shape(rng, int(rng.integers(3)))) == 1)
        options = _some(rng, axis=_axes(rng, x.ndim), keepdims=bool(rng.integers(2)))
        return _placed(rng, attrgetter(name)(np), {"a": x, **options})

    return made


def _matrix(rng: Generator) -> Array:
    """A symmetric matrix that its diagonal dominates, a batch of them, or more rarely another."""
    rows = int(rng.integers(1, 6))
    if rng.random() < 0.1:
        return _numbers(rng, (rows, rows + 1))
    made = _numbers(rng, (rows, rows) if rng.random() < 0.7 else (2, rows, rows)) / 4
    return np.asarray(made + made.swapaxes(-1, -2) + (rows + 1) * np.eye(rows) / 2)


def _square(rng: Generator) -> Call:
    return [_matrix(rng)], {}


def _solve(rng: Generator) -> Call:
    a = _matrix(rng)
    shape = a.shape[:-1] if a.ndim == 2 and rng.random() < 0.5 else (*a.shape[:-1], 2)
    return [a, _numbers(rng, shape)], {}


def _histogram(rng: Generator) -> Call:
    # Numbers are multiples of 1/2, and edges lie between them.
    x = _numbers(rng, _shape(rng, int(rng.integers(1, 3))))
    edges: list[Any] = [_known([-1.25, -0.75, 0.25, 1.25]), 5]
    options = {"range": (-1.25, 1.25)}
    weights = {"weights": _numbers(rng, x.shape)} if rng.random() < 0.3 else {}
    bins = edges[int(rng.integers(2))]
    return [x, bins], {**(options if bins == 5 else {}), **weights}


def _bincount(rng: Generator) -> Call:
    return [_known([0, 2, 1, 2]), _numbers(rng, (4,))], _some(rng, minlength=5)


def _linspace(rng: Generator) -> Call:
    start, stop = _numbers(rng, (2,)), _numbers(rng, [(2,), (), (3, 1)][int(rng.integers(3))])
    options = _some(rng, num=int(rng.integers(1, 5)), endpoint=False, axis=int(rng.integers(-1, 2)))
    return _placed(rng, np.linspace, {"start": start, "stop": stop, **options})


def _lstsq(rng: Generator) -> Call:
    known = _known([[1.0, 0.5], [0.0, 2.0], [1.0, -1.0]][: int(rng.integers(2, 4))])
    rows = len(known)
    return [known, _numbers(rng, (rows, 2) if rng.random() < 0.5 else (rows,))], {"rcond": None}


def _piecewise(rng: Generator) -> Call:
    x = _numbers(rng, (4,))
    return [
        x,
        _known([[True, False, True, False]]),
        [np.negative, 0.5][: int(rng.integers(1, 3))],
    ], {}


def _of_vectors(vector: Array) -> Any:
    return vector[:1] - vector.sum()


def _transform(name: str, axes: bool = False) -> Arguments:
    def made(rng: Generator) -> Call:
        x = _numbers(rng, (2, 3))
        sizes = (
            _some(rng, axes=((0, 1), (1,), (-1, 0))[int(rng.integers(3))], norm="ortho")
            if axes
            else _some(
                rng, n=int(rng.integers(2, 5)), axis=int(rng.integers(-2, 2)), norm="forward"
            )
        )
        return _placed(rng, attrgetter(name)(np), {"a": x, **sizes})

    return made


def _einsum(rng: Generator) -> Call:
    n, m, k = (int(each) for each in rng.integers(1, 4, 3))
    expressions: list[tuple[str, list[tuple[int, ...]]]] = [
        ("ij,jk->ik", [(n, m), (m, k)]),
        ("ij->ji", [(n, m)]),
        ("ii", [(n, n)]),
        ("...i,i", [(k, n, m), (m,)]),
        ("ij,ij,j->i", [(n, m), (n, m), (m,)]),
        ("ij,jk", [(n, m), (m + 1, k)]),
    ]
    expression, shapes = expressions[int(rng.integers(len(expressions)))]
    options = {"optimize": bool(rng.integers(2))} if rng.random() < 0.5 else {}
    return [expression, *(_numbers(rng, shape) for shape in shapes)], options


ARGUMENTS: Mapping[str, Callable[[Generator], Call]] = {
    **{name: _of_one() for name in ("absolute", "fabs", "negative", "positive", "square")},
    **{
        name: _of_one()
        for name in [
            "arcsinh",
            "arctan",
            "cos",
            "cosh",
            "exp",
            "exp2",
            "expm1",
            "sin",
            "sinh",
            "tanh",
        ]
    },
    **{
        name: _of_one(0.5)
        for name in ["log", "log10", "log1p", "log2", "reciprocal", "sign", "sqrt"]
    },
    **{name: _of_two() for name in ["add", "subtract", "multiply"]},
    **{name: _of_two() for name in ["maximum", "fmax", "minimum", "fmin"]},
    **{name: _of_two(0.5) for name in ("divide", "true_divide", "hypot")},
    **dict.fromkeys(["less", "less_equal", "greater", "greater_equal"], _compared),
    **{name: _truths(2) for name in ["bitwise_and", "bitwise_or", "bitwise_xor"]},
    **{name: _truths(2) for name in ["logical_and", "logical_or", "logical_xor"]},
    **{name: _truths(1) for name in ("invert", "logical_not")},
    "power": _power,
    "float_power": _power,
    **dict.fromkeys(("matmul", "dot", "inner"), _products),
    "clip": _clip,
    **{name: _sums(name) for name in ["sum", "mean", "var", "std"]},
    "trace": _trace,
    **{name: _of_one() for name in ("deg2rad", "radians", "rad2deg", "degrees")},
    **{name: _sums(name) for name in ("nansum", "nanmean", "nanvar", "nanstd")},
    "vecdot": _two(((3,), (3,)), ((2, 3), (3,)), ((2, 3), (1, 3)), ((2, 3), (2,))),
    "average": _with("average", _average),
    "cov": _with(
        "cov",
        lambda rng, x: _some(rng, y=_numbers(rng, x.shape), rowvar=False, bias=True, ddof=0),
        2,
    ),
    "linalg.norm": _with(
        "linalg.norm",
        lambda rng, x: _some(
            rng, ord=[1, 2, "fro"][int(rng.integers(3))], axis=_axis(rng, x.ndim), keepdims=True
        ),
        2,
    ),
    "linalg.vector_norm": _with("linalg.vector_norm", lambda rng, x: {}, 1),
    "cumsum": _with("cumsum", lambda rng, x: _some(rng, axis=_axis(rng, x.ndim))),
    "cumulative_sum": lambda rng: (
        [_numbers(rng, _shape(rng, 2))],
        _some(rng, axis=_axis(rng, 2), include_initial=True),
    ),
    "diff": _with(
        "diff",
        lambda rng, x: _some(
            rng, n=int(rng.integers(3)), axis=_axis(rng, x.ndim), prepend=0.5, append=-0.5
        ),
    ),
    "ediff1d": _with(
        "ediff1d", lambda rng, x: _some(rng, to_end=_numbers(rng, (2,)), to_begin=0.5)
    ),
    "gradient": _gradient,
    "trapezoid": _with("trapezoid", lambda rng, x: _some(rng, dx=0.5, axis=_axis(rng, x.ndim)), 2),
    "convolve": _slid("convolve"),
    "correlate": _slid("correlate"),
    "interp": _interp,
    "polyfit": _polyfit,
    "polyval": _polyval,
    "vander": _with("vander", lambda rng, x: _some(rng, N=3, increasing=True), 1),
    "outer": _two(((), (2,)), ((2, 3), (2,)), ((3,), (2, 2))),
    "vdot": _two(((2, 3), (6,)), ((2, 3), (3, 2)), ((), ()), ((2,), (3,))),
    "tensordot": _tensordot,
    "kron": _two(((2,), (3,)), ((2, 3), (2,)), ((2, 1), (1, 2, 3)), ((), (2,))),
    "cross": _cross,
    "linalg.matrix_power": lambda rng: (
        [_numbers(rng, (2, 2) if rng.random() < 0.8 else (2, 2, 2)), int(rng.integers(4))],
        {},
    ),
    "linalg.multi_dot": _multi_dot,
    "squeeze": _with("squeeze", lambda rng, x: _some(rng, axis=_axis(rng, x.ndim))),
    "expand_dims": _with("expand_dims", lambda rng, x: {"axis": _axis(rng, x.ndim + 1)}),
    "moveaxis": _with("moveaxis", _moved),
    "rollaxis": _with("rollaxis", lambda rng, x: {"axis": _axis(rng, x.ndim)}),
    "swapaxes": _with(
        "swapaxes", lambda rng, x: {"axis1": _axis(rng, x.ndim), "axis2": _axis(rng, x.ndim)}
    ),
    "matrix_transpose": lambda rng: ([_numbers(rng, _shape(rng))], {}),
    **{name: _each() for name in ("atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays")},
    "meshgrid": _each("indexing", "sparse"),
    "broadcast_to": _with(
        "broadcast_to",
        lambda rng, x: {"shape": [(2, *x.shape), (*x.shape, 2), x.shape][int(rng.integers(3))]},
    ),
    "flip": _with("flip", lambda rng, x: _some(rng, axis=_axes(rng, x.ndim))),
    "fliplr": _with("fliplr", _alone),
    "flipud": _with("flipud", _alone),
    "roll": _with(
        "roll",
        lambda rng, x: {"shift": int(rng.integers(-4, 5)), **_some(rng, axis=_axis(rng, x.ndim))},
    ),
    "rot90": _with("rot90", lambda rng, x: _some(rng, k=int(rng.integers(-4, 5)), axes=(1, 0))),
    "fft.fftshift": _with("fft.fftshift", lambda rng, x: _some(rng, axes=_axis(rng, x.ndim))),
    "fft.ifftshift": _with("fft.ifftshift", lambda rng, x: _some(rng, axes=_axis(rng, x.ndim))),
    "repeat": _with(
        "repeat",
        lambda rng, x: {"repeats": int(rng.integers(3)), **_some(rng, axis=_axis(rng, x.ndim))},
    ),
    "tile": _with("tile", lambda rng, x: {"reps": [2, (1, 2), (2, 1, 1)][int(rng.integers(3))]}),
    "resize": _with("resize", lambda rng, x: {"new_shape": _shape(rng, 2)}),
    "take": _with("take", _chosen),
    "take_along_axis": _take_along,
    "compress": _masked("compress", "a"),
    "extract": _masked("extract", "arr"),
    "delete": _with(
        "delete",
        lambda rng, x: {"obj": int(rng.integers(-1, 2)), **_some(rng, axis=_axis(rng, x.ndim))},
    ),
    "diagonal": _with("diagonal", lambda rng, x: _diagonals(rng, x.ndim)),
    "diag": _with("diag", lambda rng, x: _some(rng, k=int(rng.integers(-2, 3))), 2),
    "diagflat": _with("diagflat", lambda rng, x: _some(rng, k=int(rng.integers(-2, 3)))),
    "tril": _with("tril", lambda rng, x: _some(rng, k=int(rng.integers(-2, 3)))),
    "triu": _with("triu", lambda rng, x: _some(rng, k=int(rng.integers(-2, 3)))),
    **{
        name: _with(
            name,
            lambda rng, x: {
                "indices_or_sections": [1, 2, [1]][int(rng.integers(3))],
                **_some(rng, axis=_axis(rng, x.ndim)),
            },
        )
        for name in ("split", "array_split")
    },
    **{
        name: _with(name, lambda rng, x: {"indices_or_sections": [1, 2, [1]][int(rng.integers(3))]})
        for name in ("hsplit", "vsplit")
    },
    "dsplit": _with("dsplit", lambda rng, x: {"indices_or_sections": int(rng.integers(1, 3))}, 3),
    "unstack": lambda rng: ([_numbers(rng, _shape(rng))], {}),
    "select": _select,
    **{name: _several(name) for name in ("vstack", "hstack", "dstack", "column_stack")},
    "append": _append,
    "insert": _insert,
    "block": _block,
    **{name: _with(name, _alone) for name in ("zeros_like", "ones_like")},
    "full_like": _with("full_like", lambda rng, x: {"fill_value": 0.5}),
    "transpose": _transpose,
    "reshape": _reshape,
    "ravel": _ravel,
    "where": _where,
    "concatenate": _concatenate,
    "stack": _stack,
    "pad": _pad,
    "shape": _of_one(),
    "ndim": _of_one(),
    "size": _size,
    "einsum": _einsum,
    **{
        name: lambda rng: ([np.asarray(_numbers(rng, _shape(rng)) / 2)], {})
        for name in ("arcsin", "arccos", "arctanh", "tan")
    },
    "arccosh": lambda rng: ([np.asarray(1.0 + _numbers(rng, _shape(rng), 0.5))], {}),
    "result_type": _of_one(),
    "can_cast": lambda rng: ([_numbers(rng, _shape(rng)), float], {}),
    **{name: _of_one() for name in ("conjugate", "isfinite", "isinf", "isnan")},
    **{name: _of_two() for name in ("logaddexp", "logaddexp2")},
    "signbit": _of_one(0.5),
    "copysign": _of_two(0.5),
    "heaviside": lambda rng: ([_numbers(rng, _shape(rng), 0.5), 0.5], {}),
    "matvec": _two(((2, 3), (3,)), ((2, 2, 3), (2, 3)), ((2, 3), (2,))),
    "vecmat": _two(((2,), (2, 3)), ((2, 2), (2, 2, 3)), ((3,), (2, 3))),
    "corrcoef": lambda rng: ([_numbers(rng, (2, 3))], {}),
    "linalg.matrix_norm": _with(
        "linalg.matrix_norm",
        lambda rng, x: _some(rng, keepdims=True, ord=[1, "fro", -1][int(rng.integers(3))]),
        2,
    ),
    "linalg.trace": _with("linalg.trace", lambda rng, x: _some(rng, offset=1), 3),
    "nancumsum": _with("nancumsum", lambda rng, x: _some(rng, axis=_axis(rng, x.ndim))),
    "linspace": _linspace,
    "apply_along_axis": lambda rng: ([_of_vectors, _axis(rng, 2), _numbers(rng, (2, 3))], {}),
    **{name: _extreme(name) for name in ("max", "amax", "nanmax", "min", "amin", "nanmin", "ptp")},
    **{name: _folded_truths(name) for name in ("any", "all", "count_nonzero")},
    "histogram": _histogram,
    "bincount": _bincount,
    "digitize": lambda rng: (
        [_numbers(rng, _shape(rng, 1)), _known([-0.75, 0.25, 0.75][:: rng.choice([-1, 1])])],
        _some(rng, right=True),
    ),
    "searchsorted": lambda rng: (
        [_known([-0.75, 0.25, 0.75]), _numbers(rng, _shape(rng))],
        _some(rng, side="right"),
    ),
    "piecewise": _piecewise,
    **{name: _sums(name) for name in ("prod", "nanprod")},
    **{
        name: _with(name, lambda rng, x: _some(rng, axis=_axis(rng, x.ndim)))
        for name in ("cumprod", "nancumprod")
    },
    "cumulative_prod": lambda rng: (
        [_numbers(rng, _shape(rng, 2))],
        {"axis": _axis(rng, 2), **_some(rng, include_initial=True)},
    ),
    "linalg.cross": _two(((2, 3), (3,)), ((3,), (3,)), ((2, 2), (2, 2))),
    "linalg.matmul": _products,
    "linalg.outer": _two(((2,), (3,)), ((2, 2), (2,))),
    "linalg.tensordot": _two(((2, 3, 1), (3, 1, 2)), ((2, 2), (2, 2))),
    "linalg.vecdot": lambda rng: (
        [_numbers(rng, (2, 3)), _numbers(rng, (2, 3))],
        _some(rng, axis=int(rng.integers(-2, 0))),
    ),
    "linalg.det": _square,
    "linalg.slogdet": _square,
    "linalg.inv": _square,
    "linalg.pinv": _square,
    "linalg.cholesky": _square,
    "linalg.solve": _solve,
    "linalg.lstsq": _lstsq,
    "poly": lambda rng: ([_numbers(rng, (int(rng.integers(1, 4)),))], {}),
    **{
        name: lambda rng: ([_numbers(rng, (2,)), _numbers(rng, (int(rng.integers(1, 4)),))], {})
        for name in ("polyadd", "polysub")
    },
    "polymul": lambda rng: (
        [_numbers(rng, (2,), 0.5), _numbers(rng, (int(rng.integers(1, 4)),), 0.5)],
        {},
    ),
    **{
        name: lambda rng: ([_numbers(rng, (4,))], _some(rng, m=int(rng.integers(1, 4))))
        for name in ("polyder", "polyint")
    },
    **{
        f"fft.{name}": _transform(f"fft.{name}")
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        f"fft.{name}": _transform(f"fft.{name}", axes=True)
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    },
    "linalg.matrix_transpose": lambda rng: ([_numbers(rng, _shape(rng))], {}),
    "choose": lambda rng: (
        [_known([0, 1, 1]), [_numbers(rng, (3,)), _numbers(rng, (2, 3))]],
        _some(rng, mode="clip"),
    ),
    "linalg.diagonal": _with("linalg.diagonal", lambda rng, x: _some(rng, offset=1), 3),
    "copy": _of_one(),
    "astype": lambda rng: ([_numbers(rng, _shape(rng)), float], {}),
    **{
        name: _of_one()
        for name in (
            *("real", "imag", "real_if_close", "nan_to_num", "isreal", "iscomplex"),
            *("isrealobj", "iscomplexobj", "isneginf", "isposinf"),
        )
    },
    "empty_like": lambda rng: ([_numbers(rng, _shape(rng))], {}),
}


def _turned(given: Call, turn: Callable[[Array], Any]) -> Call:
    """A call with something else for each of its arrays."""

    def turned(value: Any) -> Any:
        # Indices are known.
        if isinstance(value, np.ndarray) and value.dtype.kind != "i":
            return turn(value)
        return [turned(each) for each in value] if isinstance(value, list) else value

    args, named = given
    return [turned(each) for each in args], {name: turned(each) for name, each in named.items()}


def _some_turned(rng: Generator, given: Call, turn: Callable[[Array], Any]) -> Call:
    """A call with something else for one or more of its arrays."""
    arrays: list[Array] = []
    _turned(given, arrays.append)
    count = int(rng.integers(1, len(arrays) + 1))
    chosen = [id(arrays[number]) for number in rng.permutation(len(arrays))[:count]]
    return _turned(given, lambda array: turn(array) if id(array) in chosen else array)


def _ends(array: Array) -> tuple[float, float]:
    """A range around numbers, away from 0, from 1 and from poles where they are."""
    least, greatest = array.min(initial=math.inf), array.max(initial=-math.inf)
    if not array.size:
        return -1.25, 1.25
    low = next((each - 0.25 for each in (1.5, 0.5, -0.5) if least >= each), -1.25)
    return low, 0.75 if greatest <= 0.5 else max(1.25, greatest + 0.25)


def _in_session(array: Array) -> Any:
    low, high = _ends(_plain(array))
    tensor = SESSION.encrypt(_plain(array), low=low, high=high)
    return tensor > 0 if array.dtype == bool else tensor


def _plain(array: Array) -> Array:
    """The array as numbers; truths as those above 0."""
    return np.where(array, 1.0, -1.0) if array.dtype == bool else array


def _numpys(name: str, given: Call) -> Any:
    """What numpy answers; None where it refuses."""
    args, named = given
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return attrgetter(name)(np)(*args, **named)
    except (TypeError, ValueError, IndexError):
        return None


def _is_eager_right(name: str, rng: Generator) -> bool:
    """Whether a random call was answered, and rightly; False where it was refused by name."""
    given = ARGUMENTS[name](rng)
    try:
        args, named = _some_turned(rng, given, _in_session)
        made = attrgetter(name)(np)(*args, **named)
    except CloakworkError:
        return False

    def decrypted(tensor: Any) -> tuple[Array, float]:
        return SESSION.decrypt(tensor), 2.0**-tensor.precision

    _require_numpys(name, given, made, decrypted)
    return True


def _require_numpys(
    name: str, given: Call, made: Any, read: Callable[[Any], tuple[Array, float]]
) -> None:
    """Refuse other results than numpy's, given what reads tensors and says how far they are off."""
    expected = _numpys(name, given)
    assert expected is not None, f"numpy refuses {name} of {given}, and tensors do not"
    assert isinstance(made, list | tuple) is isinstance(expected, list | tuple), (name, given)
    several = isinstance(made, list | tuple)
    for one, other in zip(made, expected, strict=True) if several else [(made, expected)]:
        if isinstance(one, ComplexTensor):
            parts = [(one.real, np.real(other)), (one.imag, np.imag(other))]
        else:
            parts = [(one, other)]
        for part_, each in parts:
            found, error = read(part_) if isinstance(part_, TensorMethods) else (part_, 0.0)
            assert np.shape(found) == np.shape(each), (name, given)
            if name == "empty_like":
                continue
            if name == "result_type":
                assert found == each
                continue
            off = np.abs(np.asarray(found, dtype=float) - np.asarray(each, dtype=float))
            assert off.max(initial=0.0) <= error + _ROUNDING, (name, given)


@dataclass(frozen=True)
class _Kept:
    """Stands in a call for one of several tensors."""

    number: int


def _like(tensor: Any, array: Array) -> Any:
    return tensor > 0 if array.dtype == bool else tensor


def _answer(name: str, given: Call, arrays: Sequence[Array], inputs: Sequence[Any]) -> Any:
    """What a function gives of tensors in place of arrays, compared where these are truths."""
    tensors = list(map(_like, inputs, arrays))

    def placed(value: Any) -> Any:
        if isinstance(value, _Kept):
            return tensors[value.number]
        return [placed(each) for each in value] if isinstance(value, list) else value

    args, named = given
    return attrgetter(name)(np)(*map(placed, args), **{key: placed(named[key]) for key in named})


def _with_kept(rng: Generator, given: Call) -> tuple[Call, list[Array]]:
    """A call with places for tensors, and their numbers."""
    arrays: list[Array] = []

    def kept(array: Array) -> _Kept:
        arrays.append(array)
        return _Kept(len(arrays) - 1)

    return _some_turned(rng, given, kept), arrays


def _traced(arrays: Sequence[Array]) -> tuple[list[TracedTensor], dict[Source, Array]]:
    """Stand-ins for tensors, whose numbers are a sample of the ranges, and these numbers."""
    specs = [spec_of_samples(_plain(each), MARGIN) for each in arrays]
    sources = [Source(f"x{number}", each.shape) for number, each in enumerate(arrays)]
    values = {source: _plain(each) for source, each in zip(sources, arrays, strict=True)}
    ranges = dict(zip(sources, map(of_spec, specs), strict=True))
    trace = Trace(ranges, [values], MARGIN)
    return [TracedTensor(each, trace) for each in sources], values


def _is_traced_right(name: str, rng: Generator) -> bool:
    """The same of what tracing records."""
    given = ARGUMENTS[name](rng)
    call, arrays = _with_kept(rng, given)
    try:
        tensors, values = _traced(arrays)
        made = _answer(name, call, arrays, tensors)
    except CloakworkError:
        return False

    def computed(tensor: Any) -> tuple[Array, float]:
        return values_of([tensor.node()], values)[tensor.node()], 0.0

    with np.errstate(all="ignore"):
        _require_numpys(name, given, made, computed)
    return True


def _is_compiled_right(name: str, rng: Generator) -> bool:
    """The same of a compiled function."""
    given = ARGUMENTS[name](rng)
    call, arrays = _with_kept(rng, given)

    def function(*inputs: Any) -> Any:
        made = tuple(_real_results(name, _answer(name, call, arrays, inputs)))
        return made[0] if len(made) == 1 else made

    try:
        ends = [(each, _ends(_plain(each))) for each in arrays]
        specs = [cw.Spec(each.shape, low=low, high=high) for each, (low, high) in ends]
        program = cw.compile(function, *specs, precision=PRECISION, insecure=True, log_n=12)
        made = program.run_clear(*map(_plain, arrays))
    except CloakworkError:
        return False
    expected = _real_results(name, _numpys(name, given))
    found = list(made) if isinstance(made, list | tuple) else [made]
    for one, each in zip(found, map(np.asarray, expected), strict=True):
        assert one.shape == each.shape, (name, given)
        assert np.abs(one - each).max() <= 2.0**-PRECISION + _ROUNDING, (name, given)
    return True


# Of whose results only the first is not known.
_FIRST = {"histogram", "linalg.lstsq"}


def _real_results(name: str, made: Any) -> list[Any]:
    """Results one after another, complex ones as their parts."""
    several = list(made) if isinstance(made, list | tuple) else [made]
    results: list[Any] = []
    for each in several[:1] if name in _FIRST else several:
        is_complex = isinstance(each, ComplexTensor) or np.iscomplexobj(each)
        results += [each.real, each.imag] if is_complex else [each]
    return results


# Whose ranges are too wide without samples.
_TOO_WIDE = {"std", "nanstd", "clip", "corrcoef"} | {
    f"linalg.{name}"
    for name in (
        "norm",
        "vector_norm",
        "matrix_norm",
        "inv",
        "pinv",
        "solve",
        "cholesky",
        "slogdet",
    )
}


@pytest.mark.parametrize("name", sorted({*NAMES} - _TOO_WIDE))
def test_random_calls_are_numpys(name: str) -> None:
    rng = np.random.default_rng([1, *name.encode()])
    # Of few calls all may be ones that are refused.
    answered = [_is_eager_right(name, rng) for _ in range(max(part(_CALLS), _FEWEST))]
    assert any(answered)


# Whose results are in the clear.
_KNOWN = {"shape", "ndim", "size", *GROUPS["Known results"]} | {
    *("isreal", "iscomplex", "isrealobj", "iscomplexobj", "isneginf", "isposinf", "imag"),
    *("isfinite", "isinf", "isnan"),
}


@pytest.mark.parametrize("name", NAMES)
def test_random_calls_are_numpys_as_they_are_traced(name: str) -> None:
    rng = np.random.default_rng([3, *name.encode()])
    answered = [_is_traced_right(name, rng) for _ in range(part(_TRACED))]
    assert any(answered)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*NAMES} & {*FUNCTIONS} - _KNOWN - _TOO_WIDE))
def test_random_compiled_calls_are_numpys(name: str) -> None:
    rng = np.random.default_rng([2, *name.encode()])
    answered = [_is_compiled_right(name, rng) for _ in range(_COMPILED)]
    assert any(answered)


def test_every_dispatched_function_has_arguments() -> None:
    assert UFUNCS.union(FUNCTIONS) == set(ARGUMENTS)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} & {*NAMES} - {"einsum"}))
def test_arguments_have_numpys_names_and_defaults(name: str) -> None:
    numpys = inspect.signature(attrgetter(name)(np)).parameters
    for each in inspect.signature(FUNCTIONS[name]).parameters.values():
        # Older versions have fewer, and pad takes some as keywords.
        if each.default is each.empty or each.name not in numpys:
            continue
        default = numpys[each.name].default
        # numpy's own mark stands for a default that is elsewhere.
        assert each.default == default or "no value" in repr(default), each


def _unsupported() -> list[tuple[str, inspect.Parameter]]:
    """Each parameter of numpy's that tensors have not, with its function."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        (name, each)
        for name in filter(_is_numpys, sorted(FUNCTIONS))
        for each in inspect.signature(attrgetter(name)(np)).parameters.values()
        if each.kind not in (*variable, each.POSITIONAL_ONLY) and each.default is not each.empty
        if each.name not in inspect.signature(FUNCTIONS[name]).parameters
    ]


def _next(tensors: Iterator[Any], _array: Array) -> Any:
    return next(tensors)


def _answered_without(name: str, left_out: str) -> Call:
    """A call of tensors that is answered, in which an argument is not given."""
    signature, rng = inspect.signature(attrgetter(name)(np)), np.random.default_rng(0)
    for _ in range(100):
        given = ARGUMENTS[name](rng)
        arrays: list[Array] = []
        _turned(given, arrays.append)
        try:
            tensors, _ = _traced(arrays)
            places = map(_like, tensors, arrays)
            args, named = _turned(given, partial(_next, places))
            attrgetter(name)(np)(*args, **named)
        except CloakworkError:
            continue
        if left_out not in signature.bind(*args, **named).arguments:
            return args, named
    raise AssertionError(f"no call of {name} without {left_out} is answered")


@pytest.mark.parametrize(
    ("name", "parameter"),
    [pytest.param(*each, id=f"{each[0]}-{each[1].name}") for each in _unsupported()],
)
def test_what_is_not_supported_is_refused_by_name(name: str, parameter: inspect.Parameter) -> None:
    function, left_out = attrgetter(name)(np), parameter.name
    args, named = _answered_without(name, left_out)
    function(*args, **named, **{left_out: parameter.default})
    with pytest.raises(UnsupportedOperationError, match=rf"numpy\.{name} .* {left_out}='other'"):
        function(*args, **named, **{left_out: "other"})


A = np.random.default_rng(7).integers(-2, 3, (3, 3)) / 2
Y = np.random.default_rng(8).integers(-2, 3, (3, 3, 3)) / 2


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.inner(A, x[0]),
        lambda x: np.inner(A, x),
        lambda x: np.inner(x, A),
        lambda x: np.inner(x[:2], x),
        lambda x: np.inner(A, x[:2]),
        lambda x: np.inner(x, 2),
        lambda x: np.inner(2, x),
        lambda x: np.inner(x[0, 0], x),
        lambda x: np.dot(x, 2),
        lambda x: np.sum(x[0], 0, float),
        lambda x: np.sum(x[0], 0, np.float64),
        lambda x: np.mean(x[0], 0, np.float64),
        lambda x: np.sum(x[0], 0, None, None, True),
        lambda x: np.var(x[0], 0, None, None, 1, True),
        lambda x: np.concatenate([x[0], A], None),
    ],
)
def test_calls_that_were_wrong_are_numpys(function: Callable[[Any], Any]) -> None:
    expected = function(Y)
    found = SESSION.decrypt(function(SESSION.encrypt(Y, bound=1)))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 2.0**-PRECISION
    program = cw.compile(function, cw.Spec(Y.shape, bound=1), precision=PRECISION)
    compiled = program.run_clear(Y)
    assert compiled.shape == expected.shape
    assert np.abs(compiled - expected).max() < 2.0**-PRECISION


@pytest.mark.parametrize("ends", [(0, 0.75), (None, 0)])
def test_clear_numbers_are_clipped_to_encrypted_ends(ends: tuple[Any, Any]) -> None:
    low, high = (SESSION.encrypt(Y[0], bound=1) if end == 0 else end for end in ends)
    clip: Any = np.clip
    found = SESSION.decrypt(clip(A, low, high))
    expected = np.clip(A, *(Y[0] if end == 0 else end for end in ends))
    assert np.abs(found - expected).max() < 2.0**-PRECISION


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: np.inner(x, np.ones((3, 2))), "cannot inner: the shapes"),
        (lambda x: np.inner(x, np.ones((2, 1))), "cannot inner: the shapes"),
        (lambda x: np.dot(x, np.ones((4, 1, 2))), "cannot dot: the shapes"),
    ],
)
def test_an_axis_of_size_1_does_not_stretch(function: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ShapeMismatchError, match=message):
        function(SESSION.encrypt(Y, bound=1))


def test_tensors_of_one_number_compile() -> None:
    summed = cw.compile(lambda x: np.sum(x, keepdims=True), (), insecure=True, log_n=11)
    assert summed.run_clear(0.5) == pytest.approx(0.5)
    times = cw.compile(np.inner, (), (3,), insecure=True, log_n=11)
    assert times.run_clear(0.5, [1, 0.5, 0]) == pytest.approx([0.5, 0.25, 0])


V = np.array([0.5, -0.25, 0.75, 1.0, -0.5, 0.125])
W = np.array([0.25, 1.0, -0.75])
MASK = np.array([True, False, True, True, False, False])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, v: x[[0, 2]],
        lambda x, v: x[:, [2, 0]],
        lambda x, v: x[[0, 2], [1, 1]],
        lambda x, v: x[(0, 2), (1, 1)],
        lambda x, v: x[range(2), None, ..., [0, -1]],
        lambda x, v: x[0, x.shape[0] > np.array([1, 5, 2])],
        lambda x, v: v[MASK],
        lambda x, v: v[np.array([[0, 5], [-1, 2]])],
        lambda x, v: v.clip(-0.25, 0.5),
        lambda x, v: v.cumsum(),
        lambda x, v: x.diagonal(1),
        lambda x, v: v[:3].dot(x),
        lambda x, v: x.flatten("F"),
        lambda x, v: x.ravel(order="F"),
        lambda x, v: x.reshape((1, 9), order="F"),
        lambda x, v: v.repeat(2),
        lambda x, v: v[None].squeeze(),
        lambda x, v: x.swapaxes(0, 1),
        lambda x, v: v.take([5, 0]),
        lambda x, v: x.trace(1),
        lambda x, v: x[:2].trace(),
        lambda x, v: np.pad(v, 2, mode="reflect"),
        lambda x, v: np.pad(x, ((1, 0), (0, 2)), "edge"),
        lambda x, v: np.convolve(v, v[:3]),
        lambda x, v: np.correlate(v[:2], v),
        lambda x, v: np.average(x, 1, W + 1),
        lambda x, v: np.gradient(v, np.arange(6) ** 2.0),
        lambda x, v: np.trapezoid(v, np.arange(6) ** 2.0),
        lambda x, v: np.interp([0.5, 7], np.arange(6.0), v, period=6),
        lambda x, v: np.tensordot(x, x, ([0, 1], [1, 0])),
        np.kron,
        lambda x, v: np.fft.fft(np.eye(6), axis=0).imag @ v,
    ],
)
def test_what_arrays_can_do_is_numpys(function: Callable[[Any, Any], Any]) -> None:
    expected = np.asarray(function(Y[0], V))
    x, v = (SESSION.encrypt(each, bound=1) for each in (Y[0], V))
    found = SESSION.decrypt(function(x, v))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 2.0**-PRECISION


@pytest.mark.parametrize(
    "function",
    [
        lambda x, v: np.roll(v, 2),
        lambda x, v: np.tile(x, (1, 2)),
        lambda x, v: np.diff(v, 2),
        lambda x, v: np.cumsum(x, 1),
        lambda x, v: np.hstack([x, x[:, :1]]),
        lambda x, v: np.diag(v[:3], 1),
        lambda x, v: np.insert(v, [1, 4], v[:2]),
        lambda x, v: np.convolve(v, W, "same"),
        lambda x, v: np.convolve(v, v[:3]),
        lambda x, v: np.kron(x, v[:2]),
        lambda x, v: np.cov(x),
        lambda x, v: np.split(v, [1, 3])[1],
    ],
)
def test_functions_of_ciphertexts_are_numpys(function: Callable[[Any, Any], Any]) -> None:
    session = cw.Session(depth=6, precision=PRECISION, insecure=True, log_n=11)
    expected = np.asarray(function(Y[0], V))
    found = session.decrypt(function(*(session.encrypt(each, bound=1) for each in (Y[0], V))))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < 2.0**-PRECISION


@pytest.mark.parametrize(
    "function",
    [
        np.flip,
        lambda t: np.tile(t, 2),
        np.tril,
        np.diag,
        lambda t: np.vstack([t, ~t]),
        lambda t: np.outer(t, t),
        np.cumsum,
    ],
)
def test_functions_of_comparisons_are_numpys(function: Callable[[Any], Any]) -> None:
    made = function(SESSION.encrypt(V, bound=1) > 0)
    expected = np.asarray(function(V > 0))
    assert made.truths is (expected.dtype == bool)
    assert np.abs(SESSION.decrypt(made) - expected).max() < 2.0**-PRECISION


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda v: np.diff(v > 0), InvalidArgumentError, r"cannot compute numpy\.diff"),
        (lambda v: np.gradient(v > 0), InvalidArgumentError, r"cannot compute numpy\.gradient"),
        (lambda v: np.convolve(v > 0, MASK), InvalidArgumentError, "cannot convolve"),
        (lambda v: np.take(v, 6), InvalidArgumentError, r"numpy\.take .* out of bounds"),
        (lambda v: np.roll(v, v), UnsupportedOperationError, "anything else in the clear"),
        (lambda v: np.split(v, 4), InvalidArgumentError, "equal division"),
        (lambda v: np.array_split(v, 7), ShapeMismatchError, "nothing is left"),
        (lambda v: np.average(v, weights=V - V), InvalidArgumentError, "add up to 0"),
        (lambda v: np.average(v, weights=v), UnsupportedOperationError, "in the clear"),
        (np.corrcoef, ActivationFitError, r"numpy\.corrcoef, rsqrt .*from 0 .*samples in place of"),
        (np.sort, UnsupportedOperationError, r"numpy\.sort .* by cloakwork\.exactly"),
        (lambda v: np.linalg.norm(v, 3), UnsupportedOperationError, "ord=3"),
        (lambda v: np.cross(v[:2], v[:2]), ShapeMismatchError, "vectors of three"),
        (lambda v: np.flip(v, axis=1), InvalidArgumentError, r"cannot compute numpy\.flip"),
        (lambda v: v.reshape(6, order="K"), InvalidArgumentError, "expected the order"),
        (lambda v: v.compress(MASK), UnsupportedOperationError, r"cannot compute x\.compress"),
    ],
)
def test_what_numpy_refuses_or_tensors_have_not(
    function: Callable[[Any], Any], error: type[CloakworkError], message: str
) -> None:
    with pytest.raises(error, match=message):
        function(SESSION.encrypt(V, bound=1))
