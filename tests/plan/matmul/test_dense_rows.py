"""Products of matrices that lie row by row in a ciphertext each."""

from dataclasses import replace

import numpy as np
import pytest

from cloakwork.plan.matmul.dense_rows import product_of_rows
from cloakwork.plan.passes.levels import depth_of
from cloakwork.programs.ir.tensors import Contract, Node, Source
from cloakwork.programs.keys import required_keys
from cloakwork.programs.layout import default_layout
from cloakwork.programs.slots import Mul, Rotate, SwitchProduct, TwiceReal
from cloakwork.runtime.simulate import results


def matrix(name: str, shape: tuple[int, int], slots: int, level: int = 2) -> Source:
    return Source(name, shape, default_layout(shape, slots), level)


def product(one: Node, other: Node, terms: tuple[str, str] = ("ik", "kj")) -> Node:
    return Contract((one, other), terms, "ij", (one.shape[0], other.shape[1]))


@pytest.mark.parametrize(
    ("rows", "side", "slots"),
    [(64, 64, 4096), (64, 64, 8192), (64, 64, 32768), (2, 64, 8192), (16, 64, 4096)],
)
def test_products_are_right_whatever_a_ciphertext_holds(rows: int, side: int, slots: int) -> None:
    a, b = matrix("a", (rows, side), slots), matrix("b", (side, side), slots, level=3)
    plan = product_of_rows("a @ b", [product(a, b)], slots)
    assert plan is not None
    assert [source for source, _ in plan.inputs] == [a, b]
    rng = np.random.default_rng(0)
    x, y = rng.uniform(-1, 1, a.shape), rng.uniform(-1, 1, b.shape)
    inputs = [layout.pack(each)[0] for (_, layout), each in zip(plan.inputs, (x, y), strict=True)]
    (layout,) = plan.outputs
    found = results(plan.program, inputs)
    np.testing.assert_allclose(layout.unpack(found), x @ y, atol=1e-9)
    # What holds no element holds zero.
    assert np.count_nonzero(found[0]) == rows * side * slots // side**2
    assert depth_of(plan.program) == 2


def test_operands_may_come_in_the_other_order() -> None:
    a, b = matrix("a", (16, 64), 4096), matrix("b", (64, 64), 4096)
    plan = product_of_rows("b, a", [Contract((b, a), ("kj", "ik"), "ij", (16, 64))], 4096)
    assert plan == product_of_rows("b, a", [product(a, b)], 4096)


def test_rotations_and_keys_are_few() -> None:
    a, b = matrix("a", (64, 64), 8192), matrix("b", (64, 64), 8192)
    plan = product_of_rows("a @ b", [product(a, b)], 8192)
    assert plan is not None
    operations = plan.program.operations
    # Two copies and two halves of a slot: a quarter of the columns and of the rows, each masked in
    # two places. Columns are spread over 64 slots by five rotations, rows over 16 by three. Of 4
    # groups of rows 3 are rotated.
    rotated = [each.operand for each in operations if isinstance(each, Rotate)]
    assert len(rotated) == (1 + 1 + 16 + 16 * 5) + (1 + 1 + 16 + 16 * 3) + 3 + 1
    assert sum(isinstance(each, Mul) for each in operations) == 2 * 2 * 16
    switches = sum(isinstance(each, SwitchProduct) for each in operations)
    real_parts = sum(isinstance(each, TwiceReal) for each in operations)
    assert (switches, real_parts) == (4, 1)
    # Rotations of one value share its decomposition: those of every number of a part.
    decompositions = len(set(rotated)) + 2 * switches + real_parts
    assert decompositions == (1 + 1 + 1 + 16 * 5) + (1 + 1 + 1 + 16 * 3) + 3 + 1 + 2 * 4 + 1
    divisions = len(rotated) + switches + real_parts
    assert (decompositions, divisions) == (147, 173)
    assert len(required_keys(plan.program).rotations) == 49


def test_a_product_is_planned_once() -> None:
    a, b = matrix("a", (64, 64), 8192), matrix("b", (64, 64), 8192)
    c, d = matrix("c", (64, 64), 8192), matrix("d", (64, 64), 8192)
    plans = [product_of_rows("x @ y", [product(*pair)], 8192) for pair in ((a, b), (c, d))]
    assert [[each for each, _ in plan.inputs] for plan in plans if plan] == [[a, b], [c, d]]
    assert len({id(plan.program) for plan in plans if plan}) == 1


SLOTS = 8192
A, B = matrix("a", (64, 64), SLOTS), matrix("b", (64, 64), SLOTS)


@pytest.mark.parametrize(
    "node",
    [
        A,
        product(A, B, ("ki", "kj")),
        product(A, matrix("b", (64, 64), SLOTS, level=1)),
        product(A, replace(B, place=replace(default_layout((64, 64), SLOTS), offset=64))),
        product(matrix("a", (32, 32), SLOTS), matrix("b", (32, 32), SLOTS)),
        product(matrix("a", (60, 64), SLOTS), B),
        product(matrix("a", (1, 64), SLOTS), B),
        product(A, matrix("b", (64, 32), SLOTS)),
        product(matrix("a", (128, 128), SLOTS), matrix("b", (128, 128), SLOTS)),
        product(A, product(A, B)),
    ],
)
def test_anything_else_is_planned_by_others(node: Node) -> None:
    assert product_of_rows("other", [node], SLOTS) is None
