"""The BGV backend: programs over integers on ciphertexts of the native engine.

Numbers are computed modulo several primes where they do not fit one: each prime has its own
ciphertexts and keys, and all run the same program (the Chinese remainder theorem).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NoReturn, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import (
    WORD_BYTES,
    BgvCiphertext,
    BgvEvaluationKeys,
    BgvEvaluator,
    BgvLinearTransform,
    BgvParameters,
    BgvPlaintext,
    BgvPublicKey,
    BgvSecretKey,
)
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidProgramError, MalformedBytesError
from cloakwork.programs.keys import required_keys
from cloakwork.programs.packing.scalar import ROWS
from cloakwork.programs.slots import DropLevel, Input, Integers, Rescale, SlotProgram, State
from cloakwork.programs.vectors import uniform_integer
from cloakwork.schemes.base import (
    Decrypted,
    Flooding,
    levels_of,
    require_failure,
    requirements_bytes,
)
from cloakwork.schemes.clear_integer import ClearInteger, require_integers
from cloakwork.schemes.transform_cache import ciphertext_bytes

K = TypeVar("K")

_Each: TypeAlias = Callable[[BgvEvaluator, BgvCiphertext], BgvCiphertext]


@dataclass(frozen=True, slots=True, eq=False)
class Residues:
    """Encrypted integers: a ciphertext modulo each prime.

    Args:
        ciphertexts: In order of the primes; all at one level.
    """

    ciphertexts: tuple[BgvCiphertext, ...]

    @property
    def level(self) -> int:
        """The level."""
        return self.ciphertexts[0].level

    @property
    def nbytes(self) -> int:
        """Bytes of all ciphertexts."""
        return sum(each.nbytes for each in self.ciphertexts)


class BgvBackend:
    """Computes on `Residues` what `schemes.base.Backend` asks for.

    Args:
        parameter_sets: The parameters of each prime.
        keys: The evaluation keys of each prime; it holds no other keys.
        cache_bytes: Bytes that encoded constants may take, so that later runs need not encode
            them again.
    """

    def __init__(
        self,
        parameter_sets: Sequence[BgvParameters],
        keys: Sequence[BgvEvaluationKeys],
        *,
        cache_bytes: int = 0,
    ) -> None:
        self.parameter_sets = tuple(parameter_sets)
        self.keys = tuple(keys)
        self._evaluators = tuple(BgvEvaluator(each) for each in keys)
        self._cache_bytes = cache_bytes
        self._cached: dict[tuple[int, int], tuple[Integers, tuple[BgvPlaintext, ...]]] = {}
        self._cached_bytes = 0

    def bounded(self, value: Residues, bound: float) -> Residues:
        """The same value: integers modulo a prime have no bound."""
        return value

    def level(self, value: Residues) -> int:
        """The level of a value."""
        return value.level

    def add(self, left: Residues, right: Residues) -> Residues:
        """left + right."""
        return self._both(left, right, BgvEvaluator.add)

    def subtract(self, left: Residues, right: Residues) -> Residues:
        """left - right."""
        return self._both(left, right, BgvEvaluator.sub)

    def add_constant(self, value: Residues, constant: Integers) -> Residues:
        """value + constant."""
        if uniform_integer(constant) is not None:
            return self._scalar(value, constant, BgvEvaluator.add_scalar)
        return self._plain(value, constant, BgvEvaluator.add_plain)

    def multiply(self, left: Residues, right: Residues) -> Residues:
        """left * right, relinearised."""
        if left is right:
            return self._each(left, BgvEvaluator.square)
        return self._both(left, right, BgvEvaluator.multiply)

    def multiply_lazily(self, left: Residues, right: Residues) -> Residues:
        """left * right of degree 2; a rescale or a rotation relinearises it."""
        return self._both(left, right, BgvEvaluator.multiply_lazily)

    def multiply_constant(self, value: Residues, constant: Integers) -> Residues:
        """value * constant."""
        if uniform_integer(constant) is not None:
            return self._scalar(value, constant, BgvEvaluator.multiply_scalar)
        return self._plain(value, constant, BgvEvaluator.multiply_plain)

    def negate(self, value: Residues) -> Residues:
        """-value."""
        return self._each(value, BgvEvaluator.negate)

    def rotate(self, value: Residues, steps: int) -> Residues:
        """Slot i of each row receives slot i + steps."""
        return self.rotate_many(value, [steps])[0]

    def rotate_many(self, value: Residues, steps: Sequence[int]) -> list[Residues]:
        """The rotations by each of the steps, which share the decomposition (hoisting)."""
        value = self._each(value, BgvEvaluator.relinearize)
        rotated = [
            evaluator.rotate_hoisted(ciphertext, steps)
            for evaluator, ciphertext in zip(self._evaluators, value.ciphertexts, strict=True)
        ]
        return [Residues(each) for each in zip(*rotated, strict=True)]

    def rotate_sum(
        self, value: Residues, added: Sequence[int], subtracted: Sequence[int]
    ) -> Residues:
        """The sum of rotations, less others; 0 stands for the value itself."""

        def summed(evaluator: BgvEvaluator, each: BgvCiphertext) -> BgvCiphertext:
            return evaluator.rotate_sum(evaluator.relinearize(each), added, subtracted)

        return self._each(value, summed)

    def linear(
        self, value: Residues, diagonals: Mapping[int, Integers], baby_steps: int
    ) -> Residues:
        """The sum over d of diagonals[d] * rotate(value, d)."""
        value = self._each(value, BgvEvaluator.relinearize)
        return Residues(
            tuple(
                evaluator.linear_transform(
                    each, encoded_transform(parameters, diagonals, value.level, baby_steps)
                )
                for evaluator, each, parameters in zip(
                    self._evaluators, value.ciphertexts, self.parameter_sets, strict=True
                )
            )
        )

    def polynomial(self, value: Any, coefficients: Any, basis: Any) -> NoReturn:
        """No program over integers has polynomials; see `programs.slots.state_after`."""
        raise InvalidProgramError("cannot run polynomial: programs over integers have none")

    def rescale(self, value: Residues) -> Residues:
        """The same numbers one level down, with less noise."""
        return self._each(value, BgvEvaluator.relinearize_and_switch)

    def drop_level(self, value: Residues, level: int) -> Residues:
        """The same numbers at a lower level."""
        return self._each(value, lambda evaluator, each: evaluator.switch_to(each, level))

    def _each(self, value: Residues, compute: _Each) -> Residues:
        return Residues(tuple(map(compute, self._evaluators, value.ciphertexts)))

    def _both(
        self,
        left: Residues,
        right: Residues,
        compute: Callable[[BgvEvaluator, BgvCiphertext, BgvCiphertext], BgvCiphertext],
    ) -> Residues:
        return Residues(tuple(map(compute, self._evaluators, left.ciphertexts, right.ciphertexts)))

    def _scalar(
        self,
        value: Residues,
        constant: Integers,
        compute: Callable[[BgvEvaluator, BgvCiphertext, int], BgvCiphertext],
    ) -> Residues:
        number = int(constant[0])
        return Residues(
            tuple(
                compute(evaluator, each, centred(number, parameters.plaintext_modulus))
                for evaluator, each, parameters in zip(
                    self._evaluators, value.ciphertexts, self.parameter_sets, strict=True
                )
            )
        )

    def _plain(
        self,
        value: Residues,
        constant: Integers,
        compute: Callable[[BgvEvaluator, BgvCiphertext, BgvPlaintext], BgvCiphertext],
    ) -> Residues:
        return Residues(
            tuple(
                compute(evaluator, each, plaintext)
                for evaluator, each, plaintext in zip(
                    self._evaluators,
                    value.ciphertexts,
                    self._encoded(constant, value.level),
                    strict=True,
                )
            )
        )

    def _encoded(self, constant: Integers, level: int) -> tuple[BgvPlaintext, ...]:
        """A constant under each prime, cached from run to run as far as bytes allow."""
        key = (id(constant), level)
        known = self._cached.get(key)
        if known is not None and known[0] is constant:
            return known[1]
        made = tuple(encoded(each, constant, level) for each in self.parameter_sets)
        nbytes = sum(WORD_BYTES * each.n * each.prime_count(level) for each in self.parameter_sets)
        if self._cached_bytes + nbytes <= self._cache_bytes:
            # With the vector itself, so that no other takes its identity.
            self._cached[key] = (constant, made)
            self._cached_bytes += nbytes
        return made


def encoded(parameters: BgvParameters, row: Integers, level: int) -> BgvPlaintext:
    """Integers modulo the parameters' prime, the same in both rows."""
    return parameters.encode(centred(row, parameters.plaintext_modulus), level=level)


def encoded_transform(
    parameters: BgvParameters, diagonals: Mapping[int, Integers], level: int, baby_steps: int
) -> BgvLinearTransform:
    """A linear transform modulo the parameters' prime, the same in both rows."""
    modulus = parameters.plaintext_modulus
    # Diagonals are counted from 0 up by the engine.
    rows = {number % len(vector): centred(vector, modulus) for number, vector in diagonals.items()}
    return BgvLinearTransform(parameters, rows, level=level, baby_steps=baby_steps)


def centred(numbers: Any, modulus: int) -> Any:
    """Integers modulo an odd one, between minus and plus half of it.

    Example:
        >>> centred(np.array([0, 9, 16, -9]), 17).tolist(), centred(2**70, 17)
        ([0, -8, -1, 8], -4)
    """
    half = modulus // 2
    return (numbers % modulus + half) % modulus - half


class Bgv:
    """BGV modulo a product of primes: exact integers, see `schemes.base.Scheme`.

    Args:
        parameter_sets: The parameters of each prime.
        public_inputs: Whether inputs may be encrypted by a public key.
    """

    name: ClassVar[str] = "bgv"
    encrypts: ClassVar[bool] = True

    def __init__(
        self, parameter_sets: Sequence[BgvParameters], *, public_inputs: bool = False
    ) -> None:
        self.parameter_sets = tuple(parameter_sets)
        self.public_inputs = public_inputs
        self._moduli = [each.plaintext_modulus for each in parameter_sets]

    @property
    def insecure(self) -> bool:
        """Whether any parameter set falls short of 128-bit security."""
        return any(each.insecure for each in self.parameter_sets)

    def require_fitting(self, body: SlotProgram) -> None:
        """Refuse a program of other slots or more levels, or over reals."""
        require_integers(body, self.parameter_sets)

    def log2_failure(self, body: SlotProgram) -> float:
        """log2 of the probability that noise changes a result in one run.

        Every encryption, key switch and division exceeds one of its three bounds with
        2^-failure_bits each (`crates/rlwe`, `bgv::noise`); sums and products of bounds hold always.
        """
        additions = 0
        for number, operation in enumerate(body.operations):
            additions += isinstance(operation, Input | Rescale | DropLevel)
            additions += len(operation.rotations(body.slots))
            additions += operation.relinearisation_level(body.context(number)) is not None
        chances = [2.0**-each.failure_bits for each in self.parameter_sets]
        return math.log2(3 * additions * math.fsum(chances)) if additions else -math.inf

    def in_clear(self, noise_seed: int | None = None) -> ClearInteger:
        """The same integers without encryption; exact numbers have no errors to model."""
        return ClearInteger(self.parameter_sets)

    def key_bytes(self, body: SlotProgram) -> int:
        """Bytes of the evaluation keys that a program needs."""
        return requirements_bytes(required_keys(body), self.parameter_sets)

    def secret_key(self) -> Keys[BgvSecretKey]:
        """New secret keys."""
        return Keys(tuple(map(BgvSecretKey.generate, self.parameter_sets)))

    def public_key(self, secret: Keys[BgvSecretKey]) -> Keys[BgvPublicKey]:
        """Keys that encrypt and do nothing else."""
        return Keys(tuple(each.public_key() for each in secret.by_prime))

    def evaluation_keys(
        self, secret: Keys[BgvSecretKey], body: SlotProgram
    ) -> Keys[BgvEvaluationKeys]:
        """Exactly the evaluation keys that a program needs."""
        needed = required_keys(body)
        return Keys(
            tuple(
                each.evaluation_keys(
                    relinearisation_level=needed.relinearisation_level,
                    rotations=needed.rotations,
                    row_swap_level=None,
                )
                for each in secret.by_prime
            )
        )

    def encrypt(
        self,
        key: Keys[BgvSecretKey] | Keys[BgvPublicKey],
        vectors: Mapping[int, NDArray[Any]],
        body: SlotProgram,
        bounds: Any,
    ) -> dict[int, Residues]:
        """Encrypt rows of integers, inputs of a program by their numbers."""
        levels = levels_of(body, "inputs")
        return {
            number: self._encrypted(key, vector.reshape(-1), levels[number])
            for number, vector in vectors.items()
        }

    def _encrypted(self, key: Keys[Any], numbers: NDArray[Any], level: int) -> Residues:
        return Residues(
            tuple(
                each.encrypt(
                    parameters.encode(
                        centred(numbers, parameters.plaintext_modulus).astype(np.int64),
                        level=level,
                    )
                )
                for each, parameters in zip(key.by_prime, self.parameter_sets, strict=True)
            )
        )

    def decrypt(
        self,
        secret: Keys[BgvSecretKey],
        values: Sequence[Residues],
        body: SlotProgram,
        expected: Any = None,
        flooding: Flooding | None = None,
    ) -> Decrypted:
        """The rows of integers, between minus and plus half of the product of all primes."""
        if flooding is not None:
            require_failure(self.log2_failure(body), flooding, body.title)
        return Decrypted([self._decrypted(secret, value) for value in values])

    def _decrypted(self, secret: Keys[BgvSecretKey], value: Residues) -> NDArray[Any]:
        residues = [
            each.decrypt(ciphertext)
            for each, ciphertext in zip(secret.by_prime, value.ciphertexts, strict=True)
        ]
        return joined(residues, self._moduli).reshape(ROWS, -1)

    def backend(self, keys: Keys[BgvEvaluationKeys], *, cache_bytes: int) -> BgvBackend:
        """What a program runs on."""
        return BgvBackend(self.parameter_sets, keys.by_prime, cache_bytes=cache_bytes)

    def bytes_at(self, state: State) -> int:
        """Bytes of the ciphertexts of a value of degree 1 in a state."""
        return sum(ciphertext_bytes(each, state.level or 0) for each in self.parameter_sets)

    def dump(self, item: Keys[Any] | Residues) -> Record:
        """Keys or ciphertexts as a record."""
        parts = item.ciphertexts if isinstance(item, Residues) else item.by_prime
        return {"data": [each.to_bytes() for each in parts]}

    def read_key(self, kind: str, fields: Fields) -> Keys[Any]:
        """Keys of a record."""
        return Keys(self._read(_KEYS[kind], fields))

    def read_value(self, fields: Fields, body: SlotProgram, number: int, role: str) -> Residues:
        """Ciphertexts of a record, at the level that the program has them at."""
        made = Residues(self._read(BgvCiphertext, fields))
        level = levels_of(body, role)[number]
        if any(each.level != level for each in made.ciphertexts):
            raise MalformedBytesError(
                f"cannot read {fields.place}: expected a ciphertext at level {level}"
            )
        return made

    def _read(self, kind: Any, fields: Fields) -> tuple[Any, ...]:
        parts = fields.items("data", most=len(self.parameter_sets))
        if len(parts) != len(self.parameter_sets) or not all(isinstance(p, bytes) for p in parts):
            raise fields.wrong("data", f"bytes for {len(self.parameter_sets)} primes")
        return tuple(map(kind.from_bytes, self.parameter_sets, parts))

    def to_record(self) -> Record:
        """The parameters as files hold them."""
        return {
            "scheme": self.name,
            "parameters": [each.to_bytes() for each in self.parameter_sets],
            "public_inputs": self.public_inputs,
        }

    def __str__(self) -> str:
        moduli = ", ".join(map(str, self._moduli))
        return f"results modulo {moduli}, {self.parameter_sets[0]}"


@dataclass(frozen=True, slots=True, eq=False)
class Keys(Generic[K]):
    """A key for each prime."""

    by_prime: tuple[K, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of evaluation keys."""
        return sum(each.nbytes for each in self.by_prime if isinstance(each, BgvEvaluationKeys))

    def __repr__(self) -> str:
        return "Keys(hidden)"


_KEYS: Mapping[str, Any] = {
    "secret_key": BgvSecretKey,
    "public_key": BgvPublicKey,
    "evaluation_keys": BgvEvaluationKeys,
}


def joined(residues: Sequence[NDArray[np.int64]], moduli: Sequence[int]) -> NDArray[Any]:
    """Integers from what they are modulo distinct primes (the Chinese remainder theorem).

    Example:
        >>> joined([np.array([3, -1]), np.array([-2, -1])], [7, 11]).tolist()
        [31, -1]
    """
    if len(moduli) == 1:
        return residues[0]
    product = 1
    total: Any = np.zeros(residues[0].shape, dtype=object)
    for residue, modulus in zip(residues, moduli, strict=True):
        # Mixed radix: what the total lacks modulo the next prime, in units of the product so far.
        digit = (residue.astype(object) - total) * pow(product, -1, modulus) % modulus
        total = total + digit * product
        product *= modulus
    made: NDArray[Any] = centred(total, product)
    return made
