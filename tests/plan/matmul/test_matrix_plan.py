from dataclasses import replace

import pytest

from cloakwork.errors import KeyBudgetError
from cloakwork.plan.matmul.matrix_plan import MatrixPlan
from cloakwork.plan.passes.levels import depth_of
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.lowerings import in_blocks
from cloakwork.plan.tensors.search import Task
from cloakwork.programs.ir.tensors import Contract, Node, Source
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import SwitchProduct
from tests.plan.matmul.chains import in_blocks_of


def task_of(result: Node, sources: list[Source], bound: float = 1.0) -> Task:
    return Task(RealOptions(), [result], dict.fromkeys(sources, bound))


def within(task: Task, key_budget: int) -> Task:
    return replace(task, options=replace(task.options, key_budget=key_budget))


def is_certain(plan: MatrixPlan, task: Task) -> bool:
    way = in_blocks(task)
    return way is not None and way.is_certain(plan, task)


def product_of(size: int) -> Task:
    a, b = (Source(name, (size, size)) for name in "ab")
    return task_of(Contract((a, b), ("ik", "kj"), "ij", (size, size)), [a, b])


@pytest.mark.parametrize("size", [128, 256])
def test_large_products_are_planned_without_looking_for_others(size: int) -> None:
    task = product_of(size)
    plan = in_blocks_of(task)
    assert is_certain(plan, task)
    assert len(plan.program.operations) < 4 * size


@pytest.mark.parametrize("shape", [(37, 100), (70, 90), (64, 64)])
@pytest.mark.parametrize("terms", [("ik", "jk"), ("ki", "kj")])
def test_a_matrix_times_its_transpose_is_planned_without_looking_for_others(
    shape: tuple[int, int], terms: tuple[str, str]
) -> None:
    a = Source("a", shape)
    size = shape[terms[0].index("i")]
    task = task_of(Contract((a, a), terms, "ij", (size, size)), [a])
    plan = in_blocks_of(task)
    assert is_certain(plan, task)
    assert len(plan.program.operations) < 128


def test_a_key_budget_that_nothing_fits_is_refused_with_what_would_do() -> None:
    with pytest.raises(KeyBudgetError) as refusal:
        in_blocks_of(within(product_of(64), 1000))
    in_blocks_of(within(product_of(64), refusal.value.least))
    with pytest.raises(KeyBudgetError):
        in_blocks_of(within(product_of(64), refusal.value.least - 1))


def test_chains_take_one_level_a_product() -> None:
    a, b, c = (Source(name, (48, 48)) for name in "abc")
    first = Contract((a, b), ("ik", "kj"), "ij", (48, 48))
    task = task_of(Contract((first, c), ("ik", "kj"), "ij", (48, 48)), [a, b, c], 0.1)
    plan = in_blocks_of(task)
    assert depth_of(plan.program) == 2
    assert sorted(each.name for each, _ in plan.operands) == ["a", "b", "c"]


def test_a_chain_within_a_key_budget_has_fewer_rotations() -> None:
    a, b, c = (Source(name, (64, 64)) for name in "abc")
    first = Contract((a, b), ("ik", "kj"), "ij", (64, 64))
    task = task_of(Contract((first, c), ("ik", "kj"), "ij", (64, 64)), [a, b, c], 0.1)

    def keys_of(plan: MatrixPlan) -> int:
        return required_keys(plan.program).nbytes(plan.parameters.evaluation_key_bytes)

    budget = keys_of(in_blocks_of(task)) // 2
    assert keys_of(in_blocks_of(within(task, budget))) <= budget
    with pytest.raises(KeyBudgetError, match="allow key_budget=") as refusal:
        in_blocks_of(within(task, 1000))
    in_blocks_of(within(task, refusal.value.least))


def test_a_network_of_squares_fits_the_ring_of_two_to_the_thirteen() -> None:
    x, w, v = (Source(*each) for each in (("x", (784, 4096)), ("w", (128, 784)), ("v", (10, 128))))
    hidden = Contract((w, x), ("ik", "kj"), "ij", (128, 4096))
    square = Contract((hidden, hidden), ("ij", "ij"), "ij", hidden.shape)
    bounds = {x: 1.0, w: 0.02, v: 0.05}
    last = Contract((v, square), ("ik", "kj"), "ij", (10, 4096))
    plan = in_blocks_of(Task(RealOptions(precision=8), [last], bounds))
    assert (plan.parameters.log_n, plan.parameters.levels) == (13, 3)
    # As many as the first product fills, and those of the last.
    switches = sum(isinstance(each, SwitchProduct) for each in plan.program.operations)
    assert switches == 128 * 4096 // 4096 + 128
