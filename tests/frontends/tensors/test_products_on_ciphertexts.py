"""Products of matrices on ciphertexts: small rings for shapes, secure ones for claims."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import ValueOutOfRangeError
from cloakwork.plan.parameters.bgv import plaintext_moduli
from cloakwork.programs.packing.matrix import MatrixPacking
from tests.products import integer_product, real_product
from tests.thoroughness import part

SIDE = st.integers(1, 40)


def random_matrices(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(map(sum, shapes)))
    return [rng.uniform(-1, 1, shape) for shape in shapes]


@settings(max_examples=part(12))
@given(st.sampled_from([(), (3,)]), SIDE, SIDE, SIDE)
def test_products_of_any_shape_are_right(
    batch: tuple[int, ...], rows: int, inner: int, columns: int
) -> None:
    a, b = random_matrices((*batch, rows, inner), (*batch, inner, columns))
    program = real_product(a.shape, b.shape, precision=8, log_n=8, insecure=True)
    assert np.abs(program.run(a, b) - a @ b).max() < 2**-7


@pytest.mark.parametrize("shapes", [((256, 256), (256, 256)), ((300, 64), (64, 200))])
def test_secure_products_are_as_precise_as_promised(shapes: tuple[tuple[int, int], ...]) -> None:
    a, b = random_matrices(*shapes)
    program = real_product(*shapes)
    assert not program.warning
    error = np.abs(program.run(a, b) - a @ b).max()
    # Promised for the worst inputs, these err less.
    assert error < 2**-11
    promised = min(each.precision for each in program.estimated_results or [])
    assert error < 2**-promised


# Inner indices by two and two in a slot, shares of them summed, and columns by two and two.
WORST = {(256, 256, 256): (2, 1), (64, 64, 64): (2, 2), (200, 12, 300): (1, 1)}


@pytest.mark.parametrize("sizes", WORST, ids=str)
def test_worst_inputs_neither_wrap_nor_lose_their_precision(sizes: tuple[int, int, int]) -> None:
    rows, inner, columns = sizes
    program = real_product(cw.Spec((rows, inner), bound=4.0), cw.Spec((inner, columns), bound=0.5))
    packing = program.packing
    assert isinstance(packing, MatrixPacking)
    blocks = packing.results[0].layout.blocks
    assert (blocks.inner_parts, min(2, blocks.shares)) == WORST[sizes]
    client, evaluator = program.keygen()
    generator = np.random.default_rng(inner)
    signs = generator.choice([-1.0, 1.0], inner)
    all_of = np.ones((rows, inner)), np.ones((inner, columns))
    # All of one sign, every result at its bound but of either sign, and real parts that cancel.
    halves = np.where(np.arange(inner) % 2, 1.0, -1.0)
    rows_of = generator.choice([-1.0, 1.0], (rows, 1)) * signs
    for a, b in (
        all_of,
        (-all_of[0], all_of[1]),
        (rows_of, signs[:, np.newaxis] * all_of[1]),
        (all_of[0] * halves, all_of[1]),
    ):
        left, right = 4.0 * a, 0.5 * b
        found = client.decrypt(evaluator.run(client.encrypt(left, right)))
        assert np.abs(found - left @ right).max() < 2**-7


def test_what_a_bound_does_not_allow_is_refused_before_it_is_encrypted() -> None:
    program = real_product((16, 40), (40, 16), log_n=10, insecure=True)
    client, _ = program.keygen()
    beyond = np.ones((16, 40))
    beyond[3, 5] = np.nextafter(1.0, 2.0)
    with pytest.raises(ValueOutOfRangeError, match="'a'"):
        client.encrypt(beyond, np.ones((40, 16)))


@pytest.mark.slow
@pytest.mark.parametrize("size", [512, 1024])
def test_large_products_are_within_the_stated_bound(size: int) -> None:
    program = real_product((size, size), (size, size))
    client, evaluator = program.keygen()
    ones = np.ones((size, size))
    for a, b in (random_matrices((size, size), (size, size)), (ones, ones), (-ones, ones)):
        error = np.abs(client.decrypt(evaluator.run(client.encrypt(a, b))) - a @ b).max()
        assert error < 2**-7
        assert error < 2 ** -min(each.precision for each in program.estimated_results or [])


@settings(max_examples=part(12))
@given(SIDE, SIDE, SIDE, st.integers(0, 2**32))
def test_products_of_integers_are_exact(rows: int, inner: int, columns: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 10, (rows, inner)), rng.integers(-9, 10, (inner, columns))
    specs = [cw.Spec(each.shape, bound=9) for each in (a, b)]
    program = integer_product(*specs, log_n=9, insecure=True)
    np.testing.assert_array_equal(program.run(a, b), a @ b)


@pytest.mark.slow
@pytest.mark.parametrize("bits", [20, 29])
def test_fifty_shapes_are_exact_modulo_a_prime_even_at_the_bound(bits: int) -> None:
    (modulus,) = plaintext_moduli(bits, 12)
    half = modulus // 2
    generator = np.random.default_rng(bits)
    for _ in range(50):
        rows, inner, columns = generator.integers(1, 80, 3)
        a = generator.integers(-half, half + 1, (rows, inner))
        b = generator.integers(-half, half + 1, (inner, columns))
        a[generator.random(a.shape) < 0.25] = half
        b[generator.random(b.shape) < 0.25] = -half
        specs = [cw.Spec(each.shape, bound=half) for each in (a, b)]
        program = integer_product(*specs, modulus=modulus, log_n=12, insecure=True)
        expected = a.astype(object) @ b.astype(object)
        assert ((program.run(a, b) - expected) % modulus == 0).all()


@pytest.mark.parametrize("bits", [20, 29])
def test_integers_modulo_primes_are_exact_at_128_bits(bits: int) -> None:
    (modulus,) = plaintext_moduli(bits, 13)
    rng = np.random.default_rng(bits)
    half = modulus // 2
    a, b = rng.integers(-half, half + 1, (20, 70)), rng.integers(-half, half + 1, (70, 30))
    specs = [cw.Spec(each.shape, bound=half) for each in (a, b)]
    program = integer_product(*specs, modulus=modulus, log_n=13)
    assert not program.warning
    expected = a.astype(object) @ b.astype(object)
    assert ((program.run(a, b) - expected) % modulus == 0).all()


@pytest.mark.parametrize("limit", [17, 20, 60])
def test_a_limit_of_memory_is_kept_in_runs(limit: int) -> None:
    program = real_product((256, 100), (100, 256), memory_limit=limit << 20)
    client, evaluator = program.keygen()
    a, b = random_matrices((256, 100), (100, 256))
    profile = cw.Profile()
    found = client.decrypt(evaluator.run(client.encrypt(a, b), threads=1, profile=profile))
    assert np.abs(found - a @ b).max() < 2**-7
    assert profile.peak_bytes <= limit << 20


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
    program = real_product((64, 64), (64, 64))
    client, evaluator = program.keygen()
    assert evaluator.key_bytes == program.key_bytes
    a, b = random_matrices((64, 64), (64, 64))
    profile = cw.Profile()
    result = evaluator.run(client.encrypt(a, b), profile=profile)
    assert np.abs(client.decrypt(result) - a @ b).max() < 2**-7
    assert {"rotated_products", "switch_product"} <= set(profile.totals())
