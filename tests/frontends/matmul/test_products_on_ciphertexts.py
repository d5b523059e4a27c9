"""Products of matrices on ciphertexts: small rings for shapes, secure ones for claims."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw

SIDE = st.integers(1, 40)


def random_matrices(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(map(sum, shapes)))
    return [rng.uniform(-1, 1, shape) for shape in shapes]


@settings(max_examples=12)
@given(st.sampled_from([(), (3,)]), SIDE, SIDE, SIDE)
def test_products_of_any_shape_are_right(
    batch: tuple[int, ...], rows: int, inner: int, columns: int
) -> None:
    a, b = random_matrices((*batch, rows, inner), (*batch, inner, columns))
    program = cw.compile_matmul(a.shape, b.shape, log_n=8, insecure=True)
    assert np.abs(program.run(a, b) - a @ b).max() < 2**-7


@pytest.mark.parametrize("shapes", [((256, 256), (256, 256)), ((300, 64), (64, 200))])
def test_secure_products_are_as_precise_as_promised(shapes: tuple[tuple[int, int], ...]) -> None:
    a, b = random_matrices(*shapes)
    program = cw.compile_matmul(*shapes)
    assert not program.warning
    error = np.abs(program.run(a, b) - a @ b).max()
    # Promised for the worst inputs, these err less.
    assert error < 2**-11
    promised = min(each.precision for each in program.estimated_results or [])
    assert error < 2**-promised


def test_worst_inputs_do_not_wrap() -> None:
    program = cw.compile_matmul((32, 500), (500, 32))
    a, b = np.ones((32, 500)), np.ones((500, 32))
    assert np.abs(program.run(a, b) - 500).max() < 2**-7
    assert np.abs(program.run(-a, b) + 500).max() < 2**-7


@settings(max_examples=12)
@given(SIDE, SIDE, SIDE, st.integers(0, 2**32))
def test_products_of_integers_are_exact(rows: int, inner: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 10, (rows, inner)), rng.integers(-9, 10, (inner, columns))
    specs = [cw.Spec(each.shape, bound=9) for each in (a, b)]
    program = cw.compile_integer_matmul(*specs, log_n=9, insecure=True)
    np.testing.assert_array_equal(program.run(a, b), a @ b)


@pytest.mark.parametrize("bits", [20, 29])
def test_integers_modulo_primes_are_exact_at_128_bits(bits: int) -> None:
    from cloakwork.plan.parameters.bgv import plaintext_moduli  # noqa: PLC0415

    (modulus,) = plaintext_moduli(bits, 13)
    rng = np.random.default_rng(bits)
    half = modulus // 2
    a, b = rng.integers(-half, half + 1, (20, 70)), rng.integers(-half, half + 1, (70, 30))
    specs = [cw.Spec(each.shape, bound=half) for each in (a, b)]
    program = cw.compile_integer_matmul(*specs, modulus=modulus, log_n=13)
    assert not program.warning
    expected = a.astype(object) @ b.astype(object)
    assert ((program.run(a, b) - expected) % modulus == 0).all()


def test_compiled_contractions_take_blocks_and_are_right() -> None:
    a, b = random_matrices((3, 64, 40), (3, 48, 40))
    program = cw.compile(
        lambda x, y: cw.einsum("bik,bjk->bij", x, y), a.shape, b.shape, precision=10
    )
    assert program.packing.kind == "matrices"
    assert np.abs(program.run(a, b) - np.einsum("bik,bjk->bij", a, b)).max() < 2**-10


def test_chains_are_right() -> None:
    shapes = [(110, 110)] * 3
    arrays = [0.1 * each for each in random_matrices(*shapes)]
    specs = [cw.Spec(shape, bound=0.1) for shape in shapes]
    program = cw.compile(lambda a, b, c: a @ b @ c, *specs, precision=10)
    assert program.packing.kind == "matrices"
    a, b, c = arrays
    assert np.abs(program.run(*arrays) - a @ b @ c).max() < 2**-10


def test_an_evaluator_holds_what_its_program_needs_and_no_more() -> None:
    program = cw.compile_matmul((64, 64), (64, 64))
    client, evaluator = program.keygen()
    assert evaluator.key_bytes == program.key_bytes
    a, b = random_matrices((64, 64), (64, 64))
    profile = cw.Profile()
    result = evaluator.run(client.encrypt(a, b), profile=profile)
    assert np.abs(client.decrypt(result) - a @ b).max() < 2**-7
    assert {"rotated_products", "switch_product"} <= set(profile.totals())
