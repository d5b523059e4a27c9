"""einsum on the clear backend, which is its meaning."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import cloakwork as cw
from cloakwork.errors import (
    EinsumSyntaxError,
    InvalidArgumentError,
    LevelExhaustedError,
    NotFiniteError,
    NotRealError,
    ParametersMismatchError,
    ShapeMismatchError,
    TooManySlotsError,
)
from tests.frontends.einsum_cases import Case, cases

SESSION = cw.Session(depth=3, backend="clear", insecure=True, log_n=11)


def clear_result(case: Case) -> None:
    operands = [
        SESSION.encrypt(array) if hidden else array
        for array, hidden in zip(case.operands, case.hidden, strict=True)
    ]
    result = cw.einsum(case.expression, *operands)
    expected = np.einsum(case.expression, *case.operands)
    found = SESSION.client.key.decrypt(result.value, flood_bits=None)
    assert np.allclose(result.layout.unpack(found), expected)
    if not result.layout.dirty:
        found[result.layout.pack(np.ones(result.shape)) == 1] = 0
        assert np.allclose(found, 0)


@settings(max_examples=400, deadline=None)
@given(cases())
def test_random_einsums_agree_with_numpy(case: Case) -> None:
    clear_result(case)


@pytest.mark.slow
@settings(max_examples=10_000, deadline=None)
@given(cases())
def test_many_random_einsums_agree_with_numpy(case: Case) -> None:
    clear_result(case)


def test_einsums_chain_through_their_layouts() -> None:
    rng = np.random.default_rng(2)
    a, b, c = rng.uniform(-1, 1, (4, 5)), rng.uniform(-1, 1, (5, 6)), rng.uniform(-1, 1, (6, 3))
    product = cw.einsum("ij,jk->ki", SESSION.encrypt(a), b)
    summed = cw.einsum("ki,kl->il", product, c)
    last = cw.einsum("il,il->", summed, summed)
    assert last.level == 0
    assert np.allclose(SESSION.decrypt(last), ((a @ b @ c) ** 2).sum())


def test_dirty_slots_never_reach_a_result() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-1, 1, (6, 7)), rng.uniform(-1, 1, (5,))
    dirty = cw.einsum("ij->i", SESSION.encrypt(a))
    assert dirty.layout.dirty
    outer = cw.einsum("i,j->ij", dirty, SESSION.encrypt(b))
    assert np.allclose(SESSION.decrypt(outer), np.outer(a.sum(axis=1), b))
    weighed = cw.einsum("i,ij->j", dirty, a)
    assert np.allclose(SESSION.decrypt(weighed), a.sum(axis=1) @ a)


def test_operands_at_different_levels_meet() -> None:
    x = SESSION.encrypt([1.0, 2.0])
    lower = cw.einsum("i,i->i", x, [3.0, 4.0])
    product = cw.einsum("i,i->i", x, lower)
    assert product.level == 1
    assert SESSION.decrypt(product).tolist() == [3.0, 16.0]


def test_implicit_output() -> None:
    x = SESSION.encrypt([[1.0, 2.0], [3.0, 4.0]])
    assert SESSION.decrypt(cw.einsum("ba", x)).tolist() == [[1.0, 3.0], [2.0, 4.0]]


def test_clear_operands_may_be_lists_and_numbers() -> None:
    x = SESSION.encrypt([1.0, 2.0])
    assert SESSION.decrypt(cw.einsum("i,->i", x, 3)).tolist() == [3.0, 6.0]
    assert SESSION.decrypt(cw.einsum("i,i->", [1, 1], x)) == 3.0


@pytest.mark.parametrize(
    ("expression", "operands", "error", "reason"),
    [
        ("i,i->i", ([1.0, np.nan],), NotFiniteError, "element"),
        ("i,i->i", ([1.0, 1j],), NotRealError, "complex"),
        ("i,i->i", ([1.0, 2.0, 3.0],), ShapeMismatchError, "i is 2 before and 3"),
        ("i,j->ij", (np.ones(600),), TooManySlotsError, "1200 slots, one ciphertext has 1024"),
        ("i,j->i", (np.ones(0),), ShapeMismatchError, "j has size 0"),
    ],
)
def test_refusals(
    expression: str, operands: tuple[Any, ...], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason) as caught:
        cw.einsum(expression, SESSION.encrypt([1.0, 2.0]), *operands)
    assert expression in str(caught.value)


def test_nothing_encrypted() -> None:
    with pytest.raises(InvalidArgumentError, match="no operand is encrypted"):
        cw.einsum("i->i", [1.0])


def test_two_sessions_do_not_mix() -> None:
    other = cw.Session(depth=3, backend="clear", insecure=True, log_n=11)
    with pytest.raises(ParametersMismatchError, match="different sessions"):
        cw.einsum("i,i->i", SESSION.encrypt([1.0]), other.encrypt([1.0]))


def test_a_clients_tensor_has_nobody_to_run_on() -> None:
    with pytest.raises(InvalidArgumentError, match="nobody to run on"):
        cw.einsum("i->i", SESSION.client.encrypt([1.0]))


def test_levels_run_out_by_name() -> None:
    x = SESSION.encrypt([1.0, 2.0])
    for _ in range(3):
        x = cw.einsum("i,i->i", x, x)
    with pytest.raises(LevelExhaustedError, match=r"needs 1 level\(s\), the operands have 0"):
        cw.einsum("i,i->i", x, x)


@pytest.mark.parametrize("expression", [None, 3, ["ij"], b"ij->ji"])
def test_an_expression_is_text(expression: Any) -> None:
    x = SESSION.encrypt(np.ones((2, 2)))
    with pytest.raises(EinsumSyntaxError, match="expected an expression such as"):
        cw.einsum(expression, x)


def test_the_expression_comes_first() -> None:
    x: Any = SESSION.encrypt(np.ones((2, 2)))
    with pytest.raises(EinsumSyntaxError, match="got a Tensor first"):
        cw.einsum(x, "ij->ji")
