"""Rotated products in parts compute what they compute whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.cluster.forms import with_inner_parts
from cloakwork.programs.slots import AddProducts, DiagonalProducts, RotatedProducts, SlotProgram
from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.clear_real import ClearBackend, ClearVector
from tests.products import real_product

RNG = np.random.default_rng(9)


def body_of(program: cw.Program) -> SlotProgram:
    assert isinstance(program.body, SlotProgram)
    return program.body


PRODUCT = real_product((20, 14), (14, 30), log_n=9, insecure=True)
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


CHAIN = cw.compile(
    lambda a, b, c: a @ b @ c,
    *[cw.Spec(shape, bound=0.1) for shape in ((65, 33), (33, 129), (129, 40))],
    precision=10,
    log_n=10,
    insecure=True,
)


@pytest.mark.parametrize("parts", [2, 3, 100])
def test_runs_of_diagonals_stay_whole(parts: int) -> None:
    body = body_of(CHAIN)
    made = with_inner_parts(body, parts).program
    runs = {each.run(body.slots) for each in body.operations if isinstance(each, DiagonalProducts)}
    assert runs
    assert max(runs) > 1
    for each in made.operations:
        if isinstance(each, DiagonalProducts):
            assert len(each.left) % each.run(body.slots) == 0


def test_chains_run_from_files_as_in_memory(tmp_path: Path) -> None:
    client, evaluator = CHAIN.keygen()
    encrypted = client.encrypt(*[RNG.uniform(-0.1, 0.1, port.shape) for port in CHAIN.inputs])
    whole = client.decrypt(evaluator.run(encrypted))
    found = client.decrypt(evaluator.run(encrypted, on=cw.cluster.Files(tmp_path)))
    np.testing.assert_array_equal(found, whole)
