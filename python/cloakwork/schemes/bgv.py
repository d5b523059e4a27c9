"""BGV, on whose ciphertexts programs over integers run; see `schemes.base.Scheme`.

Numbers are computed modulo several primes where they do not fit one: each prime has its own
ciphertexts and keys, and all run the same program (the Chinese remainder theorem).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import (
    WORD_BYTES,
    BgvCiphertext,
    BgvEstimate,
    BgvEvaluationKeys,
    BgvEvaluator,
    BgvParameters,
    BgvPlaintext,
    BgvPublicKey,
    BgvRekeyingKey,
    BgvRotatedProducts,
    BgvSecretKey,
)
from cloakwork.base.itself import Itself
from cloakwork.base.record import Fields, Record
from cloakwork.base.secret_bytes import SecretBytes
from cloakwork.programs.keys import KeyExpansion, KeyRequirements, required_keys
from cloakwork.programs.packing.scalar import ROWS
from cloakwork.programs.slots import DropLevel, Input, Integers, Rescale, SlotProgram, State
from cloakwork.programs.vectors import uniform_integer
from cloakwork.schemes.base import (
    Backend,
    Decrypted,
    Flooding,
    levels_of,
    stored_bytes,
)
from cloakwork.schemes.bgv_estimates import BgvEstimates
from cloakwork.schemes.bgv_plaintext import centred, encoded, encoded_transform, from_residues
from cloakwork.schemes.clear_integer import ClearInteger, IntegerScheme
from cloakwork.schemes.encoded_cache import ciphertext_bytes


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ByPrime:
    """Keys of one kind, or the ciphertexts of one value: one under each prime.

    Args:
        by_prime: In order of the primes; ciphertexts are all at one level.
    """

    by_prime: tuple[Any, ...]

    @property
    def level(self) -> int:
        """The level of ciphertexts."""
        return int(self.by_prime[0].level)

    @property
    def nbytes(self) -> int:
        """Bytes of ciphertexts, or of evaluation keys."""
        return sum([each.nbytes for each in self.by_prime])

    def __repr__(self) -> str:
        return "ByPrime(hidden)"


class BgvBackend(Backend[ByPrime]):
    """Computes on ciphertexts under each prime what `schemes.base.Backend` asks for.

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
        self._cached: dict[tuple[Itself[Integers], int], tuple[BgvPlaintext, ...]] = {}
        self._cached_bytes = 0
        self._caching = threading.Lock()

    def extend_keys(self, keys: ByPrime) -> None:
        """Take in further evaluation keys of the same secret keys."""
        for own, further in zip(self.keys, keys.by_prime, strict=True):
            own.extend(further)
        self._evaluators = tuple(map(BgvEvaluator, self.keys))

    def add(self, left: ByPrime, right: ByPrime) -> ByPrime:
        return self._each(BgvEvaluator.add, left, right.by_prime)

    def subtract(self, left: ByPrime, right: ByPrime) -> ByPrime:
        return self._each(BgvEvaluator.sub, left, right.by_prime)

    def add_constant(self, value: ByPrime, constant: Integers) -> ByPrime:
        if uniform_integer(constant) is not None:
            return self._each(BgvEvaluator.add_scalar, value, self._scalars(constant))
        return self._each(BgvEvaluator.add_plain, value, self._encoded(constant, value.level))

    def multiply(self, left: ByPrime, right: ByPrime) -> ByPrime:
        if left is right:
            return self._each(BgvEvaluator.square, left)
        return self._each(BgvEvaluator.multiply, left, right.by_prime)

    def multiply_lazily(self, left: ByPrime, right: ByPrime) -> ByPrime:
        return self._each(BgvEvaluator.multiply_lazily, left, right.by_prime)

    def multiply_constant(self, value: ByPrime, constant: Integers) -> ByPrime:
        if uniform_integer(constant) is not None:
            return self._each(BgvEvaluator.multiply_scalar, value, self._scalars(constant))
        return self._each(BgvEvaluator.multiply_plain, value, self._encoded(constant, value.level))

    def negate(self, value: ByPrime) -> ByPrime:
        return self._each(BgvEvaluator.negate, value)

    def rotate(self, value: ByPrime, steps: int) -> ByPrime:
        return self.rotate_many(value, [steps])[0]

    def rotate_many(self, value: ByPrime, steps: Sequence[int]) -> list[ByPrime]:
        """The rotations by each of the steps, which share the decomposition (hoisting)."""
        value = self._each(BgvEvaluator.relinearize, value)
        rotated = [
            evaluator.rotate_hoisted(ciphertext, steps)
            for evaluator, ciphertext in zip(self._evaluators, value.by_prime, strict=True)
        ]
        return [ByPrime(each) for each in zip(*rotated, strict=True)]

    def rotate_sum(
        self, value: ByPrime, added: Sequence[int], subtracted: Sequence[int]
    ) -> ByPrime:
        def summed(evaluator: BgvEvaluator, each: BgvCiphertext) -> BgvCiphertext:
            return evaluator.rotate_sum(evaluator.relinearize(each), added, subtracted)

        return self._each(summed, value)

    def linear(self, value: ByPrime, diagonals: Mapping[int, Integers], baby_steps: int) -> ByPrime:
        transforms = (
            encoded_transform(each, diagonals, value.level, baby_steps)
            for each in self.parameter_sets
        )
        value = self._each(BgvEvaluator.relinearize, value)
        return self._each(BgvEvaluator.linear_transform, value, transforms)

    def rotated_products(
        self, left: Sequence[ByPrime], right: Sequence[ByPrime], step: int
    ) -> ByPrime:
        return self._products(BgvEvaluator.rotated_products, left, right, step)

    def diagonal_products(
        self, left: Sequence[ByPrime], right: Sequence[ByPrime], step: int
    ) -> ByPrime:
        return self._products(BgvEvaluator.diagonal_products, left, right, step)

    def _products(
        self,
        multiply: Callable[..., Any],
        left: Sequence[ByPrime],
        right: Sequence[ByPrime],
        step: int,
    ) -> ByPrime:
        lists = [zip(*(each.by_prime for each in values), strict=True) for values in (left, right)]
        return ByPrime(
            tuple(
                multiply(evaluator, u, v, step)
                for evaluator, u, v in zip(self._evaluators, *lists, strict=True)
            )
        )

    def add_products(self, left: ByPrime, right: ByPrime) -> ByPrime:
        pairs = zip(self._evaluators, left.by_prime, right.by_prime, strict=True)
        return ByPrime(tuple(each.add_rotated_products(a, b) for each, a, b in pairs))

    def switch_product(self, products: ByPrime, steps: int) -> ByPrime:
        return ByPrime(
            tuple(
                evaluator.switch_product(each, steps // each.step)
                for evaluator, each in zip(self._evaluators, products.by_prime, strict=True)
            )
        )

    def rescale(self, value: ByPrime) -> ByPrime:
        """The same numbers one level down, with less noise."""
        return self._each(BgvEvaluator.relinearize_and_switch, value)

    def drop_level(self, value: ByPrime, level: int) -> ByPrime:
        return self._each(lambda evaluator, each: evaluator.switch_to(each, level), value)

    def _each(
        self, compute: Callable[..., BgvCiphertext], value: ByPrime, *others: Iterable[Any]
    ) -> ByPrime:
        """What is computed under each prime, of a value and of further operands."""
        operands = zip(self._evaluators, value.by_prime, *others, strict=True)
        return ByPrime(tuple(starmap(compute, operands)))

    def _scalars(self, constant: Integers) -> list[int]:
        """The one number of a constant modulo each prime."""
        return [centred(int(constant[0]), each.plaintext_modulus) for each in self.parameter_sets]

    def _encoded(self, constant: Integers, level: int) -> tuple[BgvPlaintext, ...]:
        """A constant under each prime, cached from run to run as far as bytes allow."""
        key = (Itself(constant), level)
        known = self._cached.get(key)
        if known is not None:
            return known
        made = tuple(encoded(each, constant, level) for each in self.parameter_sets)
        nbytes = sum(WORD_BYTES * each.n * each.prime_count(level) for each in self.parameter_sets)
        with self._caching:
            if key not in self._cached and self._cached_bytes + nbytes <= self._cache_bytes:
                self._cached[key] = made
                self._cached_bytes += nbytes
        return made


class Bgv(IntegerScheme):
    """BGV modulo a product of primes: exact integers, see `schemes.base.Scheme`.

    Args:
        parameter_sets: The parameters of each prime.
        public_inputs: Whether inputs may be encrypted by a public key.
        modular: Whether programs are meant modulo the product of the primes; see `IntegerScheme`.
    """

    name: ClassVar[str] = "bgv"

    def __init__(
        self,
        parameter_sets: Sequence[BgvParameters],
        *,
        public_inputs: bool = False,
        modular: bool = False,
    ) -> None:
        super().__init__(parameter_sets, public_inputs=public_inputs, modular=modular)
        self._moduli = [each.plaintext_modulus for each in parameter_sets]

    @property
    def insecure(self) -> bool:
        """Whether any parameter set falls short of 128-bit security."""
        return any(each.insecure for each in self.parameter_sets)

    def log2_failure(self, body: SlotProgram) -> float:
        """log2 of the probability that noise changes a result in one run.

        Every encryption, key switch and division exceeds one of its three bounds with
        2^-failure_bits each (`crates/rlwe`, `bgv::noise`); sums and products of bounds hold always.
        """
        additions = 0
        for number, operation in enumerate(body.operations):
            additions += isinstance(operation, Input | Rescale | DropLevel)
            additions += len(operation.rotations(body.slots))
            additions += len(operation.product_rotations(body.slots))
            additions += operation.relinearisation_level(body.context(number)) is not None
        chances = [2.0**-each.failure_bits for each in self.parameter_sets]
        return math.log2(3 * additions * math.fsum(chances)) if additions else -math.inf

    def in_clear(self, noise_seed: int | None = None) -> ClearInteger:
        """The same integers without encryption; exact numbers have no errors to model."""
        return ClearInteger(
            self.parameter_sets, public_inputs=self.public_inputs, modular=self.modular
        )

    def estimators(
        self, body: SlotProgram, bounds: Any
    ) -> Sequence[tuple[BgvEstimates, list[BgvEstimate]]]:
        levels = levels_of(body, "inputs")
        return [
            (
                BgvEstimates(each),
                list(map(each.fresh_public if self.public_inputs else each.fresh, levels)),
            )
            for each in self.parameter_sets
        ]

    def secret_key(self) -> Any:
        return ByPrime(tuple(map(BgvSecretKey.generate, self.parameter_sets)))

    def public_key(self, secret: Any) -> Any:
        return ByPrime(tuple(each.public_key() for each in secret.by_prime))

    def evaluation_keys(self, secret: Any, body: Any) -> Any:
        return self.keys_for(secret, required_keys(body))

    def keys_for(self, secret: ByPrime, needed: KeyRequirements) -> ByPrime:
        """Evaluation keys at the levels asked for, under each prime."""
        return ByPrime(
            tuple(
                each.evaluation_keys(
                    relinearisation_level=needed.relinearisation_level,
                    rotations=needed.rotations,
                    row_swap_level=None,
                    rotated_products=needed.rotated_products,
                )
                for each in secret.by_prime
            )
        )

    def extend_keys(self, keys: Any, further: Any) -> None:
        for own, more in zip(keys.by_prime, further.by_prime, strict=True):
            own.extend(more)

    def rekeying_key(self, secret: ByPrime, to: ByPrime) -> ByPrime:
        pairs = zip(secret.by_prime, to.by_prime, strict=True)
        return ByPrime(tuple(old.rekeying_key(new) for old, new in pairs))

    def rekeyed(self, key: ByPrime, value: ByPrime) -> ByPrime:
        pairs = zip(key.by_prime, value.by_prime, strict=True)
        return ByPrime(tuple(each.rekey(ciphertext) for each, ciphertext in pairs))

    def read_rekeying_key(self, fields: Fields) -> ByPrime:
        return self._read(BgvRekeyingKey, fields)

    def held_keys(self, keys: ByPrime) -> list[KeyRequirements]:
        return [
            KeyRequirements(each.relinearisation_level, each.rotations(), each.rotated_products())
            for each in keys.by_prime
        ]

    def key_parts(self, keys: Any) -> Iterator[tuple[frozenset[str], Any]]:
        for parts in zip(*(each.split() for each in keys.by_prime), strict=True):
            part = ByPrime(parts)
            yield self.held_keys(part)[0].names(), part

    def encrypt(
        self, key: Any, vectors: Mapping[int, NDArray[Any]], body: Any, bounds: Any
    ) -> dict[int, Any]:
        """Encrypt rows of integers, inputs of a program by their numbers."""
        levels = levels_of(body, "inputs")
        return {
            number: self._encrypted(key, vector.reshape(-1), levels[number])
            for number, vector in vectors.items()
        }

    def _encrypted(self, key: ByPrime, numbers: NDArray[Any], level: int) -> ByPrime:
        rows = [centred(numbers, modulus).astype(np.int64) for modulus in self._moduli]
        return ByPrime(
            tuple(
                each.encrypt(parameters.encode(row, level=level))
                for each, parameters, row in zip(
                    key.by_prime, self.parameter_sets, rows, strict=True
                )
            )
        )

    def decrypt(
        self,
        secret: Any,
        values: Sequence[Any],
        body: Any,
        expected: Any = None,
        flooding: Flooding | None = None,
    ) -> Decrypted:
        """The rows of integers, between minus and plus half of the product of all primes."""
        return Decrypted([self._decrypted(secret, value) for value in values])

    def _decrypted(self, secret: ByPrime, value: ByPrime) -> NDArray[Any]:
        residues = [
            each.decrypt(ciphertext)
            for each, ciphertext in zip(secret.by_prime, value.by_prime, strict=True)
        ]
        return from_residues(residues, self._moduli).reshape(ROWS, -1)

    def backend(self, keys: Any, *, cache_bytes: int, expansion: KeyExpansion | None = None) -> Any:
        return BgvBackend(self.parameter_sets, keys.by_prime, cache_bytes=cache_bytes)

    def bytes_at(self, state: State) -> int:
        return sum(ciphertext_bytes(each, state.level or 0) for each in self.parameter_sets)

    def read_key(self, kind: str, fields: Fields) -> Any:
        return self._read(_KEYS[kind], fields)

    def read_ciphertext(self, fields: Fields) -> ByPrime:
        made = self._read(BgvCiphertext, fields)
        if len({each.level for each in made.by_prime}) > 1:
            raise fields.wrong("data", "ciphertexts at one level")
        return made

    def read_products(self, fields: Fields) -> ByPrime:
        made = self._read(BgvRotatedProducts, fields)
        if len({(each.level, each.count) for each in made.by_prime}) > 1:
            raise fields.wrong("data", "products at one level, as many under each prime")
        return made

    def dump(self, item: Any) -> Record:
        return {"data": [stored_bytes(each) for each in item.by_prime]}

    def _read(self, kind: Any, fields: Fields) -> ByPrime:
        parts = fields.items("data", most=len(self.parameter_sets))
        held = SecretBytes if kind is BgvSecretKey else bytes
        if len(parts) != len(self.parameter_sets) or not all(isinstance(p, held) for p in parts):
            raise fields.wrong("data", f"bytes for {len(self.parameter_sets)} primes")
        return ByPrime(tuple(map(kind.from_bytes, self.parameter_sets, parts)))

    def __str__(self) -> str:
        moduli = ", ".join(map(str, self._moduli))
        return f"results modulo {moduli}, {self.parameter_sets[0]}"


_KEYS: Mapping[str, Any] = {
    "secret_key": BgvSecretKey,
    "public_key": BgvPublicKey,
    "evaluation_keys": BgvEvaluationKeys,
}
