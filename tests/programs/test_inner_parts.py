"""Rotated products in parts compute what they compute whole."""

from __future__ import annotations

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.programs.inner_parts import with_inner_parts
from cloakwork.programs.slots import AddProducts, RotatedProducts, SlotProgram
from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.clear_real import ClearBackend, ClearVector

RNG = np.random.default_rng(9)


def body_of(program: cw.Program) -> SlotProgram:
    assert isinstance(program.body, SlotProgram)
    return program.body


PRODUCT = cw.compile_matmul((20, 14), (14, 30), log_n=9, insecure=True)
TERMS = [
    len(each.left) for each in body_of(PRODUCT).operations if isinstance(each, RotatedProducts)
]


@pytest.mark.parametrize("parts", [1, 2, 3, 100])
def test_parts_sum_to_the_whole(parts: int) -> None:
    body = body_of(PRODUCT)
    made = with_inner_parts(body, parts)
    vectors = PRODUCT.pack({"a": RNG.uniform(-1, 1, (20, 14)), "b": np.eye(14, 30)}, "test").runs[0]
    inputs = [ClearVector(vectors[number], 1) for number in sorted(vectors)]
    whole = run_in_order(body, ClearBackend(), inputs)
    found = run_in_order(made.program, ClearBackend(), inputs)
    assert len(found) == len(whole)
    for one, other in zip(found, whole, strict=True):
        np.testing.assert_allclose(one.slots, other.slots, atol=1e-12)


@pytest.mark.parametrize("parts", [2, 3, 100])
def test_each_has_about_as_many_terms(parts: int) -> None:
    made = with_inner_parts(body_of(PRODUCT), parts)
    products = [each for each in made.program.operations if isinstance(each, RotatedProducts)]
    sums = [each for each in made.program.operations if isinstance(each, AddProducts)]
    sizes = [len(each.left) for each in products]
    assert sum(sizes) == sum(TERMS)
    assert max(sizes) - min(sizes) <= 1
    assert len(products) == sum(min(parts, terms) for terms in TERMS)
    assert len(sums) == len(products) - len(TERMS)


def test_operations_know_whose_part_they_are() -> None:
    body = body_of(PRODUCT)
    made = with_inner_parts(body, 2)
    assert [*dict.fromkeys(made.sources)] == [*range(len(body.operations))]
    for number, operation in zip(made.sources, made.program.operations, strict=True):
        whole = body.operations[number]
        assert operation.kind in (whole.kind, AddProducts.kind)
        assert made.program.origins[0] == body.origins[0]
