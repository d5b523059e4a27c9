"""Lane programs: what makes one legal, and how wide it is."""

from __future__ import annotations

import pytest

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.ir.circuits import CircuitInput, CircuitOutput
from cloakwork.programs.ir.vectors import (
    Clear,
    LaneProgram,
    MaskedLanes,
    Multiple,
    Offset,
    PackedLanes,
    Place,
    PlacedScalar,
)
from cloakwork.programs.operations import Add, Mul, Neg, Operation, Rotate, Sub
from cloakwork.programs.slots import Input, Rescale, SlotProgram
from tests.plan.circuits.vector_evaluation import vectors_in_clear

X = CircuitInput("x", (3,))
Y = CircuitInput("y", (3,))
PACKED = PackedLanes(tuple(PlacedScalar(slot, "x", slot) for slot in range(3)))


def program(
    *operations: Operation, inputs: tuple[CircuitInput, ...] = (X, Y), slot: int = 0
) -> LaneProgram:
    outputs = (CircuitOutput("z", (), (0,)),)
    places = ((Place(len(operations) - 1, slot),),)
    return LaneProgram("t", inputs, operations, outputs, places)


def test_every_operation_runs_over_the_whole_row() -> None:
    made = program(
        PACKED,
        Rotate(0, -1),
        Add(0, 1),
        Sub(0, 1),
        Mul(2, 3),
        Neg(4),
        Multiple(5, 2),
        MaskedLanes(6, ((0, 1), (2, -3))),
        Offset(7, ((1, 9),)),
    )
    assert vectors_in_clear(made, {0: [1, 2, 3, 0]}, 4, [0]) == [
        [1, 2, 3, 0],
        [0, 1, 2, 3],
        [1, 3, 5, 3],
        [1, 1, 1, -3],
        [1, 3, 5, -9],
        [-1, -3, -5, 9],
        [-2, -6, -10, 18],
        [-2, 0, 30, 0],
        [-2, 9, 30, 0],
    ]
    kinds = ("pack", "rotate", "add", "sub", "mul", "neg", "scale", "mask", "offset")
    assert made.counts == dict.fromkeys(kinds, 1)
    assert str(made).split("\n") == [
        "t, 4 slots wide",
        "  %0 = pack 0:x[0] 1:x[1] 2:x[2]",
        "  %1 = rotate %0 by -1",
        "  %2 = add %0 %1",
        "  %3 = sub %0 %1",
        "  %4 = mul %2 %3",
        "  %5 = neg %4",
        "  %6 = scale %5 by 2",
        "  %7 = mask %6 0:1 2:-3",
        "  %8 = offset %7 1:9",
        "  output z = %8@0",
    ]


def test_slot_programs_have_none_of_the_operations_of_lanes_alone() -> None:
    for operation in (PACKED, Multiple(0, 2), MaskedLanes(0, ((0, 1),)), Offset(0, ((0, 1),))):
        with pytest.raises(InvalidProgramError, match=f"cannot use {operation.kind}: "):
            SlotProgram("t", 4, (Input("x", 0), operation), (None,) * 2, numbers="integer")


def test_lane_programs_have_none_of_the_other_operations_of_slots() -> None:
    with pytest.raises(
        InvalidProgramError, match="cannot use rescale: vectorised programs have none"
    ):
        program(PACKED, Rescale(0))


def test_slots_that_may_hold_something_are_known() -> None:
    made = program(PACKED, Rotate(0, 2), Mul(0, 1), Offset(2, ((7, 1),)))
    assert [set(slots) for slots in made.supports] == [{0, 1, 2}, {-2, -1, 0}, {0}, {0, 7}]


@pytest.mark.parametrize(
    ("operations", "slot", "width"),
    [
        ((PACKED,), 0, 3),
        ((PACKED, MaskedLanes(0, ((0, 1),))), 0, 3),
        ((PACKED, Rotate(0, 1), Add(0, 1)), 0, 3),
        ((PACKED, Rotate(0, 1), Mul(0, 1)), 0, 3),
        # What moves in from another evaluation must be a known zero or not there.
        ((PACKED, Rotate(0, 1), Add(0, 1)), 2, 4),
        ((PackedLanes(PACKED.scalars[:1]), Rotate(0, -9)), 9, 1),
    ],
)
def test_width_is_as_far_as_a_result_could_be_disturbed(
    operations: tuple[Operation, ...], slot: int, width: int
) -> None:
    assert program(*operations, slot=slot).width == width


def test_clear_results_need_no_vector() -> None:
    outputs = (CircuitOutput("z", (), (0,)),)
    made = LaneProgram("t", (), (), outputs, ((Clear(7),),))
    assert str(made) == "t, 1 slots wide\n  output z = 7"


@pytest.mark.parametrize(
    ("operations", "reason"),
    [
        ((PACKED, Rotate(0, 0)), "does not move"),
        ((PACKED, Add(0, 1)), "not before it"),
        ((PackedLanes((PlacedScalar(0, "x", 0), PlacedScalar(0, "x", 1))),), "in one slot"),
        ((PackedLanes((PlacedScalar(0, "x", 3),)),), "no input has"),
        ((PackedLanes((PlacedScalar(0, "q", 0),)),), "no input has"),
        ((PackedLanes((PlacedScalar(0, "x", 0), PlacedScalar(1, "x", 0))),), "not replicated"),
        ((PackedLanes((PlacedScalar(0, "x", 0), PlacedScalar(1, "y", 0))),), "grouped input"),
        ((PACKED, PackedLanes((PlacedScalar(3, "x", 2),))), "not replicated"),
    ],
)
def test_illegal_programs_are_refused(operations: tuple[Operation, ...], reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        program(*operations)


def test_wishes_of_inputs_are_kept() -> None:
    apart = (PackedLanes((PlacedScalar(0, "x", 0),)), PackedLanes((PlacedScalar(0, "x", 1),)))
    program(*apart, inputs=(CircuitInput("x", (2,), grouped=False),))
    with pytest.raises(InvalidProgramError, match="2 ciphertexts"):
        program(*apart, inputs=(CircuitInput("x", (2,)),))
    with pytest.raises(InvalidProgramError, match="slots asked for"):
        program(apart[0], inputs=(CircuitInput("x", (2,), slots=(5, 6)),))


def test_outputs_that_do_not_fit_are_refused() -> None:
    for places in ((), ((),), ((Place(4, 0),),)):
        with pytest.raises(InvalidProgramError, match="output"):
            LaneProgram("t", (X,), (PACKED,), (CircuitOutput("z", (), (0,)),), places)
