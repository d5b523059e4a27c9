"""Functions whose ranges follow from samples of their arguments, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    NotFiniteError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.tensors.samples import spec_of_samples

Array = NDArray[Any]

ROWS, COLUMNS = 60, 5


def _data(seed: int) -> Array:
    """Columns of several means and spreads, as raw data have them."""
    random = np.random.default_rng(seed)
    spreads = np.array([4.0, 6.0, 8.0, 10.0, 12.0])
    return np.clip(random.normal(40 + spreads, spreads, (ROWS, COLUMNS)), 0, 100)


def _standardised(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


def _correlations(x: Any) -> Any:
    covariance = np.cov(x.T)
    inverse = 1 / np.sqrt(np.diag(covariance))
    return covariance * np.outer(inverse, inverse)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x.std(axis=0),
        lambda x: np.cov(x.T),
        lambda x: np.log(x.var(axis=0)),
        lambda x: cw.layer_norm(x, axis=0),
        _standardised,
        _correlations,
    ],
    ids=["std", "cov", "log", "layer_norm", "standardised", "correlations"],
)
def test_statistics_of_raw_data_need_no_ranges(function: Callable[[Any], Any]) -> None:
    program = cw.compile(function, _data(0), precision=10)
    allowed = program.error or 2.0**-10
    assert allowed < 2.0**-8
    for seed in range(1, 5):
        data = _data(seed)
        assert np.abs(program.run_clear(data) - function(data)).max() < allowed


def test_what_is_divided_by_a_root_takes_one_function() -> None:
    divided = cw.compile(_standardised, _data(0), precision=10)
    rooted = cw.compile(lambda x: x.std(axis=0), _data(0), precision=10)
    assert divided.scheme.parameters.levels <= rooted.scheme.parameters.levels + 2


def test_numbers_beyond_the_samples_and_the_margin_are_refused() -> None:
    program = cw.compile(lambda x: x.std(axis=0), _data(0), precision=8, insecure=True, log_n=8)
    client, _ = program.keygen()
    client.encrypt(_data(1))
    with pytest.raises(ValueOutOfRangeError, match="expects numbers from"):
        client.encrypt(0.2 * _data(1) + 40)
    with pytest.raises(ValueOutOfRangeError, match="make the bound of its Spec"):
        client.encrypt(3 * _data(1))


def test_a_wider_margin_takes_more() -> None:
    data = np.linspace(1.0, 3.0, 8)
    narrow = cw.compile(np.sqrt, data, precision=10)
    wide = cw.compile(np.sqrt, data, precision=10, margin=1.0)
    assert (narrow.inputs[0].low, narrow.inputs[0].high) == (0.75, 3.25)
    assert (wide.inputs[0].low, wide.inputs[0].high) == (0.0, 4.0)
    assert (wide.ranges[0].low, wide.ranges[0].high) == (0.5, 4.0)


def test_ranges_are_those_of_all_samples_of_all_arguments() -> None:
    xs = [np.array([0.5, 1.0]), np.array([3.0, 4.0])]
    ys = [np.array([0.5, 0.25]), np.array([1.0, 1.5])]
    program = cw.compile(lambda x, y: np.log(x * y), xs, ys, precision=12)
    for x, y in zip(xs, ys, strict=True):
        assert np.abs(program.run_clear(x, y) - np.log(x * y)).max() < 2**-11
    assert all(each.low > 0 for each in program.ranges)


def test_numbers_that_stay_small_need_no_long_scales() -> None:
    def powers(x: Any) -> Any:
        for _ in range(4):
            x = x @ x
        return x

    # Each product at most halves what the next one is made of.
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    program = cw.compile(powers, turned, precision=12)
    assert program.value_bounds is not None
    assert max(each for each in program.value_bounds if each is not None) < 16
    assert np.abs(program.run_clear(turned) - powers(turned)).max() < 2**-12


def _descent(x: Any, y: Any, w: Any) -> Any:
    for _ in range(5):
        w = w - 0.5 * (x.T @ (x @ w - y)) / 8
    return w


def _newton_schulz(a: Any, inverse: Any) -> Any:
    for _ in range(4):
        inverse = inverse @ (2 * np.eye(2) - a @ inverse)
    return inverse


def _power_iteration(x: Any, v: Any) -> Any:
    for _ in range(2):
        v = x.T @ (x @ v) / 8
        v = v / np.sqrt((v * v).sum())
    return v


def _iterations() -> list[tuple[Callable[..., Any], tuple[Array, ...]]]:
    random = np.random.default_rng(0)
    x = random.uniform(-2, 2, (8, 2))
    y = x @ np.array([1.0, -2.0]) + random.normal(0, 0.1, 8)
    a = np.eye(2) + random.uniform(-0.1, 0.1, (2, 2))
    first = a.T / (np.linalg.norm(a, 1) * np.linalg.norm(a, np.inf))
    return [
        (_descent, (x, y, np.full(2, 0.1))),
        (_newton_schulz, (a, first)),
        (_power_iteration, (x, np.ones(2))),
    ]


@pytest.mark.parametrize("number", range(3), ids=["descent", "newton_schulz", "power_iteration"])
def test_errors_of_iterations_are_those_along_samples(number: int) -> None:
    function, data = _iterations()[number]
    program = cw.compile(function, *data, precision=12, margin=1.0, log_n=10, insecure=True)
    assert program.error is not None
    assert program.error < 2.0**-11
    client, evaluator = program.keygen()
    random = np.random.default_rng(1)
    for away in (0.0, 0.02):
        arguments = [each * random.uniform(1 - away, 1 + away, each.shape) for each in data]
        found = client.decrypt(evaluator.run(client.encrypt(*arguments)))
        assert np.abs(found - function(*arguments)).max() < program.error


def test_errors_that_grow_along_samples_too_are_refused() -> None:
    def chaos(x: Any) -> Any:
        for _ in range(16):
            x = cw.within(4 * x * (1 - x), 0.0, 1.0)
        return x

    with pytest.raises(InvalidParametersError, match="along the samples"):
        cw.compile(chaos, np.array([0.3]), precision=34, bootstrap=False, log_n=6, insecure=True)


@pytest.mark.parametrize(
    ("specs", "error", "says"),
    [
        ((np.ones(3), (3,)), InvalidArgumentError, "as many samples of each argument, got 1, 0"),
        (([np.ones(3)] * 2, np.ones(3)), InvalidArgumentError, "got 2, 1"),
        (([np.ones(3), np.ones(2)], np.ones(3)), ShapeMismatchError, "samples of one shape"),
        ((np.ones((0, 3)), np.ones(3)), ShapeMismatchError, "without elements"),
        ((np.array([np.nan]), np.ones(1)), NotFiniteError, "is nan"),
    ],
)
def test_samples_that_say_nothing_are_refused(
    specs: tuple[Any, ...], error: type[Exception], says: str
) -> None:
    with pytest.raises(error, match=says):
        cw.compile(lambda x, y: x * y, *specs)


def test_a_function_that_is_not_finite_on_samples_is_refused_by_its_line() -> None:
    def inverse(x: Any) -> Any:
        return 1 / (x - 1.0)

    with pytest.raises(NotFiniteError, match=r"inverse.*gives NaN or an infinity|test_samples"):
        cw.compile(inverse, np.array([1.0, 2.0]))


def test_margins_are_of_samples() -> None:
    with pytest.raises(InvalidArgumentError, match="samples of the arguments beside a margin"):
        cw.compile(np.sqrt, (3,), margin=0.5)
    with pytest.raises(InvalidArgumentError, match="margin"):
        cw.compile(np.sqrt, np.ones(3), margin=0.0)


def test_zeros_are_where_iterations_start() -> None:
    spec = spec_of_samples(np.zeros(3), 0.25)
    assert (spec.low, spec.high) == (-1.0, 1.0)
    x = np.array([[0.5, 1.0], [1.0, -0.5]])
    program = cw.compile(lambda x, w: w - x.T @ (x @ w - 1.0), x, np.zeros(2), precision=12)
    found = program.run_clear(x, np.full(2, 0.1))
    assert np.abs(found - (0.1 - x.T @ (x @ np.full(2, 0.1) - 1.0))).max() < 2**-12


def test_ranges_widen_across_zero_where_nothing_forbids_it() -> None:
    data = np.linspace(0.5, 1.0, 8)
    program = cw.compile(lambda x: np.tanh(x.sum() - 5.0), data, precision=8, margin=3.0)
    (asked,) = (each for each in program.ranges if "tanh" in each.layer)
    assert asked.low < 0 < asked.high
    logarithm = cw.compile(lambda x: np.log(x.sum()), data, precision=8, margin=3.0)
    assert min(each.low for each in logarithm.ranges) > 0


def test_a_softmax_takes_its_range_from_samples() -> None:
    random = np.random.default_rng(6)
    x, weights = random.normal(0, 1, (5, 4)), random.normal(0, 0.5, (4, 3))
    program = cw.compile(lambda x, w: cw.softmax(x @ w), x, weights, precision=8)
    powers = np.exp(x @ weights)
    exact = powers / powers.sum(1, keepdims=True)
    assert np.abs(program.run_clear(x, weights) - exact).max() < (program.error or 0) < 2**-7


@pytest.mark.parametrize("scale", [1e-9, 1e-6, 1.0])
@pytest.mark.parametrize("seed", range(2))
def test_a_program_takes_its_own_sample(scale: float, seed: int) -> None:
    data = np.random.default_rng(seed).uniform(0.5, 1, 6) * scale
    program = cw.compile(lambda x: np.clip(x, 0.6 * scale, 0.8 * scale), data, relative=10)
    found = program.run_clear(data)
    assert np.abs(found - data.clip(0.6 * scale, 0.8 * scale)).max() < (program.error or 0)


def test_one_number_has_a_range() -> None:
    spec = spec_of_samples(np.array([3.0]), 0.25)
    assert (spec.low, spec.high) == (2.25, 3.75)


def test_comparisons_tell_samples_apart() -> None:
    data = np.random.default_rng(0).uniform(0, 100, 500)
    data[7] = 50 + 2.0**-9
    program = cw.compile(lambda x: np.histogram(x, 4, (0, 100))[0], data, precision=3)
    # All but the last of its polynomials are one, of which the first takes what is checked.
    assert program.ranges[0].gap < 2.0**-9
    counts = np.histogram(data, 4, (0, 100))[0]
    assert np.abs(program.run_clear(data) - counts).max() < (program.error or 0) < 0.5
    data[7] = 50 + 2.0**-11
    with pytest.raises(ValueOutOfRangeError, match="compares numbers that differ"):
        program.run_clear(data)


def test_comparisons_far_from_samples_are_as_usual() -> None:
    data = np.array([-1.0, -0.5, 0.5, 1.0])
    gaps = [
        cw.compile(lambda x: x > 0, *given, precision=8).ranges[0].gap
        for given in ((data,), (cw.Spec((4,), bound=1.25),))
    ]
    assert gaps[0] == gaps[1] == 1.25 / 64


@pytest.mark.slow
def test_a_thousand_rows_on_ciphertexts() -> None:
    random = np.random.default_rng(3)
    data = random.normal(50, random.uniform(5, 15, 20), (1000, 20)).clip(0, 100)
    program = cw.compile(lambda x: x.std(axis=0), data, precision=10)
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(data)))
    assert program.error is not None
    assert np.abs(found - data.std(axis=0)).max() < program.error < 2**-8
