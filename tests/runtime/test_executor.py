"""Running programs, on the clear backend."""

import numpy as np
import pytest

from cloakwork.backends.clear import ClearBackend, ClearVector
from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Output,
    Polynomial,
    Program,
    Rescale,
    Rotate,
    Sub,
)
from cloakwork.runtime.executor import run

SLOTS = 16
RNG = np.random.default_rng(5)
X, Y, C = (RNG.uniform(-1, 1, SLOTS) for _ in range(3))


def result(program: Program, *inputs: np.ndarray) -> np.ndarray:
    (output,) = run(program, ClearBackend(), [ClearVector(array, 3) for array in inputs])
    assert output.level == program.states[-1].level
    return np.asarray(output.slots)


def test_rotation_is_to_the_left() -> None:
    builder = Builder("", SLOTS)
    builder.append(Output(builder.append(Rotate(builder.append(Input("x", 3)), 5))))
    turned = result(builder.finish(), X)
    assert all(turned[i] == X[(i + 5) % SLOTS] for i in range(SLOTS))


@pytest.mark.parametrize("baby_steps", [1, 2, 4, 16])
def test_linear_is_the_sum_over_diagonals(baby_steps: int) -> None:
    diagonals = {d: RNG.normal(size=SLOTS) for d in (0, 1, 3, 7, 12, 15)}
    builder = Builder("", SLOTS)
    moved = builder.append(Linear(builder.append(Input("x", 3)), diagonals, baby_steps))
    builder.append(Output(builder.append(Rescale(moved))))
    expected = sum(vector * np.roll(X, -d) for d, vector in diagonals.items())
    assert np.allclose(result(builder.finish(), X), expected)


@pytest.mark.parametrize(
    ("kind", "constant_left", "expected"),
    [
        (Add, False, X + C),
        (Add, True, C + X),
        (Sub, False, X - C),
        (Sub, True, C - X),
    ],
)
def test_sums_with_a_constant(
    kind: type[Add] | type[Sub], constant_left: bool, expected: np.ndarray
) -> None:
    builder = Builder("", SLOTS)
    x, c = builder.append(Input("x", 3)), builder.append(Constant(C))
    builder.append(Output(builder.append(kind(c, x) if constant_left else kind(x, c))))
    assert np.allclose(result(builder.finish(), X), expected)


@pytest.mark.parametrize("constant_left", [False, True])
def test_products_with_a_constant(constant_left: bool) -> None:
    builder = Builder("", SLOTS)
    x, c = builder.append(Input("x", 3)), builder.append(Constant(C))
    product = builder.append(Mul(c, x) if constant_left else Mul(x, c))
    builder.append(Output(builder.append(Rescale(product))))
    assert np.allclose(result(builder.finish(), X), X * C)


def test_two_inputs_and_the_rest_of_the_operations() -> None:
    builder = Builder("", SLOTS)
    x, y = builder.append(Input("x", 3)), builder.append(Input("y", 3))
    product = builder.append(Rescale(builder.append(Mul(builder.append(Sub(x, y)), x))))
    lower = builder.append(DropLevel(builder.append(Neg(y)), 2))
    builder.append(Output(builder.append(Add(product, lower))))
    assert np.allclose(result(builder.finish(), X, Y), (X - Y) * X - Y)


def test_polynomials_in_both_bases() -> None:
    for basis, expected in (
        ("monomial", 1 + 2 * X - X**3),
        ("chebyshev", 1 + 2 * X - (4 * X**3 - 3 * X)),
    ):
        builder = Builder("", SLOTS)
        value = builder.append(Input("x", 3))
        polynomial = Polynomial(value, (1.0, 2.0, 0.0, -1.0), basis)  # type: ignore[arg-type]
        builder.append(Output(builder.append(polynomial)))
        assert np.allclose(result(builder.finish(), X), expected)


def test_inputs_are_checked() -> None:
    builder = Builder("doubling", SLOTS)
    x = builder.append(Input("x", 3))
    builder.append(Output(builder.append(Add(x, x))))
    program = builder.finish()
    with pytest.raises(InvalidArgumentError, match="doubling: expected 1 inputs, got 0"):
        run(program, ClearBackend(), [])
    with pytest.raises(InvalidArgumentError, match="input x at level 3, got level 1"):
        run(program, ClearBackend(), [ClearVector(X, 1)])


def test_a_failure_names_operation_and_program() -> None:
    class Broken(ClearBackend):
        def negate(self, value: ClearVector) -> ClearVector:
            raise ArithmeticError("no")

    builder = Builder("the user's words", SLOTS)
    builder.append(Output(builder.append(Neg(builder.append(Input("x", 3))))))
    with pytest.raises(ArithmeticError) as caught:
        run(builder.finish(), Broken(), [ClearVector(X, 3)])
    assert caught.value.__notes__ == ["in the user's words, operation %1 = neg %0"]
