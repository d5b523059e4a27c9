"""Sums and chains of products of encrypted matrices, compiled and on ciphertexts."""

from collections.abc import Callable
from functools import reduce
from operator import matmul
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.plan.passes.levels import depth_of
from cloakwork.programs.slots import SlotProgram, SwitchProduct
from tests.thoroughness import slow

Function = Callable[..., Any]
PRECISION = 10

EXPRESSIONS: dict[str, tuple[Function, list[tuple[int, ...]], int]] = {
    "sum of squares": (lambda a, b: a.T @ a + b.T @ b, [(300, 64), (200, 64)], 1),
    "difference": (lambda a, b, c, d: a @ b - c @ d, [(70, 80), (80, 60), (70, 9), (9, 60)], 1),
    "and a matrix": (lambda a, b, c: a @ b - c, [(70, 80), (80, 60), (70, 60)], 1),
    "times a number": (lambda a, b: 2.5 * (a @ b), [(70, 80), (80, 60)], 2),
    "clear bias": (lambda a, b: a @ b + np.arange(60.0), [(70, 80), (80, 60)], 1),
    "bias": (lambda a, b, c: a @ b + c, [(70, 80), (80, 60), (60,)], 1),
    "bias of rows": (lambda a, b, c: a @ b + c, [(70, 80), (80, 60), (70, 1)], 1),
    "bias of rows by a vector": (
        lambda a, b, c: (a @ b + c[:, None]).T,
        [(70, 80), (80, 60), (70,)],
        1,
    ),
    "matrices of a tensor": (
        lambda a, b: a[0] @ b[0, 1] - a[1] @ b[0, 0],
        [(2, 70, 80), (1, 2, 80, 60)],
        1,
    ),
    "a chain of the matrices of a tensor": (lambda a: a[0] @ a[1].T @ a[0], [(2, 64, 64)], 2),
    "one for a batch": (lambda a, b: a @ b + a, [(1, 60, 40), (3, 40, 40)], 1),
    "a transpose for a batch": (
        lambda a, b: a @ b.transpose(0, 2, 1),
        [(2, 60, 40), (1, 50, 40)],
        1,
    ),
    "before a product": (
        lambda a, b, c, d: (a @ b + c) @ d,
        [(70, 40), (40, 60), (60,), (60, 50)],
        2,
    ),
    "before a function": (
        lambda a, b, c: (a @ b + c @ b) ** 2,
        [(70, 40), (40, 60), (70, 40)],
        2,
    ),
}


def body_of(program: cw.Program) -> SlotProgram:
    assert isinstance(program.body, SlotProgram)
    return program.body


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_expressions_of_products_are_blocks_and_right(name: str) -> None:
    function, shapes, levels = EXPRESSIONS[name]
    rng = np.random.default_rng(len(name))
    arrays = [rng.uniform(-0.5, 0.5, shape) for shape in shapes]
    specs = [cw.Spec(shape, bound=0.5) for shape in shapes]
    program = cw.compile(function, *specs, precision=PRECISION)
    # Compiling these by slots takes minutes.
    assert program.packing.kind == "matrices"
    assert depth_of(body_of(program)) == levels
    assert np.abs(program.run(*arrays) - function(*arrays)).max() < 2.0**-PRECISION


TUPLES: dict[str, tuple[Function, list[tuple[int, ...]], int]] = {
    "both orders": (lambda a, b: (a @ b, b @ a), [(64, 64), (64, 64)], 1),
    "least squares": (lambda x, y: (x.T @ x, x.T @ y), [(300, 16), (300, 1)], 1),
    "on the way": (lambda a, b, c: [a @ b, 2 * (a @ b) @ c], [(60, 40), (40, 50), (50, 30)], 2),
    "of a batch and not": (lambda a, b: (a @ b, b.T @ b), [(3, 40, 50), (50, 30)], 1),
    "each matrix": (lambda a, b: (a[0] @ b, a[1] @ b), [(2, 60, 50), (50, 40)], 1),
}


@pytest.mark.parametrize("name", TUPLES)
def test_several_products_are_blocks_of_one_program(name: str) -> None:
    function, shapes, levels = TUPLES[name]
    rng = np.random.default_rng(len(name))
    arrays = [rng.uniform(-0.5, 0.5, shape) for shape in shapes]
    specs = [cw.Spec(shape, bound=0.5) for shape in shapes]
    program = cw.compile(function, *specs, precision=PRECISION)
    assert program.packing.kind == "matrices"
    assert depth_of(body_of(program)) == levels
    found, expected = program.run(*arrays), function(*arrays)
    assert isinstance(found, tuple)
    assert len(found) == len(expected)
    for one, other, port in zip(found, expected, program.outputs, strict=True):
        assert np.abs(one - other).max() < 2.0**-PRECISION
        assert np.abs(other).max() <= port.bound


def test_keys_of_several_products_keep_a_budget() -> None:
    def both(a: Any, b: Any) -> Any:
        return a @ b, b @ a

    free = cw.compile(both, (64, 64), (64, 64), precision=PRECISION)
    few = cw.compile(both, (64, 64), (64, 64), precision=PRECISION, key_budget=free.key_bytes // 2)
    assert few.packing.kind == "matrices"
    assert few.key_bytes <= free.key_bytes // 2


def test_sums_take_as_many_results_as_one_product() -> None:
    def results_of(function: Function, count: int) -> int:
        program = cw.compile(function, *([(64, 64)] * count), precision=PRECISION)
        return sum(isinstance(each, SwitchProduct) for each in body_of(program).operations)

    assert results_of(lambda a, b, c, d: a @ b + c @ d, 4) <= results_of(matmul, 2) * 2


@pytest.mark.parametrize("factors", [3, *slow(2, 4)])
def test_chains_of_256_are_right_in_a_small_ring(factors: int) -> None:
    rng = np.random.default_rng(factors)
    arrays = [rng.uniform(-1, 1, (256, 256)) / 16 for _ in range(factors)]
    specs = [cw.Spec((256, 256), bound=1 / 16)] * factors
    program = cw.compile(
        lambda *matrices: reduce(matmul, matrices),
        *specs,
        precision=PRECISION,
        log_n=12,
        insecure=True,
    )
    assert program.packing.kind == "matrices"
    # At most two levels a product; (A B)(C D) takes as many as A B C.
    assert depth_of(body_of(program)) == {2: 1, 3: 2, 4: 2}[factors]
    expected = reduce(matmul, arrays)
    assert np.abs(program.run(*arrays) - expected).max() < 2.0**-PRECISION
