"""Comparisons, tables and conditions as sums and products: what they give, and what they take."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import EncryptedConditionError
from cloakwork.frontends.circuit.staging import staged
from cloakwork.plan.circuits.depth import written_depth
from cloakwork.plan.circuits.interpolation import interpolated_modulo
from cloakwork.plan.circuits.polynomials import Column, Polynomials
from cloakwork.plan.circuits.scalar import scalar_program
from cloakwork.plan.circuits.to_arithmetic import arithmetic_of
from cloakwork.programs.ir.circuits import (
    CircuitBuilder,
    CircuitInput,
    Difference,
    Integer,
    Negative,
    Scalar,
    ScalarCircuit,
    ScalarProduct,
    Sum,
    evaluate,
)
from tests.frontends.circuit.random_exact_functions import inputs_of, random_function
from tests.thoroughness import part

PRIME = 65537


def unsigned(bits: int) -> Any:
    return cw.scalar(bounds=(0, 2**bits - 1))


def arithmetic(function: Callable[..., Any], **declared: Any) -> ScalarCircuit:
    """The sums and products that a function is."""
    bounds = {name: each.bounds for name, each in declared.items()}
    return arithmetic_of(staged(function, declared).circuit, bounds, [PRIME]).circuit


def results_modulo(
    prime: int, circuit: ScalarCircuit, inputs: Mapping[str, Sequence[int]]
) -> list[int]:
    """The results of a circuit modulo a prime; powers of powers have no end otherwise."""
    values: list[int] = []
    for operation in circuit.operations:
        match operation:
            case Scalar(input=name, index=index):
                made = inputs[name][index]
            case Integer(value=value):
                made = value
            case Sum(left=left, right=right):
                made = values[left] + values[right]
            case Difference(left=left, right=right):
                made = values[left] - values[right]
            case ScalarProduct(left=left, right=right):
                made = values[left] * values[right]
            case Negative(operand=operand):
                made = -values[operand]
            case _:
                raise AssertionError
        values.append(made % prime)
    return [values[each] for each in circuit.outputs[0].values]


@pytest.mark.parametrize("prime", [PRIME, 786433, 536870909])
def test_interpolation_is_exact(prime: int) -> None:
    random = Random(prime)
    for count in (1, 2, 7, 30):
        points = random.sample(range(1000), count)
        values = [random.randrange(prime) for _ in range(count)]
        found = interpolated_modulo(points, values, prime)
        for point, value in zip(points, values, strict=True):
            assert sum(each * point**power for power, each in enumerate(found)) % prime == value


def column_of(kind: str, count: int, random: Random) -> Column:
    """A function of so many values: any, even, or odd about its middle."""
    values = [random.randrange(-500, 500) for _ in range(count)]
    if kind == "even":
        values = [values[max(place, count - 1 - place)] for place in range(count)]
    if kind == "odd":
        values = [
            3 + int(math.copysign(7, 2 * place - count + 1)) * (2 * place != count - 1)
            for place in range(count)
        ]
    return Column(random.randrange(-20, 20), tuple(values))


@pytest.mark.parametrize("primes", [(PRIME,), (PRIME, 786433)])
@pytest.mark.parametrize("kind", ["any", "even", "odd"])
def test_polynomials_have_the_values(kind: str, primes: Sequence[int]) -> None:
    random = Random(1)
    for count in (1, 2, 3, 4, 8, 9, 15, 16, 17, 31, 40, 65):
        column = column_of(kind, count, random)
        builder = CircuitBuilder("a function")
        (x,) = builder.input(CircuitInput("x"))
        value = Polynomials(builder, primes).value(x, column)
        builder.output("y", (), (value,))
        circuit = builder.finish()
        for place, wanted in enumerate(column.values):
            (found,) = evaluate(circuit, {"x": [column.least + place]})["y"]
            assert (found - wanted) % math.prod(primes) == 0


TABLE = Random(3).choices(range(256), k=256)


@pytest.mark.parametrize(
    ("function", "bits", "products", "depth"),
    [
        # Twice the square root of the degree, as deep as its logarithm.
        (lambda x, y: cw.table(TABLE)[x], 8, 33, 8),
        (lambda x, y: [cw.table(TABLE)[x], cw.table(TABLE[::-1])[x]], 8, 47, 8),
        # Of the difference, of half the degree: its square, and for the order once more itself.
        (lambda x, y: x == y, 8, 34, 9),
        (lambda x, y: x < y, 8, 35, 10),
        (lambda x, y: x < y, 4, 9, 6),
        (lambda x, y: x == y, 1, 1, 1),
        (lambda x, y: abs(x - y), 4, 8, 5),
        (lambda x, y: np.maximum(y, x), 4, 8, 5),
        (lambda x, y: cw.select(x < y, x, y * y), 4, 11, 7),
        # One function of one number, however many of them it is written with.
        (lambda x, y: sum(x > each for each in range(3, 200, 7)), 8, 33, 8),
        (lambda x, y: (x < 9) & (x // 7 != 1) | (x == 200), 8, 33, 8),
        (lambda x, y: (x < 9) & (y < 7), 4, 15, 5),
    ],
)
def test_products_and_depth(
    function: Callable[..., Any], bits: int, products: int, depth: int
) -> None:
    # The inputs are whole.
    circuit = arithmetic(function, x=unsigned(bits), y=unsigned(bits))
    assert scalar_program(circuit).counts["mul"] == products
    assert written_depth(circuit) == depth


def test_random_functions_are_pythons() -> None:
    random, lowered = Random(5), 0
    for _ in range(part(400)):
        function = random_function(random, 4)
        declared = {"x": cw.vector(function.length, bounds=function.bounds)}
        try:
            whole = staged(function, declared).circuit
            made = arithmetic_of(whole, {"x": function.bounds}, [PRIME], random.choice([2, 3, 64]))
        except EncryptedConditionError:
            continue
        except (cw.errors.ValueOutOfRangeError, cw.errors.InvalidArgumentError):
            continue
        lowered += 1
        for x in inputs_of(function, random, 5):
            wanted = [int(each) % PRIME for each in function(x)]
            (digits,) = made.digits or (None,)
            given = digits.split(np.array([x]))[0].tolist() if digits else x
            assert results_modulo(PRIME, made.circuit, {"x": given}) == wanted
    assert lowered


@pytest.mark.parametrize("digit_bits", [1, 2, 3, 8])
@pytest.mark.parametrize(
    "bounds",
    [((0, 65535), (0, 65535)), ((-32768, 32767), (-5, 90000)), ((-700, -300), (100, 131))],
)
def test_digits_compare_as_their_numbers(
    bounds: tuple[tuple[int, int], tuple[int, int]], digit_bits: int
) -> None:
    def function(x: Any, y: Any) -> Any:
        less = np.minimum(x, y)
        return [x < y, y < x, x == y, less, abs(y), x > 1000, x == -5, y > 513, x * 3 < 0]

    # What is computed goes by its difference, which is small in the last of these ranges alone.
    short = bounds[0][1] < 0
    declared = {"x": cw.scalar(bounds=bounds[0]), "y": cw.scalar(bounds=bounds[1])}
    whole = staged(lambda x, y: function(x, y)[: 9 if short else 8], declared).circuit
    prime = 786433
    made = arithmetic_of(whole, dict(zip("xy", bounds, strict=True)), [prime], digit_bits)
    split = {each.input: each for each in made.digits}
    assert set(split) == {"x", "y"}
    random = Random(1)
    near = [(each, each + by) for each in (0, 255, 256, -1) for by in (-1, 0, 1)]
    pairs = [(random.randint(*bounds[0]), random.randint(*bounds[1])) for _ in range(20)] + near
    for pair in pairs:
        if not all(low <= each <= high for each, (low, high) in zip(pair, bounds, strict=True)):
            continue
        inputs = dict(zip("xy", pair, strict=True))
        digits = {
            name: split[name].split(np.array([[value]]))[0].tolist()
            for name, value in inputs.items()
        }
        wanted = evaluate(whole, {name: [value] for name, value in inputs.items()})["results"]
        found = results_modulo(prime, made.circuit, digits)
        assert found == [each % prime for each in wanted]


@pytest.mark.parametrize(
    ("digit_bits", "products", "depth"), [(1, 43, 6), (2, 43, 7), (4, 46, 8), (8, 85, 11)]
)
def test_products_of_digits(digit_bits: int, products: int, depth: int) -> None:
    bounds = {"x": (0, 65535), "y": (0, 65535)}
    declared = {name: unsigned(16) for name in "xy"}
    circuit = staged(lambda x, y: x < y, declared).circuit
    made = arithmetic_of(circuit, bounds, [PRIME], digit_bits).circuit
    assert scalar_program(made).counts["mul"] == products
    assert written_depth(made) == depth


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x + 0 < y,
        lambda x, y: x // y,
        lambda x, y: x & y,
        lambda x, y: (x * y) > 7,
        lambda x, y: cw.table([1, 2, 3])[x % 3] + x % 1000,
    ],
)
def test_what_is_too_wide_is_refused_with_its_line(function: Callable[..., Any]) -> None:
    wide = cw.scalar(bounds=(0, 2**20))
    with pytest.raises(EncryptedConditionError, match=r"test_to_arithmetic\.py:\d+ of integers"):
        arithmetic(function, x=wide, y=wide)
