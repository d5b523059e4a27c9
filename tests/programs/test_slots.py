"""Slot programs: legality and text."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    Context,
    DropLevel,
    Fill,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    SlotProgram,
    State,
    Sub,
    TimesI,
    TwiceReal,
)
from cloakwork.programs.text import from_text, to_text
from tests.programs.random_programs import facts

READY, WAITING, CLEAR, BOTTOM = State(2), State(2, waiting=True), State(None), State(0)
ONES = np.ones(8)


def state_after(operation: Operation, states: list[State]) -> State:
    return operation.state_after(Context(8, "real", tuple(states), (None,) * len(states)))


@pytest.mark.parametrize(
    ("operation", "states", "expected"),
    [
        (Input("x", 2), [], READY),
        (Constant(ONES), [], CLEAR),
        (Add(0, 1), [READY, READY], READY),
        (Add(0, 1), [WAITING, WAITING], WAITING),
        (Add(0, 1), [READY, CLEAR], READY),
        (Sub(0, 1), [CLEAR, READY], READY),
        (Mul(0, 1), [READY, READY], WAITING),
        (Mul(0, 1), [CLEAR, READY], WAITING),
        (Neg(0), [WAITING], WAITING),
        (Fill(0, 1), [READY, CLEAR], READY),
        (TimesI(0), [WAITING], WAITING),
        (TwiceReal(0), [BOTTOM], BOTTOM),
        (Rotate(0, 7), [READY], READY),
        (Linear(0, {3: ONES}, 2), [READY], WAITING),
        (Polynomial(0, (0.0, 1.0, 2.0), "monomial"), [READY], BOTTOM),
        (Rescale(0), [WAITING], State(1)),
        (DropLevel(0, 0), [READY], BOTTOM),
        (Output(0), [READY], READY),
    ],
    ids=lambda value: type(value).__name__,
)
def test_legal_operations(operation: Operation, states: list[State], expected: State) -> None:
    assert state_after(operation, states) == expected


@pytest.mark.parametrize(
    ("operation", "states", "reason"),
    [
        (Input("x", -1), [], "below 0"),
        (Input("x", 1_000_001), [], "above"),
        (Constant(np.ones(4)), [], "expected 8 slots"),
        (Constant(np.full(8, np.nan)), [], "not finite"),
        (Add(0, 1), [CLEAR, CLEAR], "no operand is encrypted"),
        (Add(0, 1), [READY, WAITING], "differ"),
        (Sub(0, 1), [READY, BOTTOM], "differ"),
        (Mul(0, 1), [WAITING, WAITING], "not rescaled"),
        (Mul(0, 1), [BOTTOM, BOTTOM], "takes 1 level"),
        (Neg(0), [CLEAR], "constant"),
        (Fill(0, 1), [READY, READY], "no constant"),
        (Fill(0, 1), [WAITING, CLEAR], "not rescaled"),
        (Fill(0, 1), [CLEAR, CLEAR], "constant"),
        (TimesI(0), [CLEAR], "constant"),
        (TwiceReal(0), [CLEAR], "constant"),
        (Rotate(0, 0), [READY], "outside"),
        (Rotate(0, 8), [READY], "outside"),
        (Rotate(0, 1), [CLEAR], "constant"),
        (Linear(0, {}, 1), [READY], "no diagonals"),
        (Linear(0, {0: ONES}, 0), [READY], "fewer than 1"),
        (Linear(0, {8: ONES}, 1), [READY], "does not exist"),
        (Linear(0, {0: np.ones(4)}, 1), [READY], "expected 8 slots"),
        (Linear(0, {0: ONES}, 1), [WAITING], "not rescaled"),
        (Polynomial(0, (1.0,), "monomial"), [READY], "degree"),
        (Polynomial(0, (1.0, 0.0), "monomial"), [READY], "degree"),
        (Polynomial(0, (1.0, np.inf), "monomial"), [READY], "not finite"),
        (Polynomial(0, (0.0,) * 4 + (1.0,), "chebyshev"), [READY], "takes 3 level"),
        (Rescale(0), [READY], "not a product"),
        (DropLevel(0, 2), [READY], "not below"),
        (DropLevel(0, -1), [READY], "not below"),
        (Output(0), [WAITING], "not rescaled"),
        (Output(0), [CLEAR], "constant"),
    ],
)
def test_illegal_operations(operation: Operation, states: list[State], reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        state_after(operation, states)


ODD: Any = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(),
    st.text(max_size=2),
    st.sampled_from([np.bool_(True), np.int64(1), np.float32(1), np.nan, 10**400, 1j]),
    st.sampled_from([ONES, ONES[:4], ONES > 0, ONES.astype(np.int64), ONES.astype(object)]),
    st.sampled_from([ONES * np.nan, ONES.reshape(2, 4), ONES.astype(">f8")]),
    st.lists(st.floats(), max_size=8),
    st.tuples(st.floats(), st.one_of(st.booleans(), st.integers(), st.text())),
    st.dictionaries(st.one_of(st.floats(), st.booleans(), st.integers()), st.just(ONES)),
)


@given(
    st.sampled_from(
        [
            lambda odd: Input(odd, 1),
            lambda odd: Input("x", odd),
            Constant,
            lambda odd: Rotate(0, odd),
            lambda odd: Linear(0, odd, 2),
            lambda odd: Linear(0, {1: odd}, 2),
            lambda odd: Linear(0, {odd: ONES} if odd.__hash__ else odd, 2),
            lambda odd: Linear(0, {1: ONES}, odd),
            lambda odd: Polynomial(0, odd, "monomial"),
            lambda odd: Polynomial(0, (0.0, 1.0, odd), "monomial"),
            lambda odd: Polynomial(0, (0.0, 1.0), odd),
            lambda odd: DropLevel(0, odd),
            Neg,
            lambda odd: Add(0, odd),
            lambda odd: odd,
        ]
    ),
    ODD,
)
def test_odd_fields_are_refused(make: Any, odd: Any) -> None:
    try:
        program = SlotProgram("", 8, (Input("x", 3), make(odd)), (None, None))
    except InvalidProgramError:
        return
    assert facts(from_text(to_text(program))) == facts(program)


@pytest.mark.parametrize(
    ("operation", "reason"),
    [
        (Input("x", True), "not an integer"),
        (Input("x", 2.0), "not an integer"),  # type: ignore[arg-type]
        (Input(None, 2), "not text"),  # type: ignore[arg-type]
        (Constant(np.ones(8, dtype=np.float32)), "expected an array of float64"),
        (Constant([1.0] * 8), "expected an array of float64"),  # type: ignore[arg-type]
        (Rotate(0, 1.0), "not an integer"),  # type: ignore[arg-type]
        (Rotate(0, True), "not an integer"),
        (Rotate(False, 1), "not an integer"),
        (Linear(0, {0: ONES}, 1.0), "not an integer"),  # type: ignore[arg-type]
        (Linear(0, {0: ONES}, 9), "more than the slots"),
        (Linear(0, {1.0: ONES}, 1), "not an integer"),  # type: ignore[dict-item]
        (Linear(0, [ONES], 1), "not a mapping"),  # type: ignore[arg-type]
        (Polynomial(0, (0.0, np.nan), "monomial"), "not finite"),
        (Polynomial(0, (0.0, 10**400), "monomial"), "not finite"),
        (Polynomial(0, (0.0, True), "monomial"), "not a float"),
        (Polynomial(0, [0.0, 1.0], "monomial"), "not a tuple"),  # type: ignore[arg-type]
        (Polynomial(0, (0.0, 1.0), "legendre"), "basis"),  # type: ignore[arg-type]
        (DropLevel(0, 0.0), "not an integer"),  # type: ignore[arg-type]
        (None, "not an operation"),
    ],
)
def test_wrong_types(operation: Operation, reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        SlotProgram("", 8, (Input("x", 3), operation), (None, None))


def test_a_frame_of_wrong_types() -> None:
    with pytest.raises(InvalidProgramError, match="title"):
        SlotProgram(None, 8, (), ())  # type: ignore[arg-type]
    for slots in (0, -1, 65537, True, 8.0):
        with pytest.raises(InvalidProgramError, match="slots"):
            SlotProgram("", slots, (), ())  # type: ignore[arg-type]
    with pytest.raises(InvalidProgramError, match="layouts of 8 slots"):
        SlotProgram("", 8, (Input("x", 1),), (Layout(4, (Axis(2, 1),)),))
    with pytest.raises(InvalidProgramError, match="origins to be text"):
        SlotProgram("", 8, (Input("x", 1),), (None,), (1,))  # type: ignore[arg-type]
    with pytest.raises(InvalidProgramError, match="stages to be text"):
        SlotProgram("", 8, (Input("x", 1),), (None,), (), (1,))  # type: ignore[arg-type]
    with pytest.raises(InvalidProgramError, match="one stage per operation"):
        SlotProgram("", 8, (Input("x", 1),), (None,), (), ("", ""))
    with pytest.raises(InvalidProgramError, match="comes later"):
        Builder("", 8).append(Neg(-1))


def test_a_program_checks_all_of_itself() -> None:
    with pytest.raises(InvalidProgramError, match="comes later"):
        SlotProgram("", 8, (Neg(0),), (None,))
    with pytest.raises(InvalidProgramError, match="layout per operation"):
        SlotProgram("", 8, (Input("x", 1),), ())
    with pytest.raises(InvalidProgramError, match="not a product"):
        SlotProgram("", 8, (Input("x", 1), Rescale(0)), (None, None))


def test_the_text_names_every_operation() -> None:
    builder = Builder("everything", slots=8)
    x = builder.append(Input("x", 4))
    c = builder.append(Constant(ONES))
    y = builder.append(Rescale(builder.append(Mul(x, c))))
    y = builder.append(Rescale(builder.append(Linear(y, {0: ONES, 3: ONES}, 2))))
    y = builder.append(Neg(builder.append(Rotate(y, 3))))
    y = builder.append(Sub(y, builder.append(Add(y, y))))
    y = builder.append(Polynomial(y, (0.0, 1.0), "chebyshev"))
    builder.append(Output(builder.append(DropLevel(y, 0))))
    text = str(builder.finish())
    for words in (
        "everything, 8 slots",
        "%0 = input x",
        "%1 = constant ",
        "%2 = mul %0 %1",
        "not rescaled",
        "linear %3 {2 diagonals, 2 baby steps}",
        "rotate %5 by 3",
        "neg %6",
        "sub %7 %8",
        "{chebyshev, degree 1}",
        "drop_level %10 to 0",
        "output %11",
    ):
        assert words in text
