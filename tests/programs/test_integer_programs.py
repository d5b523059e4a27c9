"""Slot programs over integers: legality, text, records, exact runs."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.base.record import Fields
from cloakwork.errors import InvalidProgramError
from cloakwork.plan.passes.simplify import simplified
from cloakwork.programs.records import read_slots, slots_record
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Mul,
    Neg,
    Output,
    Rescale,
    Rotate,
    RotateSum,
    SlotProgram,
    Sub,
)
from cloakwork.programs.text import from_text, to_text
from cloakwork.runtime.executor import run
from cloakwork.runtime.schedule import degrees
from cloakwork.schemes.clear_integer import ClearIntegersBackend, exact
from tests.programs.random_programs import facts

LONG = st.integers(-(2**63) + 1, 2**63 - 1)


def program_of(numbers: list[int]) -> SlotProgram:
    """A program with every operation that programs over integers have."""
    builder = Builder("all", 4, "integer")
    x, y = builder.append(Input("x", 2)), builder.append(Input("y", 1))
    constant = builder.append(Constant(np.array(numbers, dtype=np.int64)))
    square = builder.append(Mul(x, x))
    cube = builder.append(Mul(square, x))
    down = builder.append(Rescale(builder.append(Add(cube, constant))))
    turned = builder.append(RotateSum(builder.append(Rotate(y, 3)), (0, 1), (2,)))
    total = builder.append(Sub(down, turned))
    scaled = builder.append(Mul(builder.append(Neg(total)), constant))
    builder.append(Output(builder.append(DropLevel(scaled, 0))))
    return builder.finish()


@given(st.lists(LONG, min_size=4, max_size=4))
def test_round_trips(numbers: list[int]) -> None:
    program = program_of(numbers)
    assert "\nnumbers integer\n" in to_text(program)
    recorded = read_slots(Fields(slots_record(program), "the record"))
    for again in (from_text(to_text(program)), recorded):
        assert facts(again) == facts(program)
        assert again.numbers == "integer"
        constant = again.operations[2]
        assert isinstance(constant, Constant)
        assert constant.vector.dtype == np.int64


@given(st.lists(LONG, min_size=12, max_size=12))
def test_runs_are_exact_whatever_the_size(numbers: list[int]) -> None:
    x, y, c = numbers[:4], numbers[4:8], numbers[8:]
    inputs = [exact(x, 2), exact(y, 1)]
    program = program_of(c)
    turned = [y[(i + 3) % 4] + y[i] - y[(i + 1) % 4] for i in range(4)]
    expected = [-(x[i] ** 3 + c[i] - turned[i]) * c[i] for i in range(4)]
    for each in (program, simplified(program)):
        (result,) = run(each, ClearIntegersBackend(), inputs, threads=1)
        assert result.slots.tolist() == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("numbers real", "expected integer"),
        ("numbers integer 4", "end of the line"),
        ("numbers integer\nv0 = 0.5 x2", "integer of up to 63 bits"),
        ("numbers integer\nv0 = 9223372036854775808 x2", "63 bits"),
        ("v0 = 1.0 x2\nnumbers integer", "comes before"),
        ('numbers integer\n%0 = input "x" at 0\n%1 = rescale %0', "takes 1 level"),
        ('numbers integer\n%0 = input "x" at 1\n%1 = polynomial %0 monomial [0, 1]', "none"),
    ],
)
def test_what_is_wrong_is_said(text: str, reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        from_text(f'cloakwork slot program 1\ntitle "t"\nslots 2\n{text}\n')


@pytest.mark.parametrize(
    ("added", "subtracted", "reason"),
    [
        ((1, 1), (), "a rotation comes twice"),
        ((1,), (1,), "a rotation comes twice"),
        ((0,), (), "it does not rotate"),
        ((1,), (), "it does not sum"),
        ((), (), "it does not rotate"),
        ((0, 4), (), "outside 0..3"),
        ((0, -1), (), "outside 0..3"),
        ((0, 1.0), (), "not an integer"),
        ([0, 1], (), "not a tuple"),
    ],
)
def test_sums_of_rotations_are_checked(added: Any, subtracted: Any, reason: str) -> None:
    operations = (Input("x", 0), RotateSum(0, added, subtracted))
    with pytest.raises(InvalidProgramError, match=reason):
        SlotProgram("", 4, operations, (None,) * 2, numbers="integer")


def test_programs_over_reals_have_no_sums_of_rotations() -> None:
    operations = (Input("x", 0), RotateSum(0, (0, 1)))
    with pytest.raises(InvalidProgramError, match="programs over reals have none"):
        SlotProgram("", 4, operations, (None,) * 2)


def test_numbers_are_of_one_kind() -> None:
    reals, integers = np.ones(2), np.ones(2, dtype=np.int64)
    with pytest.raises(InvalidProgramError, match="expected an array of int64"):
        SlotProgram("", 2, (Constant(reals),), (None,), numbers="integer")
    with pytest.raises(InvalidProgramError, match="expected an array of float64"):
        SlotProgram("", 2, (Constant(integers),), (None,))
    least = np.array([-(2**63), 0], dtype=np.int64)
    with pytest.raises(InvalidProgramError, match="a number is -2"):
        SlotProgram("", 2, (Constant(least),), (None,), numbers="integer")
    with pytest.raises(InvalidProgramError, match="numbers to be of"):
        SlotProgram("", 2, (), (), numbers="complex")  # type: ignore[arg-type]


def test_results_stay_unrelinearised_and_factors_do_not() -> None:
    x = Input("x", 1)
    sums = (x, Mul(0, 0), Mul(0, 0), Add(1, 2), Output(3))
    assert degrees(SlotProgram("", 2, sums, (None,) * 5, numbers="integer")) == (1, 2, 2, 2, 1)
    ones = Constant(np.array([1, 2]))
    masked = (x, ones, Mul(0, 0), Mul(2, 1), Rotate(3, 1))
    assert degrees(SlotProgram("", 2, masked, (None,) * 5, numbers="integer")) == (1, 1, 2, 2, 1)
    used = (x, Mul(0, 0), Mul(1, 0), Output(2))
    assert degrees(SlotProgram("", 2, used, (None,) * 4, numbers="integer")) == (1, 1, 2, 1)
    dropped = (x, Mul(0, 0), DropLevel(1, 0))
    assert degrees(SlotProgram("", 2, dropped, (None,) * 3, numbers="integer")) == (1, 1, 1)
