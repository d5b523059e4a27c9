"""The native module: conversions, errors, threads and the interpreter lock."""

import math
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import xxhash
from numpy.typing import NDArray

from cloakwork import _native, errors
from cloakwork._native import (
    Ciphertext,
    Decrypted,
    EvaluationKeys,
    Evaluator,
    LinearTransform,
    Parameters,
    PublicKey,
    SecretKey,
)
from cloakwork.programs.bsgs import split

LEVELS = 3
P = Parameters(levels=LEVELS, log_n=11, insecure=True)
OTHER = Parameters(levels=LEVELS + 1, log_n=11, insecure=True)
SECRET = SecretKey.generate(P)
STEPS = (1, 2, 3, 4, 8)
KEYS = SECRET.evaluation_keys(
    relinearisation_level=LEVELS,
    rotations=dict.fromkeys(STEPS, LEVELS),
    conjugation_level=LEVELS,
    automorphisms={2 * P.n - 5: LEVELS},
)
EVALUATOR = Evaluator(KEYS)
RNG = np.random.default_rng(3)
X, Y = (RNG.uniform(-1, 1, P.slots) for _ in range(2))
Z = X + 1j * Y
ERROR = 1e-6


def encrypt(
    values: NDArray[np.float64] | NDArray[np.complex128],
    level: int = LEVELS,
    scale: float | None = None,
) -> Ciphertext:
    bound = max(1.0, float(np.abs(values).max()))
    return SECRET.encrypt(P.encode(values, level=level, scale=scale, bound=bound))


def decrypt(ciphertext: Ciphertext) -> NDArray[np.complex128]:
    return SECRET.decrypt(ciphertext, ciphertext.estimate).decode()


def near(found: NDArray[Any], expected: NDArray[Any]) -> bool:
    return bool(np.abs(found - expected).max() < ERROR)


A, B = encrypt(X), encrypt(Y)


@pytest.fixture
def some_threads() -> Iterator[None]:
    before = _native.threads()
    yield
    _native.set_threads(before)


OPERATIONS: dict[str, tuple[Callable[[], Ciphertext], NDArray[Any]]] = {
    "add": (lambda: EVALUATOR.add(A, B), X + Y),
    "sub": (lambda: EVALUATOR.sub(A, B), X - Y),
    "negate": (lambda: EVALUATOR.negate(A), -X),
    "add plain": (lambda: EVALUATOR.add_plain(A, P.encode(Y, level=LEVELS)), X + Y),
    "sub plain": (lambda: EVALUATOR.sub_plain(A, P.encode(Y, level=LEVELS)), X - Y),
    "add scalar": (lambda: EVALUATOR.add_scalar(A, 2 - 1j), X + 2 - 1j),
    "multiply": (lambda: EVALUATOR.rescale(EVALUATOR.multiply(A, B)), X * Y),
    "multiply lazily": (
        lambda: EVALUATOR.rescale(EVALUATOR.multiply_lazily(A, B)),
        X * Y,
    ),
    "relinearise": (
        lambda: EVALUATOR.rescale(EVALUATOR.relinearize(EVALUATOR.multiply_lazily(A, B))),
        X * Y,
    ),
    "relinearise and rescale": (
        lambda: EVALUATOR.relinearize_and_rescale(EVALUATOR.multiply_lazily(A, B)),
        X * Y,
    ),
    "square": (lambda: EVALUATOR.rescale(EVALUATOR.square(A)), X * X),
    "multiply plain": (
        lambda: EVALUATOR.rescale(EVALUATOR.multiply_plain(A, P.encode(Z, level=LEVELS))),
        X * Z,
    ),
    "multiply scalar": (lambda: EVALUATOR.rescale(EVALUATOR.multiply_scalar(A, 0.5j)), 0.5j * X),
    "multiply integer": (lambda: EVALUATOR.multiply_integer(A, -3), -3 * X),
    "drop level": (lambda: EVALUATOR.drop_level(A, 1), X),
    "align": (lambda: EVALUATOR.align(A, 1), X),
    "rotate": (lambda: EVALUATOR.rotate(A, 3), np.roll(X, -3)),
    "rotate hoisted": (lambda: EVALUATOR.rotate_hoisted(A, [0, 2])[1], np.roll(X, -2)),
    "conjugate": (lambda: EVALUATOR.conjugate(encrypt(Z)), Z.conj()),
    "inner sum": (lambda: EVALUATOR.inner_sum(A, 2, 4), X + np.roll(X, -4)),
    "monomials": (
        lambda: EVALUATOR.polynomial(A, (1, 0, -2.0, 0.5), "monomial"),
        1 - 2 * X**2 + 0.5 * X**3,
    ),
    "chebyshev": (lambda: EVALUATOR.polynomial(A, [0, 0, 0.5], "chebyshev"), X * X - 0.5),
    "linear transform": (
        lambda: EVALUATOR.rescale(EVALUATOR.linear_transform(A, transform({1: X, 8: Z}))),
        X * np.roll(X, -1) + Z * np.roll(X, -8),
    ),
    "streamed transform": (
        lambda: EVALUATOR.rescale(
            EVALUATOR.linear_transform(
                A, LinearTransform.streamed(P, {1: X, 8: Z}, slots=P.slots, level=LEVELS)
            )
        ),
        X * np.roll(X, -1) + Z * np.roll(X, -8),
    ),
    "automorphism": (
        lambda: EVALUATOR.automorphism(encrypt(Z), 2 * P.n - 5),
        np.roll(Z, -1).conj(),
    ),
}


def transform(diagonals: dict[int, Any], **settings: Any) -> LinearTransform:
    return LinearTransform(P, diagonals, **{"slots": P.slots, "level": LEVELS} | settings)


@pytest.mark.parametrize("name", OPERATIONS)
def test_operation(name: str) -> None:
    compute, expected = OPERATIONS[name]
    assert near(decrypt(compute()), expected)


def test_degrees_of_products() -> None:
    product = EVALUATOR.multiply_lazily(A, B)
    assert product.degree == 2
    assert EVALUATOR.relinearize(product).degree == 1
    rescaled = EVALUATOR.relinearize_and_rescale(product)
    assert (rescaled.degree, rescaled.level) == (1, LEVELS - 1)
    at_once = EVALUATOR.relinearize_and_rescale(EVALUATOR.multiply(A, B))
    assert (at_once.degree, at_once.scale) == (1, rescaled.scale)


def test_both_element_types_go_in_and_come_out() -> None:
    for values in (X, Z):
        plaintext = P.encode(values, level=1, bound=2.0)
        assert near(plaintext.decode(), values)
        assert near(decrypt(SECRET.public_key().encrypt(plaintext)), values)
    assert P.encode(X, level=1).decode_real().dtype == np.float64
    assert SECRET.decrypt(A, A.estimate).decode_real().dtype == np.float64
    assert SECRET.decrypt(A, A.estimate).decode().dtype == np.complex128


def test_alignment_lands_on_the_canonical_scale() -> None:
    for level in range(LEVELS):
        assert EVALUATOR.align(A, level).scale == P.scale(level)


def flooded(statistical_bits: int, decryptions: int) -> Decrypted:
    return SECRET.decrypt_flooded(
        A, A.estimate, statistical_bits=statistical_bits, decryptions=decryptions
    )


def test_flooding_costs_half_its_bits_and_half_the_log_of_the_ring_degree() -> None:
    own = A.estimate.precision
    for bits, decryptions in ((1, 1), (10, 1), (10, 4096)):
        expected = (bits + math.log2(24 * P.n * decryptions)) / 2
        left = A.estimate.flooded(statistical_bits=bits, decryptions=decryptions).precision
        assert own - left == pytest.approx(expected + 1.4, abs=0.6)
        assert flooded(bits, decryptions).precision == left
    assert np.abs(flooded(1, 1).decode_real() - X).max() > 1e-9


def test_precision_and_overflow_are_those_of_the_estimate() -> None:
    own = P.estimate(P.slots, level=LEVELS, bound=1.0).encrypted()
    fresh = SECRET.encrypt(P.encode(X, level=LEVELS, bound=1.0))
    assert fresh.estimate == own
    claimed = fresh.with_bound(0.0)
    assert SECRET.decrypt(claimed, own).precision == own.precision
    with pytest.raises(errors.EstimateMismatchError, match="level"):
        SECRET.decrypt(EVALUATOR.align(fresh, 0), own)
    with pytest.raises(errors.EstimateMismatchError, match="degree"):
        SECRET.decrypt(EVALUATOR.multiply_lazily(fresh, fresh), own)


def test_estimates_follow_the_evaluator() -> None:
    p = P.estimate(P.slots, level=LEVELS, bound=1.0)
    a, b = p.encrypted(), p.encrypted_publicly()
    public = SECRET.public_key()
    plaintext = P.encode(X, level=LEVELS, bound=1.0)
    x, y = SECRET.encrypt(plaintext), public.encrypt(plaintext)
    diagonals = {0: X, 1: X}
    streamed = LinearTransform.streamed(P, diagonals, slots=P.slots, level=LEVELS)
    e = EVALUATOR
    pairs = [
        (e.add(x, y), a.add(b)),
        (e.sub(x, y), a.add(b)),
        (e.negate(x), a.negate()),
        (e.add_plain(x, plaintext), a.add_plain(p)),
        (e.add_scalar(x, 0.3), a.add_scalar(0.3)),
        (e.multiply(x, y), a.multiply(b)),
        (e.multiply_lazily(x, y), a.multiply_lazily(b)),
        (e.multiply_plain(x, plaintext), a.multiply_plain(p)),
        (e.multiply_scalar(x, 0.3), a.multiply_scalar(0.3)),
        (e.multiply_integer(x, -3), a.multiply_integer(-3)),
        (e.relinearize(e.multiply_lazily(x, y)), a.multiply_lazily(b).relinearize()),
        (e.rescale(e.multiply(x, y)), a.multiply(b).rescale()),
        (
            e.relinearize_and_rescale(e.multiply_lazily(x, y)),
            a.multiply_lazily(b).relinearize_and_rescale(),
        ),
        (e.align(x, 0), a.align(0)),
        (e.drop_level(x, 1), a.drop_level(1)),
        (e.rotate(x, 1), a.rotate(1)),
        (e.conjugate(x), a.conjugate()),
        (e.inner_sum(x, 2, 1), a.inner_sum(2, 1)),
        (e.linear_transform(x, streamed), a.linear_transform(streamed)),
        (
            e.polynomial(x, [0.5, 0.25, 0.125], "monomial"),
            a.polynomial([0.5, 0.25, 0.125], "monomial"),
        ),
        (x.with_bound(0.5), a.with_bound(0.5)),
    ]
    for ciphertext, estimate in pairs:
        assert ciphertext.estimate == estimate
        assert repr(estimate).startswith("CkksEstimate(")
    assert a != b


def test_coefficients_are_those_of_what_is_encoded() -> None:
    settings: dict[str, Any] = {"level": LEVELS, "scale": 2.0**20, "bound": 2.0}
    wide = P.coefficients(Z, **settings)
    for coefficients in (wide, wide.astype(np.int32)):
        assert (coefficients == wide).all()
        plaintext = P.encode_coefficients(coefficients, **settings)
        assert (plaintext.decode() == P.encode(Z, **settings).decode()).all()
        product = EVALUATOR.multiply_plain(A, plaintext)
        assert (
            decrypt(product) == decrypt(EVALUATOR.multiply_plain(A, P.encode(Z, **settings)))
        ).all()
    for wrong in (wide[1:], np.full(P.n, 1 << 62), np.full(P.n, -(1 << 63))):
        with pytest.raises(errors.CloakworkError, match="cannot encode"):
            P.encode_coefficients(wrong, **settings)
    with pytest.raises(errors.CloakworkError, match="cannot encode"):
        P.coefficients(Z[:-1], **settings)
    with pytest.raises(errors.ValueOutOfRangeError, match="cannot encode"):
        P.coefficients(Z, level=LEVELS, scale=2.0**80, bound=2.0)


def test_products_with_coefficients_are_added_up() -> None:
    settings: dict[str, Any] = {"level": LEVELS, "scale": P.scale(LEVELS), "bound": 2.0}
    given = [P.coefficients(each.astype(np.complex128), **settings) for each in (X, Y)]
    made = EVALUATOR.sum_of_encoded_products([A, B], given, **settings)
    products = [
        EVALUATOR.multiply_plain(one, P.encode(each, **settings)) for one, each in ((A, X), (B, Y))
    ]
    assert made.to_bytes() == EVALUATOR.add(*products).to_bytes()
    assert near(decrypt(EVALUATOR.rescale(made)), X * X + Y * Y)
    lazily = EVALUATOR.multiply_lazily(A, B)
    for values, several in (([], []), ([A], given), ([A, lazily], given)):
        with pytest.raises(errors.CloakworkError, match="cannot add up products"):
            EVALUATOR.sum_of_encoded_products(values, several, **settings)
    with pytest.raises(errors.LevelMismatchError):
        EVALUATOR.sum_of_encoded_products([A, EVALUATOR.drop_level(B, 1)], given, **settings)


def test_readers_of_parameters_decide_on_security_and_size() -> None:
    with pytest.raises(errors.InsecureParametersError):
        Parameters.from_bytes(Parameters(levels=1, log_n=5, insecure=True).to_bytes())
    data = Parameters(levels=1, log_n=5, insecure=True).to_bytes()
    assert Parameters.from_bytes(data, insecure=True).insecure
    with pytest.raises(errors.InvalidParametersError, match="at most 12 is accepted"):
        Parameters.from_bytes(Parameters(levels=1, log_n=14).to_bytes(), max_log_n=12)


def test_all_that_belongs_to_a_key_has_its_id() -> None:
    objects: list[Any] = [SECRET, SECRET.public_key(), KEYS, A, EVALUATOR.rotate(A, 1)]
    assert {each.key_id for each in objects} == {SECRET.key_id}
    assert SecretKey.generate(P).key_id != SECRET.key_id


def test_a_bound_is_tightened_and_never_loosened() -> None:
    before = A.to_bytes()
    tight = A.with_bound(A.bound / 4)
    assert (tight.bound, tight.precision) == (A.bound / 4, A.precision)
    assert tight.with_bound(A.bound).bound == tight.bound
    assert near(decrypt(EVALUATOR.negate(tight)), -X)
    assert A.to_bytes() == before
    assert EVALUATOR.square(tight).precision > EVALUATOR.square(A).precision
    assert EVALUATOR.square(A.with_bound(0)).bound < 2.0**-70


def test_sparse_packings() -> None:
    plaintext = P.encode(X[:8].copy(), level=0)
    assert plaintext.slots == 8
    assert near(plaintext.decode_real(), X[:8])


@pytest.mark.parametrize(
    "layout",
    [
        lambda x: np.repeat(x, 2)[::2],
        lambda x: x[::-1].copy()[::-1],
        lambda x: np.stack([x, x], axis=1)[:, 0],
        lambda x: np.frombuffer(b"." + x.tobytes(), dtype=x.dtype, offset=1),
        lambda x: np.broadcast_to(x, (2, len(x)))[0],
    ],
    ids=["strided", "reversed", "column", "unaligned", "read-only"],
)
@pytest.mark.parametrize("values", [X, Z], ids=["real", "complex"])
def test_any_memory_layout_is_taken(
    layout: Callable[[NDArray[Any]], NDArray[Any]], values: NDArray[Any]
) -> None:
    array = layout(values)
    expected = P.encode(values, level=1).decode()
    assert np.array_equal(P.encode(array, level=1).decode(), expected)
    assert near(
        decrypt(EVALUATOR.rescale(EVALUATOR.linear_transform(A, transform({1: array})))),
        values * np.roll(X, -1),
    )


@pytest.mark.parametrize(
    "values",
    [
        np.ones(4, dtype=np.int64),
        np.ones(4, dtype=np.float32),
        np.ones(4, dtype=">f8"),
        np.ones((2, 2)),
        np.float64(1.0),
        [1.0, 2.0],
        "1.0",
        None,
    ],
    ids=repr,
)
def test_other_values_are_type_errors(values: Any) -> None:
    with pytest.raises(TypeError, match="one-dimensional numpy array of float64 or complex128"):
        P.encode(values, level=0)
    with pytest.raises(TypeError):
        transform({0: values})


def test_bytes_round_trip() -> None:
    parameters = Parameters.from_bytes(P.to_bytes(), insecure=True)
    assert parameters.fingerprint == P.fingerprint != OTHER.fingerprint
    secret = SecretKey.from_bytes(parameters, SECRET.to_bytes())
    keys = EvaluationKeys.from_bytes(parameters, KEYS.to_bytes())
    public = PublicKey.from_bytes(parameters, SECRET.public_key().to_bytes())
    assert keys.rotations() == KEYS.rotations() == dict.fromkeys(STEPS, LEVELS)
    assert keys.relinearisation_level == keys.conjugation_level == LEVELS
    ciphertext = public.encrypt(parameters.encode(X, level=LEVELS, bound=1.0))
    again = Ciphertext.from_bytes(parameters, ciphertext.to_bytes())
    assert again.to_bytes() == ciphertext.to_bytes()
    rotated = Evaluator(keys).rotate(again, 3)
    assert near(secret.decrypt(rotated, rotated.estimate).decode_real(), np.roll(X, -3))


def test_a_secret_key_is_not_among_the_evaluators_bytes() -> None:
    with pytest.raises(errors.MalformedBytesError):
        SecretKey.from_bytes(P, bytearray(KEYS.to_bytes()))
    with pytest.raises(errors.MalformedBytesError):
        SecretKey.from_bytes(P, bytearray(A.to_bytes()))


def without_keys() -> EvaluationKeys:
    return SECRET.evaluation_keys(relinearisation_level=None, rotations={}, conjugation_level=None)


def test_keys_are_shared_and_evaluators_keep_theirs() -> None:
    keys = without_keys()
    before = Evaluator(keys)
    keys.extend(KEYS)
    keys.extend(keys)
    assert keys.nbytes == KEYS.nbytes
    assert near(decrypt(Evaluator(keys).rotate(A, 2)), np.roll(X, -2))
    with pytest.raises(errors.MissingKeyError):
        before.rotate(A, 2)


@pytest.mark.parametrize("baby_steps", [1, 3, 4, 8, P.slots])
def test_the_planner_and_the_engine_split_alike(baby_steps: int) -> None:
    diagonals = (0, 1, 5, 30, P.slots - 2)
    planned = split(diagonals, P.slots, baby_steps)
    made = transform(dict.fromkeys(diagonals, X), baby_steps=baby_steps)
    assert made.rotations == sorted({*planned.baby, *planned.giant})


def overflown() -> Any:
    grown = EVALUATOR.multiply_integer(encrypt(X, level=0), 2**13)
    return SECRET.decrypt(grown, grown.estimate)


def lying() -> Decrypted:
    """A ciphertext that has outgrown its modulus and whose bytes say that it has not."""
    grown = EVALUATOR.multiply_integer(encrypt(X, level=0), 1 << 13)
    data = bytearray(grown.to_bytes())
    header, key_id, level_and_slots, scale_and_deviation = 48, 16, 8, 16
    bound = header + key_id + level_and_slots + scale_and_deviation
    data[bound : bound + 8] = struct.pack("<d", 1.0)
    seed = xxhash.xxh3_128_intdigest(bytes(data[:32])) % 2**64
    checksum = xxhash.xxh3_128_intdigest(bytes(data[header:]), seed)
    data[32:48] = checksum.to_bytes(16, "little")
    lie = Ciphertext.from_bytes(P, bytes(data))
    return SECRET.decrypt(lie, lie.estimate)


REFUSALS: dict[str, Callable[[], Any]] = {
    "InvalidParametersError": lambda: Parameters(levels=1, scale_bits=5),
    "InsecureParametersError": lambda: Parameters(levels=3, log_n=11),
    "LevelExhaustedError": lambda: EVALUATOR.rescale(encrypt(X, level=0)),
    "LevelMismatchError": lambda: EVALUATOR.add(A, encrypt(X, level=1)),
    "ScaleMismatchError": lambda: EVALUATOR.add(A, encrypt(X, scale=2.0**30)),
    "ScaleOutOfRangeError": lambda: P.encode(X, level=0, scale=2.0**500),
    "SlotMismatchError": lambda: P.encode(X[:3], level=0),
    "ValueOutOfRangeError": lambda: P.encode(X, level=0, bound=0.1),
    "NotFiniteError": lambda: P.encode(np.array([1.0, math.nan]), level=0),
    "ParametersMismatchError": lambda: SECRET.encrypt(OTHER.encode(X, level=0)),
    "KeyMismatchError": lambda: SecretKey.generate(P).decrypt(A, A.estimate),
    "MissingKeyError": lambda: EVALUATOR.rotate(A, 7),
    "BoundOverflowError": overflown,
    "DecryptionOverflowError": lying,
    "InvalidArgumentError": lambda: EVALUATOR.inner_sum(A, 0, 1),
    "MalformedBytesError": lambda: Ciphertext.from_bytes(P, b"no ciphertext"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusal(name: str) -> None:
    with pytest.raises(errors.CloakworkError, match="cannot ") as caught:
        REFUSALS[name]()
    assert type(caught.value) is getattr(errors, name)


HUGE = 2**62
LONG = 10**30
HUGE_FLOAT = 10**400

ABSURD: dict[str, Callable[[], Any]] = {
    "no such level": lambda: P.encode(X, level=LEVELS + 1),
    "negative level": lambda: P.encode(X, level=-1),
    "huge level": lambda: P.encode(X, level=HUGE),
    "long level": lambda: P.encode(X, level=LONG),
    "fractional level": lambda: P.encode(X, level=0.5),  # type: ignore[arg-type]
    "no values": lambda: P.encode(np.empty(0), level=0),
    "too many values": lambda: P.encode(np.ones(2 * P.slots), level=0),
    "infinite value": lambda: P.encode(np.array([math.inf]), level=0),
    "huge value": lambda: P.encode(np.array([1e300]), level=0),
    "scale 0": lambda: P.encode(X, level=0, scale=0.0),
    "negative scale": lambda: P.encode(X, level=0, scale=-1.0),
    "scale NaN": lambda: P.encode(X, level=0, scale=math.nan),
    "infinite scale": lambda: P.encode(X, level=0, scale=math.inf),
    "bound NaN": lambda: P.encode(X, level=0, bound=math.nan),
    "scale of no level": lambda: P.scale(HUGE),
    "rescale factor of level 0": lambda: P.rescale_factor(0),
    "matching scale of level 0": lambda: P.matching_scale(0, 1.0),
    "primes of no level": lambda: P.prime_count(-1),
    "huge levels": lambda: Parameters(levels=HUGE, insecure=True),
    "many levels": lambda: Parameters(levels=10**6, insecure=True, log_n=11),
    "tiny ring": lambda: Parameters(levels=1, log_n=0, insecure=True),
    "huge ring": lambda: Parameters(levels=1, log_n=2**31, insecure=True),
    "no digits": lambda: Parameters(levels=1, digits=0),
    "huge digits": lambda: Parameters(levels=1, digits=HUGE),
    "empty secret": lambda: Parameters(levels=1, secret_weight=0, insecure=True),
    "full secret": lambda: Parameters(levels=1, secret_weight=HUGE, insecure=True),
    "scale bits NaN": lambda: Parameters(levels=1, scale_bits=math.nan),
    "infinite headroom": lambda: Parameters(levels=1, headroom_bits=math.inf),
    "key above the chain": lambda: SECRET.evaluation_keys(
        relinearisation_level=HUGE, rotations={}, conjugation_level=None
    ),
    "rotation key above the chain": lambda: SECRET.evaluation_keys(
        relinearisation_level=None, rotations={1: 99}, conjugation_level=None
    ),
    "long rotation key": lambda: SECRET.evaluation_keys(
        relinearisation_level=None, rotations={LONG: 0}, conjugation_level=None
    ),
    "rotations as a list": lambda: SECRET.evaluation_keys(
        relinearisation_level=None,
        rotations=[1, 2],  # type: ignore[arg-type]
        conjugation_level=None,
    ),
    "huge rotation": lambda: EVALUATOR.rotate(A, HUGE - 5),
    "least rotation": lambda: EVALUATOR.rotate(A, -(2**63) + 5),
    "long rotation": lambda: EVALUATOR.rotate(A, LONG),
    "long hoisted rotation": lambda: EVALUATOR.rotate_hoisted(A, [1, LONG]),
    "raised level": lambda: EVALUATOR.drop_level(A, LEVELS + 1),
    "dropped below 0": lambda: EVALUATOR.drop_level(A, -1),
    "aligned to NaN": lambda: EVALUATOR.align(A, 1, math.nan),
    "aligned to nothing": lambda: EVALUATOR.align(A, HUGE),
    "scalar NaN": lambda: EVALUATOR.add_scalar(A, math.nan),
    "infinite scalar": lambda: EVALUATOR.multiply_scalar(A, complex(0, math.inf)),
    "scalar at scale 0": lambda: EVALUATOR.multiply_scalar(A, 1.0, 0.0),
    "long integer": lambda: EVALUATOR.multiply_integer(A, LONG),
    "text scalar": lambda: EVALUATOR.add_scalar(A, "1"),  # type: ignore[arg-type]
    "huge inner sum": lambda: EVALUATOR.inner_sum(A, 2**64 - 1, HUGE + 7),
    "long inner sum": lambda: EVALUATOR.inner_sum(A, LONG, 1),
    "endless product": lambda: EVALUATOR.multiply(
        EVALUATOR.multiply(EVALUATOR.square(A), A), EVALUATOR.square(A)
    ),
    "long scale": lambda: P.encode(X, level=0, scale=HUGE_FLOAT),
    "tightened below 0": lambda: A.with_bound(-1.0),
    "tightened to NaN": lambda: A.with_bound(math.nan),
    "tightened to infinity": lambda: A.with_bound(math.inf),
    "tightened to a long number": lambda: A.with_bound(HUGE_FLOAT),
    "long bound": lambda: P.encode(X, level=0, bound=HUGE_FLOAT),
    "long scale bits": lambda: Parameters(levels=1, scale_bits=HUGE_FLOAT),
    "long scalar": lambda: EVALUATOR.add_scalar(A, HUGE_FLOAT),
    "no coefficients": lambda: EVALUATOR.polynomial(A, (), "monomial"),
    "coefficient NaN": lambda: EVALUATOR.polynomial(A, (0.0, math.nan), "monomial"),
    "huge coefficient": lambda: EVALUATOR.polynomial(A, (0.0, 1e300), "monomial"),
    "long coefficient": lambda: EVALUATOR.polynomial(A, (0.0, HUGE_FLOAT), "monomial"),
    "huge degree": lambda: EVALUATOR.polynomial(A, (1.0,) * 10**5, "chebyshev"),
    "no such basis": lambda: EVALUATOR.polynomial(A, (0.0, 1.0), "fourier"),  # type: ignore[arg-type]
    "no diagonals": lambda: transform({}),
    "diagonal twice": lambda: transform({0: X, P.slots: X}),
    "long diagonal": lambda: transform({LONG: X}),
    "short diagonal": lambda: transform({0: X[:4]}),
    "diagonal NaN": lambda: transform({0: X * math.nan}),
    "no slots": lambda: transform({0: X}, slots=0),
    "huge slots": lambda: transform({0: X}, slots=HUGE),
    "transform of no level": lambda: transform({0: X}, level=HUGE),
    "transform at level 0": lambda: transform({0: X}, level=0),
    "negative baby steps": lambda: transform({0: X}, baby_steps=-1),
    "flooded to death": lambda: flooded(10**6, 1),
    "negative flood": lambda: flooded(-1, 1),
    "no flood": lambda: flooded(0, 1),
    "no decryptions": lambda: flooded(40, 0),
    "no declared bound": lambda: SECRET.encrypt(P.encode(X, level=0)),
    "no declared bound for a public key": lambda: SECRET.public_key().encrypt(P.encode(X, level=0)),
    "no repetitions": lambda: _native.ntt_seconds(P, 0),
    "too many repetitions": lambda: _native.ntt_seconds(P, HUGE),
    "no threads": lambda: _native.set_threads(0),
    "too many threads": lambda: _native.set_threads(HUGE),
    "no bytes": lambda: Parameters.from_bytes(b""),
    "text for bytes": lambda: Parameters.from_bytes("x"),  # type: ignore[arg-type]
    "no ciphertext": lambda: EVALUATOR.add(A, None),  # type: ignore[arg-type]
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("number", [np.complex128(2.0**30), np.complex64(1j), np.array(1j)])
def test_complex_numbers_are_not_cut_to_real_ones(number: Any) -> None:
    for take in (
        lambda: P.encode(X, level=0, scale=number),
        lambda: Parameters(levels=1, scale_bits=number),
        lambda: transform({0: X}, scale=number),
        lambda: EVALUATOR.polynomial(A, [0.0, number], "monomial"),
        lambda: A.with_bound(number),
    ):
        with pytest.raises(errors.InvalidArgumentError, match="a real one, got a complex one"):
            take()
    assert near(decrypt(EVALUATOR.add_scalar(A, np.complex128(1j))), X + 1j)


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_argument(name: str) -> None:
    with pytest.raises((errors.CloakworkError, TypeError)) as caught:
        ABSURD[name]()
    assert not isinstance(caught.value, errors.EngineFaultError)


def test_extremes_that_are_fine() -> None:
    assert EVALUATOR.rotate_hoisted(A, []) == []
    assert near(decrypt(EVALUATOR.rotate(A, 3 - P.slots)), np.roll(X, -3))
    assert near(decrypt(EVALUATOR.rotate(A, P.slots * 2**40 + 3)), np.roll(X, -3))
    assert near(decrypt(EVALUATOR.inner_sum(A, 1, HUGE)), X)
    assert transform({-1: X}, baby_steps=HUGE).rotations == [P.slots - 1]
    assert transform({0: X}, baby_steps=0).rotations == []


@pytest.mark.parametrize("cut", [0, 1, 7, 40, -1])
def test_damaged_bytes_are_refused(cut: int) -> None:
    objects: Any = A, without_keys(), SECRET
    for item in objects:
        read, data = type(item).from_bytes, item.to_bytes()
        with pytest.raises(errors.MalformedBytesError):
            read(P, data[:cut])
        with pytest.raises(errors.MalformedBytesError):
            read(P, data + b".")


def test_what_is_printed() -> None:
    plaintext = P.encode(np.array([0.123456789]), level=1)
    things = [P, plaintext, SECRET, SECRET.public_key(), KEYS, A, transform({0: X}), EVALUATOR]
    for thing in things:
        text = repr(thing)
        assert text.startswith(f"{type(thing).__name__}(")
        assert "INSECURE" in text
        assert "0.1234" not in text
        assert len(text) < 300
    assert repr(SECRET.decrypt(A, A.estimate)).startswith("Decrypted(")
    assert "INSECURE" not in repr(Parameters(levels=1))


def test_other_threads_run_while_the_engine_works() -> None:
    parameters = Parameters(levels=4, log_n=13, insecure=True)
    secret = SecretKey.generate(parameters)
    begun = threading.Event()

    def work() -> None:
        begun.set()
        secret.evaluation_keys(
            relinearisation_level=4, rotations=dict.fromkeys(range(40), 4), conjugation_level=4
        )

    worker = threading.Thread(target=work)
    worker.start()
    begun.wait()
    turns = 0
    while worker.is_alive():
        turns += 1
        worker.join(0.001)
    # With the lock held, one turn would last as long as the work.
    assert turns > 10


def test_several_threads_share_an_evaluator() -> None:
    found: list[bool] = []

    def work() -> None:
        found.append(near(decrypt(EVALUATOR.rotate(A, 3)), np.roll(X, -3)))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert found == [True] * 4


@pytest.mark.usefixtures("some_threads")
def test_the_number_of_threads_changes() -> None:
    for n in (1, 3):
        _native.set_threads(n)
        assert _native.threads() == n
        assert near(decrypt(EVALUATOR.rotate(A, 3)), np.roll(X, -3))


def test_what_is_cached_changes_no_result() -> None:
    before = _native.cached_bytes()
    try:
        for limit in (0, 1 << 20, before):
            _native.set_cached_bytes(limit)
            assert _native.cached_bytes() == limit
            assert near(decrypt(EVALUATOR.rotate(A, 3)), np.roll(X, -3))
    finally:
        _native.set_cached_bytes(before)


def test_a_transform_takes_time() -> None:
    assert 0 < _native.ntt_seconds(P, 5) < 0.1


def test_key_primes_are_those_of_the_top_level_and_more() -> None:
    assert P.key_prime_count > P.prime_count(LEVELS)


def run_python(script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_environment_sets_the_number_of_threads() -> None:
    script = "from cloakwork import _native; print(_native.threads())"
    assert run_python(script, CLOAKWORK_THREADS="3").stdout == "3\n"
    assert int(run_python(script, CLOAKWORK_THREADS=" ").stdout) >= 1
    for given in ("many", "-1", "0", "1025", "1.5"):
        refused = run_python(script, CLOAKWORK_THREADS=given).stderr
        assert "InvalidArgumentError" in refused
        assert f'expected CLOAKWORK_THREADS to be a number from 1 to 1024, got "{given}"' in refused


FORK = """
import os
import numpy as np
from cloakwork import _native

parameters = _native.Parameters(levels=1, log_n=10, insecure=True)
_native.set_threads(2)
secret = _native.SecretKey.generate(parameters)
child = os.fork()
x = secret.encrypt(parameters.encode(np.ones(512), level=1, bound=1.0))
values = secret.decrypt(x, x.estimate).decode_real()
assert abs(values - 1).max() < 1e-6 and _native.threads() == 2
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


def test_the_engine_works_after_a_fork() -> None:
    done = run_python(FORK)
    assert done.returncode == 0, done.stderr
