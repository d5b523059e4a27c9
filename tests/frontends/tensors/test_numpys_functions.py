"""numpy's functions of tensors against numpy's of arrays, over ranks 0 to 4, by random calls.

The tables of dispatched functions drive the tests: what is added to them needs arguments here.
"""

from __future__ import annotations

import inspect
import math
import warnings
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import CloakworkError, ShapeMismatchError, UnsupportedOperationError
from cloakwork.frontends.tensors.numpy_protocol import FUNCTIONS, UFUNCS
from cloakwork.frontends.tensors.tensor import Tensor
from tests.thoroughness import part

Array: TypeAlias = NDArray[Any]
# Arguments by position, and by name.
Call: TypeAlias = tuple[list[Any], dict[str, Any]]

NAMES = sorted(UFUNCS.union(FUNCTIONS))
PRECISION = 10
SESSION = cw.Session(
    depth=40, precision=PRECISION, backend="clear", insecure=True, log_n=8, bound=256
)
_CALLS = -(-2000 // len(NAMES))
_FEWEST = 10
_COMPILED = 4
# Of double rounding.
_ROUNDING = 1e-9


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
    function = getattr(np, name)

    def made(rng: Generator) -> Call:
        x = _numbers(rng, _shape(rng))
        more = {"ddof": int(rng.integers(2))} if name in ("var", "std") else {}
        options = _some(rng, axis=_axes(rng, x.ndim), keepdims=bool(rng.integers(2)), **more)
        return _placed(rng, function, {"a": x, **options})

    return made


def _trace(rng: Generator) -> Call:
    size = int(rng.integers(1, 4))
    shape = _shape(rng) if rng.random() < 0.2 else (size, size, *_shape(rng, int(rng.integers(3))))
    return _placed(rng, np.trace, {"a": _numbers(rng, shape)})


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


def _size(rng: Generator) -> Call:
    x = _numbers(rng, _shape(rng))
    return _placed(rng, np.size, {"a": x, **_some(rng, axis=_axes(rng, x.ndim))})


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
}


def _turned(given: Call, turn: Callable[[Array], Any]) -> Call:
    """A call with something else for each of its arrays."""

    def turned(value: Any) -> Any:
        if isinstance(value, np.ndarray):
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


def _ends(array: Array) -> dict[str, float]:
    return {"low": 0.25 if array.min(initial=1.0) >= 0.5 else -1.25, "high": 1.25}


def _in_session(array: Array) -> Any:
    tensor = SESSION.encrypt(_plain(array), **_ends(array))
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
            return getattr(np, name)(*args, **named)
    except (TypeError, ValueError, IndexError):
        return None


def _is_eager_right(name: str, rng: Generator) -> bool:
    """Whether a random call was answered, and rightly; False where it was refused by name."""
    given = ARGUMENTS[name](rng)
    expected = _numpys(name, given)
    try:
        args, named = _some_turned(rng, given, _in_session)
        made = getattr(np, name)(*args, **named)
    except CloakworkError:
        return False
    assert expected is not None, f"numpy refuses {name} of {given}, and tensors do not"
    found, error = made, 0.0
    if isinstance(made, Tensor):
        found, error = SESSION.decrypt(made), 2.0**-made.precision
    assert np.shape(found) == np.shape(expected), (name, given)
    off = np.abs(np.asarray(found, dtype=float) - np.asarray(expected, dtype=float))
    assert off.max(initial=0.0) <= error + _ROUNDING, (name, given)
    return True


def _is_compiled_right(name: str, rng: Generator) -> bool:
    """The same of a compiled function."""
    given = ARGUMENTS[name](rng)
    arrays: list[Array] = []

    def kept(array: Array) -> Any:
        arrays.append(array)
        return itemgetter(len(arrays) - 1)

    args, named = _some_turned(rng, given, kept)

    def function(*inputs: Any) -> Any:
        tensors = [
            each > 0 if array.dtype == bool else each
            for each, array in zip(inputs, arrays, strict=True)
        ]

        def placed(value: Any) -> Any:
            if callable(value):
                return value(tensors)
            return [placed(each) for each in value] if isinstance(value, list) else value

        return getattr(np, name)(*map(placed, args), **{key: placed(named[key]) for key in named})

    try:
        specs = [cw.Spec(each.shape, low=_ends(each)["low"], high=1.25) for each in arrays]
        program = cw.compile(function, *specs, precision=PRECISION, insecure=True, log_n=12)
        found = program.run_clear(*map(_plain, arrays))
    except CloakworkError:
        return False
    expected = np.asarray(_numpys(name, given), dtype=float)
    assert found.shape == expected.shape, (name, given)
    assert np.abs(found - expected).max() <= 2.0**-PRECISION + _ROUNDING, (name, given)
    return True


@pytest.mark.parametrize("name", NAMES)
def test_random_calls_are_numpys(name: str) -> None:
    rng = np.random.default_rng([1, *name.encode()])
    # Of few calls all may be ones that are refused.
    answered = [_is_eager_right(name, rng) for _ in range(max(part(_CALLS), _FEWEST))]
    assert any(answered)


@pytest.mark.parametrize("name", sorted({*FUNCTIONS} - {"shape", "ndim", "size", "std", "clip"}))
def test_random_compiled_calls_are_numpys(name: str) -> None:
    rng = np.random.default_rng([2, *name.encode()])
    answered = [_is_compiled_right(name, rng) for _ in range(part(_COMPILED))]
    assert any(answered)


def test_every_dispatched_function_has_arguments() -> None:
    assert set(NAMES) == set(ARGUMENTS)


def _unsupported() -> list[tuple[str, inspect.Parameter]]:
    """Each parameter of numpy's that tensors have not, with its function."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        (name, each)
        for name in sorted(FUNCTIONS)
        for each in inspect.signature(getattr(np, name)).parameters.values()
        if each.kind not in (*variable, each.POSITIONAL_ONLY) and each.default is not each.empty
        if each.name not in inspect.signature(FUNCTIONS[name]).parameters
    ]


def _answered_without(name: str, left_out: str) -> Call:
    """A call of encrypted tensors that is answered, in which an argument is not given."""
    signature, rng = inspect.signature(getattr(np, name)), np.random.default_rng(0)
    for _ in range(100):
        given = ARGUMENTS[name](rng)
        try:
            args, named = _turned(given, _in_session)
            getattr(np, name)(*args, **named)
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
    function, left_out = getattr(np, name), parameter.name
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
