"""einsum on the clear backend, which is its meaning."""

from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings

import cloakwork as cw
from cloakwork.errors import (
    BoundOverflowError,
    EinsumSyntaxError,
    LevelExhaustedError,
    NotFiniteError,
    NotRealError,
    ParametersMismatchError,
    ShapeMismatchError,
)
from tests.frontends.tensors.random_einsums import RandomEinsum, random_einsums
from tests.thoroughness import part

DEPTH = 12
SESSION = cw.Session(depth=DEPTH, backend="clear", insecure=True, log_n=11, bound=1e6)
# 32 slots, so that most tensors are cut into tiles.
TINY = cw.Session(depth=DEPTH, backend="clear", insecure=True, log_n=6, bound=1e6)


def check(session: cw.Session, case: RandomEinsum) -> None:
    text, operands, encrypted = case
    given = [
        session.encrypt(each) if hidden else each
        for each, hidden in zip(operands, encrypted, strict=True)
    ]
    result: cw.Tensor = cw.einsum(text, *given)
    expected = np.einsum(text, *operands)
    assert result.shape == expected.shape
    np.testing.assert_allclose(session.decrypt(result), expected, atol=1e-9)
    assert result.level >= DEPTH - 3 * max(1, len(operands) - 1)
    if not result.layout.garbage:
        used = result.layout.pack(np.ones(result.shape))
        for value, mask in zip(result.values, used, strict=True):
            assert np.abs(value.slots[mask == 0]).max(initial=0) < 1e-9


@settings(max_examples=part(500), deadline=None)
@given(random_einsums())
def test_random_einsums_agree_with_numpy(case: RandomEinsum) -> None:
    check(SESSION, case)


@settings(max_examples=part(500), deadline=None)
@given(random_einsums(max_elements=200))
def test_random_einsums_over_many_ciphertexts_agree_with_numpy(case: RandomEinsum) -> None:
    check(TINY, case)


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None)
@given(random_einsums())
def test_many_random_einsums_agree_with_numpy(case: RandomEinsum) -> None:
    check(SESSION, case)


@pytest.mark.slow
@settings(max_examples=5_000, deadline=None)
@given(random_einsums(max_elements=200))
def test_many_random_einsums_over_many_ciphertexts_agree(case: RandomEinsum) -> None:
    check(TINY, case)


def test_matrices_over_many_ciphertexts() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-1, 1, (40, 30)), rng.uniform(-1, 1, (30, 40))
    x, y = SESSION.encrypt(a), SESSION.encrypt(b)
    assert len(x.values) > 1
    for operands in ((x, y), (x, b), (a, y)):
        result: cw.Tensor = cw.einsum("ij,jk->ik", *operands)
        assert len(result.values) > 1
        np.testing.assert_allclose(SESSION.decrypt(result), a @ b, atol=1e-9)


def test_einsums_chain_through_their_layouts() -> None:
    rng = np.random.default_rng(2)
    a, b, c = rng.uniform(-1, 1, (4, 5)), rng.uniform(-1, 1, (5, 6)), rng.uniform(-1, 1, (6, 3))
    product = cw.einsum("ij,jk->ki", SESSION.encrypt(a), b)
    summed = cw.einsum("ki,kl->il", product, c)
    last = cw.einsum("il,il->", summed, summed)
    assert last.level >= DEPTH - 6
    assert np.allclose(SESSION.decrypt(last), ((a @ b @ c) ** 2).sum())


def test_garbage_slots_never_reach_a_result() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-1, 1, (6, 7)), rng.uniform(-1, 1, (5,))
    garbage = cw.einsum("ij->i", SESSION.encrypt(a))
    assert garbage.layout.garbage
    outer = cw.einsum("i,j->ij", garbage, SESSION.encrypt(b))
    assert np.allclose(SESSION.decrypt(outer), np.outer(a.sum(axis=1), b))
    weighed = cw.einsum("i,ij->j", garbage, a)
    assert np.allclose(SESSION.decrypt(weighed), a.sum(axis=1) @ a)


def test_operands_at_different_levels_meet() -> None:
    x = SESSION.encrypt([1.0, 2.0])
    lower = cw.einsum("i,i->i", x, [3.0, 4.0])
    product = cw.einsum("i,i->i", x, lower)
    assert product.level == DEPTH - 2
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
        ("i,i->i", ([1.0, np.nan],), NotFiniteError, r"element \(1,\) is nan"),
        ("i,i->i", ([np.inf, 1.0],), NotFiniteError, r"element \(0,\) is inf"),
        ("i,i->i", ([1.0, 1j],), NotRealError, "expected real numbers, got complex128"),
        ("i,i->i", (["a", "b"],), NotRealError, "expected real numbers"),
        ("i,i->i", ([1.0, 2.0, 3.0],), ShapeMismatchError, "i is 2 before and 3"),
        ("i,j->i", (np.ones(0),), ShapeMismatchError, "j has size 0"),
        ("i,i->j", ([1.0, 2.0],), EinsumSyntaxError, "j is in no operand"),
        ("i,ij->i", ([1.0, 2.0],), ShapeMismatchError, "operand 2 has 1 axes, its term 2"),
        ("i,i,i->i", ([1.0, 2.0],), ShapeMismatchError, "has 3 operand.s., 2 came"),
        ("i,i->ii", ([1.0, 2.0],), EinsumSyntaxError, "i is in the output twice"),
        ("i,i->i->i", ([1.0, 2.0],), EinsumSyntaxError, "->"),
    ],
)
def test_refusals(
    expression: str, operands: tuple[Any, ...], error: type[Exception], reason: str
) -> None:
    with pytest.raises(error, match=reason) as caught:
        cw.einsum(expression, SESSION.encrypt([1.0, 2.0]), *operands)
    assert str(caught.value).startswith("cannot einsum")
    assert expression in str(caught.value)


def test_rows_of_different_lengths() -> None:
    with pytest.raises(ShapeMismatchError, match="cannot einsum 'i,ij->j'"):
        cw.einsum("i,ij->j", SESSION.encrypt([1.0, 2.0]), [[1.0], [1.0, 2.0]])


CLEAR = np.arange(12).reshape(3, 4)


@pytest.mark.parametrize(
    ("expression", "operands"),
    [
        ("i->i", ([1.0],)),
        ("ij,kj->ik", (CLEAR, CLEAR)),
        ("...j,j", (CLEAR, [1, 2, 3, 4])),
        ("ii->i", (np.eye(3),)),
        ("ij,jk,kl->il", (CLEAR.T, CLEAR, CLEAR.T)),
        (",i", (2, [True, False])),
        ("i->", ([1, 2],)),
    ],
)
def test_clear_operands_alone_are_numpys(expression: str, operands: tuple[Any, ...]) -> None:
    expected = np.einsum(expression, *operands)
    found: Any = cw.einsum(expression, *operands)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    # A function that is compiled may prepare its weights so.
    program = cw.compile(lambda x: x * cw.einsum("ij->j", CLEAR), (4,), log_n=10, insecure=True)
    assert program.run_clear(np.ones(4)).tolist() == CLEAR.sum(axis=0).tolist()


def test_clear_operands_alone_are_checked_as_encrypted_ones() -> None:
    form: Any = cw.einsum
    np.testing.assert_array_equal(form(CLEAR, [0, 1], CLEAR, [2, 1]), CLEAR @ CLEAR.T)
    with pytest.raises(ShapeMismatchError, match="j is 4 before and 3"):
        cw.einsum("ij,j->i", CLEAR, [1, 2, 3])
    with pytest.raises(NotRealError, match="complex128"):
        cw.einsum("i->", [1j])


def test_what_may_overflow_is_refused_before_the_work() -> None:
    session = cw.Session(depth=4, insecure=True, log_n=10)
    x = session.encrypt(np.full((16, 16), 0.01))
    with (
        mock.patch.object(cw.Session, "run", side_effect=AssertionError("it ran")),
        pytest.raises(BoundOverflowError, match="tighter bounds") as refused,
    ):
        cw.einsum("ij,jk,kl,lm->im", x, x, x, x)
    assert "of which nothing was computed" in refused.value.__notes__[-1]
    tight = session.encrypt(np.full((16, 16), 0.01), bound=1)
    found = session.decrypt(cw.einsum("ij,jk,kl,lm->im", tight, tight, tight, tight))
    assert np.abs(found - 0.01**4 * 16**3).max() < 1e-4


def test_two_sessions_do_not_mix() -> None:
    other = cw.Session(depth=DEPTH, backend="clear", insecure=True, log_n=11)
    for text in ("i,i->i", "i,i,i->i"):
        with pytest.raises(ParametersMismatchError, match="different sessions"):
            cw.einsum(text, *[SESSION.encrypt([1.0])] * (text.count(",")), other.encrypt([1.0]))


@pytest.mark.parametrize("expression", ["i,i->i", "i,i,i->", "i,j->ij"])
def test_levels_run_out_by_name(expression: str) -> None:
    session = cw.Session(depth=1, backend="clear", insecure=True, log_n=11)
    x: cw.Tensor = session.encrypt([1.0, 2.0])
    x = cw.einsum("i,i->i", x, x)
    with pytest.raises(
        LevelExhaustedError, match=r"needs \d level\(s\) more than the operands have left"
    ) as caught:
        cw.einsum(expression, *[x] * (1 + expression.count(",")))
    assert str(caught.value).startswith("cannot einsum")
    assert expression in str(caught.value)


@pytest.mark.parametrize("expression", [None, 3, ["ij"], b"ij->ji"])
def test_an_expression_is_text(expression: Any) -> None:
    x = SESSION.encrypt(np.ones((2, 2)))
    with pytest.raises(EinsumSyntaxError, match="expected an expression such as"):
        cw.einsum(expression, x)


def test_the_expression_comes_first() -> None:
    x: Any = SESSION.encrypt(np.ones((2, 2)))
    with pytest.raises(EinsumSyntaxError, match="got a Tensor first"):
        cw.einsum(x, "ij->ji")


def test_axes_may_be_numbered() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.uniform(-1, 1, (4, 5)), rng.uniform(-1, 1, (5, 6))
    form: Any = cw.einsum
    for operands in ((SESSION.encrypt(a), b), (a, SESSION.encrypt(b))):
        result = form(operands[0], [..., 1], operands[1], [1, 2], [2, ...])
        np.testing.assert_allclose(SESSION.decrypt(result), (a @ b).T, atol=1e-12)
