"""BGV in the native module: conversions, results beside Python's integers, errors, estimates."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloakwork import errors
from cloakwork._native import (
    BgvCiphertext,
    BgvEstimate,
    BgvEvaluationKeys,
    BgvEvaluator,
    BgvLinearTransform,
    BgvParameters,
    BgvPlaintext,
    BgvPublicKey,
    BgvSecretKey,
)

LEVELS = 3
P = BgvParameters(levels=LEVELS, log_n=8, insecure=True)
T = P.plaintext_modulus
HALF = T // 2
OTHER = BgvParameters(levels=LEVELS, log_n=8, plaintext_modulus=7681, insecure=True)
SECRET = BgvSecretKey.generate(P)
KEYS = SECRET.evaluation_keys(
    relinearisation_level=LEVELS,
    rotations=dict.fromkeys((1, 2, 3, 4), LEVELS),
    row_swap_level=LEVELS,
)
EVALUATOR = BgvEvaluator(KEYS)
RNG = np.random.default_rng(5)
X, Y = RNG.integers(-HALF, HALF + 1, (2, 2, P.slots))

Rows = NDArray[np.int64]


def centred(values: Rows) -> Rows:
    return (values + HALF) % T - HALF


def encrypt(values: Rows, level: int = LEVELS) -> BgvCiphertext:
    return SECRET.encrypt(P.encode(values, level=level))


def holds(ciphertext: BgvCiphertext, expected: Rows) -> bool:
    found = SECRET.decrypt(ciphertext)
    assert found.dtype == np.int64
    assert found.shape == (2, P.slots)
    assert SECRET.noise_bits(ciphertext) <= ciphertext.noise_bits
    return bool((found == centred(expected)).all())


def test_parameters_tell_what_they_are() -> None:
    assert (P.plaintext_modulus, P.log_n, P.n, P.slots, P.levels) == (65537, 8, 256, 128, LEVELS)
    assert P.insecure
    assert "INSECURE" in repr(P)
    assert P.log_q(3) > P.log_q(2) + P.level_bits - 1
    assert P.prime_count(3) >= P.prime_count(0)
    assert P.key_prime_count > P.prime_count(3)
    assert P.evaluation_key_bytes(3) >= P.evaluation_key_bytes(0) > 0
    assert P.fingerprint != OTHER.fingerprint
    with pytest.raises(errors.InsecureParametersError, match="less than 128 bits"):
        BgvParameters.from_bytes(P.to_bytes())
    assert BgvParameters.from_bytes(P.to_bytes(), insecure=True).fingerprint == P.fingerprint
    secure = BgvParameters(levels=1)
    assert (secure.log_n, secure.insecure) == (12, False)
    assert secure.log_qp <= 106
    assert repr(secure).startswith("BgvParameters(BGV modulo 65537, N = 2^12, 2 x 2048 slots")


def test_bounds_on_noise_fail_as_rarely_as_asked() -> None:
    assert P.failure_bits == 128
    assert "2^-128" in repr(P)
    often = BgvParameters(levels=LEVELS, log_n=8, failure_bits=40, insecure=True)
    assert often.failure_bits == 40
    added = P.fresh(0).noise_bits - often.fresh(0).noise_bits
    assert 0 < added < 1
    stored = BgvParameters.from_bytes(often.to_bytes(), insecure=True)
    assert stored.failure_bits == 40
    for refused in (39, 129, math.nan):
        with pytest.raises(errors.InvalidParametersError, match="failure_bits"):
            BgvParameters(levels=1, failure_bits=refused)


@pytest.mark.parametrize("level", range(LEVELS + 1))
def test_rows_are_encoded_and_decoded(level: int) -> None:
    plaintext = P.encode(X, level=level)
    assert plaintext.level == level
    assert (plaintext.decode() == X).all()
    assert (P.encode(X[0], level=level).decode() == X[0]).all()
    assert (P.encode(X.T.copy().T, level=level).decode() == X).all()
    assert (P.encode(X[:, ::-1], level=level).decode() == X[:, ::-1]).all()
    read = BgvPlaintext.from_bytes(P, plaintext.to_bytes())
    assert (read.decode() == X).all()
    assert read.norm_bits == plaintext.norm_bits > 0


def test_every_operation_is_that_of_integers() -> None:
    e, a, b = EVALUATOR, encrypt(X), encrypt(Y)
    plain = P.encode(Y, level=LEVELS)
    assert holds(SECRET.public_key().encrypt(plain), Y)
    assert holds(e.add(a, b), X + Y)
    assert holds(e.sub(a, b), X - Y)
    assert holds(e.negate(a), -X)
    assert holds(e.add_plain(a, plain), X + Y)
    assert holds(e.sub_plain(a, plain), X - Y)
    assert holds(e.add_scalar(a, -5), X - 5)
    assert holds(e.multiply(a, b), X * Y)
    assert holds(e.square(a), X * X)
    assert holds(e.multiply_plain(a, plain), X * Y)
    assert holds(e.multiply_scalar(a, -5), -5 * X)
    lazy = e.multiply_lazily(a, b)
    assert lazy.degree == 2
    assert holds(lazy, X * Y)
    assert holds(e.relinearize(lazy), X * Y)
    switched = e.relinearize_and_switch(lazy)
    assert (switched.degree, switched.level) == (1, LEVELS - 1)
    assert holds(switched, X * Y)
    assert holds(e.rotate(a, 1), np.roll(X, -1, axis=1))
    assert holds(e.rotate(a, 1 - P.slots), np.roll(X, -1, axis=1))
    for steps, rotated in zip((2, 0, 3), e.rotate_hoisted(a, (2, 0, 3)), strict=True):
        assert holds(rotated, np.roll(X, -steps, axis=1))
    summed = X + np.roll(X, -2, axis=1) - np.roll(X, -3, axis=1)
    assert holds(e.rotate_sum(a, (0, 2), (3,)), summed)
    assert a.estimate.rotate_sum(3, 2).noise_bits == e.rotate_sum(a, (0, 2), (3,)).noise_bits
    assert holds(e.swap_rows(a), X[::-1])
    diagonals = {0: X, 1: Y, -P.slots + 3: Y[0]}
    transform = BgvLinearTransform(P, diagonals, level=LEVELS, baby_steps=4)
    assert transform.level == LEVELS
    assert set(transform.rotations) <= {1, 2, 3, 4}
    assert transform.nbytes > 0
    expected = sum(diagonals[d] * np.roll(X, -d, axis=1) for d in diagonals)
    assert holds(e.linear_transform(a, transform), expected)


def test_levels_and_factors_are_switched() -> None:
    product = EVALUATOR.multiply(encrypt(X), encrypt(Y))
    down = EVALUATOR.switch_down(product)
    assert down.level < LEVELS
    assert holds(down, X * Y)
    for level in range(LEVELS + 1):
        switched = EVALUATOR.switch_to(encrypt(X), level, down.factor)
        assert (switched.level, switched.factor) == (level, down.factor)
        assert holds(switched, X)
    matched, other = EVALUATOR.match_levels(encrypt(X), down)
    assert (
        (matched.level, matched.factor) == (other.level, other.factor) == (down.level, down.factor)
    )
    assert holds(EVALUATOR.add(matched, other), X + X * Y)
    # Without matching factors too, at a cost in noise.
    unmatched = EVALUATOR.switch_to(encrypt(X), down.level)
    assert holds(EVALUATOR.add(unmatched, down), X + X * Y)


def test_a_power_takes_a_level_for_each_product() -> None:
    value, power = encrypt(X), X
    for _ in range(LEVELS):
        value = EVALUATOR.switch_down(EVALUATOR.square(value))
        power = centred(power * power)
        assert holds(value, power)


STEPS: list[tuple[str, Callable[[BgvEvaluator, BgvCiphertext], BgvCiphertext], Any]] = [
    ("add", lambda e, a: e.add(a, a), lambda f: f.add(f)),
    ("add_plain", lambda e, a: e.add_plain(a, P.encode(Y, level=a.level)), lambda f: f.add_plain()),
    ("multiply", lambda e, a: e.multiply(a, a), lambda f: f.multiply(f)),
    ("scalar", lambda e, a: e.multiply_scalar(a, 9), lambda f: f.multiply_scalar(9)),
    (
        "multiply_plain",
        lambda e, a: e.multiply_plain(a, P.encode(Y, level=a.level)),
        lambda f: f.multiply_plain(P.encode(Y, level=f.level).norm_bits),
    ),
    ("rotate", lambda e, a: e.rotate(a, 1), lambda f: f.rotate()),
    ("swap", lambda e, a: e.swap_rows(a), lambda f: f.rotate()),
    ("switch_down", lambda e, a: e.switch_down(a), lambda f: f.switch_down()),
    ("bottom", lambda e, a: e.switch_to(a, 0, 3), lambda f: f.switch_to(0, 3)),
]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(STEPS), max_size=8))
def test_estimates_foretell_ciphertexts(
    steps: list[tuple[str, Callable[[BgvEvaluator, BgvCiphertext], BgvCiphertext], Any]],
) -> None:
    a, foretold = encrypt(X), P.fresh(LEVELS)
    for _, run, foretell in steps:
        try:
            a = run(EVALUATOR, a)
        except errors.NoiseExhaustedError:
            with pytest.raises(errors.NoiseExhaustedError):
                foretell(foretold)
            return
        foretold = foretell(foretold)
        assert figures(a.estimate) == figures(foretold)
        assert SECRET.noise_bits(a) <= foretold.noise_bits <= foretold.canonical_bits


def figures(estimate: BgvEstimate) -> tuple[float, ...]:
    budget = estimate.capacity_bits - estimate.noise_bits
    assert estimate.budget_bits == pytest.approx(budget)
    return (estimate.level, estimate.degree, estimate.factor, estimate.noise_bits)


def square_without_end() -> None:
    value, power = encrypt(X), X
    while True:
        value = EVALUATOR.square(value)
        power = centred(power * power)
        assert holds(value, power)


def test_exhausted_noise_raises_before_a_number_is_wrong() -> None:
    with pytest.raises(errors.NoiseExhaustedError, match="switch the modulus down earlier"):
        square_without_end()
    assert issubclass(errors.NoiseExhaustedError, ArithmeticError)


def test_keys_and_ciphertexts_come_back_from_bytes() -> None:
    secret = BgvSecretKey.from_bytes(P, SECRET.to_bytes())
    public = BgvPublicKey.from_bytes(P, SECRET.public_key().to_bytes())
    keys = BgvEvaluationKeys.from_bytes(P, KEYS.to_bytes())
    assert keys.rotations() == KEYS.rotations() == dict.fromkeys((1, 2, 3, 4), LEVELS)
    assert (keys.relinearisation_level, keys.row_swap_level) == (LEVELS, LEVELS)
    assert keys.nbytes == KEYS.nbytes > 0
    a = BgvCiphertext.from_bytes(P, public.encrypt(P.encode(X, level=1)).to_bytes())
    assert a.nbytes > 0
    assert (secret.decrypt(BgvEvaluator(keys).square(a)) == centred(X * X)).all()
    keys.extend(
        SECRET.evaluation_keys(relinearisation_level=None, rotations={7: 1}, row_swap_level=None)
    )
    assert keys.rotations()[7] == 1


@pytest.mark.parametrize(
    ("refused", "error"),
    [
        (lambda: P.encode(np.zeros(3, np.int64), level=0), errors.SlotMismatchError),
        (lambda: P.encode(np.full(P.slots, HALF + 1), level=0), errors.ValueOutOfRangeError),
        (lambda: P.encode(X, level=LEVELS + 1), errors.LevelMismatchError),
        (lambda: P.encode(X.astype(float), level=0), TypeError),
        (lambda: P.encode(np.zeros((3, P.slots), np.int64), level=0), TypeError),
        (lambda: BgvParameters(levels=1, log_n=8), errors.InsecureParametersError),
        (lambda: BgvParameters(levels=1, plaintext_modulus=65539), errors.InvalidParametersError),
        (lambda: BgvParameters(levels=-1), errors.InvalidArgumentError),
        (lambda: EVALUATOR.add(encrypt(X), encrypt(X, 1)), errors.LevelMismatchError),
        (lambda: EVALUATOR.rotate(encrypt(X), 77), errors.MissingKeyError),
        (lambda: EVALUATOR.switch_to(encrypt(X, 1), 2), errors.LevelExhaustedError),
        (lambda: EVALUATOR.switch_to(encrypt(X), 2, 0), errors.InvalidArgumentError),
        (lambda: EVALUATOR.add_scalar(encrypt(X), T), errors.ValueOutOfRangeError),
        (
            lambda: EVALUATOR.rotate(EVALUATOR.multiply_lazily(encrypt(X), encrypt(X)), 1),
            errors.DegreeMismatchError,
        ),
        (lambda: BgvSecretKey.generate(P).decrypt(encrypt(X)), errors.KeyMismatchError),
        (lambda: BgvSecretKey.generate(OTHER).decrypt(encrypt(X)), errors.ParametersMismatchError),
        (lambda: BgvLinearTransform(P, {}, level=1), errors.InvalidArgumentError),
        (lambda: BgvCiphertext.from_bytes(P, b"CLWK"), errors.MalformedBytesError),
        (
            lambda: BgvCiphertext.from_bytes(OTHER, encrypt(X).to_bytes()),
            errors.ParametersMismatchError,
        ),
    ],
)
def test_refusals_have_names(refused: Callable[[], object], error: type[Exception]) -> None:
    with pytest.raises(error):
        refused()


def test_objects_print_what_they_are_and_no_secret() -> None:
    a = encrypt(X)
    for thing in (P, SECRET, SECRET.public_key(), KEYS, EVALUATOR, a, a.estimate):
        assert repr(thing).startswith(f"{type(thing).__name__}(")
        assert "INSECURE" in repr(thing)
    assert "noise below 2^" in repr(a)
