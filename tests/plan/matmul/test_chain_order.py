import math
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.plan.matmul.batches import Batch
from cloakwork.plan.matmul.chain_order import Ordering
from cloakwork.plan.matmul.chain_order_text import bracketed
from cloakwork.plan.matmul.expression import Matrix, MatrixChain
from cloakwork.plan.matmul.lanes import Lanes, lane_choices
from cloakwork.plan.matmul.product import HANDLING, KEY
from cloakwork.plan.matmul.spine import Factor
from cloakwork.plan.matmul.tree import lowered_expressions
from cloakwork.plan.passes.levels import depth_of, lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.programs.ir.tensors import Source
from cloakwork.programs.slots import Input, Output, SlotProgram
from cloakwork.runtime.costs import Costs, modelled, seconds_of
from tests.thoroughness import part

# A factor, or a left and a right operand.
Tree: TypeAlias = "int | tuple[Tree, Tree]"
COSTS = modelled([2, 3, 4, 6, 9, 10, 12], 2, log_n=13, word_bits=24)
SLOTS = 256


def chain_of(sizes: list[int]) -> MatrixChain:
    shapes = enumerate(pairwise(sizes))
    return MatrixChain(
        tuple(Matrix(Factor(Source(f"x{number}", shape), False)) for number, shape in shapes), ""
    )


def all_trees(first: int, last: int) -> Iterator[Tree]:
    """Every bracketing of some factors."""
    if last - first == 1:
        yield first
    for at in range(first + 1, last):
        for left in all_trees(first, at):
            for right in all_trees(at, last):
                yield left, right


def ends(tree: Tree) -> tuple[int, int]:
    """Its first axis and its last one."""
    if isinstance(tree, int):
        return tree, tree + 1
    return ends(tree[0])[0], ends(tree[1])[1]


def depth(tree: Tree) -> int:
    return 0 if isinstance(tree, int) else 1 + max(map(depth, tree))


def cost_of(tree: Tree, sizes: list[int], lanes: Lanes, level: int, halves: bool) -> float:
    """What one bracketing costs; the result has the row blocks, the column blocks, no shares."""
    first, last = ends(tree)
    last_axis = len(sizes) - 1

    def blocks(axis: int) -> int:
        parts = {0: lanes.tall, last_axis: lanes.wide}.get(axis, 1)
        return math.ceil(sizes[axis] / (lanes.side * parts))

    outputs = blocks(first) * blocks(last) * lanes.side
    if isinstance(tree, int):
        return HANDLING * COSTS.at(level).addition * outputs
    left, right = tree
    top = COSTS.at(level + 1)
    inner = ends(left)[1]
    cost = outputs * (top.product_switch + top.rescale)
    products = blocks(first) * blocks(last)
    if isinstance(left, int) and isinstance(right, int):
        terms = math.ceil(sizes[inner] / (2 if halves else 1))
        cost += HANDLING * top.addition * terms * (blocks(first) + blocks(last))
    else:
        terms = math.ceil(sizes[inner] / lanes.side) * lanes.side
        ways = [(True, False), (False, True)] if halves else [(False, False)]
        cost += min(
            cost_of(left, sizes, lanes, level + 1, one)
            + cost_of(right, sizes, lanes, level + 1, other)
            for one, other in ways
        )
    return cost + products * top.rotated_products(terms, lanes.side)


@settings(max_examples=120)
@given(st.data(), st.lists(st.integers(1, 300), min_size=3, max_size=7), st.integers(0, 1))
def test_no_bracketing_costs_less(data: st.DataObject, sizes: list[int], more: int) -> None:
    chain = chain_of(sizes)
    choices = [each for each in lane_choices(chain.shape, [1], SLOTS) if each.shares == 1]
    lanes = data.draw(st.sampled_from(choices))
    trees = list(all_trees(0, len(chain.factors)))
    levels = min(map(depth, trees)) + more
    # Those that are too deep for the levels are no way.
    known = [cost_of(each, sizes, lanes, 0, True) for each in trees if depth(each) <= levels]
    handled = HANDLING * COSTS.at(0).addition
    handled *= math.ceil(sizes[0] / (lanes.side * lanes.tall)) * lanes.side
    handled *= math.ceil(sizes[-1] / (lanes.side * lanes.wide))
    keys = KEY * COSTS.at(levels).rotation * (2 * lanes.side - 1)
    found = Ordering(chain, lanes, 0, COSTS, levels)
    assert found.cost == pytest.approx(min(known) + handled + keys)
    assert found.least_cost <= found.cost


def priced(program: SlotProgram, costs: Costs) -> float:
    """What a program costs, with the handling of what goes in and comes out."""
    edges = [
        HANDLING * costs.at(each.level if isinstance(each, Input) else 0).addition
        for each in program.operations
        if isinstance(each, Input | Output)
    ]
    return sum(seconds_of(program, costs)) + sum(edges)


@settings(max_examples=part(40))
@given(st.data(), st.lists(st.integers(1, 60), min_size=3, max_size=5), st.integers(0, 2))
def test_the_cost_is_that_of_the_program(
    data: st.DataObject, sizes: list[int], summed: int
) -> None:
    chain = chain_of(sizes)
    lanes = data.draw(st.sampled_from(list(lane_choices(chain.shape, sizes[1:-1], SLOTS))))
    ordering = Ordering(chain, lanes, summed, COSTS, len(chain.factors) - 1)
    program = lowest_levels(simplified(lowered_expressions("chain", [(ordering, Batch())]).program))
    assert depth_of(program) <= len(chain.factors) - 1
    keys = 2 * lanes.side - 1 + len(lanes.sums)
    of_keys = KEY * COSTS.at(ordering.levels).rotation * keys
    assert priced(program, COSTS) + of_keys == pytest.approx(ordering.cost)


def test_two_pairs_take_two_levels_where_levels_are_few() -> None:
    chain = chain_of([64, 64, 64, 64, 64])
    lanes = Lanes(SLOTS, 16, tall=4, wide=4)
    assert bracketed(Ordering(chain, lanes, 0, COSTS, 2)) == "(x0 x1) (x2 x3)"
    assert Ordering(chain, lanes, 0, COSTS, 1).cost == math.inf


def test_a_vector_at_one_end_is_multiplied_first() -> None:
    chain = chain_of([64, 64, 64, 1])
    ordering = Ordering(chain, Lanes(SLOTS, 16, tall=4, wide=1), 0, COSTS, 2)
    assert bracketed(ordering) == "x0 (x1 x2)"
