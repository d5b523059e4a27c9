"""Functions of numbers of any magnitude against numpy, within the stated error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.base.record import Fields, record_of
from cloakwork.errors import (
    ActivationFitError,
    CloakworkError,
    InvalidArgumentError,
    InvalidParametersError,
    InvalidProgramError,
    ValueOutOfRangeError,
)
from cloakwork.programs.port import Port
from tests.thoroughness import part

# An income, and its polynomial, as somebody had them.
INCOME = 14556132.156


def _polynomial(x: Any) -> Any:
    return 0.4 + 1.2 * x + 1.5 * x * x


def test_a_polynomial_of_a_large_number_on_ciphertexts() -> None:
    program = cw.compile(_polynomial, cw.Spec((1,), bound=INCOME), relative=24)
    found = program.run(np.array([INCOME]))
    right = 317821492481764.75
    assert abs(found[0] / right - 1) < 2**-24
    assert abs(found[0] - right) < (program.error or 0) < 2**-24 * right
    assert program.scheme.parameters.levels == 2
    assert str(program.inputs[0]).endswith("in units of 2^24")


@pytest.mark.parametrize("bound", [1e-300, 1e-12, 1e-5, 1.0, 1e7, 1e15, 1e100])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: 3.25 * x - x[::-1],
        lambda x: (x * x).sum(),
        np.abs,
        lambda x: np.maximum(x, 0.5 * x[::-1]),
        lambda x: (x @ np.eye(6)[:, :3], 2 * x),
    ],
    ids=["linear", "squares", "absolute", "maximum", "two"],
)
def test_all_magnitudes_work_alike(function: Callable[[Any], Any], bound: float) -> None:
    if bound**2 < 1e-300:
        bound = 1e-140
    program = cw.compile(function, cw.Spec((6,), bound=bound), relative=9)
    x = np.random.default_rng(0).uniform(-bound, bound, 6)
    assert program.error is not None
    assert program.error <= 2.0**-8 * max(port.bound for port in program.outputs)
    for found, right in zip(_several(program.run_clear(x)), _several(function(x)), strict=True):
        assert np.abs(found - right).max() <= program.error


def test_roots_and_inverses_of_large_numbers() -> None:
    spec = cw.Spec((4,), low=1e9, high=4e9)
    x = np.array([1e9, 2e9, 3e9, 4e9])
    for function in (np.sqrt, np.reciprocal, lambda x: x**1.5, lambda x: x**-1.5):
        program = cw.compile(function, spec, relative=12)
        right = function(x)
        assert program.error is not None
        assert np.abs(program.run_clear(x) - right).max() <= program.error
        assert program.error <= 2.0**-11 * right.max()


def test_functions_that_have_no_unit_take_numbers_as_they_are() -> None:
    def score(income: Any) -> Any:
        return cw.sigmoid((income - 50000.0) / 20000.0) * 1e6

    program = cw.compile(score, cw.Spec((3,), low=0, high=1e5), relative=12)
    income = np.array([0.0, 60000.0, 1e5])
    assert program.error is not None
    assert np.abs(program.run_clear(income) - score(income)).max() <= program.error <= 2**-11 * 1e6


def test_ranges_on_the_way_are_told_as_they_are() -> None:
    def root(x: Any) -> Any:
        return np.sqrt(cw.within((x * x).sum(), 1e12, 4e12))

    program = cw.compile(root, cw.Spec((4,), bound=1e6), relative=12)
    assert program.run_clear(np.full(4, 1e6)) == pytest.approx(2e6, abs=program.error or 0)
    with pytest.raises(ValueOutOfRangeError, match=r"from 1e\+12 to 4e\+12"):
        program.run(np.full(4, 1e4))


def test_a_precision_may_be_more_than_any_scale_has() -> None:
    with pytest.raises(InvalidParametersError, match="relative="):
        cw.compile(lambda x: x**2, cw.Spec((1,), bound=1e7), precision=0)
    with pytest.raises(InvalidParametersError, match="relative="):
        cw.compile(lambda x: x * x, cw.Spec((1,), bound=1e15), precision=20)
    with pytest.raises(InvalidParametersError, match=r"longer scale.* relative="):
        cw.compile(lambda x: x.var(), cw.Spec((1000,), low=0, high=100))
    with pytest.raises(InvalidParametersError, match="bits of them are right"):
        cw.compile(lambda x: 2 * x, cw.Spec((1,), bound=1e-12))
    with pytest.raises(InvalidArgumentError, match="relative"):
        cw.compile(lambda x: 2 * x, (1,), relative=7)
    with pytest.raises(InvalidArgumentError, match="got both, 30 and 20"):
        cw.compile(lambda x: 2 * x, (1,), precision=30, relative=20)


def test_files_hold_units(tmp_path: Any) -> None:
    program = cw.compile(_polynomial, cw.Spec((2,), bound=1e8), relative=16)
    program.save(tmp_path / "program")
    again = cw.load(tmp_path / "program", cw.Program)
    assert again.inputs == program.inputs
    assert again.outputs[0].exponent == program.outputs[0].exponent > 50
    x = np.array([1e8, -5e7])
    assert (again.run_clear(x) == program.run_clear(x)).all()


def test_results_in_units_do_not_go_on() -> None:
    program = cw.compile(lambda x: x * x, cw.Spec((2,), bound=1e8), relative=16)
    with pytest.raises(InvalidArgumentError, match="in units of"):
        cw.result(program)


def test_relative_bits_of_results_of_other_programs() -> None:
    first = cw.compile(lambda x: x * x, cw.Spec((4,), bound=8.0), log_n=14)
    second = cw.compile(lambda y: y * 0.5, cw.result(first), relative=20)
    assert second.error is not None
    assert second.error <= 2**-14


@pytest.mark.parametrize("seed", range(part(300)))
def test_random_programs_of_any_magnitude(seed: int) -> None:
    random = np.random.default_rng(seed)
    sizes = 10.0 ** random.uniform(-12, 15, 2)
    factors = 10.0 ** random.uniform(-3, 3, 3)
    kinds = random.integers(0, 4, 2)

    def function(x: Any, y: Any) -> Any:
        steps: tuple[Callable[[], Any], ...] = (
            lambda: factors[0] * x + sizes[0] / sizes[1] * y,
            lambda: x * y * factors[1],
            lambda: (x - x.mean()) * factors[2] + sizes[0],
            lambda: x[::-1] * x + sizes[0] ** 2,
        )
        return steps[kinds[0]]() if kinds[0] == kinds[1] else (steps[kinds[0]](), steps[kinds[1]]())

    specs = [cw.Spec((5,), bound=size) for size in sizes]
    try:
        program = cw.compile(function, *specs, relative=int(random.integers(8, 24)))
    except CloakworkError as refusal:
        pytest.fail(f"{refusal}")
    x, y = (random.uniform(-size, size, 5) for size in sizes)
    assert program.error is not None
    for found, right in zip(
        _several(program.run_clear(x, y)), _several(function(x, y)), strict=True
    ):
        assert np.abs(found - right).max() <= program.error


def _several(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def test_files_of_numbers_as_they_are_say_no_exponent() -> None:
    # Files of 0.2.0 have none.
    plain = Port("x", "real", 0, (2,), -1.0, 1.0)
    assert "exponent" not in record_of(plain)
    held = replace(plain, exponent=24)
    assert record_of(held)["exponent"] == 24
    for port in (plain, held):
        assert Fields(record_of(port), "the port").made(Port) == port


@pytest.mark.parametrize("exponent", [1 << 11, 1.0, True])
def test_exponents_are_those_of_doubles(exponent: Any) -> None:
    with pytest.raises(InvalidProgramError, match="expected an exponent"):
        Port("x", "real", exponent=exponent)
    with pytest.raises(InvalidProgramError, match="exponent of reals"):
        Port("x", "unsigned", 4, exponent=3)


@pytest.mark.parametrize("scale", [1e-12, 1e12, 1e15])
@pytest.mark.parametrize("function", [np.log, np.log2, np.log10])
def test_logarithms_take_units_off(function: Callable[[Any], Any], scale: float) -> None:
    data = np.random.default_rng(0).uniform(0.5, 1, 4) * scale
    program = cw.compile(function, data, relative=10)
    found = program.run_clear(data)
    assert np.abs(found - function(data)).max() < (program.error or 0) < 2**-6


def test_products_of_numbers_below_their_units_stay_near_them() -> None:
    def map_of(x: Any) -> Any:
        # Doubled twice, so that no clear factor takes up what the unit is too large.
        for _ in range(6):
            x = 4 * x * (1 - x)
        return x

    data = np.array([0.3, 0.7])
    program = cw.compile(map_of, data, relative=16, log_n=9, insecure=True)
    assert program.outputs[0].exponent == 0
    assert np.abs(program.run_clear(data) - map_of(data)).max() < (program.error or 0) < 2**-16


@pytest.mark.parametrize("options", [{}, {"relative": 12}], ids=["absolute", "relative"])
@pytest.mark.parametrize(
    ("function", "error", "says"),
    [
        (np.var, InvalidParametersError, r"test_magnitudes|larger than 1.8e\+308"),
        (np.cov, InvalidParametersError, r"larger than 1.8e\+308"),
        (lambda x: x**3, InvalidParametersError, r"test_magnitudes.py:\d+ may be larger"),
        (cw.softmax, ActivationFitError, "exp at .* nothing comes within|outgrow"),
        (np.log, ActivationFitError, "log at .* not defined on all"),
    ],
)
def test_numbers_beyond_doubles_are_refused_by_name(
    function: Callable[[Any], Any], error: type[Exception], says: str, options: dict[str, Any]
) -> None:
    with pytest.raises(error, match=says):
        cw.compile(function, cw.Spec((4,), bound=1e160), **options)


@pytest.mark.parametrize("size", [1e-11, 1e-3, 1.0])
def test_comparisons_with_numbers_as_small_as_the_data_are_right(size: float) -> None:
    data = size * np.random.default_rng(0).uniform(-1, 1, 8)
    threshold = 0.1 * size

    def above(x: Any) -> Any:
        return np.where(x > threshold, x, 0)

    program = cw.compile(above, data, relative=10)
    found = program.run_clear(data)
    np.testing.assert_allclose(found, above(data), atol=2**-9 * size)


def test_what_is_compared_the_same_for_all_numbers_is_refused() -> None:
    data = np.random.default_rng(0).uniform(-1, 1, 4)
    with pytest.raises(InvalidParametersError, match="comes out the same for all numbers"):
        cw.compile(lambda x: x > 10, data, relative=10)


@pytest.mark.parametrize(
    ("function", "operand"),
    [
        (lambda x: x / np.linalg.norm(x), "of a norm the sum of squares, written out"),
        (lambda x: x / x.sum(), "x being the divisor"),
    ],
)
def test_advice_on_a_range_names_what_it_is_of(
    function: Callable[[Any], Any], operand: str
) -> None:
    with pytest.raises(ActivationFitError, match=f"cloakwork.within.*{operand}"):
        cw.compile(function, (8,), precision=10)
