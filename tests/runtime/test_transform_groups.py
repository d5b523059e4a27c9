"""Linear transforms that are made together, by values and by sums."""

from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.programs.slots import (
    Add,
    Builder,
    Input,
    Linear,
    Neg,
    Output,
    Rescale,
    SlotProgram,
    Sub,
)
from cloakwork.runtime import executor
from cloakwork.runtime.executor import run
from cloakwork.runtime.schedule import schedule, sharing_transforms
from cloakwork.runtime.shared_rotations import shared_rotations
from cloakwork.runtime.transform_groups import transform_groups
from cloakwork.schemes.clear_real import ClearBackend, ClearVector
from tests.programs.summed_transforms import matrix_program

SLOTS = 32
RNG = np.random.default_rng(6)


def linear(operand: int, diagonals: range, baby_steps: int = 4) -> Linear:
    return Linear(operand, {each: RNG.uniform(-1, 1, SLOTS) for each in diagonals}, baby_steps)


def program(*operations: Input | Linear | Add | Sub | Neg | Rescale | Output) -> SlotProgram:
    return SlotProgram("", SLOTS, operations, (None,) * len(operations))


X, Y = Input("x", 1), Input("y", 1)


def test_a_product_of_three_values_into_two_is_one_task() -> None:
    made, _ = matrix_program(SLOTS, operands=3, results=2, diagonals=range(16), baby_steps=4)
    (task,) = (each for each in schedule(made).tasks if len(each) > 1)
    # Six transforms and two additions for each result.
    assert len(task) == 10
    transforms = [n for n in task if isinstance(made.operations[n], Linear)]
    assert [sharing_transforms(made)[number] for number in transforms] == [2] * 6
    rotations = sum(len(made.operations[n].rotations(SLOTS)) for n in transforms)
    shared = sum(each.rotations for each in shared_rotations(made).values())
    # Three baby steps of each operand, three giant steps of each result.
    assert rotations - shared == 3 * 3 + 2 * 3


def test_a_sum_is_made_when_its_last_operand_is_there() -> None:
    made = program(
        X, linear(0, range(8)), Neg(0), linear(2, range(8)), Add(1, 3), Rescale(4), Output(5)
    )
    plan = schedule(made)
    assert plan.tasks == ((2,), (4, 1, 3), (5,))
    assert set(plan.operands[1]) == {0, 2}


@pytest.mark.parametrize(
    "others",
    [
        (Add(2, 3), Add(2, 4)),
        (Sub(2, 3),),
        (Add(2, 2),),
        (Add(2, 3), Rescale(2)),
    ],
)
def test_a_transform_that_is_used_otherwise_is_no_part_of_a_sum(
    others: tuple[Add | Sub | Rescale, ...],
) -> None:
    assert not transform_groups(program(X, Y, linear(0, range(8)), linear(1, range(8)), *others))


def test_a_sum_that_comes_too_late_for_others_has_its_own_task() -> None:
    """Giant steps of the second are worth more than the one baby step in common."""
    made = program(
        X,
        Y,
        linear(0, range(8), 2),
        linear(1, range(8), 2),
        Add(2, 3),
        Neg(0),
        linear(0, range(8), 2),
        linear(5, range(8), 2),
        Add(6, 7),
    )
    assert transform_groups(made) == ((4, 2, 3), (8, 6, 7))


def test_transforms_that_share_more_apart_are_made_apart() -> None:
    """Two of them have fifteen baby steps in common with others and no giant step in the sum."""
    made = program(
        X,
        Y,
        linear(0, range(16), 16),
        linear(1, range(16), 16),
        Neg(0),
        linear(0, range(16), 16),
        linear(4, range(16), 16),
        Add(5, 6),
    )
    assert transform_groups(made) == ((2, 5),)


@st.composite
def sums_of_transforms(draw: st.DrawFn) -> SlotProgram:
    """Transforms of values that are there early and late, and sums of them in any order."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    builder = Builder("sums", SLOTS)
    ready = [builder.append(Input(name, 1)) for name in "xyz"]
    waiting: list[int] = []
    for _ in range(draw(st.integers(2, 60))):
        kind = rng.integers(5)
        if kind == 0:
            ready.append(builder.append(Neg(int(rng.choice(ready)))))
        elif kind < 3 or len(waiting) < 2:
            width, count = int(rng.choice([1, 4])), int(rng.integers(1, 12))
            waiting.append(builder.append(linear(int(rng.choice(ready)), range(count), width)))
        else:
            left, right = rng.choice(waiting, 2).tolist()
            waiting.append(builder.append((Add, Add, Add, Sub)[rng.integers(4)](left, right)))
    for value in {*waiting[-3:]}:
        builder.append(Output(builder.append(Rescale(value))))
    if not waiting:
        builder.append(Output(ready[-1]))
    return builder.finish()


@given(sums_of_transforms())
def test_values_are_there_in_time_and_right(made: SlotProgram) -> None:
    plan = schedule(made)
    inputs = [ClearVector(RNG.uniform(-1, 1, SLOTS), 1) for _ in plan.inputs]
    values: dict[int, ClearVector] = dict(zip(plan.inputs, inputs, strict=True))
    backend = ClearBackend()
    for number, operation in enumerate(made.operations):
        if not isinstance(operation, Input | Output):
            values[number] = executor.applied(operation, made, backend, values)
    for found, number in zip(run(made, backend, inputs), plan.outputs, strict=True):
        np.testing.assert_allclose(found.slots, values[number].slots, atol=1e-9)


@pytest.mark.parametrize("order", ["by result", "by operand"])
def test_a_product_of_three_values_into_two_is_right(
    order: Literal["by result", "by operand"],
) -> None:
    made, matrix = matrix_program(
        SLOTS, operands=3, results=2, diagonals=range(-4, 12), baby_steps=4, order=order
    )
    assert len(transform_groups(made)) == 1
    vectors = RNG.uniform(-1, 1, (3, SLOTS))
    found = run(made, ClearBackend(), [ClearVector(each, 1) for each in vectors])
    np.testing.assert_allclose(
        np.concatenate([each.slots for each in found]), matrix @ vectors.ravel()
    )
