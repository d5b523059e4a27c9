"""einsum on ciphertexts against numpy."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

import cloakwork as cw
from cloakwork.errors import (
    KeyMismatchError,
    LevelExhaustedError,
    ParametersMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import SlotProgram
from tests.frontends.tensors.random_einsums import RandomEinsum, random_einsums
from tests.thoroughness import part

ERROR = 1e-5
RNG = np.random.default_rng(6)


@pytest.fixture(scope="module")
def small() -> cw.Session:
    return cw.Session(depth=3, precision=20, insecure=True, log_n=11)


def check(session: cw.Session, case: RandomEinsum) -> None:
    """The result is as near to numpy's as its precision says."""
    text, operands, encrypted = case
    given = [
        session.encrypt(each, bound=1.0) if hidden else each
        for each, hidden in zip(operands, encrypted, strict=True)
    ]
    result: cw.Tensor = cw.einsum(text, *given)
    assert result.precision > 10
    error = np.abs(session.decrypt(result) - np.einsum(text, *operands)).max()
    assert error <= 2.0**-result.precision


def substantial(case: RandomEinsum) -> bool:
    return all(operand.size > 3 for operand in case[1])


# 128 slots hold few of the tensors, 1024 all of them.
@pytest.fixture(scope="module", params=[8, 11])
def ring(request: pytest.FixtureRequest) -> cw.Session:
    return cw.Session(depth=9, precision=20, insecure=True, log_n=request.param, bound=512.0)


@settings(max_examples=part(50), deadline=None, suppress_health_check=list(HealthCheck))
@given(case=random_einsums(max_elements=512).filter(substantial))
def test_random_einsums_agree_with_numpy(ring: cw.Session, case: RandomEinsum) -> None:
    check(ring, case)


@pytest.fixture(scope="module")
def secure() -> cw.Session:
    session = cw.Session(depth=6, precision=20)
    assert not session.parameters.insecure
    return session


@settings(max_examples=part(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(case=random_einsums(max_operands=3, max_elements=64).filter(substantial))
def test_random_einsums_at_128_bits_agree_with_numpy(
    secure: cw.Session, case: RandomEinsum
) -> None:
    check(secure, case)


def costly(program: SlotProgram) -> dict[str, int]:
    """How often a program does what costs time, additions left out."""
    return {
        name: count for name, count in counted_operations(program).items() if name != "addition"
    }


@pytest.mark.parametrize(
    ("expression", "shapes", "work", "levels"),
    [
        ("ij->ji", [(12, 20)], {}, 0),
        ("ii->i", [(9, 9)], {}, 0),
        ("ij->", [(16, 16)], {"rotation": 8}, 0),
        ("ij->j", [(12, 20)], {"rotation": 4}, 0),
        ("ij,ij->ij", [(12, 20), (12, 20)], {"ciphertext product": 1, "rescale": 1}, 1),
        (
            "i,i->",
            [(256,), (256,)],
            {"ciphertext product": 1, "rescale": 1, "rotation": 8},
            1,
        ),
    ],
)
def test_work_that_a_plan_takes(
    small: cw.Session,
    expression: str,
    shapes: list[tuple[int, ...]],
    work: dict[str, int],
    levels: int,
) -> None:
    arrays = [RNG.uniform(-1, 1, shape) for shape in shapes]
    result = cw.einsum(expression, *(small.encrypt(array) for array in arrays))
    assert np.abs(small.decrypt(result) - np.einsum(expression, *arrays)).max() < ERROR
    assert result.program is not None
    assert costly(result.program) == work
    assert result.level == 3 - levels


def test_a_clear_factor_is_one_product(small: cw.Session) -> None:
    x, w = RNG.uniform(-1, 1, (2, 12, 20))
    result = cw.einsum("ij,ij->ij", small.encrypt(x), w)
    assert np.abs(small.decrypt(result) - x * w).max() < ERROR
    assert result.program is not None
    assert costly(result.program) == {"plaintext product": 1, "rescale": 1}


def test_a_clear_matrix_is_one_linear_transform(small: cw.Session) -> None:
    x, w = RNG.uniform(-1, 1, (8, 64)), RNG.uniform(-1, 1, (10, 64))
    result = cw.einsum("bi,ci->bc", small.encrypt(x), w)
    assert np.abs(small.decrypt(result) - x @ w.T).max() < ERROR
    assert result.program is not None
    found = counted_operations(result.program)
    assert (found["diagonal"], found["rescale"]) == (73, 1)
    assert found["rotation"] <= 19


def test_keys_are_made_when_needed_and_only_then() -> None:
    session = cw.Session(depth=1, insecure=True, log_n=11)
    x = session.encrypt(np.ones(8))
    before = session.key_bytes
    result = cw.einsum("i->", x)
    after = session.key_bytes
    assert after > before
    cw.einsum("i->", x)
    assert session.key_bytes == after
    assert result.program is not None
    assert set(required_keys(result.program).rotations) == {1, 2, 4}


def test_operands_at_different_levels_meet(small: cw.Session) -> None:
    x = RNG.uniform(-1, 1, 10)
    low = hidden = small.encrypt(x)
    for _ in range(2):
        low = cw.einsum("i,i->i", low, np.full(10, 0.5))
    product = cw.einsum("i,i->i", hidden, low)
    assert product.level == 0
    assert np.abs(small.decrypt(product) - x * x / 4).max() < ERROR


def test_levels_run_out_by_name(small: cw.Session) -> None:
    x = small.encrypt([0.5], bound=1.0)
    for _ in range(3):
        x = cw.einsum("i,i->i", x, x)
    with pytest.raises(LevelExhaustedError):
        cw.einsum("i,i->i", x, x)


def test_a_result_above_the_bound_is_refused() -> None:
    session = cw.Session(depth=1, bound=4.0, insecure=True, log_n=11)
    with pytest.raises(ValueOutOfRangeError):
        session.decrypt(cw.einsum("i,i->i", session.encrypt([2.5]), [2.5]))


def test_another_client_cannot_decrypt(small: cw.Session) -> None:
    other = cw.Session(depth=3, precision=20, insecure=True, log_n=11)
    tensor = small.encrypt([1.0])
    with pytest.raises(KeyMismatchError):
        other._secret.decrypt(tensor.values[0], tensor.values[0].estimate)
    with pytest.raises(ParametersMismatchError, match="not of this session"):
        other.decrypt(tensor)


def test_a_product_of_two_encrypted_matrices_at_128_bits() -> None:
    session = cw.Session(depth=3, precision=20)
    assert not session.parameters.insecure
    a, b = RNG.uniform(-1, 1, (12, 20)), RNG.uniform(-1, 1, (20, 7))
    result = cw.einsum("ik,kj->ij", session.encrypt(a), session.encrypt(b))
    assert np.abs(session.decrypt(result) - a @ b).max() < 1e-5
    assert result.program is not None
    found = counted_operations(result.program)
    assert found["ciphertext product"] == 1
    assert found["rotation"] <= 54
    assert result.level >= 1


@pytest.mark.slow
def test_a_product_of_matrices_over_many_ciphertexts_at_128_bits() -> None:
    session = cw.Session(depth=3, precision=20, bound=1024)
    assert not session.parameters.insecure
    a, b = RNG.uniform(-1, 1, (512, 300)), RNG.uniform(-1, 1, (300, 40))
    x, y = session.encrypt(a, bound=1), session.encrypt(b, bound=1)
    assert len(x.values) > 1
    assert len(y.values) > 1
    product = cw.einsum("ik,kj->ij", x, y)
    assert np.abs(session.decrypt(product) - a @ b).max() < 2**-product.precision < 1e-4
