"""From lane programs to programs over integers: random circuits, and placement on real rows."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork._native import BgvNoiseModel
from cloakwork.errors import InvalidProgramError
from cloakwork.frontends.circuit.inputs import vector
from cloakwork.frontends.circuit.staging import staged
from cloakwork.plan.circuits.levels import SWITCHINGS, Chain, levelled, lowest_lane_levels, switches
from cloakwork.plan.circuits.search import vectorise
from cloakwork.plan.circuits.to_slots import SlotPlan, slot_plan
from cloakwork.programs.ir.circuits import CircuitInput, CircuitOutput
from cloakwork.programs.ir.vectors import (
    LaneProgram,
    MaskedLanes,
    Multiple,
    Offset,
    PackedLanes,
    Place,
    PlacedScalar,
)
from cloakwork.programs.operations import Add, Operation, Rotate
from cloakwork.programs.packing.scalar import capacity
from cloakwork.programs.slots import Input, SlotProgram
from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.clear_integer import ClearIntegersBackend, exact
from tests.frontends.circuit.random_functions import RandomFunction, functions
from tests.thoroughness import part

MODEL = BgvNoiseModel(12, 65537)


def computed(plan: SlotPlan, program: SlotProgram, inputs: list[list[int]]) -> list[list[int]]:
    """The results of several evaluations of a program in the clear."""
    vectors = plan.places.pack({"x": np.array(inputs, dtype=object)})
    entries = [each for each in program.operations if isinstance(each, Input)]
    values = [exact(vector, entry.level) for vector, entry in zip(vectors, entries, strict=True)]
    made = run_in_order(program, ClearIntegersBackend(), values)
    return plan.places.unpack([each.slots for each in made], len(inputs))


ANY = (functions(), st.booleans(), st.booleans(), st.integers(0, 2**32))


@settings(max_examples=part(50), deadline=None)
@given(*ANY)
def test_random_circuits_equal_pythons_integers(
    function: RandomFunction, replicated: bool, grouped: bool, seed: int
) -> None:
    require_equal(function, replicated, grouped, seed)


@pytest.mark.slow
@settings(max_examples=500, deadline=None)
@given(*ANY)
def test_many_random_circuits_equal_pythons_integers(
    function: RandomFunction, replicated: bool, grouped: bool, seed: int
) -> None:
    require_equal(function, replicated, grouped, seed)


def require_equal(function: RandomFunction, replicated: bool, grouped: bool, seed: int) -> None:
    declared = {"x": vector(function.length, replicated=replicated, grouped=grouped)}
    lanes = vectorise(staged(function, declared).circuit, effort=0.02)
    # Rows that are no multiple of the width, and of which evaluations fill both.
    slots = 3 * lanes.width + seed % lanes.width
    plan = slot_plan(lanes, slots)
    asked = switches(plan.program, MODEL, 40, SWITCHINGS[seed % len(SWITCHINGS)])
    program = levelled(plan.program, asked, lowest_lane_levels(plan.program, asked, Chain(40, 60)))
    rng = random.Random(seed)
    bound = 10 ** rng.randint(0, 12)
    inputs = [
        [rng.randint(-bound, bound) for _ in range(function.length)]
        for _ in range(capacity(lanes.width, slots))
    ]
    expected = [function(each) for each in inputs]
    assert computed(plan, plan.program, inputs) == expected
    assert computed(plan, program, inputs) == expected


def lanes_of(*operations: Operation, place: int) -> LaneProgram:
    packed = PackedLanes((PlacedScalar(0, "x", 0), PlacedScalar(1, "x", 1)))
    inputs = (CircuitInput("x", (2,)),)
    outputs = (CircuitOutput("y", (), (0,)),)
    return LaneProgram(
        "some",
        inputs,
        (packed, *operations),
        outputs,
        ((Place(place, 1),),),
    )


def test_a_program_needs_a_row_as_wide_as_it_is() -> None:
    with pytest.raises(InvalidProgramError, match="takes 2 slots, a row has 1"):
        slot_plan(lanes_of(place=0), 1)


def test_rotations_go_round_the_row() -> None:
    program = slot_plan(lanes_of(Rotate(0, -1), Add(0, 1), place=2), 8).program
    assert [program.line(number) for number in range(4)] == [
        "%0 = input x",
        "%1 = rotate %0 by 7",
        "%2 = add %0 %1",
        "%3 = output %2",
    ]


CLEAR = st.integers(-(2**300), 2**300) | st.sampled_from([0, 2**63 - 1, -(2**63), 2**124])


@given(CLEAR, CLEAR, CLEAR, st.integers(-9, 9))
def test_clear_integers_may_be_of_any_size(factor: int, mask: int, addend: int, x: int) -> None:
    lanes = lanes_of(
        Multiple(0, factor),
        MaskedLanes(1, ((0, 5), (1, mask))),
        Offset(2, ((0, -1), (1, addend))),
        place=3,
    )
    plan = slot_plan(lanes, 4)
    [[found], [again]] = computed(plan, plan.program, [[7, x], [7, x + 1]])
    assert (found, again) == (x * factor * mask + addend, (x + 1) * factor * mask + addend)


def test_a_clear_integer_that_fits_is_one_constant() -> None:
    for factor, operations in ((2**63 - 1, 4), (-(2**63), 6)):
        program = slot_plan(lanes_of(Multiple(0, factor), place=1), 2).program
        assert len(program.operations) == operations, factor


def test_results_of_one_vector_share_an_output() -> None:
    lanes = lanes_of(place=0)
    outputs = (CircuitOutput("y", (2,), (0, 1)),)
    both = LaneProgram(
        lanes.title, lanes.inputs, lanes.operations, outputs, ((Place(0, 1), Place(0, 0)),)
    )
    plan = slot_plan(both, 4)
    assert len(plan.program.operations) == 2
    assert computed(plan, plan.program, [[5, 7]]) == [[7, 5]]
