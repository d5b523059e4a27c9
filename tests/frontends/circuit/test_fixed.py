"""Numbers with a fixed point: exact but for what is rounded, to the nearest, ties to even ones."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, NotIntegerError, ValueOutOfRangeError
from tests.thoroughness import part

# Of x and y, which have 3 and 5 bits after the point; Python's own on fractions.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, y: x + y,
    "difference": lambda x, y: 1 - x - y,
    "product": lambda x, y: x * y,
    "with a clear number": lambda x, y: 0.375 * x - y * 2.5 + 7,
    "power": lambda x, y: x**3,
    "quotient": lambda x, y: x // y if y != 0 else 0,
    "remainder": lambda x, y: x % y if y != 0 else 0,
    "whole": lambda x, y: [math.floor(x), math.ceil(y)],
    "rounded": lambda x, y: [round(x), round(x * y)],
    "comparison": lambda x, y: [x < y, x <= y, x == y, x != 0.5, y >= -1],
    "distance": lambda x, y: abs(x - y),
    "extremes": lambda x, y: [max(x, y, 0), min(x, y)],
    "choice": lambda x, y: x if x > y else 2 * y,
    "order": lambda x, y: sorted([y, x, x + y]),
}


def in_fractions(function: Any, x: Fraction, y: Fraction) -> Any:
    made = function(x, y)
    return made if isinstance(made, list) else [made]


@settings(max_examples=part(120))
@given(
    x=st.integers(-32, 31).map(lambda n: Fraction(n, 8)),
    y=st.integers(-64, 63).map(lambda n: Fraction(n, 32)),
)
def test_functions_are_pythons_on_fractions(x: Fraction, y: Fraction) -> None:
    for name, function in FUNCTIONS.items():
        if name in ("quotient", "remainder", "choice", "extremes", "order"):
            continue
        made = cw.circuit(x=cw.fixed(3, 3), y=cw.fixed(2, 5))(function)(x, y)
        expected = in_fractions(function, x, y)
        assert (made if isinstance(made, list) else [made]) == expected, name


@pytest.mark.parametrize("name", ["quotient", "remainder", "choice", "extremes", "order"])
def test_choices_and_divisions_are_pythons(name: str) -> None:
    function = FUNCTIONS[name]
    made = cw.circuit(x=cw.fixed(3, 3), y=cw.fixed(2, 5))(function)
    draw = np.random.default_rng(5)
    for _ in range(part(20)):
        x = Fraction(int(draw.integers(-32, 32)), 8)
        y = Fraction(int(draw.integers(-64, 64)), 32)
        found = made(x, y)
        assert (found if isinstance(found, list) else [found]) == in_fractions(function, x, y)


def test_a_program_computes_the_same() -> None:
    @cw.circuit(x=cw.fixed(3, 3), y=cw.fixed(2, 5))
    def some(x: Any, y: Any) -> Any:
        nearest = round(x * y)
        if x > y:
            x = 2 * y
        elif y < -1:
            x = 0.125
        return {
            "limit": x if nearest < 2 else 1.5,
            "product": x * y,
            "nearest": nearest,
            "chosen": x,
            "extremes": [max(x, y), x // 1],
        }

    program = some.compile()
    for x, y in ((-4.0, -2.0), (3.875, 1.96875), (0.5, 0.5), (-0.625, 1.0)):
        assert program.run_clear(x=x, y=y) == some(x, y)


def test_ciphertexts() -> None:
    @cw.circuit(price=cw.fixed(4, 2, signed=False), rate=cw.fixed(1, 3))
    def charged(price: Any, rate: Any) -> Any:
        return [cw.rounded(price - price * rate, 2), price > 9.99]

    client, evaluator = charged.compile().keygen()
    sent = client.encrypt(price=12.75, rate=0.375)
    # 7.96875, of which 7.97 has 2 decimal digits and 8 is the nearest quarter.
    assert client.decrypt(evaluator.run(sent)) == [8.0, True]


def test_clients_round_to_the_nearest_and_of_two_to_the_even_one() -> None:
    same = cw.circuit(x=cw.fixed(4, 2))(lambda x: x + 0).compile()
    given_numbers = [0.3, 0.125, 0.375, -0.125, Fraction(1, 3)]
    assert [same.run_clear(x=each) for each in given_numbers] == [0.25, 0, 0.5, 0, 0.25]
    with pytest.raises(ValueOutOfRangeError, match="expected -8"):
        same.run_clear(x=8)


def test_results_that_no_float_holds_are_fractions() -> None:
    squared = cw.circuit(x=cw.fixed(2, 32))(lambda x: x * x)
    value = Fraction((1 << 32) + 1, 1 << 32)
    assert squared(value) == squared.compile().run_clear(x=value) == value * value
    assert isinstance(squared(value), Fraction)


def test_rounding_in_the_clear_is_that_of_ciphertexts() -> None:
    rounding = cw.circuit(x=cw.fixed(3, 3))(lambda x: [cw.rounded(x, bits) for bits in (0, 1, 3)])
    for eighths in range(-32, 32):
        x = eighths / 8
        assert rounding(x) == [cw.rounded(x, bits) for bits in (0, 1, 3)]
        assert rounding(x)[0] == round(x)


@cw.circuit(x=cw.fixed(4, 2))
def doubled(x: Any) -> Any:
    return x + x


def test_circuits_within_take_numbers_as_they_are_declared() -> None:
    outer = cw.circuit(n=cw.scalar(bounds=(0, 3)), y=cw.fixed(2, 1))(
        lambda n, y: [doubled(n), doubled(y), doubled(1.25)]
    )
    assert outer(3, 1.5) == [6, 3, 2.5]
    finer = cw.circuit(y=cw.fixed(2, 3))(lambda y: doubled(y) + 1)
    with pytest.raises(InvalidArgumentError, match="at most as many bits after the point"):
        finer(0.125)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (lambda x: x & 3, NotIntegerError, "2 bits after the point; round it"),
        (lambda x: x << 1, NotIntegerError, "round it"),
        (lambda x: ~x, NotIntegerError, "round it"),
        (lambda x: 2**x, NotIntegerError, "round it"),
        (lambda x: cw.table([1, 2])[x], NotIntegerError, "round it"),
        (lambda x: x * Fraction(1, 3), InvalidArgumentError, "write the fraction that you mean"),
        (lambda x: x + float("inf"), InvalidArgumentError, "up to 64 bits"),
        (lambda x: x // 0.0, InvalidArgumentError, "a divisor that is not 0"),
        (lambda x: x + "1", NotIntegerError, "expected integers"),
    ],
)
def test_what_has_no_meaning_with_a_point_is_refused(
    function: Callable[[Any], Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        cw.circuit(x=cw.fixed(4, 2))(function).compile()


def test_explanations_say_why_it_runs_on_bits() -> None:
    assert "on bits, for x, which slots do not hold" in cw.explain(doubled.compile())


def test_slots_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="got a fixed point, a date or text in x"):
        doubled.compile(on="slots")


def test_declarations_are_checked() -> None:
    for arguments in ((4, 0), (65, 1), (-1, 2), (40, 40)):
        with pytest.raises(InvalidArgumentError):
            cw.fixed(*arguments)
    with pytest.raises(InvalidArgumentError, match="a shape"):
        cw.fixed(4, 2, shape=(1, 2, 3))


def test_results_of_several_points_are_for_no_other_program() -> None:
    mixed = cw.circuit(x=cw.fixed(4, 2))(lambda x: [x, x * x]).compile()
    with pytest.raises(InvalidArgumentError, match="as many bits after the point"):
        cw.circuit(r=cw.vector(2))(lambda r: r[0]).compile(after={"r": cw.result(mixed)})
    one = cw.circuit(x=cw.fixed(4, 2))(lambda x: x * x).compile()
    with pytest.raises(InvalidArgumentError, match="4 bits after the point"):
        cw.circuit(r=cw.scalar())(lambda r: r + 1).compile(on="bits", after={"r": cw.result(one)})
