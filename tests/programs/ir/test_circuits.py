"""Scalar circuits: what they compute, print and refuse."""

from __future__ import annotations

import pytest

from cloakwork.errors import InvalidArgumentError, InvalidProgramError
from cloakwork.programs.ir.circuits import (
    CircuitBuilder,
    CircuitInput,
    CircuitOutput,
    Difference,
    Integer,
    Negative,
    Scalar,
    ScalarCircuit,
    ScalarOperation,
    ScalarProduct,
    Sum,
    evaluate,
    needed_values,
)

X = CircuitInput("x", (2,))
FIRST = Scalar("x", 0)


def circuit(*operations: ScalarOperation, output: int = 0) -> ScalarCircuit:
    return ScalarCircuit("t", (X,), operations, (CircuitOutput("y", (), (output,)),))


def test_every_operation_is_exact() -> None:
    builder = CircuitBuilder("all")
    x, y = builder.input(X)
    big = builder.append(Integer(10**30))
    total = builder.append(Sum(x, big))
    builder.output(
        "y",
        (2, 2),
        (
            total,
            builder.append(Difference(x, y)),
            builder.append(ScalarProduct(total, y)),
            builder.append(Negative(y)),
        ),
    )
    assert evaluate(builder.finish(), {"x": [3, -7]}) == {
        "y": [10**30 + 3, 10, -7 * (10**30 + 3), 7]
    }


def test_text_shows_placement_and_indices() -> None:
    builder = CircuitBuilder("named")
    a = builder.input(CircuitInput("a", (2, 3), grouped=False))
    builder.input(CircuitInput("b", (3,), slots=(4, 0, 2)))
    builder.output("y", (2,), (a[5], builder.append(Integer(-1))))
    text = str(builder.finish())
    assert "input a: 2 x 3, ungrouped" in text
    assert "input b: vector of 3, slots 4 0 2" in text
    assert "%5 = a[1,2]" in text
    assert text.endswith("output y: vector of 2 = %5 %9")


def test_needed_values_leave_out_what_no_output_uses() -> None:
    assert needed_values(circuit(FIRST, Scalar("x", 1), Negative(0), output=2)) == {0, 2}


@pytest.mark.parametrize(
    "operation",
    [Sum(0, 1), ScalarProduct(-1, 0), Negative(5), Scalar("x", 2), Scalar("z", 0), Integer(True)],
)
def test_operations_on_what_does_not_exist_are_refused(operation: ScalarOperation) -> None:
    with pytest.raises(InvalidProgramError, match="%1"):
        circuit(FIRST, operation)


def test_senseless_inputs_are_refused() -> None:
    for shape, slots, grouped, replicated in (
        ((0,), None, True, False),
        ((2,), (1, 1), True, False),
        ((2,), (1,), True, False),
        ((2,), (0, -1), True, False),
        ((2,), (0, 1), False, False),
        ((2,), (0, 1), True, True),
    ):
        with pytest.raises(InvalidProgramError, match="'x'"):
            CircuitInput("x", shape, replicated=replicated, grouped=grouped, slots=slots)


def test_senseless_circuits_are_refused() -> None:
    with pytest.raises(InvalidProgramError, match="no output"):
        ScalarCircuit("t", (X,), (FIRST,), ())
    with pytest.raises(InvalidProgramError, match="share a name"):
        ScalarCircuit("t", (X, X), (FIRST,), (CircuitOutput("y", (), (0,)),))
    with pytest.raises(InvalidProgramError, match="not before"):
        circuit(FIRST, output=1)
    with pytest.raises(InvalidProgramError, match="has 2 scalars"):
        CircuitOutput("y", (2,), (0,))
    builder = CircuitBuilder("t")
    builder.input(X)
    with pytest.raises(InvalidProgramError, match="two inputs"):
        builder.input(X)


@pytest.mark.parametrize("inputs", [{}, {"x": [1]}, {"x": [1, 2], "z": [0]}])
def test_inputs_that_do_not_fit_are_refused(inputs: dict[str, list[int]]) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot evaluate t"):
        evaluate(circuit(FIRST), inputs)
