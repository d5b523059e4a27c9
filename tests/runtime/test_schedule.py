"""Hoisting groups and tasks, read off programs."""

import gc
import weakref
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    PairedBootstrap,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    Sub,
    SwitchProduct,
)
from cloakwork.runtime.schedule import (
    bootstrap_pairs,
    degrees,
    hoisting_groups,
    part_of_schedule,
    rescaled_products,
    schedule,
    sharing_transforms,
)
from tests.runtime.slot_programs import programs

SLOTS = 256
X, C = Input("x", 1), Constant(np.ones(8))


def program(*operations: Operation) -> SlotProgram:
    return SlotProgram("", SLOTS, operations, (None,) * len(operations))


def rotations(count: int, between: int) -> SlotProgram:
    """Rotations of one input with other operations between them."""
    builder = Builder("", SLOTS)
    x = builder.append(Input("x", 1))
    for step in range(1, count + 1):
        builder.append(Rotate(x, step))
        for _ in range(between):
            builder.append(Neg(x))
    return builder.finish()


def test_rotations_of_one_value_are_a_group() -> None:
    found = hoisting_groups(
        program(Input("x", 1), Rotate(0, 1), Neg(0), Rotate(2, 1), Rotate(0, 3), Rotate(2, 2))
    )
    assert found == ((1, 4), (3, 5))


def test_transforms_of_one_value_with_the_same_baby_steps_are_one_task() -> None:
    def transform(operand: int, *diagonals: int) -> Linear:
        return Linear(operand, {each: np.ones(SLOTS) for each in diagonals}, 4)

    made = program(
        Input("x", 1),
        Input("y", 1),
        transform(0, 0, 1),
        transform(1, 0, 1),
        transform(0, 4, 9, 13),
        transform(0, 0, 1, 2),
        transform(1, 8, 5),
        Sub(2, 3),
        Sub(4, 6),
    )
    assert schedule(made).tasks == ((2, 4), (3, 6), (5,), (7,), (8,))
    assert sharing_transforms(made) == {2: 2, 4: 2, 3: 2, 6: 2, 5: 1}


def test_one_rotation_is_no_group() -> None:
    assert not hoisting_groups(program(Input("x", 1), Rotate(0, 1), Rotate(1, 1), Rotate(2, 1)))


def test_a_group_has_at_most_32_rotations() -> None:
    assert [len(group) for group in hoisting_groups(rotations(70, between=0))] == [32, 32, 6]
    assert [len(group) for group in hoisting_groups(rotations(33, between=0))] == [32]


def test_no_rotation_is_made_128_operations_early() -> None:
    assert [len(group) for group in hoisting_groups(rotations(24, between=15))] == [8, 8, 8]
    assert not hoisting_groups(rotations(3, between=127))
    assert hoisting_groups(rotations(2, between=126)) == ((1, 128),)


@given(programs(slots=8, level=2, longest=300))
def test_groups_are_rotations_of_one_value(program: SlotProgram) -> None:
    groups = hoisting_groups(program)
    members = [number for group in groups for number in group]
    assert len(members) == len(set(members))
    assert list(groups) == sorted(groups)
    for group in groups:
        assert 2 <= len(group) <= 32
        assert group[-1] - group[0] < 128
        assert list(group) == sorted(group)
        operations = [program.operations[number] for number in group]
        assert all(isinstance(operation, Rotate) for operation in operations)
        assert len({operation.operands for operation in operations}) == 1


@given(programs(slots=8, level=2, longest=300))
def test_every_operation_that_is_work_is_done_once_and_in_order(program: SlotProgram) -> None:
    plan = schedule(program)
    work = [
        number
        for number, operation in enumerate(program.operations)
        if not isinstance(operation, Input | Constant | Output)
    ]
    assert sorted(number for task in plan.tasks for number in task) == work
    assert [task[0] for task in plan.tasks] == sorted(task[0] for task in plan.tasks)
    made = {n for n, operation in enumerate(program.operations) if isinstance(operation, Input)}
    for task, used in zip(plan.tasks, plan.operands, strict=True):
        assert made >= set(used)
        made |= set(task)
    for value in range(len(program.operations)):
        users = [task for task, used in enumerate(plan.operands) if value in used]
        assert plan.users.get(value, []) == users


def test_an_output_is_its_operand() -> None:
    plan = schedule(program(Input("x", 1), Neg(0), Output(1), Neg(2), Output(2), Output(0)))
    assert plan.tasks == ((1,), (3,))
    assert plan.operands == ((0,), (1,))
    assert plan.outputs == (1, 1, 0)


def test_a_value_used_twice_by_one_operation_has_one_user() -> None:
    plan = schedule(program(Input("x", 1), Mul(0, 0), Add(1, 1)))
    assert plan.users == {0: [0], 1: [1]}


def test_a_schedule_is_made_once_and_goes_with_its_program() -> None:
    own = program(Input("x", 1), Mul(0, 0), Add(1, 1))
    same_text = program(Input("x", 1), Mul(0, 0), Add(1, 1))
    assert schedule(own) is schedule(own)
    assert schedule(own) is not schedule(same_text)
    gone = weakref.ref(own)
    del own
    gc.collect()
    assert gone() is None


def test_a_schedule_knows_which_products_wait() -> None:
    assert schedule(program(Input("x", 1), Mul(0, 0), Add(1, 1))).degrees == (1, 2, 2)


@given(programs(slots=8, level=2, longest=60), st.integers(1, 5))
def test_parts_of_a_schedule_fit_together(program: SlotProgram, size: int) -> None:
    whole = schedule(program)
    made = set(whole.inputs)
    for start in range(0, len(whole.tasks), size):
        tasks = range(start, min(start + size, len(whole.tasks)))
        outputs = sorted(value for task in tasks for value in whole.tasks[task])
        part = part_of_schedule(whole, tasks, outputs)
        assert set(part.inputs) <= made
        made.update(outputs)
        assert part.tasks == whole.tasks[start : start + size]
        for place, used in enumerate(part.operands):
            assert all(place in part.users[value] for value in used)
        assert sum(map(len, part.users.values())) == sum(len(set(used)) for used in part.operands)
    assert made == set(whole.inputs) | {value for task in whole.tasks for value in task}


def test_two_bootstraps_that_name_each_other_are_one_task() -> None:
    made = program(
        Input("x", 3),
        Input("y", 3),
        PairedBootstrap(0, 3, 5, 1),
        Neg(2),
        PairedBootstrap(1, 3, 5, 0),
        Output(3),
        Output(4),
    )
    assert bootstrap_pairs(made) == ((2, 4),)
    assert schedule(made).tasks == ((2, 4), (3,))


def test_a_bootstrap_whose_partner_is_not_there_is_a_task_of_its_own() -> None:
    """As where nothing uses the other, and of a value with itself."""
    made = program(
        Input("x", 3), Input("y", 3), PairedBootstrap(0, 3, 5, 1), PairedBootstrap(1, 3, 5, 1)
    )
    assert bootstrap_pairs(made) == ()
    assert schedule(made).tasks == ((2,), (3,))


def switched(*operations: Operation) -> SlotProgram:
    return program(Input("x", 1), RotatedProducts((0,), (0,), 2), *operations)


def test_products_that_are_rescaled_are_switched_together() -> None:
    pairs = [
        each for n in range(33) for each in (SwitchProduct(1, 2 * (n % 2)), Rescale(2 + 2 * n))
    ]
    made = rescaled_products(switched(*pairs))
    assert [len(each) for each in made] == [64, 2]
    assert [*made[0], *made[1]] == [*range(2, 68)]


def test_products_far_from_one_another_are_switched_apart() -> None:
    others = [Neg(3)] * 130
    made = rescaled_products(
        switched(SwitchProduct(1, 0), Rescale(2), *others, SwitchProduct(1, 2), Rescale(134))
    )
    assert made == ((2, 3), (134, 135))


def test_products_are_switched_together_in_the_order_of_their_rescales() -> None:
    own = switched(SwitchProduct(1, 0), SwitchProduct(1, 2), Rescale(3), Rescale(2), Add(4, 5))
    assert rescaled_products(own) == ((3, 4, 2, 5),)
    assert schedule(own).tasks == ((1,), (3, 4, 2, 5), (6,))


def test_a_product_that_something_else_uses_is_switched_alone() -> None:
    own = switched(SwitchProduct(1, 0), Rescale(2), Neg(2))
    assert rescaled_products(own) == ()


def of(*operations: Operation) -> tuple[int, ...]:
    return degrees(SlotProgram("", 8, operations, (None,) * len(operations)))


def test_a_sum_of_products_is_relinearised_once() -> None:
    assert of(X, Mul(0, 0), Mul(0, 0), Sub(1, 2), Neg(3), Rescale(4)) == (1, 2, 2, 2, 2, 1)


def test_a_product_alone_is_relinearised_with_its_rescale() -> None:
    assert of(X, Mul(0, 0), Rescale(1)) == (1, 2, 1)


def test_products_with_what_is_clear_have_degree_1() -> None:
    clear = (X, C, Mul(0, 1), Linear(0, {0: np.ones(8)}, 1), Add(2, 3))
    assert of(*clear) == (1, 1, 1, 1, 1)
    assert of(*clear, Mul(0, 0), Add(4, 5), Rescale(6)) == (1, 1, 1, 1, 1, 2, 2, 1)


def test_a_product_that_would_be_relinearised_twice_is_relinearised_at_once() -> None:
    assert of(X, Mul(0, 0), Rotate(1, 1), Add(1, 2), Rescale(3)) == (1, 1, 1, 1, 1)
    assert of(X, Mul(0, 0), Rescale(1), Rescale(1)) == (1, 1, 1, 1)


def test_rotations_of_one_sum_share_a_relinearisation() -> None:
    sums = (X, Mul(0, 0), Mul(0, 0), Add(1, 2), Rotate(3, 1), Rotate(3, 2))
    assert of(*sums) == (1, 2, 2, 2, 1, 1)


def relinearisations(program: SlotProgram, found: Sequence[int]) -> int:
    """How many there are, those of one value's rotations counted once."""
    rotated, count = set(), 0
    for operation, degree in zip(program.operations, found, strict=True):
        match operation:
            case Mul(left=left, right=right):
                clear = any(isinstance(program.operations[n], Constant) for n in (left, right))
                count += degree == 1 and not clear
            case Rescale(operand=operand):
                count += found[operand] == 2
            case Rotate(operand=operand) if found[operand] == 2:
                rotated.add(operand)
            case _:
                pass
    return count + len(rotated)


@given(programs(slots=8, level=2, longest=120))
def test_waiting_never_costs_relinearisations(program: SlotProgram) -> None:
    found = degrees(program)
    at_once = [1] * len(found)
    assert relinearisations(program, found) <= relinearisations(program, at_once)
    for operation, degree in zip(program.operations, found, strict=True):
        match operation:
            case Add(left=left, right=right) | Sub(left=left, right=right):
                assert degree == max(found[left], found[right])
            case Neg(operand=operand):
                assert degree == found[operand]
            case Mul():
                assert degree in {1, 2}
            case _:
                assert degree == 1
