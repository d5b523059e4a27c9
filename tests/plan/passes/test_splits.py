"""Splitting transforms by cost."""

from dataclasses import replace

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from cloakwork.plan.passes.splits import split_by_cost
from cloakwork.programs.bsgs import split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.slots import Input, Linear, Output, Rescale, SlotProgram
from cloakwork.runtime.costs import Costs, modelled
from cloakwork.runtime.executor import run
from cloakwork.runtime.shared_rotations import shared_rotations
from cloakwork.schemes.clear_real import ClearBackend, ClearKey
from tests.programs.summed_transforms import matrix_program

SLOTS = 64


def program_of(diagonals: SparseDiagonals | dict[int, np.ndarray]) -> SlotProgram:
    operations = (Input("x", 1), Linear(0, diagonals, 8), Rescale(1), Output(2))
    return SlotProgram("transform", SLOTS, operations, (None,) * 4)


def with_hoisted(share: float) -> Costs:
    costs = modelled([1, 2], 1)
    return Costs(
        tuple(replace(each, hoisted_rotation=share * each.rotation) for each in costs.levels)
    )


def linear_of(program: SlotProgram) -> Linear:
    (linear,) = (each for each in program.operations if isinstance(each, Linear))
    return linear


@example({0, 1, 3, 4, 15, 24, 45, 48, 52, 53, 60}, False, 1.0)
@given(st.sets(st.integers(0, SLOTS - 1), min_size=1), st.booleans(), st.floats(0.05, 1.0))
def test_a_split_computes_the_same(numbers: set[int], sparse: bool, share: float) -> None:
    rng = np.random.default_rng(0)
    dense = {number: rng.normal(size=SLOTS) for number in numbers}
    elements = [(d, slot) for d in numbers for slot in range(SLOTS)]
    sources = np.array([(d + slot) % SLOTS for d, slot in elements])
    targets = np.array([slot for _, slot in elements])
    weights = np.array([dense[d][slot] for d, slot in elements])
    program = program_of(SparseDiagonals(SLOTS, sources, targets, weights) if sparse else dense)
    x = ClearKey().encrypt(rng.normal(size=SLOTS), level=1)
    (before,) = run(program, ClearBackend(), [x])
    (after,) = run(split_by_cost(program, with_hoisted(share)), ClearBackend(), [x])
    assert np.allclose(before.slots, after.slots)


def test_cheap_baby_steps_are_taken_more_often() -> None:
    program = program_of({d: np.ones(SLOTS) for d in range(36)})
    counts = []
    for share in (0.05, 1.0):
        linear = linear_of(split_by_cost(program, with_hoisted(share)))
        counts.append(len(split(linear.diagonals, SLOTS, linear.baby_steps).giant))
    assert counts[0] < counts[1]


def test_transforms_that_are_summed_have_fewer_baby_steps_in_common() -> None:
    made, matrix = matrix_program(
        SLOTS, operands=8, results=2, diagonals=range(SLOTS), baby_steps=8
    )
    split_anew = split_by_cost(made, with_hoisted(0.5))
    (width,) = {each.baby_steps for each in split_anew.operations if isinstance(each, Linear)}
    assert width < 8
    assert rotations(split_anew) < rotations(made)
    vectors = np.random.default_rng(0).uniform(-1, 1, (8, SLOTS))
    found = run(split_anew, ClearBackend(), [ClearKey().encrypt(x, level=1) for x in vectors])
    np.testing.assert_allclose(
        np.concatenate([each.slots for each in found]), matrix @ vectors.ravel()
    )


def rotations(program: SlotProgram) -> int:
    """Those that are made: baby steps of each operand and giant steps of each sum."""
    transforms = [each for each in program.operations if isinstance(each, Linear)]
    alone = sum(len(each.rotations(SLOTS)) for each in transforms)
    return alone - sum(each.rotations for each in shared_rotations(program).values())
