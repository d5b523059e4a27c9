"""The jobs that are measured: what each prepares, runs and must come out as."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.measurement import Accuracy
from cloakwork._native import (
    WORD_BYTES,
    Ciphertext,
    Decrypted,
    Evaluator,
    LinearTransform,
    Parameters,
    Plaintext,
    SecretKey,
)
from cloakwork.programs.bsgs import cheapest_split

Vector: TypeAlias = NDArray[np.complex128]

_SEED = 20240463
# The largest absolute value of what is encrypted.
_BOUND = 1.0


@dataclass(frozen=True)
class Setting:
    """Parameters, a secret key, and two vectors of complex numbers of at most 1."""

    parameters: Parameters
    secret: SecretKey
    left: Vector
    right: Vector
    switching_key_bytes: int

    @classmethod
    def make(cls, parameters: Parameters) -> Setting:
        """A fresh secret key, and the same vectors each time."""
        generator = np.random.default_rng(_SEED)
        secret = SecretKey.generate(parameters)
        relinearisation = secret.evaluation_keys(
            relinearisation_level=parameters.levels, rotations={}, conjugation_level=None
        )
        left, right = random_vectors(generator, 2, parameters.slots)
        return cls(parameters, secret, left, right, relinearisation.nbytes)

    @property
    def limb_bytes(self) -> int:
        """Bytes of a polynomial modulo one prime."""
        return WORD_BYTES * self.parameters.n

    @property
    def key_poly_bytes(self) -> int:
        """Bytes of a polynomial over the key modulus."""
        return self.limb_bytes * self.parameters.key_prime_count

    def encode(self, values: Vector) -> Plaintext:
        """A plaintext of the top level."""
        return self.parameters.encode(values, level=self.parameters.levels, bound=_BOUND)

    def encrypt(self, values: Vector) -> Ciphertext:
        """A ciphertext of the top level."""
        return self.secret.encrypt(self.encode(values))

    def evaluator(
        self, rotations: Sequence[int] = (), *, relinearises: bool = False
    ) -> tuple[Evaluator, int]:
        """An evaluator with just these keys of the top level, and the bytes of the keys."""
        top = self.parameters.levels
        keys = self.secret.evaluation_keys(
            relinearisation_level=top if relinearises else None,
            rotations=dict.fromkeys(rotations, top),
            conjugation_level=None,
        )
        return Evaluator(keys), keys.nbytes

    def accuracy(self, ciphertext: Ciphertext, expected: Vector) -> Accuracy:
        """How right a ciphertext is, beside what it says of itself."""
        found = self.secret.decrypt(ciphertext, ciphertext.estimate).decode()
        return Accuracy(error_bits(found, expected), ciphertext.precision)


def random_vectors(
    generator: np.random.Generator, count: int, slots: int
) -> NDArray[np.complex128]:
    """So many vectors of numbers uniform in the unit disc."""
    radii = np.sqrt(generator.uniform(size=(count, slots)))
    angles = 2 * math.pi * generator.uniform(size=(count, slots))
    vectors: NDArray[np.complex128] = radii * np.exp(1j * angles)
    return vectors


def error_bits(found: Vector, expected: Vector) -> float:
    """Minus log2 of the largest difference."""
    largest = float(np.abs(found - expected).max())
    if not math.isfinite(largest):
        largest = sys.float_info.max
    return -math.log2(max(largest, sys.float_info.min))


@dataclass(frozen=True)
class Prepared:
    """A job ready to run, any number of times, and the check of what it returns."""

    run: Callable[[], Any]
    check: Callable[[Any], Accuracy]
    key_bytes: int = 0


@dataclass(frozen=True)
class Job:
    """A job by its name; it can do without `levels`, `rotations` and `diagonals` of 0."""

    name: str
    prepare: Callable[[Setting], Prepared]
    levels: int = 0
    rotations: int = 0
    diagonals: int = 0

    def predicted_bytes(self, setting: Setting) -> int:
        """About what its keys, rotated ciphertexts and diagonals take in memory."""
        rotated = 2 * setting.key_poly_bytes
        each = setting.switching_key_bytes + rotated
        return self.rotations * each + self.diagonals * setting.key_poly_bytes

    def obstacle(self, setting: Setting, most_bytes: int) -> str | None:
        """Why it cannot be run, if so."""
        parameters = setting.parameters
        if parameters.levels < self.levels:
            return f"needs {self.levels} levels, there are {parameters.levels}"
        if parameters.slots < max(self.diagonals, self.rotations + 1):
            return f"needs more slots than {parameters.slots}"
        predicted = self.predicted_bytes(setting)
        if predicted > most_bytes:
            return f"would take about {predicted / 1e9:.1f} GB, {most_bytes / 1e9:.1f} are allowed"
        return None


def _encode(setting: Setting) -> Prepared:
    parameters = setting.parameters
    scale = parameters.scale(parameters.levels)
    # Every one of N coefficients is rounded by at most a half.
    promised = math.log2(scale) - (parameters.log_n - 1)
    return Prepared(
        lambda: setting.encode(setting.left),
        lambda plaintext: Accuracy(error_bits(plaintext.decode(), setting.left), promised),
    )


def _encrypt_with_secret_key(setting: Setting) -> Prepared:
    plaintext = setting.encode(setting.left)
    return Prepared(
        lambda: setting.secret.encrypt(plaintext),
        lambda made: setting.accuracy(made, setting.left),
        setting.key_poly_bytes,
    )


def _encrypt_with_public_key(setting: Setting) -> Prepared:
    plaintext = setting.encode(setting.left)
    public = setting.secret.public_key()
    return Prepared(
        lambda: public.encrypt(plaintext),
        lambda made: setting.accuracy(made, setting.left),
        2 * setting.key_poly_bytes,
    )


def _decrypt_and_decode(setting: Setting) -> Prepared:
    ciphertext = setting.encrypt(setting.left)

    def run() -> tuple[Decrypted, Vector]:
        decrypted = setting.secret.decrypt(ciphertext, ciphertext.estimate)
        return decrypted, decrypted.decode()

    def check(made: tuple[Decrypted, Vector]) -> Accuracy:
        decrypted, values = made
        return Accuracy(error_bits(values, setting.left), decrypted.precision)

    return Prepared(run, check, setting.key_poly_bytes)


def _add(setting: Setting) -> Prepared:
    left, right = setting.encrypt(setting.left), setting.encrypt(setting.right)
    evaluator, _ = setting.evaluator()
    return Prepared(
        lambda: evaluator.add(left, right),
        lambda made: setting.accuracy(made, setting.left + setting.right),
    )


def _multiply_plaintext(setting: Setting) -> Prepared:
    left, right = setting.encrypt(setting.left), setting.encode(setting.right)
    evaluator, _ = setting.evaluator()
    return Prepared(
        lambda: evaluator.multiply_plain(left, right),
        lambda made: setting.accuracy(made, setting.left * setting.right),
    )


def _multiply_ciphertext(setting: Setting) -> Prepared:
    left, right = setting.encrypt(setting.left), setting.encrypt(setting.right)
    evaluator, key_bytes = setting.evaluator(relinearises=True)
    return Prepared(
        lambda: evaluator.rescale(evaluator.multiply(left, right)),
        lambda made: setting.accuracy(made, setting.left * setting.right),
        key_bytes,
    )


def _rescale(setting: Setting) -> Prepared:
    evaluator, _ = setting.evaluator()
    left, right = setting.encrypt(setting.left), setting.encode(setting.right)
    product = evaluator.multiply_plain(left, right)
    return Prepared(
        lambda: evaluator.rescale(product),
        lambda made: setting.accuracy(made, setting.left * setting.right),
    )


def _rotate(setting: Setting) -> Prepared:
    ciphertext = setting.encrypt(setting.left)
    evaluator, key_bytes = setting.evaluator([1])
    return Prepared(
        lambda: evaluator.rotate(ciphertext, 1),
        lambda made: setting.accuracy(made, np.roll(setting.left, -1)),
        key_bytes,
    )


def _hoisted(count: int) -> Job:
    steps = range(1, count + 1)

    def prepare(setting: Setting) -> Prepared:
        ciphertext = setting.encrypt(setting.left)
        evaluator, key_bytes = setting.evaluator(steps)

        def check(made: list[Ciphertext]) -> Accuracy:
            each = [
                setting.accuracy(rotated, np.roll(setting.left, -step))
                for step, rotated in zip(steps, made, strict=True)
            ]
            return min(each, key=lambda accuracy: accuracy.error_bits - accuracy.promised_bits)

        return Prepared(lambda: evaluator.rotate_hoisted(ciphertext, steps), check, key_bytes)

    return Job(hoisted_rotations(count), prepare, rotations=count)


def _transform(count: int) -> Job:
    def prepare(setting: Setting) -> Prepared:
        parameters = setting.parameters
        generator = np.random.default_rng(_SEED)
        # Values stay near 1, as those of an orthogonal matrix would.
        vectors = random_vectors(generator, count, parameters.slots) / math.sqrt(count)
        expected = np.zeros(parameters.slots, dtype=np.complex128)
        for step, vector in enumerate(vectors):
            expected += vector * np.roll(setting.left, -step)
        transform = LinearTransform(
            parameters,
            dict(enumerate(vectors)),
            slots=parameters.slots,
            level=parameters.levels,
        )
        ciphertext = setting.encrypt(setting.left)
        evaluator, key_bytes = setting.evaluator(transform.rotations)
        return Prepared(
            lambda: evaluator.linear_transform(ciphertext, transform),
            lambda made: setting.accuracy(made, expected),
            key_bytes,
        )

    rotations = cheapest_split(range(count), count).rotations
    return Job(linear_transform(count), prepare, 1, rotations, count)


def _chebyshev(setting: Setting) -> Prepared:
    generator = np.random.default_rng(_SEED)
    coefficients = generator.uniform(-1, 1, CHEBYSHEV_DEGREE + 1) / (CHEBYSHEV_DEGREE + 1)
    values = setting.left.real
    parameters = setting.parameters
    ciphertext = setting.secret.encrypt(
        parameters.encode(values.copy(), level=parameters.levels, bound=_BOUND)
    )
    evaluator, key_bytes = setting.evaluator(relinearises=True)
    expected = np.polynomial.chebyshev.chebval(values, coefficients).astype(np.complex128)
    return Prepared(
        lambda: evaluator.polynomial(ciphertext, coefficients.tolist(), "chebyshev"),
        lambda made: setting.accuracy(made, expected),
        key_bytes,
    )


def hoisted_rotations(count: int) -> str:
    """The name of the job."""
    return f"{count} hoisted rotations"


def linear_transform(diagonals: int) -> str:
    """The name of the job."""
    return f"linear transform, {diagonals} diagonals"


CHEBYSHEV_DEGREE = 27
HOISTED = (16, 32)
DIAGONALS = (32, 128, 512)

ROTATION = "rotation"
CHEBYSHEV = f"Chebyshev polynomial, degree {CHEBYSHEV_DEGREE}"

# The jobs of a group are measured in turns, as it is their differences that count.
GROUPS: tuple[tuple[Job, ...], ...] = (
    (Job("encode", _encode),),
    (Job("encrypt, secret key", _encrypt_with_secret_key),),
    (Job("encrypt, public key", _encrypt_with_public_key),),
    (Job("decrypt and decode", _decrypt_and_decode),),
    (Job("add", _add),),
    (Job("multiply by plaintext", _multiply_plaintext, levels=1),),
    (Job("multiply, relinearise, rescale", _multiply_ciphertext, levels=1),),
    (Job("rescale", _rescale, levels=1),),
    (Job(ROTATION, _rotate, rotations=1), *(_hoisted(count) for count in HOISTED)),
    tuple(_transform(count) for count in DIAGONALS),
    (Job(CHEBYSHEV, _chebyshev, levels=CHEBYSHEV_DEGREE.bit_length()),),
)
