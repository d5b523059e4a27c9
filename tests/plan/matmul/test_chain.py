from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.plan.matmul.chain import Geometry, geometries, lowered_chain
from cloakwork.plan.matmul.spine import Factor, Times, spines
from cloakwork.programs.ir.tensors import Contract, Node, Source, Sum
from cloakwork.programs.slots import Constant, Rotate
from tests.plan.matmul.chains import run_chain
from tests.thoroughness import part

SLOTS = 64


def product(one: Node, other: Node) -> Contract:
    shape = (one.shape[0], other.shape[1])
    return Contract((one, other), ("ik", "kj"), "ij", shape)


def transpose(node: Node) -> Contract:
    return Contract((node,), ("ij",), "ji", node.shape[::-1])


def square(node: Node) -> Contract:
    return Contract((node, node), ("ij", "ij"), "ij", node.shape)


def matrices(*shapes: tuple[int, int]) -> list[Source]:
    return [Source(f"x{number}", shape) for number, shape in enumerate(shapes)]


SIZES = st.integers(1, 30)
Function = Callable[[Any], Any]


@settings(max_examples=part(40))
@given(st.data(), st.tuples(SIZES, SIZES, SIZES, SIZES), st.booleans(), st.integers(0, 2**32))
def test_functions_of_numbers_stand_between_products(
    data: st.DataObject, sizes: tuple[int, int, int, int], flipped: bool, seed: int
) -> None:
    rows, inner, columns, out = sizes
    w, x, v = matrices((rows, inner), (inner, columns), (out, rows))
    rng = np.random.default_rng(seed)
    arrays = {each: rng.uniform(-1, 1, each.shape) for each in (w, x, v)}
    hidden = product(w, x)
    # y^2 - y / 2 + 1.
    half = Contract((hidden, np.array(0.5)), ("ij", ""), "ij", hidden.shape)
    active = Sum((square(hidden), half), (1, -1), np.ones(hidden.shape), hidden.shape)
    last: Node = product(v, active)
    clear = arrays[w] @ arrays[x]
    expected = arrays[v] @ (clear**2 - clear / 2 + 1)
    if flipped:
        last = product(transpose(active), transpose(v))
        expected = expected.T
    (spine,) = spines([last])
    assert spine.transposed == flipped
    geometry = data.draw(st.sampled_from(list(geometries(spine, SLOTS))))
    made, _, _ = run_chain(spine, geometry, arrays)
    np.testing.assert_allclose(made, expected, atol=1e-8)


def test_what_follows_a_product_takes_it_as_it_lies() -> None:
    w, x, v = matrices((16, 16), (16, 16), (16, 16))
    (spine,) = spines([product(v, square(product(w, x)))])
    geometry = Geometry(SLOTS, 8, tall=1, wide=2)
    program = lowered_chain("chain", spine, geometry).program
    assert not any(isinstance(each, Rotate | Constant) for each in program.operations)


A, B, C = matrices((4, 4), (4, 4), (4, 4))


@pytest.mark.parametrize(
    "node",
    [
        A,
        transpose(A),
        square(A),
        product(square(A), B),
        product(product(A, B), product(square(B), C)),
        product(square(product(A, B)), square(product(B, C))),
        Sum((product(A, B), product(B, C)), (1, 1), None, (4, 4)),
        Contract((A, A), ("ij", "ij"), "", ()),
        product(product(A, B), C),
    ],
)
def test_what_is_no_chain_is_left_alone(node: Node) -> None:
    assert spines([node]) == []


def test_transposes_are_looked_through() -> None:
    (found,) = spines([transpose(product(transpose(square(product(A, B))), C))])
    # (f(A B)^T C)^T = C^T f(A B).
    assert isinstance(found.first, Factor)
    assert found.first.source.name == "x1"
    factors = [step.factor for step in found.steps if isinstance(step, Times)]
    assert [(each.source.name, each.transposed) for each in factors] == [
        ("x0", False),
        ("x2", True),
    ]
