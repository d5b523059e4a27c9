from dataclasses import replace

import pytest

from cloakwork.errors import KeyBudgetError
from cloakwork.plan.matmul.matrix_plan import MatrixPlan, matrix_plan
from cloakwork.plan.passes.levels import depth_of
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.search import Task, cheapest_plan
from cloakwork.programs.ir.tensors import Contract, Node, Source
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import Input, Output, SlotProgram, SwitchProduct


def task_of(result: Node, sources: list[Source], bound: float = 1.0) -> Task:
    return Task(RealOptions(), [result], dict.fromkeys(sources, bound))


def within(task: Task, key_budget: int) -> Task:
    return replace(task, options=replace(task.options, key_budget=key_budget))


def product_of(size: int) -> Task:
    a, b = (Source(name, (size, size)) for name in "ab")
    return task_of(Contract((a, b), ("ik", "kj"), "ij", (size, size)), [a, b])


def edges(program: SlotProgram) -> int:
    return sum(isinstance(each, Input | Output) for each in program.operations)


def taken(task: Task) -> MatrixPlan | None:
    """The plan by blocks where `compile` takes it."""
    plan = matrix_plan(task)
    if plan is None or plan.is_certain:
        return plan
    return plan if plan.is_better_than(cheapest_plan(task)) else None


# What the products of slots take, in and out.
@pytest.mark.parametrize(("size", "most"), [(16, 3), (32, 17), (64, 132)])
def test_small_products_have_no_more_ciphertexts(size: int, most: int) -> None:
    plan = taken(product_of(size))
    assert plan is None or edges(plan.program) <= most


@pytest.mark.parametrize("size", [128, 256])
def test_large_products_are_planned_without_looking_for_others(size: int) -> None:
    plan = matrix_plan(product_of(size))
    assert plan is not None
    assert plan.is_certain
    assert len(plan.program.operations) < 4 * size


@pytest.mark.parametrize("shape", [(37, 100), (70, 90), (64, 64)])
@pytest.mark.parametrize("terms", [("ik", "jk"), ("ki", "kj")])
def test_a_matrix_times_its_transpose_is_planned_without_looking_for_others(
    shape: tuple[int, int], terms: tuple[str, str]
) -> None:
    a = Source("a", shape)
    size = shape[terms[0].index("i")]
    plan = matrix_plan(task_of(Contract((a, a), terms, "ij", (size, size)), [a]))
    assert plan is not None
    assert plan.is_certain
    assert len(plan.program.operations) < 128


def test_a_key_budget_that_nothing_fits_is_refused_with_what_would_do() -> None:
    with pytest.raises(KeyBudgetError) as refusal:
        matrix_plan(within(product_of(64), 1000))
    assert matrix_plan(within(product_of(64), refusal.value.least)) is not None
    with pytest.raises(KeyBudgetError):
        matrix_plan(within(product_of(64), refusal.value.least - 1))


def test_chains_take_one_level_a_product() -> None:
    a, b, c = (Source(name, (48, 48)) for name in "abc")
    first = Contract((a, b), ("ik", "kj"), "ij", (48, 48))
    task = task_of(Contract((first, c), ("ik", "kj"), "ij", (48, 48)), [a, b, c], 0.1)
    plan = matrix_plan(task)
    assert plan is not None
    assert depth_of(plan.program) == 2
    assert sorted(each.name for each, _ in plan.operands) == ["a", "b", "c"]


def test_a_chain_within_a_key_budget_has_fewer_rotations() -> None:
    a, b, c = (Source(name, (64, 64)) for name in "abc")
    first = Contract((a, b), ("ik", "kj"), "ij", (64, 64))
    task = task_of(Contract((first, c), ("ik", "kj"), "ij", (64, 64)), [a, b, c], 0.1)

    def keys_of(plan: MatrixPlan | None) -> int:
        assert plan is not None
        return required_keys(plan.program).nbytes(plan.parameters.evaluation_key_bytes)

    budget = keys_of(matrix_plan(task)) // 2
    assert keys_of(matrix_plan(within(task, budget))) <= budget
    with pytest.raises(KeyBudgetError, match="allow key_budget=") as refusal:
        matrix_plan(within(task, 1000))
    assert matrix_plan(within(task, refusal.value.least)) is not None


def test_a_network_of_squares_fits_the_ring_of_two_to_the_thirteen() -> None:
    x, w, v = (Source(*each) for each in (("x", (784, 4096)), ("w", (128, 784)), ("v", (10, 128))))
    hidden = Contract((w, x), ("ik", "kj"), "ij", (128, 4096))
    square = Contract((hidden, hidden), ("ij", "ij"), "ij", hidden.shape)
    bounds = {x: 1.0, w: 0.02, v: 0.05}
    last = Contract((v, square), ("ik", "kj"), "ij", (10, 4096))
    plan = matrix_plan(Task(RealOptions(precision=8), [last], bounds))
    assert plan is not None
    assert (plan.parameters.log_n, plan.parameters.levels) == (13, 3)
    # As many as the first product fills, and those of the last.
    switches = sum(isinstance(each, SwitchProduct) for each in plan.program.operations)
    assert switches == 128 * 4096 // 4096 + 128
