"""Rotated products in the native module: conversions, results, estimates, keys, errors."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cloakwork import _native, errors
from cloakwork._native import (
    BgvCiphertext,
    BgvEstimate,
    BgvEvaluationKeys,
    BgvEvaluator,
    BgvNoiseModel,
    BgvParameters,
    BgvSecretKey,
    Ciphertext,
    CkksEstimate,
    EvaluationKeys,
    Evaluator,
    Parameters,
    SecretKey,
)

STEP = 32
TERMS = 5
RNG = np.random.default_rng(8)

P = Parameters(levels=1, log_n=8, scale_bits=30, headroom_bits=11, word_bits=24, insecure=True)
COUNT = P.slots // STEP
ROTATIONS = {t * STEP: 1 for t in range(COUNT)}
SECRET = SecretKey.generate(P)
KEYS = SECRET.evaluation_keys(
    relinearisation_level=None,
    rotations={rotation: level for rotation, level in ROTATIONS.items() if rotation},
    conjugation_level=None,
    rotated_products=ROTATIONS,
)
EVALUATOR = Evaluator(KEYS)
LEFT, RIGHT = RNG.uniform(-1, 1, (2, TERMS, P.slots))

B = BgvParameters(levels=1, log_n=8, level_bits=60, word_bits=24, insecure=True)
T = B.plaintext_modulus
BGV_SECRET = BgvSecretKey.generate(B)
BGV_KEYS = BGV_SECRET.evaluation_keys(
    relinearisation_level=None,
    rotations={rotation: level for rotation, level in ROTATIONS.items() if rotation},
    row_swap_level=None,
    rotated_products=ROTATIONS,
)
BGV_EVALUATOR = BgvEvaluator(BGV_KEYS)
BGV_LEFT, BGV_RIGHT = RNG.integers(-(T // 2), T // 2 + 1, (2, TERMS, 2, B.slots))


def encrypt(values: NDArray[np.float64]) -> Ciphertext:
    return SECRET.encrypt(P.encode(values, level=1, bound=1.0))


def decrypt(ciphertext: Ciphertext) -> NDArray[np.float64]:
    return SECRET.decrypt(ciphertext, ciphertext.estimate).decode_real()


def encrypt_rows(values: NDArray[np.int64]) -> BgvCiphertext:
    return BGV_SECRET.encrypt(B.encode(values, level=1))


U, V = ([encrypt(values) for values in side] for side in (LEFT, RIGHT))
BU, BV = ([encrypt_rows(values) for values in side] for side in (BGV_LEFT, BGV_RIGHT))


def test_products_are_sums_over_the_lists() -> None:
    products = EVALUATOR.rotated_products(U, V, STEP)
    assert (products.step, products.count, products.level) == (STEP, COUNT, 1)
    assert products.scale == U[0].scale * V[0].scale
    assert products.nbytes == 4 * COUNT * P.prime_count(1) * P.n * 4
    assert products.key_id == SECRET.key_id
    for t in range(COUNT):
        expected = (np.roll(LEFT, -t * STEP, axis=1) * RIGHT).sum(axis=0)
        whole = EVALUATOR.switch_product(products, t)
        fused = EVALUATOR.switch_product_and_rescale(products, t)
        assert (whole.level, fused.level) == (1, 0)
        for found in (EVALUATOR.rescale(whole), fused):
            assert np.abs(decrypt(found) - expected).max() < 2.0**-found.precision


@pytest.mark.parametrize("ts", [[], [1], [*range(COUNT), 0]], ids=len)
@pytest.mark.parametrize("threads", [1, 2])
def test_many_products_are_switched_as_one_after_the_other(ts: list[int], threads: int) -> None:
    products = EVALUATOR.rotated_products(U, V, STEP)
    before = _native.threads()
    _native.set_threads(threads)
    try:
        found = EVALUATOR.switch_products_and_rescale(products, ts)
    finally:
        _native.set_threads(before)
    expected = [EVALUATOR.switch_product_and_rescale(products, t) for t in ts]
    assert [each.to_bytes() for each in found] == [each.to_bytes() for each in expected]
    with pytest.raises(errors.InvalidArgumentError, match=f"expected a rotation below {COUNT}"):
        EVALUATOR.switch_products_and_rescale(products, [0, COUNT])


def test_shares_of_the_lists_add_up() -> None:
    first = EVALUATOR.rotated_products(U[:2], V[:2], STEP)
    second = EVALUATOR.rotated_products(U[2:], V[2:], STEP)
    both = EVALUATOR.switch_product(EVALUATOR.add_rotated_products(first, second), 1)
    whole = EVALUATOR.switch_product(EVALUATOR.rotated_products(U, V, STEP), 1)
    difference = decrypt(EVALUATOR.rescale(both)) - decrypt(EVALUATOR.rescale(whole))
    assert np.abs(difference).max() < 1e-6


def test_estimates_follow_the_evaluator() -> None:
    fresh = P.estimate(P.slots, level=1, bound=1.0).encrypted()
    estimate = CkksEstimate.rotated_products([fresh] * TERMS, [fresh] * TERMS)
    products = EVALUATOR.rotated_products(U, V, STEP)
    assert products.estimate == estimate
    assert estimate.bound == TERMS
    sums = EVALUATOR.add_rotated_products(products, products)
    assert sums.estimate == estimate.add_rotated_products(estimate)
    assert EVALUATOR.switch_product(products, 1).estimate == estimate.switch_product()
    fused = EVALUATOR.switch_product_and_rescale(products, 1)
    assert fused.estimate == estimate.switch_product_and_rescale()


def test_words_are_as_short_as_asked() -> None:
    assert (P.word_bits, P.prime_count(1)) == (24, 3)
    assert Parameters.from_bytes(P.to_bytes(), insecure=True).word_bits == 24
    assert 24 < Parameters(levels=1, log_n=8, insecure=True).word_bits <= 30
    assert B.word_bits <= 24
    secure = Parameters(levels=1, log_n=12, scale_bits=30, headroom_bits=11, word_bits=24)
    assert (secure.prime_count(1), secure.key_prime_count) == (3, 4)
    assert secure.log_qp < 102


def test_keys_tell_what_they_are_for_and_come_back_from_bytes() -> None:
    assert KEYS.rotated_products() == ROTATIONS
    assert KEYS.relinearisation_level == 1
    again = EvaluationKeys.from_bytes(P, KEYS.to_bytes())
    assert again.rotated_products() == ROTATIONS
    products = EVALUATOR.rotated_products(U, V, STEP)
    found = Evaluator(again).switch_product(products, 1)
    assert found.to_bytes() == EVALUATOR.switch_product(products, 1).to_bytes()
    assert len(KEYS.rotations()) == COUNT - 1
    assert BgvEvaluationKeys.from_bytes(B, BGV_KEYS.to_bytes()).rotated_products() == ROTATIONS


def by_diagonals(left: NDArray[Any], right: NDArray[Any], t: int) -> NDArray[Any]:
    """The sum over runs of left r - t, rotated by t steps, times right r."""
    runs = left.reshape(-1, COUNT, *left.shape[1:])
    turned = np.roll(np.roll(runs, t, axis=1), -t * STEP, axis=-1)
    products: NDArray[Any] = (turned * right.reshape(runs.shape)).sum(axis=(0, 1))
    return products


def test_diagonals_are_multiplied_run_by_run() -> None:
    left, right = RNG.uniform(-1, 1, (2, 2 * COUNT, P.slots))
    u, v = ([encrypt(values) for values in side] for side in (left, right))
    products = EVALUATOR.diagonal_products(u, v, STEP)
    fresh = P.estimate(P.slots, level=1, bound=1.0).encrypted()
    estimate = CkksEstimate.diagonal_products([fresh] * 2 * COUNT, [fresh] * 2 * COUNT)
    assert products.estimate == estimate
    for t in range(COUNT):
        found = EVALUATOR.switch_product_and_rescale(products, t)
        expected = by_diagonals(left, right, t)
        assert np.abs(decrypt(found) - expected).max() < 2.0**-found.precision


def test_diagonals_of_integers_are_exact() -> None:
    left, right = RNG.integers(-(T // 2), T // 2 + 1, (2, COUNT, 2, B.slots))
    u, v = ([encrypt_rows(values) for values in side] for side in (left, right))
    products = BGV_EVALUATOR.diagonal_products(u, v, STEP)
    for t in range(COUNT):
        found = BGV_SECRET.decrypt(BGV_EVALUATOR.switch_product(products, t)) % T
        expected = by_diagonals(left.astype(object), right.astype(object), t) % T
        assert np.array_equal(found, expected)


def test_the_worst_left_diagonal_counts_in_every_product() -> None:
    small, large = (P.estimate(P.slots, level=1, bound=bound).encrypted() for bound in (1.0, 4.0))
    mixed = CkksEstimate.diagonal_products([small, large], [small, small])
    assert mixed.bound == 8.0


def test_integers_are_exact() -> None:
    products = BGV_EVALUATOR.rotated_products(BU, BV, STEP)
    assert (products.step, products.count, products.level) == (STEP, COUNT, 1)
    estimate = BgvEstimate.rotated_products([B.fresh(1)] * TERMS, [B.fresh(1)] * TERMS)
    assert products.estimate.noise_bits == estimate.noise_bits
    for t in range(COUNT):
        rotated = np.roll(BGV_LEFT, -t * STEP, axis=2)
        expected = ((rotated * BGV_RIGHT) % T).sum(axis=0) % T
        whole = BGV_EVALUATOR.switch_product(products, t)
        lower = BGV_EVALUATOR.switch_product_and_modulus(products, t)
        assert whole.noise_bits == estimate.switch_product().noise_bits
        assert lower.noise_bits == estimate.switch_product_and_modulus().noise_bits
        for found in (whole, lower):
            assert np.array_equal(BGV_SECRET.decrypt(found) % T, expected)
    twice = BGV_EVALUATOR.add_rotated_products(products, products)
    single = BGV_SECRET.decrypt(BGV_EVALUATOR.switch_product(products, 1))
    double = BGV_SECRET.decrypt(BGV_EVALUATOR.switch_product(twice, 1))
    assert np.array_equal(double % T, 2 * single % T)


def test_the_noise_model_knows_products_before_there_are_parameters() -> None:
    model = BgvNoiseModel(8, T)
    fresh = model.fresh
    found = model.products(fresh, fresh, TERMS)
    estimate = BgvEstimate.rotated_products([B.fresh(1)] * TERMS, [B.fresh(1)] * TERMS)
    assert found.coefficient == pytest.approx(estimate.noise_bits)
    assert found.coefficient < fresh.times(fresh).scaled(np.log2(TERMS)).coefficient
    rounded = model.rounding
    linear = rounded.times(rounded).scaled(np.log2(TERMS))
    assert model.products(rounded, rounded, TERMS) == linear
    assert model.rotation.coefficient < model.product_switching.coefficient


SPARSE = SECRET.encrypt(P.encode(LEFT[0][:4], level=1, bound=1.0))
OTHER = SecretKey.generate(P)
STRANGE = OTHER.encrypt(P.encode(LEFT[0], level=1, bound=1.0))
BARE = Evaluator(
    SECRET.evaluation_keys(relinearisation_level=None, rotations={}, conjugation_level=None)
)
PRODUCTS = EVALUATOR.rotated_products(U, V, STEP)

REFUSALS: dict[str, tuple[Callable[[], object], type[Exception]]] = {
    "no ciphertexts": (
        lambda: EVALUATOR.rotated_products([], [], STEP),
        errors.InvalidArgumentError,
    ),
    "unlike lists": (
        lambda: EVALUATOR.rotated_products(U, V[1:], STEP),
        errors.InvalidArgumentError,
    ),
    "a step": (lambda: EVALUATOR.rotated_products(U, V, 3), errors.InvalidArgumentError),
    "a negative step": (lambda: EVALUATOR.rotated_products(U, V, -1), errors.InvalidArgumentError),
    "a rotation": (lambda: EVALUATOR.switch_product(PRODUCTS, COUNT), errors.InvalidArgumentError),
    "a sparse packing": (
        lambda: EVALUATOR.rotated_products([SPARSE], [SPARSE], STEP),
        errors.SlotMismatchError,
    ),
    "another key": (
        lambda: EVALUATOR.rotated_products([STRANGE], [U[0]], STEP),
        errors.KeyMismatchError,
    ),
    "no keys": (lambda: BARE.switch_product(PRODUCTS, 1), errors.MissingKeyError),
    "another step": (
        lambda: EVALUATOR.add_rotated_products(
            PRODUCTS, EVALUATOR.rotated_products(U, V, 2 * STEP)
        ),
        errors.InvalidArgumentError,
    ),
    "no runs": (
        lambda: EVALUATOR.diagonal_products(U[:3], V[:3], STEP),
        errors.InvalidArgumentError,
    ),
    "no runs of integers": (
        lambda: BGV_EVALUATOR.diagonal_products(BU[:3], BV[:3], STEP),
        errors.InvalidArgumentError,
    ),
    "short words": (
        lambda: Parameters(levels=1, word_bits=19, insecure=True),
        errors.InvalidParametersError,
    ),
    "long words of BGV": (
        lambda: BgvParameters(levels=1, word_bits=31, insecure=True),
        errors.InvalidParametersError,
    ),
    "no products": (lambda: B.fresh(1).switch_product(), errors.DegreeMismatchError),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals_have_names(name: str) -> None:
    refused, error = REFUSALS[name]
    with pytest.raises(error):
        refused()


def test_products_print_what_they_are() -> None:
    assert repr(PRODUCTS).startswith(f"RotatedProducts({COUNT} products by {STEP} slots")
    bgv = BGV_EVALUATOR.rotated_products(BU, BV, STEP)
    assert repr(bgv).startswith(f"BgvRotatedProducts({COUNT} products by {STEP} slots")
