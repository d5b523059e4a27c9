"""What tensors can do, against numpy, on rings so small that most tensors are cut into tiles."""

import inspect
import operator
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import basic_indices, broadcastable_shapes
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import (
    ActivationFitError,
    CloakworkError,
    InvalidArgumentError,
    LevelExhaustedError,
    NotFiniteError,
    NotRealError,
    ParametersMismatchError,
    ShapeMismatchError,
    UnsupportedOperationError,
)
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.programs.slots import Mul
from tests.thoroughness import part

Array: TypeAlias = NDArray[np.float64]

DEPTH = 12


def clear_session(log_n: int) -> cw.Session:
    return cw.Session(depth=DEPTH, backend="clear", insecure=True, log_n=log_n, bound=1e6)


# 16, 32 and 1024 slots.
SESSIONS = [clear_session(log_n) for log_n in (5, 6, 11)]
SESSION = SESSIONS[1]

sessions = st.sampled_from(SESSIONS)
shapes: st.SearchStrategy[tuple[int, ...]] = st.lists(st.integers(1, 7), max_size=3).map(tuple)


def numbers(shape: tuple[int, ...], seed: int = 0) -> Array:
    return np.asarray(np.random.default_rng(seed).uniform(-1, 1, shape))


def check(tensor: cw.Tensor, expected: Any) -> None:
    """The numbers are right, and slots said to hold zero do."""
    expected = np.asarray(expected)
    session = tensor.runner
    assert isinstance(session, cw.Session)
    assert tensor.shape == expected.shape
    np.testing.assert_allclose(session.decrypt(tensor), expected, rtol=1e-9, atol=1e-9)
    if not tensor.layout.garbage:
        used = tensor.layout.pack(np.ones(tensor.shape))
        for value, mask in zip(tensor.values, used, strict=True):
            assert np.abs(value.slots[mask == 0]).max(initial=0) < 1e-9


@settings(deadline=None)
@given(sessions, st.data(), st.sampled_from([operator.add, operator.sub, operator.mul]))
def test_arithmetic_broadcasts(
    session: cw.Session, data: st.DataObject, apply: Callable[[Any, Any], Any]
) -> None:
    shape = data.draw(shapes)
    other = data.draw(broadcastable_shapes(shape, max_dims=3, max_side=6))
    a, b = numbers(shape), numbers(other, 1)
    x, y = session.encrypt(a), session.encrypt(b)
    expected = apply(a, b)
    check(apply(x, y), expected)
    check(apply(x, b), expected)
    check(apply(a, y), expected)
    check(apply(y, x), apply(b, a))


@settings(deadline=None)
@given(sessions, shapes, st.sampled_from([-2.5, 0.1, 3.0, 1e3]))
def test_division_by_clear_numbers(
    session: cw.Session, shape: tuple[int, ...], divisor: float
) -> None:
    a = numbers(shape)
    b = numbers(shape, 1) + 2
    check(session.encrypt(a) / divisor, a / divisor)
    check(session.encrypt(a) / b, a / b)


@settings(deadline=None)
@given(sessions, shapes)
def test_signs(session: cw.Session, shape: tuple[int, ...]) -> None:
    a = numbers(shape)
    x = session.encrypt(a)
    check(-x, -a)
    check(+x, a)
    assert (-x).level == x.level


@settings(deadline=None)
@given(sessions, shapes, st.integers(-12, 12))
def test_whole_multiples(session: cw.Session, shape: tuple[int, ...], factor: int) -> None:
    a = numbers(shape)
    x = session.encrypt(a)
    check(x * factor, a * factor)
    check(float(factor) * x, a * factor)
    assert (x * factor).level == DEPTH - (abs(factor) > 8 or factor == 0)


@pytest.mark.parametrize("factor", [0.5, 2.5, 9, -9, 0])
def test_other_multiples_take_a_level(factor: float) -> None:
    assert (SESSION.encrypt(numbers((5, 9))) * factor).level == DEPTH - 1


@pytest.mark.parametrize("exponent", range(1, 10))
def test_a_power_takes_the_fewest_levels_and_products(exponent: int) -> None:
    a = numbers((3, 4))
    result = SESSION.encrypt(a) ** exponent
    check(result, a**exponent)
    assert result.level == DEPTH - (exponent - 1).bit_length()


@pytest.mark.parametrize(("exponent", "products"), [(8, 3), (15, 6)])
def test_a_power_multiplies_each_pair_once(exponent: int, products: int) -> None:
    session = cw.Session(depth=4, backend="clear", insecure=True, log_n=6, bound=1e6)
    power = session.encrypt([2.0]) ** exponent
    check(power, [2.0**exponent])
    assert power.program is not None
    assert sum(isinstance(each, Mul) for each in power.program.operations) == products


@settings(deadline=None)
@given(sessions, st.data(), st.booleans(), st.sampled_from(["sum", "mean"]))
def test_sums_and_means(
    session: cw.Session, data: st.DataObject, keepdims: bool, name: str
) -> None:
    shape = data.draw(shapes)
    axes: Any = None
    if len(shape) > 0 and data.draw(st.integers(0, 2)):
        chosen = data.draw(st.sets(st.integers(0, len(shape) - 1)))
        axes = tuple(each - data.draw(st.sampled_from([0, len(shape)])) for each in chosen)
        axes = axes[0] if len(axes) == 1 else axes
    a = numbers(shape)
    x = session.encrypt(a)
    result = getattr(x, name)(axes, keepdims=keepdims)
    check(result, getattr(np, name)(a, axis=axes, keepdims=keepdims))
    if name == "mean":
        assert result.level == DEPTH - 1


@settings(deadline=None)
@given(sessions, st.data())
def test_transposes_move_nothing(session: cw.Session, data: st.DataObject) -> None:
    shape = data.draw(shapes)
    a = numbers(shape)
    x = session.encrypt(a)
    check(x.T, a.T)
    order = data.draw(st.permutations(range(len(shape))))
    for result in (x.transpose(order), x.transpose(*order)):
        check(result, a.transpose(order) if order else a)
        assert result.level == DEPTH
        assert result.program is not None
        assert not counted_operations(result.program)


@st.composite
def factorings(draw: st.DrawFn, count: int) -> tuple[int, ...]:
    """A shape of so many elements."""
    shape: list[int] = []
    while count > 1:
        divisors = [d for d in range(2, count + 1) if count % d == 0]
        shape.append(draw(st.sampled_from(divisors)))
        count //= shape[-1]
    for _ in range(draw(st.integers(0, 1))):
        shape.insert(draw(st.integers(0, len(shape))), 1)
    return tuple(shape)


@settings(deadline=None)
@given(sessions, st.data())
def test_reshapes(session: cw.Session, data: st.DataObject) -> None:
    shape = data.draw(shapes)
    a = numbers(shape)
    wanted = data.draw(factorings(a.size))
    x = session.encrypt(a)
    check(x.reshape(wanted), a.reshape(wanted))
    check(x.reshape(*wanted), a.reshape(wanted))
    if wanted:
        unknown = data.draw(st.integers(0, len(wanted) - 1))
        partly = tuple(-1 if n == unknown else size for n, size in enumerate(wanted))
        check(x.reshape(partly), a.reshape(wanted))


@settings(deadline=None, max_examples=part(200))
@given(sessions, st.data())
def test_basic_indices(session: cw.Session, data: st.DataObject) -> None:
    shape = data.draw(shapes)
    index = data.draw(basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))
    a = numbers(shape)
    expected = np.asarray(a[index])
    x = session.encrypt(a)
    if expected.size:
        check(x[index], expected)
    else:
        with pytest.raises(ShapeMismatchError, match="nothing is left"):
            x[index]


@pytest.mark.parametrize(
    "index", [0, -1, slice(None, None, -1), slice(4, 0, -2), (..., 2), (None, 1, ..., None)]
)
def test_views_of_one_ciphertext_are_free(index: Any) -> None:
    a = numbers((5, 6))
    session = SESSIONS[2]
    result = session.encrypt(a)[index]
    check(result, a[index])
    assert result.level == DEPTH


@settings(deadline=None)
@given(sessions, st.data())
def test_matrix_products(session: cw.Session, data: st.DataObject) -> None:
    m, k, n = (data.draw(st.integers(1, 6)) for _ in "mkn")
    batch = data.draw(st.lists(st.integers(1, 3), max_size=1).map(tuple))
    other = data.draw(broadcastable_shapes(batch, max_dims=2, max_side=3))
    left = data.draw(st.sampled_from([(k,), (*batch, m, k)]))
    right = data.draw(st.sampled_from([(k,), (*other, k, n)]))
    a, b = numbers(left), numbers(right, 1)
    x, y = session.encrypt(a), session.encrypt(b)
    expected = a @ b
    check(x @ y, expected)
    check(x @ b, expected)
    product: Any = a @ y
    check(product, expected)
    check(x.matmul(y), expected)


# Chains: whatever state one method leaves its slots in, the next one copes with.


def _index(draw: st.DrawFn, a: Array) -> Any:
    parts: list[Any] = []
    for size in a.shape:
        slices = st.slices(size).filter(range(size).__getitem__)
        parts.append(draw(st.integers(-size, size - 1) | slices | st.just(slice(None))))
    return tuple(parts)


@st.composite
def step(draw: st.DrawFn, a: Array, b: Array) -> tuple[str, Callable[[Any, Any], Any]]:
    """A name, and a function of two tensors or of the two arrays that they hold."""
    kinds = ["neg", "times", "scale", "add clear", "self", "square", "reshape", "transpose"]
    kinds += ["index", "sum", "sum"] if a.ndim else []
    kinds += ["expand"] if a.ndim < 3 else []
    if a.ndim and b.ndim and a.shape[-1] == b.shape[0] and b.ndim <= 2:
        kinds += ["matmul"] * 3
    try:
        if np.broadcast_shapes(a.shape, b.shape) and np.broadcast(a, b).size <= 200:
            kinds += ["add other", "mul other", "sub other"]
    except ValueError:
        pass
    kind = draw(st.sampled_from(kinds))
    c = draw(st.sampled_from([-3, 2, 5]))
    match kind:
        case "neg":
            return kind, lambda x, _: -x
        case "times":
            return kind, lambda x, _: c * x
        case "scale":
            return kind, lambda x, _: x * 0.3
        case "add clear":
            row = numbers(a.shape[-1:], 7)
            return kind, lambda x, _: x - row
        case "self":
            return kind, lambda x, _: x + x
        case "square":
            return kind, lambda x, _: x * x
        case "reshape":
            wanted = draw(factorings(a.size))
            return kind, lambda x, _: x.reshape(wanted)
        case "transpose":
            order = draw(st.permutations(range(a.ndim)))
            return kind, lambda x, _: x.transpose(tuple(order))
        case "index":
            index = _index(draw, a)
            return f"{index}", lambda x, _: x[index]
        case "sum":
            axis = draw(st.integers(0, a.ndim - 1))
            keep = draw(st.booleans())
            return f"sum {axis} {keep}", lambda x, _: x.sum(axis, keepdims=keep)
        case "expand":
            return kind, lambda x, _: x[..., None]
        case "matmul":
            return kind, lambda x, y: x @ y
        case "add other":
            return kind, lambda x, y: x + y
        case "sub other":
            return kind, lambda x, y: y - x
        case _:
            return kind, lambda x, y: x * y


@settings(deadline=None, max_examples=part(300))
@given(st.sampled_from(SESSIONS[:2]), st.data())
def test_chains(session: cw.Session, data: st.DataObject) -> None:
    shape = data.draw(shapes)
    other = data.draw(st.one_of(broadcastable_shapes(shape, max_dims=3, max_side=5), shapes))
    pairs = [(session.encrypt(each), each) for each in (numbers(shape), numbers(other, 1))]
    for _ in range(data.draw(st.integers(2, 5))):
        (x, a), (y, b) = (data.draw(st.sampled_from(pairs)) for _ in "xy")
        if min(x.level, y.level) < 4:
            break
        name, apply = data.draw(step(a, b))
        note(name)
        expected = np.asarray(apply(a, b))
        if expected.size > 200:
            continue
        scale = max(1.0, float(np.abs(expected).max()))
        result = apply(x, y)
        check(result, expected)
        if scale > 1e4:
            break
        pairs.append((result, expected))


def test_sums_and_multiples_of_views_take_no_level() -> None:
    a = numbers((4, 6))
    x = SESSIONS[2].encrypt(a)
    for view, expected in ((x[::-1, 2:], a[::-1, 2:]), (x.T[3], a.T[3]), (x[1:], a[1:])):
        for result, wanted in (
            (-view, -expected),
            (3 * view, 3 * expected),
            (view - 1, expected - 1),
        ):
            check(result, wanted)
            assert result.level == DEPTH


# Refusals.


@pytest.mark.parametrize(
    ("apply", "error", "message"),
    [
        (lambda x: x + np.ones(4), ShapeMismatchError, r"cannot compute x \+ y: the shapes"),
        (lambda x: x - [1.0, np.nan], NotFiniteError, r"cannot add: element \(1,\) is nan"),
        (lambda x: x * np.inf, NotFiniteError, "cannot multiply: element"),
        (lambda x: x * 1j, NotRealError, "cannot multiply: expected real numbers"),
        (lambda x: x + "a", NotRealError, "cannot add: expected real numbers"),
        (lambda x: x * np.ones((0, 3)), ShapeMismatchError, "an operand has no elements"),
        (
            lambda x: x / x,
            ActivationFitError,
            r"cannot compute 1 / x, reciprocal at \S+:\d+ of numbers",
        ),
        (lambda x: x / 0, InvalidArgumentError, "cannot divide by zero"),
        (lambda x: x / [1.0, 0.0, 2.0], InvalidArgumentError, "cannot divide by zero"),
        (lambda x: x**-1, ActivationFitError, "not defined on all of them"),
        (lambda x: x**0.5, ActivationFitError, "not defined on all of them"),
        (lambda x: x**0.3, InvalidArgumentError, "expected a whole number, or half an odd one"),
        (lambda x: x**True, InvalidArgumentError, "expected a whole number, or half an odd one"),
        (lambda x: (-2) ** x, InvalidArgumentError, "expected a number above 0, got -2"),
        (lambda x: x == 0.0, InvalidArgumentError, "cannot compare an encrypted tensor"),
        (lambda x: x @ np.ones(4), ShapeMismatchError, r"cannot matmul: the shapes \(2, 3\)"),
        (lambda x: x @ np.ones((3, 0)), ShapeMismatchError, "expected matrices with elements"),
        (lambda x: np.ones((0, 2)) @ x, ShapeMismatchError, "expected matrices with elements"),
        (lambda x: x @ 2.0, ShapeMismatchError, "cannot matmul"),
        (lambda x: 2.0 @ x, ShapeMismatchError, "cannot matmul"),
        (lambda x: np.ones((2, 5, 4)) @ x, ShapeMismatchError, "cannot matmul"),
        (lambda x: x.sum(2), InvalidArgumentError, "cannot sum: expected an axis from -2 to 1"),
        (lambda x: x.sum((0, -2)), InvalidArgumentError, "an axis comes twice"),
        (lambda x: x.sum("a"), InvalidArgumentError, "cannot sum: expected an axis"),
        (lambda x: x.mean(-3), InvalidArgumentError, "cannot mean: expected an axis"),
        (lambda x: x.mean(True), InvalidArgumentError, "cannot mean: expected an axis"),
        (lambda x: x.transpose(0, 0), InvalidArgumentError, "expected each of 2 axes once"),
        (lambda x: x.transpose(1), InvalidArgumentError, "expected each of 2 axes once"),
        (lambda x: x.transpose(0, 2), InvalidArgumentError, "cannot transpose: expected an axis"),
        (lambda x: x.reshape(4), ShapeMismatchError, "a shape of 6 elements"),
        (lambda x: x.reshape(-1, -1), ShapeMismatchError, "cannot reshape"),
        (lambda x: x.reshape("a"), ShapeMismatchError, "cannot reshape"),
        (lambda x: x[2], ShapeMismatchError, r"cannot index a tensor of shape \(2, 3\)"),
        (lambda x: x[0, 0, 0], ShapeMismatchError, "cannot index a tensor"),
        (lambda x: x[..., 0, ...], ShapeMismatchError, "cannot index a tensor"),
        (lambda x: x[2:], ShapeMismatchError, "nothing is left"),
        (lambda x: x[::0], ShapeMismatchError, "cannot index a tensor"),
        (lambda x: x[True], InvalidArgumentError, "cannot index: expected whole numbers"),
        (lambda x: x[1.0], InvalidArgumentError, "cannot index: expected whole numbers"),
        (lambda x: x["a"], InvalidArgumentError, "cannot index: expected whole numbers"),
        (lambda x: x[x], InvalidArgumentError, "cannot index: expected whole numbers"),
        (lambda x: x[x:], InvalidArgumentError, "cannot index a tensor"),
        (bool, InvalidArgumentError, "cannot branch on an encrypted tensor"),
        (float, InvalidArgumentError, "decrypt it first"),
        (np.asarray, InvalidArgumentError, "decrypt it first"),
        (lambda x: len(x.sum()), InvalidArgumentError, "the tensor has no dimensions"),
        (lambda x: list(x.sum()), InvalidArgumentError, "the tensor has no dimensions"),
    ],
)
def test_refusals(apply: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        apply(SESSION.encrypt(numbers((2, 3))))
    assert str(caught.value).startswith("cannot ")


def test_numpys_functions_do_what_methods_do_or_are_refused() -> None:
    a, b = numbers((3, 4)), numbers((3, 4), 1)
    x: Any = SESSION.encrypt(a)
    steps: dict[str, Callable[[Any], Any]] = {
        "add": lambda t: np.add(b, t) + np.add(t, b),
        "subtract": lambda t: np.subtract(b, t),
        "multiply": lambda t: np.multiply(t, b),
        "negative": np.negative,
        "square": np.square,
        "matmul": lambda t: np.matmul(b.T, t),
        "sum": lambda t: np.sum(t, axis=0),
        "mean": np.mean,
        "transpose": np.transpose,
        "reshape": lambda t: np.reshape(t, (4, 3)),
        "dot": lambda t: np.dot(b.T, t),
        "einsum": lambda t: np.einsum("ij,ij->i", t, b),
    }
    for apply in steps.values():
        check(apply(x), apply(a))
    assert np.shape(x) == (3, 4)
    refused: list[Callable[[Any], Any]] = [
        np.cbrt,
        np.maximum.reduce,
        np.argmax,
        np.sort,
        lambda t: np.add.at(t, 0, 1),
        np.median,
        lambda t: t.argmax(),
        lambda t: t.tolist(),
    ]
    for refuse in refused:
        with pytest.raises(UnsupportedOperationError, match="cannot compute"):
            refuse(x)
    with pytest.raises(InvalidArgumentError, match="cannot compare an encrypted tensor"):
        np.equal(x, 0)


def test_tensors_of_other_sessions_do_not_mix() -> None:
    x, y = (clear_session(6).encrypt([1.0, 2.0]) for _ in "xy")
    for apply in (operator.add, operator.sub, operator.mul, operator.matmul):
        with pytest.raises(ParametersMismatchError, match="different sessions or evaluators"):
            apply(x, y)


def test_levels_run_out_by_name() -> None:
    session = cw.Session(depth=1, backend="clear", insecure=True, log_n=6)
    x: Any = session.encrypt(numbers((4, 9)))
    low = x * x
    steps: list[Callable[[], Any]] = [
        lambda: low * low,
        lambda: low / 3,
        lambda: low @ low.T,
        low.mean,
        lambda: low.reshape(9, 4),
        lambda: x**3,
    ]
    for step_ in steps:
        with pytest.raises(LevelExhaustedError, match=r"needs \d level\(s\)"):
            step_()


def test_a_tensor_knows_its_shape() -> None:
    x = SESSION.encrypt(numbers((3, 4)))
    assert (x.shape, x.ndim, x.size, len(x)) == ((3, 4), 2, 12, 3)
    for row, expected in zip(x, numbers((3, 4)), strict=True):
        check(row, expected)
    check(cw.einsum("i->i", x[np.int64(1)]), numbers((3, 4))[1])


def test_an_array_of_whole_numbers_gathers() -> None:
    a = numbers((3, 4))
    check(SESSION.encrypt(a)[:, np.array([3, 0, 0])], a[:, [3, 0, 0]])


def test_many_axes() -> None:
    a = numbers((1,) * 28 + (2, 2))
    x = SESSION.encrypt(a)
    check(x.T, a.T)
    check(x.sum(28), a.sum(28))
    check(x * x, a * a)
    check(x + x, a + a)
    check(x @ x, a @ a)
    check(x * a, a * a)
    check(x @ a, a @ a)
    check(x.mean(29), a.mean(29))


def test_defaults_of_numpys_methods_are_taken_by_name_and_place() -> None:
    x = SESSION.encrypt(numbers((2, 3)), bound=1)
    calls: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
        (lambda x: x.sum(dtype=float), lambda x: x.sum()),
        (lambda x: x.sum(axis=0, out=None), lambda x: x.sum(axis=0)),
        (lambda x: x.mean(dtype=float), lambda x: x.mean()),
        (lambda x: x.sum(where=True), lambda x: x.sum()),
        (lambda x: x.sum(0, None, None, True), lambda x: x.sum(0, keepdims=True)),
        (lambda x: x.var(0, None, None, 1), lambda x: x.var(0, ddof=1)),
        (lambda x: x.reshape(3, 2, copy=None), lambda x: x.reshape(3, 2)),
        (lambda x: x.astype(float, order="K", casting="unsafe"), lambda x: x),
    ]
    for said, plain in calls:
        np.testing.assert_array_equal(SESSION.decrypt(said(x)), SESSION.decrypt(plain(x)))
        np.testing.assert_allclose(said(numbers((2, 3))), plain(numbers((2, 3))))


# What methods of arrays take that has no default.
TAKEN: dict[str, tuple[Any, ...]] = {
    "astype": (float,),
    "choose": ([[0.5], [0.25]],),
    "dot": (np.ones(3),),
    "repeat": (2,),
    "reshape": (6,),
    "searchsorted": (0.5,),
    "swapaxes": (0, 1),
    "take": ([0, 1],),
}


def arguments_of_methods() -> list[tuple[str, str]]:
    """Each argument with a default of each method of arrays that tensors have."""
    x = SESSION.encrypt(numbers((2, 3)), bound=1)
    found = []
    for name in filter(str.islower, dir(np.ndarray)):
        if name.startswith("_") or not hasattr(np, name) or not callable(getattr(x, name, None)):
            continue
        parameters = inspect.signature(getattr(np, name)).parameters.values()
        found += [(name, each.name) for each in parameters if each.default is not each.empty]
    return found


@pytest.mark.parametrize(("name", "argument"), arguments_of_methods())
def test_methods_refuse_numpys_other_arguments_by_name(name: str, argument: str) -> None:
    x = SESSION.encrypt(numbers((2, 3)), bound=1)
    for value in (None, "no such value", np.float32, 3):
        # Whatever is no answer is a refusal of ours, and no error of Python's.
        with suppress(CloakworkError):
            answer = getattr(x, name)(*TAKEN.get(name, ()), **{argument: value})
            assert isinstance(answer, cw.Tensor)


def test_arguments_that_arrays_have_not_either_are_refused_by_name() -> None:
    x: Any = SESSION.encrypt(numbers((2, 2)), bound=1)
    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: x.sum(bogus=1), "numpy.sum .* unexpected keyword argument 'bogus'"),
        (lambda: x.max(bogus=1), "numpy.max .* unexpected keyword argument 'bogus'"),
        (lambda: x.astype(bogus=1), "numpy.astype .* unexpected keyword argument 'bogus'"),
        (lambda: x.sum(dtype=np.float32), "dtype=.*float32.*: expected no arguments but axis, kee"),
        (lambda: x.sum(initial=3), "initial=3: expected no arguments but axis, keepdims"),
    ]
    for call, message in calls:
        with pytest.raises(UnsupportedOperationError, match=message):
            call()
    with pytest.raises(InvalidArgumentError, match="numpy says: cannot select an axis to squeeze"):
        x.squeeze(0)
