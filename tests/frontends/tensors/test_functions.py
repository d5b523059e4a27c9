"""Functions of encrypted tensors, eager and compiled, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import (
    ActivationFitError,
    InvalidArgumentError,
    InvalidParametersError,
    LevelExhaustedError,
    NotRealError,
    ShapeMismatchError,
    UnsupportedOperationError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.tensors.functions import silu
from cloakwork.programs.functions import FUNCTIONS
from tests.thoroughness import part

Array: TypeAlias = NDArray[np.float64]
Apply: TypeAlias = Callable[[Any], Any]

BITS = 12
# What a type checker refuses already.
RANGE: Any = 3
LIST: Any = [1.0]
SESSION = cw.Session(depth=40, precision=BITS, backend="clear", insecure=True, log_n=6, bound=1000)

shapes: st.SearchStrategy[tuple[int, ...]] = st.lists(st.integers(1, 5), max_size=3).map(tuple)

SMOOTH: dict[str, tuple[Apply, Apply]] = {
    "arcsinh": (np.arcsinh, np.arcsinh),
    "arctan": (np.arctan, np.arctan),
    "cos": (np.cos, np.cos),
    "cosh": (np.cosh, np.cosh),
    "exp": (np.exp, np.exp),
    "exp2": (np.exp2, np.exp2),
    "expm1": (np.expm1, np.expm1),
    "gelu": (cw.gelu, FUNCTIONS["gelu"].value),
    "power": (lambda x: 3**x, lambda x: 3**x),
    "sigmoid": (cw.sigmoid, FUNCTIONS["sigmoid"].value),
    "silu": (silu, FUNCTIONS["silu"].value),
    "sin": (np.sin, np.sin),
    "sinh": (np.sinh, np.sinh),
    "tanh": (np.tanh, np.tanh),
}
WITH_CORNER: dict[str, tuple[Apply, Apply]] = {
    "abs": (abs, np.abs),
    "absolute": (np.abs, np.abs),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5)),
    "maximum": (lambda x: np.maximum(x, 0.25), lambda x: np.maximum(x, 0.25)),
    "minimum": (lambda x: np.minimum(0.25, x), lambda x: np.minimum(0.25, x)),
    "relu": (cw.relu, FUNCTIONS["relu"].value),
}
OF_POSITIVE: dict[str, tuple[Apply, Apply]] = {
    "divide": (lambda x: 2 / x, lambda x: 2 / x),
    "inverse root": (lambda x: x**-0.5, lambda x: x**-0.5),
    "log": (np.log, np.log),
    "log10": (np.log10, np.log10),
    "log1p": (np.log1p, np.log1p),
    "log2": (np.log2, np.log2),
    "reciprocal": (np.reciprocal, np.reciprocal),
    "sqrt": (np.sqrt, np.sqrt),
    "whole power": (lambda x: x**-2, lambda x: 1 / x**2),
}


def numbers(shape: tuple[int, ...], low: float, high: float, seed: int) -> Array:
    """Random ones, both ends of the range among them where there are as many."""
    found = np.random.default_rng(seed).uniform(low, high, shape)
    if found.size > 1:
        found.flat[[0, -1]] = low, high
    return np.asarray(found)


def check(tensor: Any, expected: Any) -> None:
    """The numbers are within what the tensor says of its precision, and of its range."""
    expected = np.asarray(expected)
    assert tensor.shape == expected.shape
    found = SESSION.decrypt(tensor)
    assert np.abs(found - expected).max() <= 2.0**-tensor.precision + 1e-9
    low, high = tensor.known.ends
    assert low - 1e-9 <= expected.min() <= expected.max() <= high + 1e-9


@pytest.mark.parametrize("name", [*SMOOTH, *WITH_CORNER])
@settings(max_examples=part(6), deadline=None)
@given(shapes, st.floats(-3, 2), st.floats(0.5, 3), st.integers(0, 99))
def test_functions_of_any_numbers(
    name: str, shape: tuple[int, ...], low: float, width: float, seed: int
) -> None:
    ours, numpys = (SMOOTH | WITH_CORNER)[name]
    a = numbers(shape, low, low + width, seed)
    made = ours(SESSION.encrypt(a, low=low, high=low + width))
    check(made, numpys(a))
    # A power of 3 is off by what its exponent is, and clip is two steps.
    assert made.precision >= BITS - 3


@pytest.mark.parametrize("name", OF_POSITIVE)
@settings(max_examples=part(6), deadline=None)
@given(shapes, st.floats(0.25, 2), st.floats(0.1, 8), st.integers(0, 99))
def test_functions_of_positive_numbers(
    name: str, shape: tuple[int, ...], low: float, width: float, seed: int
) -> None:
    ours, numpys = OF_POSITIVE[name]
    a = numbers(shape, low, low + width, seed)
    check(ours(SESSION.encrypt(a, low=low, high=low + width)), numpys(a))


@settings(max_examples=part(10), deadline=None)
@given(shapes, st.integers(0, 99))
def test_comparisons_and_signs(shape: tuple[int, ...], seed: int) -> None:
    a = numbers(shape, -1.0, 1.0, seed)
    a = np.where(np.abs(a) < 0.05, 0.05, a)
    b = numbers(shape, -1.0, 1.0, seed + 1)
    x, y = SESSION.encrypt(a, bound=1), SESSION.encrypt(b, bound=1)
    check(np.sign(x), np.sign(a))
    positive: list[Apply] = [lambda t: t > 0, lambda t: t >= 0, lambda t: np.less(0, t)]
    for ours in positive:
        check(ours(x), a > 0)
    check(x < 0, a < 0)
    check(x <= 0.0, a <= 0)
    check(np.where(x > 0, y, -y), np.where(a > 0, b, -b))
    check(np.where(x > 0, 1.0, 3.0), np.where(a > 0, 1.0, 3.0))
    check(np.where(a > 0, y, 3.0), np.where(a > 0, b, 3.0))


@settings(max_examples=part(10), deadline=None)
@given(st.integers(2, 6), st.integers(1, 4), st.integers(0, 99))
def test_functions_of_several_numbers(rows: int, columns: int, seed: int) -> None:
    a = numbers((rows, columns), -1.0, 1.0, seed)
    b = numbers((rows, columns), 1.0, 3.0, seed + 1)
    x, y = SESSION.encrypt(a, bound=1), SESSION.encrypt(b, low=1, high=3)
    check(x / y, a / b)
    check(a / y, a / b)
    check(np.maximum(x, y - 2), np.maximum(a, b - 2))
    check(np.minimum(x, y - 2), np.minimum(a, b - 2))
    check(np.hypot(x, y), np.hypot(a, b))
    check(np.var(x, axis=0), a.var(axis=0))
    check(x.var(ddof=1), a.var(ddof=1))
    powers = np.exp(a)
    check(cw.softmax(x), powers / powers.sum(axis=-1, keepdims=True))
    check(cw.softmax(x, 0, precision=10), powers / powers.sum(axis=0, keepdims=True))


def test_standard_deviations_and_norms() -> None:
    a = numbers((3, 8), -1.0, 1.0, 0)
    x = SESSION.encrypt(a, bound=1)
    deviation = a.std(axis=1, keepdims=True)
    check(np.std(x, axis=1, keepdims=True), deviation)
    check((np.std(cw.within(x.var(axis=1), 0.1, 1.0))), a.var(axis=1).std())
    weight, bias = numbers((8,), 0.5, 2.0, 1), numbers((8,), -1.0, 1.0, 2)
    normed = (a - a.mean(axis=1, keepdims=True)) / np.sqrt(deviation**2 + 1e-5)
    check(cw.layer_norm(x, range=(0.1, 1.0)), normed)
    made = cw.layer_norm(x, weight, bias, eps=0.01, precision=8)
    expected = (a - a.mean(axis=1, keepdims=True)) / np.sqrt(deviation**2 + 0.01) * weight + bias
    check(made, expected)


@settings(max_examples=part(20), deadline=None)
@given(st.data(), st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(0, 99))
def test_tensors_are_put_together(data: st.DataObject, shape: list[int], seed: int) -> None:
    a, b = (numbers(tuple(shape), -1.0, 1.0, seed + each) for each in (0, 1))
    x, y = SESSION.encrypt(a, bound=1), SESSION.encrypt(b, bound=1)
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    join: Any = np.concatenate
    check(join([x, b, y], axis=axis), np.concatenate([a, b, b], axis=axis))
    stack: Any = np.stack
    check(stack([x, y, a], axis=axis), np.stack([a, b, a], axis=axis))
    widths = data.draw(
        st.lists(
            st.tuples(st.integers(0, 2), st.integers(0, 2)),
            min_size=len(shape),
            max_size=len(shape),
        )
    )
    pad: Any = np.pad
    check(pad(x, widths), np.pad(a, widths))
    check(pad(x, widths, constant_values=0.5), np.pad(a, widths, constant_values=0.5))


def test_products_and_traces_as_numpys() -> None:
    a, b = numbers((2, 3, 4), -1, 1, 0), numbers((5, 4, 2), -1, 1, 1)
    x: Any = SESSION.encrypt(a, bound=1)
    check(np.dot(x, b), np.dot(a, b))
    check(np.dot(x, 2), np.dot(a, 2))
    check(np.dot(x[0], b[0]), np.dot(a[0], b[0]))
    square: Any = SESSION.encrypt(a[0, :, :3], bound=1)
    check(np.trace(square), a[0, :, :3].trace())
    check(square**0, np.ones((3, 3)))


@pytest.mark.parametrize(
    ("apply", "error", "message"),
    [
        (
            np.log,
            ActivationFitError,
            r"cannot compute numpy.log, log at \S+:\d+ of numbers from -1 to 1: it",
        ),
        (lambda x: 1 / x, ActivationFitError, "not defined on all of them"),
        (lambda x: np.exp(1000 * x), ActivationFitError, "outgrow doubles"),
        (np.floor, UnsupportedOperationError, "cannot compute numpy.floor of an encrypted tensor"),
        (np.cbrt, UnsupportedOperationError, "numpy.cbrt"),
        (lambda x: np.std(x, ddof=4), InvalidArgumentError, "expected a ddof from 0 to 3"),
        (lambda x: np.trace(x[0]), ShapeMismatchError, "cannot trace: expected two axes or more"),
        (lambda x: np.concatenate([x, x[0]]), ShapeMismatchError, "cannot concatenate"),
        (lambda x: np.stack([x, x[:1]]), ShapeMismatchError, "cannot stack"),
        (
            lambda x: np.pad(x, 1, mode="mean"),
            InvalidArgumentError,
            "cannot pad: expected the mode",
        ),
        (lambda x: cw.within(x, 2, 1), InvalidArgumentError, "expected a range"),
        (lambda x: cw.relu(x, range=RANGE), InvalidArgumentError, "cannot relu: expected a range"),
        (lambda x: cw.relu(x, precision=0), InvalidArgumentError, "precision"),
        (lambda x: cw.softmax(LIST), InvalidArgumentError, "expected an encrypted tensor"),
        *(
            (lambda _, f=f: f(np.array([1j])), NotRealError, "expected real numbers, got an array")
            for f in (cw.relu, cw.gelu, cw.softmax, lambda x: cw.within(x, 0, 1))
        ),
        (lambda x: cw.layer_norm(x, eps=-1), InvalidArgumentError, "expected an eps from 0 on"),
    ],
)
def test_refusals(apply: Apply, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        apply(SESSION.encrypt(numbers((2, 2), -1, 1, 0), bound=1))


def test_data_outside_their_range_are_refused() -> None:
    with pytest.raises(ValueOutOfRangeError, match=r"expected values from 0\.5 to 2, got"):
        SESSION.encrypt([0.25, 1.0], low=0.5, high=2)
    program = cw.compile(np.sqrt, cw.Spec((2,), low=0.5, high=2), precision=10)
    with pytest.raises(ValueOutOfRangeError, match=r"expected values from 0\.5 to 2, got"):
        program.run_clear([0.25, 1.0])


def test_too_few_levels_are_refused_by_name() -> None:
    shallow = cw.Session(depth=2, precision=12, backend="clear", insecure=True, log_n=6)
    with pytest.raises(LevelExhaustedError, match=r"cannot compute numpy.tanh: needs \d level"):
        np.tanh(shallow.encrypt([0.5], bound=4))


COMPILED: dict[str, tuple[Apply, cw.Spec]] = {
    "exp": (np.exp, cw.Spec((7,), bound=2.0)),
    "inverse": (lambda x: 1 / x, cw.Spec((7,), low=0.5, high=3)),
    "relu": (lambda x: np.maximum(x, 0), cw.Spec((3, 2))),
    "root": (np.sqrt, cw.Spec((7,), low=0.1, high=3)),
    "share": (lambda x: np.exp(x) / np.exp(x).sum(), cw.Spec((5,))),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), cw.Spec((3, 3), bound=2.0)),
    "tanh": (np.tanh, cw.Spec((9,), bound=4.0)),
    "where": (lambda x: np.where(x > 0, x, x / 2), cw.Spec((9,), bound=1.0)),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_functions_on_ciphertexts(name: str) -> None:
    function, spec = COMPILED[name]
    program = cw.compile(function, spec, precision=10, log_n=11, insecure=True)
    assert spec.low is not None
    assert spec.high is not None
    a = numbers(spec.shape, spec.low, spec.high, 3)
    if name == "where":
        a = np.where(np.abs(a) < 0.05, 0.05, a)
    assert np.abs(program.run(a) - function(a)).max() <= 2.0**-10
    assert np.abs(program.run_clear(a) - function(a)).max() <= 2.0**-10
    assert program.error is not None
    assert program.error <= 2.0**-10


def test_a_client_refuses_numbers_that_leave_a_range_given() -> None:
    program = cw.compile(
        lambda x: np.sqrt(cw.within((x * x).sum(axis=1), 0.5, 3)), (2, 3), precision=10
    )
    a = np.full((2, 3), 0.7)
    assert np.abs(program.run_clear(a) - np.sqrt((a * a).sum(axis=1))).max() <= 2.0**-10
    client, _ = program.keygen()
    for inputs in (0.1 * a, np.vstack([a[:1], 0.1 * a[:1]])):
        with pytest.raises(
            ValueOutOfRangeError, match=r"'sqrt at \S+' expects numbers from 0\.5 to 3"
        ):
            client.encrypt(inputs)
    assert program.simulate(0.1 * a).outside[0].startswith("layer 'sqrt at test_functions.py:")
    free = cw.compile(lambda x: np.sqrt((x * x).sum(axis=1) + 0.5), (2, 3), precision=10)
    assert not free.ranges


def test_explain_says_for_which_range_a_result_holds() -> None:
    program = cw.compile(np.exp, cw.Spec((4,), low=-2, high=0), precision=10)
    assert "exp of -2 to 0: polynomial of degree" in cw.explain(program)


def logistic(y: Any) -> Any:
    for _ in range(2):
        y = 3.2 * y * (1 - y)
    return y


def ranged_logistic(y: Any) -> Any:
    for _ in range(2):
        y = cw.within(3.2 * y * (1 - y), 0, 1)
    return y


def test_ranges_of_numbers_on_the_way_bound_what_follows() -> None:
    inputs = cw.Spec((3, 4), low=0, high=1)
    wide, narrow = (cw.compile(each, inputs, precision=12) for each in (logistic, ranged_logistic))
    assert narrow.scheme.parameters.scale_bits < wide.scheme.parameters.scale_bits
    assert narrow.output_bounds == (1.0,)
    assert [each.layer for each in narrow.ranges] == [f"within {number}" for number in (1, 2)]
    a = numbers((3, 4), 0, 1, 0)
    assert np.abs(narrow.run(a) - logistic(a)).max() <= 2.0**-12
    text = cw.explain(narrow)
    assert "ranges  within 1: 0 to 1, within 2: 0 to 1" in text
    assert "ranges" not in cw.explain(wide)


def test_ranges_of_numbers_on_the_way_are_checked(tmp_path: Path) -> None:
    program = cw.compile(
        lambda y: cw.within(3.2 * y * (1 - y), 0.25, 1), cw.Spec((4,), low=0, high=1), precision=12
    )
    a = np.array([0.5, 0.5, 0.5, 0.01])
    client, _ = program.keygen()
    for refused in (client.encrypt, program.run_clear):
        with pytest.raises(ValueOutOfRangeError, match=r"'within 1' expects .* from 0\.25 to 1"):
            refused(a)
    assert program.simulate(a).outside
    program.save(tmp_path / "program")
    again = cw.load(tmp_path / "program", cw.Program)
    assert again.value_bounds == program.value_bounds


def test_a_comparison_of_numbers_close_to_each_other_is_between_0_and_1() -> None:
    def compared(x: Any) -> tuple[Any, Any]:
        is_above = cw.greater(x, 0, gap=1 / 64)
        return is_above, np.where(is_above, x, 0.5 * x - 0.25)

    program = cw.compile(compared, (9,), precision=10, log_n=11, insecure=True)
    assert "between its two values within 0.0156 of 0 as allowed" in cw.explain(program)
    assert program.error is not None
    assert program.error <= 2.0**-10
    assert not program.ranges
    x = np.linspace(-1 / 64, 1 / 64, 9)
    is_above, chosen = program.run(x)
    error = 2.0**-10
    assert (np.diff(is_above) > 0).all()
    assert np.abs(is_above[[0, 4, 8]] - [0, 0.5, 1]).max() <= error
    assert (chosen >= 0.5 * x - 0.25 - error).all()
    assert (chosen <= x + error).all()


def test_a_client_refuses_numbers_that_a_comparison_cannot_tell_apart(tmp_path: Path) -> None:
    def chosen(x: Any, y: Any) -> Any:
        return np.where(x > y, 1.0, y * y)

    program = cw.compile(chosen, (3,), (3,), precision=10, log_n=11, insecure=True)
    assert "between its two values within 0.0312 of 0" in cw.explain(program)
    client, evaluator = program.keygen()
    x, y = np.array([0.5, -0.25, 1.0]), np.array([0.5 - 1 / 32, -0.25 + 1 / 32, -1.0])
    result = client.decrypt(evaluator.run(client.encrypt(x, y)))
    assert program.error is not None
    assert program.error <= 2.0**-10
    assert np.abs(result - chosen(x, y)).max() <= program.error
    y[1] = -0.25 + 1 / 33
    for refused in (client.encrypt, program.run_clear):
        with pytest.raises(ValueOutOfRangeError, match=r"that differ by 0\.03125 or more.*greater"):
            refused(x, y)
    assert "and got some that differ by 0.0303" in program.simulate(x, y).outside[0]
    program.save(tmp_path / "program")
    with pytest.raises(ValueOutOfRangeError, match="compares numbers that differ by"):
        cw.load(tmp_path / "program", cw.Program, insecure=True).run_clear(x, y)


def test_of_several_comparisons_the_line_tells_which_is_too_close() -> None:
    def chosen(x: Any) -> Any:
        above = np.where(x > 0.5, x, 0.0)
        below = np.where(x < -0.5, x, 0.0)
        return above + below + np.where(x > 0.25, 1.0, 0.0)

    program = cw.compile(chosen, (4,))
    line = chosen.__code__.co_firstlineno + 3
    with pytest.raises(ValueOutOfRangeError) as refused:
        program.run_clear([1.0, 0.0, 0.25, 0.75])
    assert f"'step at {Path(__file__).name}:{line}' compares numbers" in str(refused.value)
    # Nothing leaves a range.
    assert "within" not in str(refused.value)


MEETING: dict[str, Apply] = {
    "leaky": lambda x: np.where(x > 0, x, 0.5 * x),
    "absolute": lambda x: np.where(x >= 0, x, -x),
    "clipped": lambda x: np.where(x < 0.25, 0.25, x),
    "larger": lambda x: np.where(x[:4] > x[4:], x[:4], x[4:]),
    "shifted": lambda x: np.where(2 * x - 1 <= 0, 3 - x, x + 2),
}


@pytest.mark.parametrize("name", MEETING)
def test_sides_that_meet_where_they_are_compared_are_right_for_close_numbers(name: str) -> None:
    function = MEETING[name]
    program = cw.compile(function, (8,), precision=8, log_n=11, insecure=True)
    assert not program.ranges
    for x in (
        np.zeros(8),
        np.linspace(-0.01, 0.01, 8),
        np.linspace(0.24, 0.51, 8),
        np.full(8, 1.0),
    ):
        assert np.abs(program.run_clear(x) - function(x)).max() <= 2.0**-8


@pytest.mark.parametrize(
    "function",
    [
        lambda x: np.where(x > 0, x, 0.5 * x + 0.25),
        lambda x: np.where(x > 0, x * x, x),
        lambda x: np.where(x > 0.5, x, 0.0),
        lambda x: np.where(x > 0, 1.0, 2.0),
    ],
)
def test_sides_that_do_not_meet_are_chosen_by_the_comparison(function: Apply) -> None:
    program = cw.compile(function, (3,), precision=8, log_n=11, insecure=True)
    assert [each.gap > 0 for each in program.ranges] == [True]
    x = np.array([-1.0, 0.25, 1.0])
    assert np.abs(program.run_clear(x) - function(x)).max() <= 2.0**-8


def test_a_tensor_says_how_far_a_comparison_may_be_off() -> None:
    a = np.array([-0.5, 0.0, 1e-3, 1.0])
    x = SESSION.encrypt(a, bound=1)
    cases: list[tuple[Any, Array]] = [
        (x > 0, np.heaviside(a, 0.0)),
        (np.sign(x), np.sign(a)),
        (np.where(x > 0, x + 1, -3.0), np.where(a > 0, a + 1, -3.0)),
        (np.exp(x) * (x > 0), np.exp(a) * (a > 0)),
    ]
    for made, exact in cases:
        off = float(np.abs(SESSION.decrypt(made) - exact).max())
        assert 0.25 < off <= 2.0**-made.precision
    assert cw.greater(x, 0, gap=0.1).precision > BITS


def test_what_functions_make_is_compared() -> None:
    program = cw.compile(lambda x: np.exp(x) > 1.5, (4,), precision=10, log_n=11, insecure=True)
    assert program.error is not None
    assert program.error <= 2.0**-10
    a = np.array([-1.0, 0.25, 0.5, 1.0])
    assert np.abs(program.run_clear(a) - (np.exp(a) > 1.5)).max() <= 2.0**-10


@pytest.mark.slow
def test_softmax_of_64_encrypted_numbers() -> None:
    program = cw.compile(cw.softmax, (64,), precision=12)
    client, evaluator = program.keygen()
    at_ends = np.where(np.arange(64) < 32, -1.0, 1.0)
    for a in (at_ends, *np.random.default_rng(0).uniform(-1, 1, (19, 64))):
        powers = np.exp(a)
        found = client.decrypt(evaluator.run(client.encrypt(a)))
        assert np.abs(found - powers / powers.sum()).max() <= 2.0**-12


def squares(x: Any) -> Any:
    made = cw.within(x.sum(axis=1), -1, 1)
    for _ in range(12):
        made = cw.within(made * made, 0, 1)
    return made


def test_a_range_of_sums_holds_for_partial_sums_beside_them() -> None:
    program = cw.compile(squares, (4, 8), precision=10, log_n=8, insecure=True)
    assert program.value_bounds is not None
    assert max(bound or 0.0 for bound in program.value_bounds) == 8
    # The mask takes a level.
    assert program.scheme.parameters.levels == 13
    a = np.full((4, 8), 0.1249)
    a[1:] = numbers((3, 8), -0.12, 0.12, 0)
    assert np.abs(program.run(a) - a.sum(axis=1) ** 4096).max() <= 2.0**-10
    shallow = cw.compile(
        lambda x: cw.within(x.sum(axis=1), -1, 1) ** 2, (4, 8), log_n=8, insecure=True
    )
    assert shallow.scheme.parameters.levels == 1


def test_a_range_of_sums_lets_them_be_bootstrapped() -> None:
    session = cw.Session(bootstrap=True, precision=12, bound=1, log_n=8, insecure=True)
    a = numbers((4, 8), -0.12, 0.12, 0)
    made = cw.within(session.encrypt(a, bound=1).sum(axis=1), -1, 1)
    assert [value.bound for value in made.values] == [1.0]
    assert np.abs(session.decrypt(made.bootstrap()) - a.sum(axis=1)).max() < 2.0**-12


@pytest.mark.parametrize(
    ("function", "low"),
    [
        (lambda x: cw.sigmoid(30 * x), 0.0),
        (cw.relu, 0.0),
        (lambda x: np.sign(x - 0.1), -1.0),
        (lambda x: x > 0.1, 0.0),
    ],
)
def test_a_range_that_values_of_functions_fill_is_not_left(function: Apply, low: float) -> None:
    program = cw.compile(
        lambda x: cw.within(function(x), low, 1), (8,), precision=10, log_n=8, insecure=True
    )
    a = np.array([-1, -0.5, -0.3, 0.05, 0.2, 0.6, 0.9, 1])
    assert program.run_clear(a)[-1] == pytest.approx(1, abs=2.0**-10)
    (claim,) = [each for each in program.ranges if each.layer.startswith("within")]
    assert low - 2.0**-10 < claim.low < low
    assert 1 < claim.high < 1 + 2.0**-10


@pytest.mark.slow
def test_where_less_precision_would_not_do_it_is_not_advised() -> None:
    def largest(x: Any) -> Any:
        return np.maximum(np.maximum(x[0], x[1]), np.maximum(x[2], x[3]))

    for precision, message in [(8, "or compute fewer steps"), (5, "ask for precision=8 or more")]:
        with pytest.raises(InvalidParametersError, match=message) as refused:
            cw.compile(largest, (4,), precision=precision, log_n=8, insecure=True)
        assert "less precision" not in str(refused.value)


@pytest.mark.parametrize("gap", [1.5, 2.0, 50])
def test_a_gap_may_be_as_wide_as_the_range(gap: float) -> None:
    a = np.array([-1.0, 0.0, 0.75, 1.0])
    program = cw.compile(
        lambda x: cw.greater(x, 0, gap), (4,), precision=10, log_n=8, insecure=True
    )
    assert np.abs(program.run_clear(a) - [0, 0.5, 1, 1]).max() <= 2.0**-10
    check(cw.greater(SESSION.encrypt(a, bound=1), 0, gap), [0, 0.5, 1, 1])


def test_a_gap_that_no_composition_is_steep_enough_for_is_refused_at_once() -> None:
    with pytest.raises(ActivationFitError, match=r"nothing comes within .* or a wider gap"):
        cw.greater(SESSION.encrypt([1.0], bound=1), 0, 1e-12)


@pytest.mark.parametrize(("low", "high"), [(20.0, 30.0), (-30.0, -20.0)])
def test_functions_far_from_where_they_bend_are_one_number(low: float, high: float) -> None:
    program = cw.compile(lambda x: 100 * np.tanh(x) + x, cw.Spec((2,), low=low, high=high))
    x = np.array([low, high])
    assert program.error is not None
    assert np.abs(program.run_clear(x) - 100 * np.tanh(x) - x).max() < program.error < 2**-19
