"""The stages of a plan, and what is told of them."""

import numpy as np
from hypothesis import given

import cloakwork as cw
from cloakwork._native import Parameters
from cloakwork.explain.slots import explain_slots
from cloakwork.explain.stage_text import stage_lines
from cloakwork.explain.stages import stages_of_program, strands_of
from cloakwork.explain.work_levels_keys import WIDTH
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.programs.slots import (
    Add,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Operation,
    Output,
    Rescale,
    Rotate,
    SlotProgram,
)
from cloakwork.schemes.ckks import Ckks
from tests.programs.random_programs import MAX_LEVEL, programs

SLOTS = 512
PARAMETERS = Parameters(levels=MAX_LEVEL, log_n=10, insecure=True)


def told(*operations: Operation) -> list[str]:
    """What is told of operations on one input, the first line left out."""
    everything = (Input("x", 2), *operations)
    program = SlotProgram("t", SLOTS, everything, (None,) * len(everything))
    (stage,) = stages_of_program(program)
    return [line.strip() for line in stage_lines(program, stage, 1)[1:]]


@given(programs())
def test_stages_and_strands_part_the_work(program: SlotProgram) -> None:
    work = [
        number
        for number, operation in enumerate(program.operations)
        if not isinstance(operation, Input | Constant | Output)
    ]
    stages = stages_of_program(program)
    assert sorted(number for stage in stages for number in stage.numbers) == work
    for stage in stages:
        kinds = {isinstance(program.operations[number], DropLevel) for number in stage.numbers}
        assert len(kinds) == 1
        if True not in kinds:
            marks = {(program.stages[number], program.origins[number]) for number in stage.numbers}
            assert marks == {(stage.name, stage.origin)}
        strands = strands_of(program, stage)
        assert sorted(number for strand in strands for number in strand) == list(stage.numbers)
        strand_of = {number: k for k, strand in enumerate(strands) for number in strand}
        for number in stage.numbers:
            used = {strand_of.get(operand) for operand in program.operations[number].operands}
            assert used <= {strand_of[number], None}


@given(programs())
def test_every_program_can_be_explained(program: SlotProgram) -> None:
    text = explain_slots(program, Ckks(PARAMETERS))
    assert text.startswith(program.title)
    for number, stage in enumerate(stages_of_program(program), start=1):
        lines = stage_lines(program, stage, number)
        assert len(lines) >= 2
        assert max(map(len, lines)) <= WIDTH


def test_drops_do_not_part_a_stage() -> None:
    first = (Input("x", 2), Rotate(0, 1), DropLevel(0, 1), Rotate(2, 1))
    operations = (*first, DropLevel(1, 1), Add(3, 4))
    program = SlotProgram("t", SLOTS, operations, (None,) * 6, (), ("", *("turn",) * 5))
    assert [(stage.name, stage.numbers) for stage in stages_of_program(program)] == [
        ("align levels", (2,)),
        ("turn", (1, 3)),
        ("align levels", (4,)),
        ("turn", (5,)),
    ]


def test_rotations_are_told_by_the_shorter_way() -> None:
    assert told(Rotate(0, 1), Rotate(0, 511), Rotate(0, 2)) == [
        "rotate by 1",
        "rotate by -1",
        "rotate by 2",
    ]


def test_a_chain_is_told_from_rescale_to_rescale() -> None:
    ones = np.ones(SLOTS)
    chain = (Linear(0, {0: ones, 1: ones}, 1), Rescale(1), Linear(2, {0: ones}, 1), Rescale(3))
    assert told(*chain) == [
        "linear: diagonals 0, 1 (2), 1 giant step 1; rescale; linear: diagonals 0 (1); rescale"
    ]


def test_equal_strands_are_told_once() -> None:
    assert told(Rotate(0, 3), Rotate(0, 3), Add(0, 1), Add(0, 2)) == ["2 x add rotations by 3"]


def test_a_sum_that_adds_to_the_first_value_says_so() -> None:
    # Three neighbours: twice, then once more onto the first.
    steps = (Rotate(0, 1), Add(0, 1), Rotate(2, 1), Add(0, 3))
    assert told(*steps) == ["add rotations by 1, 1* (*: to the first value)"]


def test_a_rotation_with_its_sum_later_is_paired_right() -> None:
    ones = np.ones(SLOTS)
    steps = (Rotate(0, 4), Constant(ones), Add(0, 1), Rotate(3, 8), Add(3, 4))
    assert told(*steps) == ["add rotations by 4, 8"]


def test_a_linear_transform_is_told_by_its_diagonals_and_steps() -> None:
    diagonals = dict.fromkeys([*range(0, 40, 5), -1], np.ones(SLOTS))
    assert " ".join(told(Linear(0, diagonals, 20), Rescale(1))) == (
        "linear: diagonals -1, 0, 5, ... 35 (9), 4 baby steps 5, 10, 15, 19, "
        "2 giant steps 20, -20; rescale"
    )


def test_transforms_that_differ_are_told_up_to_a_few() -> None:
    ones = np.ones(SLOTS)
    lines = told(*(Linear(0, {k: ones, k + 1: ones}, 1) for k in range(10)))
    assert lines[0].startswith("linear: diagonals 0, 1 (2)")
    assert lines[-1] == "and 6 more like these, on other diagonals or steps"


def test_products_with_constants_are_told_apart() -> None:
    ones = Constant(np.ones(SLOTS))
    assert told(ones, Mul(0, 1), Mul(0, 0)) == ["multiply by constants", "multiply"]


def test_stages_outlive_the_passes_over_a_program() -> None:
    session = cw.Session(depth=2, backend="clear", insecure=True, log_n=11)
    program = (session.encrypt(np.ones((4, 30))) @ np.ones((30, 7))).program
    assert program is not None
    names = {stage.name for stage in stages_of_program(program)}
    assert any("by constants into" in name for name in names)
    lowered = lowest_levels(simplified(program))
    assert {stage.name for stage in stages_of_program(lowered)} == names
