"""Batches of matrices: what is done with each of them, and that it is right."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.frontends.tensors.tracing import traced
from cloakwork.plan.matmul.batches import Batch, batches
from cloakwork.plan.matmul.chain_order import Ordering
from cloakwork.plan.matmul.expression import MatrixChain, matrix_expression
from cloakwork.plan.matmul.lanes import lane_choices
from cloakwork.plan.matmul.tree import lowered_expressions
from cloakwork.plan.passes.levels import lowest_levels
from cloakwork.plan.passes.simplify import simplified
from cloakwork.programs.ir.tensors import Apply, Contract, Node, Source, Sum
from cloakwork.programs.spec import Spec
from cloakwork.runtime.costs import modelled
from cloakwork.runtime.simulate import results
from tests.thoroughness import part

SLOTS = 64
COSTS = modelled([2, 3, 4, 6, 9, 10], 2, log_n=13, word_bits=24)
LEVELS = 5
KNOWN = np.random.default_rng(3).uniform(-1, 1, (5, 5))
Function = Callable[..., Any]


def einsum(terms: str, *operands: Any) -> Any:
    if isinstance(operands[0], np.ndarray):
        return np.einsum(terms, *operands)
    return cw.einsum(terms, *operands)


CASES: dict[str, tuple[Function, list[tuple[int, ...]]]] = {
    "chain": (lambda a, b, c: a @ b @ c, [(3, 4, 5), (3, 5, 6), (3, 6, 2)]),
    "of two axes": (lambda a, b, c: a @ b @ c, [(2, 3, 4, 5), (2, 3, 5, 6), (2, 3, 6, 2)]),
    "one for all": (lambda a, b, c: a @ b @ c, [(3, 4, 5), (5, 6), (3, 6, 2)]),
    "in the clear": (lambda a, b: a @ KNOWN @ b + 1, [(3, 4, 5), (3, 5, 2)]),
    "einsum": (
        lambda a, b, c: einsum("bij,bjk,bkl->bil", a, b, c),
        [(3, 4, 5), (3, 5, 6), (3, 6, 2)],
    ),
    "last axis": (
        lambda a, b, c: einsum("ijb,jkb,klb->ilb", a, b, c),
        [(4, 5, 3), (5, 6, 3), (6, 2, 3)],
    ),
    "heads": (
        lambda q, k, v: einsum("bqhd,bkhd->bhqk", q, k) @ v,
        [(2, 4, 3, 5), (2, 6, 3, 5), (2, 3, 6, 4)],
    ),
    "sum": (
        lambda a, b, c, r: (a @ b - 2 * c) @ b + r,
        [(3, 4, 4), (3, 4, 4), (3, 4, 4), (4,)],
    ),
    "function": (lambda a, b, c: ((a @ b) ** 2) @ c, [(3, 4, 5), (3, 5, 6), (3, 6, 2)]),
}


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=part(8))
@given(st.data())
def test_batches_are_right_in_all_lanes(name: str, data: st.DataObject) -> None:
    function, shapes = CASES[name]
    graph = traced(function, tuple(map(Spec, shapes)))
    found = ((matrix_expression([node]), batch) for node, batch in batches(graph.results))
    expression, batch = next(pair for pair in found if pair[0] is not None)
    assert expression is not None
    inner = expression.sizes[1:-1] if isinstance(expression, MatrixChain) else [1]
    lanes = data.draw(st.sampled_from(list(lane_choices(expression.shape, inner, SLOTS))))
    ordering = Ordering(expression, lanes, data.draw(st.integers(0, 2)), COSTS, LEVELS)
    lowered = lowered_expressions("test", [(ordering, batch)])
    program = lowest_levels(simplified(lowered.program))
    rng = np.random.default_rng(sum(map(sum, shapes)))
    arrays = [rng.uniform(-1, 1, shape) for shape in shapes]
    tensors = dict(zip(graph.sources, arrays, strict=True))
    inputs = [v for source, place in lowered.sources for v in place.pack(tensors[source])]
    made = [each.real for each in results(program, inputs)]
    expected = function(*arrays)
    assert lowered.results[0].shape == expected.shape
    np.testing.assert_allclose(lowered.results[0].unpack(made), expected, atol=1e-9)


A = Source("a", (3, 2, 2))


@pytest.mark.parametrize(
    "results",
    [
        [Source("c", (2, 2))],
        [A, A],
        [Apply("exp", A)],
        [Sum((A, Apply("exp", Source("c", (1, 2, 2)))), (1, 1), None, (3, 2, 2))],
        [Contract((np.ones((3, 1, 1)), A), ("bij", "bij"), "bij", (3, 2, 2))],
    ],
)
def test_everything_else_is_left_alone(results: list[Node]) -> None:
    first = [batch for _, batch in batches(results) if batch.axes == (0,)]
    assert first == []


def test_an_axis_of_size_one_is_that_of_one_for_all() -> None:
    one = Source("c", (1, 2, 2))
    total = Sum((A, one), (1, 1), None, (3, 2, 2))
    ((_, batch),) = [each for each in batches([total]) if each[1].axes == (0,)]
    found = {each.source: (each.axes, each.ones) for each in batch.sources.values()}
    assert found == {A: ((0,), ()), one: ((), (0,))}


def test_a_batch_has_as_many_matrices_as_its_axes_say() -> None:
    (found,) = [batch for _, batch in batches([A]) if batch.axes == (0,)]
    assert (found.count, found.sizes) == (3, (3,))
    assert Batch().count == 1
