"""Circuits that are called: in the clear, and within one another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import (
    CircuitRecursionError,
    InputNameError,
    InvalidArgumentError,
    NotIntegerError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from tests.thoroughness import part


@cw.circuit(a=cw.vector(3), b=cw.vector(3))
def distance(a: Any, b: Any) -> Any:
    difference = a - b
    return difference @ difference


@cw.circuit(a=cw.vector(2))
def twice(a: Any) -> Any:
    return a * 2 + a[::-1]


@cw.circuit(m=cw.matrix(2, 2, bounds=(0, 9)))
def trace(m: Any) -> Any:
    return m[0, 0] + m[1, 1]


def in_a_circuit(function: Any, x: int) -> Any:
    """What a function of one integer comes to within a circuit."""
    made = cw.circuit(x=cw.scalar(bits=8))(function)
    return made.compile(bits=32, effort=0.02).run_clear(x=x)


@settings(max_examples=part(10), deadline=None)
@given(st.lists(st.integers(-99, 99), min_size=2, max_size=2))
def test_a_call_in_the_clear_means_what_the_program_means(a: list[int]) -> None:
    expected = [2 * a[0] + a[1], 2 * a[1] + a[0]]
    assert PROGRAM.run_clear(a=a) == expected
    for given_as in (list, tuple, np.array):
        assert twice(given_as(a)) == expected
    assert in_a_circuit(lambda x: twice([x, a[1]]), a[0]) == expected


PROGRAM = twice.compile(bits=16, effort=0.02)


def test_lists_are_vectors_wherever_a_circuit_is_called() -> None:
    assert distance([1, 2, 3], [4, 6, 8]) == 50
    assert trace([[1, 2], [3, 4]]) == trace(m=np.array([[1, 2], [3, 4]])) == 5
    assert in_a_circuit(lambda x: trace([[x, 2], (3, x)]), 7) == 14
    assert in_a_circuit(lambda x: [x, *twice([1, 2])], 7) == [7, 4, 5]
    assert in_a_circuit(lambda x: twice([1, 2]) + twice([x, x]), 7) == [25, 26]
    assert in_a_circuit(lambda x: twice(np.array([x, 1], dtype=object)), 7) == [15, 9]


@pytest.mark.parametrize(
    ("arguments", "error", "reason"),
    [
        (([[1, 2], [3]],), ShapeMismatchError, "a list of 1"),
        (([[1, 2], [3, 4, 5]],), ShapeMismatchError, "a list of 3"),
        (([1, 2],), ShapeMismatchError, "shape"),
        ((5,), ShapeMismatchError, "got 5"),
        (([[1, 2], [3, 4.5]],), NotIntegerError, "got 4.5"),
        (([[1, 2], [3, 10]],), ValueOutOfRangeError, "from 0 to 9"),
        ((), InputNameError, "missing a required argument: 'm'"),
        (([[1, 2], [3, 4]], 1), InputNameError, "too many"),
    ],
)
def test_wrong_arguments_are_refused(arguments: Any, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=rf"cannot call trace.*{reason}"):
        trace(*arguments)
    with pytest.raises(error, match=rf"cannot call trace.*{reason}"):
        in_a_circuit(lambda x: x + trace(*arguments), 1)


def test_wrong_names_are_refused() -> None:
    with pytest.raises(InputNameError, match="expected the inputs a, b"):
        distance(a=[1, 2, 3], c=[1, 2, 3])
    by_name = cw.circuit(x=cw.scalar())(lambda **inputs: inputs["x"] * inputs.get("factor", 2))
    assert by_name(x=3) == 6
    assert by_name(x=3, factor=5) == 15
    with pytest.raises(InputNameError, match="got no x"):
        by_name(y=3)


def test_clear_arguments_beside_encrypted_ones_stay_clear() -> None:
    power = cw.circuit(x=cw.scalar())(lambda x, times=2: x**times)
    assert [power(3), power(3, 4), power(times=1, x=3)] == [9, 81, 3]
    assert in_a_circuit(lambda x: power(x, times=3) if power(2, 1) is not None else x, 2) == 8


def test_a_circuit_without_end_is_refused() -> None:
    @cw.circuit(x=cw.scalar())
    def endless(x: Any) -> Any:
        return endless(x) + 1

    for run in (lambda: endless.compile(bits=8), lambda: endless(1)):
        with pytest.raises(CircuitRecursionError, match="of endless: it calls itself without end"):
            run()

    @cw.circuit(x=cw.scalar())
    def power(x: Any, times: int = 3) -> Any:
        return x * power(x, times - 1) if times else 1

    assert power(3) == power.compile(bits=16, effort=0.02).run_clear(x=3) == 27


def test_inputs_are_parameters_that_are_given_by_name() -> None:
    for function in (lambda x, /: x, abs, lambda *x: x):
        with pytest.raises(InvalidArgumentError, match="given by position only"):
            cw.circuit(x=cw.scalar())(function)
    with pytest.raises(InvalidArgumentError, match=r"@cw.circuit\(x=cw.scalar\(\)\)"):
        cw.circuit(lambda x: x)
    with pytest.raises(InvalidArgumentError, match="a name that a parameter can have"):
        cw.circuit(**{"a\nb": cw.scalar()})


def test_a_symbol_does_not_leave_its_circuit() -> None:
    kept: list[Any] = []

    def keep(x: Any) -> Any:
        kept.append(x)
        return x

    cw.circuit(x=cw.scalar())(keep).staged()
    for function in (lambda x: x + kept[0], lambda x: [x, kept[0]], lambda x: kept[0]):
        with pytest.raises(InvalidArgumentError, match=r"another circuit|two different circuits"):
            cw.circuit(x=cw.scalar())(function).staged()
