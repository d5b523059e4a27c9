"""Sums of rotations as single operations: what is joined, what is not, and equal results."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.plan.passes.rotate_sums import with_rotate_sums
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import (
    Add,
    Builder,
    Input,
    Mul,
    Neg,
    Operation,
    Output,
    Rotate,
    RotateSum,
    SlotProgram,
    Sub,
)
from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.clear_integer import ClearIntegersBackend, exact

SLOTS = 8


def results(program: SlotProgram) -> list[list[int]]:
    generator = np.random.default_rng(0)
    inputs = [
        exact(generator.integers(-9, 10, SLOTS), operation.level)
        for operation in program.operations
        if isinstance(operation, Input)
    ]
    found = run_in_order(program, ClearIntegersBackend(), inputs)
    return [value.slots.tolist() for value in found]


@st.composite
def programs(draw: st.DrawFn) -> SlotProgram:
    """Mostly rotations and sums of few values, so that much can be joined and much cannot."""
    builder = Builder("random", SLOTS, "integer")
    values = [builder.append(Input("x", 0)), builder.append(Input("y", 0))]
    for _ in range(draw(st.integers(1, 14))):
        left, right = draw(st.sampled_from(values)), draw(st.sampled_from(values))
        choices: list[Operation] = [
            Rotate(left, draw(st.integers(1, SLOTS - 1))),
            Add(left, right),
            Sub(left, right),
            Neg(left),
            Mul(left, right),
        ]
        values.append(builder.append(draw(st.sampled_from(choices))))
    for value in draw(st.lists(st.sampled_from(values), min_size=1, max_size=3)):
        builder.append(Output(value))
    return builder.finish()


@given(programs())
def test_results_and_rotations_are_the_same(program: SlotProgram) -> None:
    joined = with_rotate_sums(program)
    assert results(joined) == results(program)
    before, after = counted_operations(program), counted_operations(joined)
    for kind in ("rotation", "ciphertext product"):
        assert Counter(after)[kind] == Counter(before)[kind]
    assert Counter(after)["addition"] <= Counter(before)["addition"]
    assert required_keys(joined).rotations == required_keys(program).rotations


def joined_operations(*operations: Operation) -> list[Operation]:
    program = SlotProgram("", SLOTS, operations, (None,) * len(operations), numbers="integer")
    return list(with_rotate_sums(program).operations)


def test_a_sum_of_all_rotations_of_a_value_is_one_operation() -> None:
    x = Input("x", 0)
    made = joined_operations(x, Rotate(0, 1), Rotate(0, 2), Add(1, 0), Sub(3, 2), Output(4))
    assert [type(each) for each in made] == [Input, RotateSum, Output]
    assert isinstance(made[1], RotateSum)
    assert (made[1].added, made[1].subtracted, made[1].moving) == ((0, 1), (2,), (1, 2))


def test_what_is_used_elsewhere_stays() -> None:
    x = Input("x", 0)
    # The rotation is a result as well.
    made = joined_operations(x, Rotate(0, 1), Add(0, 1), Output(2), Output(1))
    assert not any(isinstance(each, RotateSum) for each in made)
    # Another rotation of the value shares the digits with that of the sum.
    made = joined_operations(x, Rotate(0, 1), Rotate(0, 2), Add(0, 1), Mul(3, 2), Output(4))
    assert not any(isinstance(each, RotateSum) for each in made)


def test_a_sum_inside_a_larger_one_that_cannot_be_joined_is_one_operation() -> None:
    x, y = Input("x", 0), Input("y", 0)
    made = joined_operations(x, y, Rotate(0, 1), Add(0, 2), Add(3, 1), Output(4))
    assert [type(each) for each in made] == [Input, Input, RotateSum, Add, Output]
