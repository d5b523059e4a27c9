"""What numbers need at the least."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.plan.analysis.least_needs import LeastNeeds, least_depth, least_needs
from cloakwork.plan.passes.levels import depth_of
from cloakwork.plan.passes.simplify import simplified
from cloakwork.plan.tensors.lower import lower
from cloakwork.programs.ir.tensors import Apply, Contract, Evaluate, Node, Source, Sum, Within
from cloakwork.programs.slots import Output

SIZE = 3
A, B, C = (Source(name, (SIZE, SIZE)) for name in "abc")
BOUNDS = {A: 2.0, B: 5.0, C: 7.0}


def product(left: Node, right: Node, terms: tuple[str, str] = ("ik", "kj")) -> Contract:
    return Contract((left, right), terms, "ij", (SIZE, SIZE))


def needs(*results: Node) -> LeastNeeds:
    found = least_needs(results, BOUNDS)
    assert found is not None
    return found


def test_products_multiply_errors_by_the_other_factors() -> None:
    assert needs(product(product(A, B), C)) == LeastNeeds(7.0, SIZE**2 * 70.0, 35.0, 2)
    assert needs(product(A, product(B, C))) == needs(product(product(A, B), C))


def test_products_in_a_row_are_those_of_the_flattest_order() -> None:
    four = product(product(product(A, B), C), A)
    assert (needs(four).depth, needs(product(four, A)).depth, needs(A).depth) == (2, 3, 0)


def test_sums_count_as_their_largest_term() -> None:
    total = Sum((product(A, B), C), (1, -1), None, (SIZE, SIZE))
    assert needs(total) == LeastNeeds(7.0, SIZE * 10.0 + 7.0, 5.0, 1)


def test_claims_of_ranges_count() -> None:
    narrow = Within(product(A, B), -1.0, 2.0, True)
    assert needs(narrow).of_results == 2.0
    assert needs(product(narrow, C)).gain == 35.0


def test_both_factors_of_a_square_have_one_error() -> None:
    assert needs(product(A, A, ("ij", "ij"))).gain == 4.0
    assert needs(product(A, A)).gain == 2.0


def test_numbers_in_the_clear_take_no_product() -> None:
    twice = Contract((np.full((1, 1), -2.0), A), ("ij", "ij"), "ij", (SIZE, SIZE))
    assert needs(twice) == LeastNeeds(2.0, 4.0, 2.0, 0)


@pytest.mark.parametrize(
    "node", [Apply("exp", A), Contract((np.eye(SIZE), A), ("ik", "kj"), "ij", (SIZE, SIZE))]
)
def test_nothing_is_said_of_functions_and_of_matrices_in_the_clear(node: Node) -> None:
    assert least_needs([node], BOUNDS) is None


@given(st.lists(st.sampled_from([A, B, C]), min_size=2, max_size=4), st.integers(0, 1))
def test_plans_by_slots_have_bounds_as_large(factors: list[Source], way: int) -> None:
    node: Node = factors[0]
    for each in factors[1:]:
        node = product(node, each) if way else product(each, node)
    lowered = lower("task", [node], 512, top=20)
    bounds = lowered.value_bounds(BOUNDS)
    reached = [
        bounds[number] or 0.0
        for number, operation in enumerate(lowered.program.operations)
        if isinstance(operation, Output)
    ]
    assert needs(node).of_results <= max(reached) * (1 + 1e-9)


STEPS = (
    lambda node: product(node, A),
    lambda node: product(node, node, ("ij", "ij")),
    lambda node: Evaluate(node, (0.0, 1.0, 0.0, 0.5), -3.0, 2.0, "some"),
    lambda node: Contract((node, np.array(0.5)), ("ij", ""), "ij", (SIZE, SIZE)),
    lambda node: Contract((node, np.ones((SIZE, SIZE))), ("ij", "ij"), "ij", (SIZE, SIZE)),
    lambda node: Contract((np.full((SIZE, 1), 1 / SIZE), node), ("ki", "ij"), "ij", (SIZE, SIZE)),
    lambda node: Sum((node, B), (1, -1), None, (SIZE, SIZE)),
)


@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=5))
def test_no_program_takes_fewer_levels(steps: list[Callable[[Node], Node]]) -> None:
    node: Node = A
    for step in steps:
        node = step(node)
    lowered = lower("task", [node], 16, top=40).changed(simplified)
    assert least_depth([node]) <= depth_of(lowered.program)
