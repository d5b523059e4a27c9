"""Bounds of every value of a program, against what its values reach."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.polynomial import chebyshev, polynomial

from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DiagonalProducts,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    Sub,
    SwitchProduct,
    TimesI,
    TwiceReal,
    Vector,
)
from cloakwork.runtime.executor import run
from cloakwork.schemes.clear_real import ClearBackend, ClearVector

SLOTS = 8
TOP = 6
ROUNDING = 1 + 1e-9

numbers = st.floats(-3, 3)
vectors = st.lists(numbers, min_size=SLOTS, max_size=SLOTS).map(np.array)
steps = st.integers(1, SLOTS - 1)


@st.composite
def programs(draw: st.DrawFn) -> SlotProgram:
    """Programs of two inputs that output every value that is no product awaiting a rescale."""
    builder = Builder("drawn", SLOTS)
    made = [builder.append(Input("x", TOP)), builder.append(Input("y", TOP))]
    for _ in range(draw(st.integers(1, 8))):
        left, right = draw(st.sampled_from(made)), draw(st.sampled_from(made))
        level = min(builder.level(left), builder.level(right))
        left, right = (
            v if builder.level(v) == level else builder.append(DropLevel(v, level))
            for v in (left, right)
        )
        if draw(st.booleans()):
            right = builder.append(Constant(draw(vectors)))
        choices: list[Operation] = [
            Add(left, right),
            Sub(left, right),
            Sub(right, left),
            Neg(left),
            TimesI(left),
            TwiceReal(left),
            Rotate(left, draw(steps)),
        ]
        if level > 0:
            diagonals = draw(st.dictionaries(st.integers(0, SLOTS - 1), vectors, min_size=1))
            choices += [Mul(left, right), Mul(left, left), Linear(left, diagonals, 2)]
        chosen = draw(st.sampled_from(choices))
        value = builder.append(chosen)
        if isinstance(chosen, Mul | Linear):
            value = builder.append(Rescale(value))
        made.append(value)
    for value in made:
        builder.append(Output(value))
    return builder.finish()


@given(programs(), vectors, vectors, st.data())
def test_no_value_exceeds_its_bound(
    program: SlotProgram, x: Vector, y: Vector, data: st.DataObject
) -> None:
    limits = [np.abs(x), np.abs(y) * data.draw(st.sampled_from([1.0, 1.5]))]
    bounds = value_bounds(program, limits)
    results = run(program, ClearBackend(), [ClearVector(x, TOP), ClearVector(y, TOP)])
    named = [op.operand for op in program.operations if isinstance(op, Output)]
    for value, result in zip(named, results, strict=True):
        bound = bounds[value]
        assert bound is not None
        assert np.abs(result.slots).max() <= bound * ROUNDING + 1e-300


def program_of(*operations: Operation) -> SlotProgram:
    return SlotProgram("p", SLOTS, operations, (None,) * len(operations))


def bound_of(operation: Operation, x: Vector) -> float | None:
    return value_bounds(program_of(Input("x", TOP), operation), [x])[1]


RISING = np.arange(SLOTS, dtype=np.float64)


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (Add(0, 0), 14.0),
        (Sub(0, 0), 14.0),
        (Mul(0, 0), 49.0),
        (Neg(0), 7.0),
        (TimesI(0), 7.0),
        (TwiceReal(0), 14.0),
        (Rotate(0, 3), 7.0),
        (Output(0), 7.0),
        (DropLevel(0, 1), 7.0),
        (Linear(0, {2: np.eye(SLOTS)[1] * -5}, 1), 15.0),
        (Linear(0, {7: -np.ones(SLOTS), 0: np.ones(SLOTS)}, 1), 13.0),
        (Polynomial(0, (1.0, -2.0, 1.0), "monomial"), 64.0),
        (Polynomial(0, (1.0, -2.0, -1.0), "chebyshev"), 1 + 14 + 97.0),
    ],
)
def test_bounds_are_exact_where_nothing_cancels(operation: Operation, expected: float) -> None:
    assert bound_of(operation, RISING) == expected


def test_a_bound_is_kept_for_each_slot() -> None:
    halves = np.where(RISING < SLOTS / 2, 2.0, 0.0)
    program = program_of(Input("x", 1), Rotate(0, 4), Add(0, 1), Mul(0, 1), Mul(2, 2))
    assert value_bounds(program, [halves]) == [2.0, 2.0, 2.0, 0.0, 4.0]


def test_constants_count_by_their_absolute_value() -> None:
    program = program_of(Input("x", 1), Constant(-RISING), Sub(0, 1), Mul(1, 0))
    assert value_bounds(program, [RISING[::-1]]) == [7.0, None, 7.0, 12.0]


def test_diagonals_may_be_sparse() -> None:
    elements = np.array([3, 6]), np.array([0, 3]), np.array([-1.0, 2.0])
    dense = {3: np.eye(SLOTS)[0] * -1.0 + np.eye(SLOTS)[3] * 2.0}
    expected = bound_of(Linear(0, dense, 1), RISING)
    assert bound_of(Linear(0, SparseDiagonals(SLOTS, *elements), 1), RISING) == expected


@given(st.lists(numbers, min_size=2, max_size=9), st.floats(0, 2), st.floats(-1, 1))
def test_polynomials_stay_within_their_bound(
    coefficients: list[float], limit: float, place: float
) -> None:
    coefficients[-1] = 1.0
    x = np.full(SLOTS, limit)
    for basis, evaluate in (("monomial", polynomial.polyval), ("chebyshev", chebyshev.chebval)):
        operation = Polynomial(0, tuple(coefficients), basis)  # type: ignore[arg-type]
        bound = bound_of(operation, x)
        assert bound is not None
        assert abs(evaluate(limit * place, coefficients)) <= bound * ROUNDING + 1e-12


def test_what_outgrows_a_double_stays_at_its_largest() -> None:
    huge = np.full(SLOTS, 1e300)
    empty = Constant(np.zeros(SLOTS))
    program = program_of(Input("x", 5), Mul(0, 0), Add(1, 1), Rescale(1), empty, Mul(3, 4))
    largest = np.finfo(np.float64).max
    assert value_bounds(program, [huge]) == [1e300, largest, largest, largest, None, 0.0]
    for coefficients in ((1.0, 0.0, 1.0, 1.0), (1.0,) * 9):
        assert bound_of(Polynomial(0, coefficients, "chebyshev"), huge) == largest


@pytest.mark.parametrize(
    "inputs",
    [
        [],
        [RISING, RISING],
        [RISING[:4]],
        [RISING.reshape(2, 4)],
        [-RISING],
        [RISING * np.nan],
    ],
)
def test_inputs_that_do_not_fit(inputs: list[Vector]) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot bound p: expected"):
        value_bounds(program_of(Input("x", 1)), inputs)


@pytest.mark.parametrize("kind", [RotatedProducts, DiagonalProducts])
def test_vectors_with_one_bound_are_bounded_as_those_with_equal_ones(
    kind: type[RotatedProducts],
) -> None:
    lefts, rights = [0, 1, 0, 1, 0, 1, 0, 0], [2, 3, 2, 3, 2, 2, 3, 2]
    operations: list[Operation] = [Input(f"x{number}", TOP) for number in range(16)]
    operations.append(kind(tuple(range(8)), tuple(range(8, 16)), SLOTS // 4))
    operations += [SwitchProduct(16, steps) for steps in range(0, SLOTS, SLOTS // 4)]
    operations += [Rescale(number) for number in range(17, 21)]
    operations += [Add(21, 21), Add(21, 21), Sub(25, 26), Output(27)]
    program = SlotProgram("products", SLOTS, tuple(operations), (None,) * len(operations))
    different = np.random.default_rng(0).uniform(0, 1, (4, SLOTS))
    alike = [different[number] for number in lefts + rights]
    apart = [vector.copy() for vector in alike]
    found, expected = (value_bounds(program, inputs) for inputs in (alike, apart))
    known = [each for each in expected if each is not None]
    assert [each for each in found if each is not None] == pytest.approx(known, rel=1e-12)
    assert len(known) == len(operations) - 1
