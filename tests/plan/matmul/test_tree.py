from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.frontends.tensors.tracing import traced
from cloakwork.plan.matmul.batches import Batch
from cloakwork.plan.matmul.chain import bounds_in
from cloakwork.plan.matmul.chain_order import Ordering
from cloakwork.plan.matmul.expression import Combination, Expression, MatrixChain, matrix_expression
from cloakwork.plan.matmul.lanes import Lanes, lane_choices
from cloakwork.plan.matmul.tree import lowered_expressions
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.slots import Input, Output, SlotProgram, SwitchProduct
from cloakwork.programs.spec import Spec
from cloakwork.runtime.costs import modelled
from cloakwork.runtime.simulate import results
from tests.thoroughness import part

SLOTS = 64
COSTS = modelled([2, 3, 4, 6, 9, 10, 12], 2, log_n=13, word_bits=24)
LEVELS = 6
Function = Callable[..., Any]
Shapes = Mapping[str, tuple[int, ...]]


def expression_of(function: Function, shapes: Shapes) -> tuple[Expression, Any]:
    graph = traced(function, tuple(map(Spec, shapes.values())))
    found = matrix_expression(graph.results)
    assert found is not None
    return found, graph.sources


def inner_sizes(expression: Expression) -> list[int]:
    """The inner indices that lanes may be shared out by."""
    outer = [expression]
    if isinstance(expression, Combination):
        outer += [each for _, each in expression.terms]
    return [s for each in outer if isinstance(each, MatrixChain) for s in each.sizes[1:-1]] or [1]


def program_of(ordering: Ordering) -> SlotProgram:
    return lowest_levels(simplified(lowered_expressions("test", [(ordering, Batch())]).program))


def require_right(function: Function, shapes: Shapes, lanes: Lanes, summed: int) -> None:
    """A program's results in the clear are the function's, and within their bounds."""
    expression, sources = expression_of(function, shapes)
    lowered = lowered_expressions(
        "test", [(Ordering(expression, lanes, summed, COSTS, LEVELS), Batch())]
    )
    program = lowest_levels(simplified(lowered.program))
    rng = np.random.default_rng(sum(map(sum, shapes.values())))
    arrays = [rng.uniform(-1, 1, shape) for shape in shapes.values()]
    tensors = dict(zip(sources, arrays, strict=True))
    inputs = [v for source, place in lowered.sources for v in place.pack(tensors[source])]
    found = [each if lanes.column_parts == 2 else each.real for each in results(program, inputs)]
    np.testing.assert_allclose(lowered.results[0].unpack(found), function(*arrays), atol=1e-9)
    bounds = value_bounds(program, bounds_in(lowered, dict.fromkeys(sources, 1.0)))
    outputs = [
        bounds[number] or 0.0
        for number, operation in enumerate(program.operations)
        if isinstance(operation, Output)
    ]
    for vector, bound in zip(found, outputs, strict=True):
        assert np.abs(vector).max() <= bound * (1 + 1e-9)


def squared_network(w: Any, x: Any, row: Any) -> Any:
    hidden = w @ x
    return w @ (hidden * hidden * np.linspace(-1, 1, 9) + row) + np.arange(9.0)


def gram(x: Any, y: Any) -> Any:
    shared = x @ y - 1
    return (shared.T @ shared) @ y.T


KNOWN = np.random.default_rng(11).uniform(-1, 1, (3, 17, 17))


def known_sums(a: Any, b: Any) -> Any:
    return (a @ KNOWN[0] - a @ KNOWN[1].T) @ b @ KNOWN[0, :9, :12].T


MATRICES = {"a": (9, 17), "b": (17, 12), "c": (12, 7), "d": (7, 21)}
CASES: dict[str, tuple[Function, Shapes]] = {
    "chain of three": (lambda a, b, c: a @ b @ c, {"a": (9, 17), "b": (17, 12), "c": (12, 7)}),
    "chain of four": (lambda a, b, c, d: a @ b @ c @ d, MATRICES),
    "two pairs": (lambda a, b, c, d: (a @ b) @ (c @ d), MATRICES),
    "transposed": (lambda a, b, c, d: (a @ b @ c @ d).T, MATRICES),
    "known between": (lambda a, b: a @ KNOWN[0] @ b, {"a": (9, 17), "b": (17, 12)}),
    "known before": (lambda a, b: KNOWN[0] @ KNOWN[1] @ a @ b, {"a": (17, 9), "b": (9, 12)}),
    "known after": (lambda a, b: (a @ b @ KNOWN[0, :12]).T, {"a": (9, 17), "b": (17, 12)}),
    "known around": (
        lambda a, b: KNOWN[0, :5, :9] @ a.T @ KNOWN[1] @ b.T @ KNOWN[2, :12, :7],
        {"a": (17, 9), "b": (12, 17)},
    ),
    "known in a function": (
        lambda a, b: (KNOWN[0] @ a) ** 2 @ (b @ KNOWN[1, :3]),
        {"a": (17, 9), "b": (9, 3)},
    ),
    "known in sums": (known_sums, {"a": (9, 17), "b": (17, 12)}),
    "squares": (lambda x: x.T @ x, {"x": (19, 9)}),
    "sum of squares": (lambda x, y: x.T @ x + y.T @ y, {"x": (19, 9), "y": (7, 9)}),
    "difference": (lambda a, b: a @ b - b.T @ a.T, {"a": (9, 17), "b": (17, 9)}),
    "from a matrix": (lambda a, b, c: c - a @ b, {"a": (9, 5), "b": (5, 9), "c": (9, 9)}),
    "of two lengths": (lambda a, b: a @ b @ a - 2 * a, {"a": (9, 17), "b": (17, 9)}),
    "row": (lambda a, b, r: a @ b + r, {"a": (9, 5), "b": (5, 12), "r": (12,)}),
    "column": (lambda a, b, r: (a @ b + r).T, {"a": (9, 5), "b": (5, 12), "r": (9, 1)}),
    "clear": (lambda a, b: np.ones((9, 12)) - a @ b / 3, {"a": (9, 5), "b": (5, 12)}),
    "sum, then product": (
        lambda a, b, c: (a @ b + c.T @ a) @ b.T,
        {"a": (9, 9), "b": (9, 9), "c": (9, 9)},
    ),
    "network": (squared_network, {"w": (9, 9), "x": (9, 9), "r": (9,)}),
    "used twice": (gram, {"x": (19, 7), "y": (7, 6)}),
}


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=part(12))
@given(st.data(), st.integers(0, 3))
def test_expressions_are_right_in_all_lanes(name: str, data: st.DataObject, summed: int) -> None:
    function, shapes = CASES[name]
    expression, _ = expression_of(function, shapes)
    choices = list(lane_choices(expression.shape, inner_sizes(expression), SLOTS))
    require_right(function, shapes, data.draw(st.sampled_from(choices)), summed)


def test_columns_in_both_halves_of_slots_are_right() -> None:
    lanes = Lanes(SLOTS, 4, tall=2, wide=4, column_parts=2)
    require_right(
        lambda a, b, c, d, e: a @ b - c @ d + e,
        {"a": (20, 3), "b": (3, 40), "c": (20, 2), "d": (2, 40), "e": (20, 40)},
        lanes,
        0,
    )


def test_sums_of_products_switch_keys_once() -> None:
    lanes = Lanes(SLOTS, 8, tall=2, wide=4)
    counts = []
    for function in (lambda x, y: x.T @ x, lambda x, y: x.T @ x - y.T @ y):
        shapes = {"x": (19, 16), "y": (7, 16)}
        expression, _ = expression_of(function, shapes)
        program = program_of(Ordering(expression, lanes, 0, COSTS, 1))
        counts.append(sum(isinstance(each, SwitchProduct) for each in program.operations))
    assert counts == [8, 8]


def test_what_is_used_twice_is_computed_once() -> None:
    # Rows and columns of the result fill no lanes, so that it lies in one way.
    shapes = {"x": (16, 8), "y": (8, 8)}
    lanes = Lanes(SLOTS, 8, shares=2)

    def switches(function: Function) -> int:
        expression, _ = expression_of(function, shapes)
        program = program_of(Ordering(expression, lanes, 1, COSTS, 2))
        return sum(isinstance(each, SwitchProduct) for each in program.operations)

    def of_one(x: Any, y: Any) -> Any:
        shared = x @ y
        return shared.T @ shared

    assert switches(of_one) == 8 + 8
    assert switches(lambda x, y: (x @ y).T @ (x @ y)) > 8 + 8


def test_one_packing_serves_both_operands_where_it_lies_equally() -> None:
    def square_of_gram(x: Any) -> Any:
        return (x.T @ x) * (x.T @ x)

    def of_two(x: Any, y: Any) -> Any:
        return (x.T @ y) * (x.T @ y)

    lanes = Lanes(SLOTS, 8)
    counts = []
    for function, shapes in (
        (square_of_gram, {"x": (20, 8)}),
        (of_two, {"x": (20, 8), "y": (20, 8)}),
    ):
        expression, _ = expression_of(function, shapes)
        program = program_of(Ordering(expression, lanes, 0, COSTS, 2))
        counts.append(sum(isinstance(each, Input) for each in program.operations))
    assert counts == [20, 40]
