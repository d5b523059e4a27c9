"""The BGV backend: programs over integers on ciphertexts of the native engine.

Numbers are computed modulo several primes where they do not fit one: each prime has its own
ciphertexts and keys, and all run the same program (the Chinese remainder theorem).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import (
    BgvCiphertext,
    BgvEvaluationKeys,
    BgvEvaluator,
    BgvParameters,
    BgvPlaintext,
    BgvSecretKey,
)
from cloakwork.programs.packing.scalar import ROWS
from cloakwork.programs.slots import Integers
from cloakwork.programs.vectors import uniform_integer
from cloakwork.schemes.no_transforms import NoTransforms

_Each: TypeAlias = Callable[[BgvEvaluator, BgvCiphertext], BgvCiphertext]


# Of encoded constants that are kept.
_MOST_KEPT_BYTES = 1 << 28


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


class BgvBackend(NoTransforms):
    """Computes on `Residues` what `runtime.executor.Backend` asks for.

    Args:
        parameter_sets: The parameters of each prime.
        keys: The evaluation keys of each prime; it holds no other keys.
    """

    def __init__(
        self, parameter_sets: Sequence[BgvParameters], keys: Sequence[BgvEvaluationKeys]
    ) -> None:
        self.parameter_sets = tuple(parameter_sets)
        self.keys = tuple(keys)
        self._evaluators = tuple(BgvEvaluator(each) for each in keys)
        self._kept: dict[tuple[int, int], tuple[Integers, tuple[BgvPlaintext, ...]]] = {}
        self._kept_bytes = 0

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
        """The rotations by each of the steps, which share the dear part of the work."""
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
        """A constant under each prime, kept from run to run while there is room."""
        key = (id(constant), level)
        known = self._kept.get(key)
        if known is not None and known[0] is constant:
            return known[1]
        made = tuple(encoded(each, constant, level) for each in self.parameter_sets)
        nbytes = sum(4 * each.n * each.prime_count(level) for each in self.parameter_sets)
        if self._kept_bytes + nbytes <= _MOST_KEPT_BYTES:
            # With the vector itself, so that no other takes its identity.
            self._kept[key] = (constant, made)
            self._kept_bytes += nbytes
        return made


def encoded(parameters: BgvParameters, row: Integers, level: int) -> BgvPlaintext:
    """Integers modulo the parameters' prime, the same in both rows."""
    return parameters.encode(centred(row, parameters.plaintext_modulus), level=level)


def centred(numbers: Any, modulus: int) -> Any:
    """Integers modulo an odd one, between minus and plus half of it.

    Example:
        >>> centred(np.array([0, 9, 16, -9]), 17).tolist(), centred(2**70, 17)
        ([0, -8, -1, 8], -4)
    """
    half = modulus // 2
    return (numbers % modulus + half) % modulus - half


class BgvKey:
    """Secret keys, one for each prime, as `runtime.integer_roles.IntegerClient` uses them.

    Args:
        parameter_sets: The parameters of each prime.
        secrets: The secret keys.
    """

    hidden = True

    def __init__(
        self, parameter_sets: Sequence[BgvParameters], secrets: Sequence[BgvSecretKey]
    ) -> None:
        self.parameter_sets = tuple(parameter_sets)
        self.secrets = tuple(secrets)
        self._moduli = [each.plaintext_modulus for each in parameter_sets]

    @classmethod
    def generate(cls, parameter_sets: Sequence[BgvParameters]) -> BgvKey:
        """Fresh secret keys."""
        return cls(parameter_sets, [BgvSecretKey.generate(each) for each in parameter_sets])

    def encrypt(self, vector: NDArray[Any], *, level: int) -> Residues:
        """Encrypt rows of integers at a level."""
        numbers = vector.reshape(-1)
        return Residues(
            tuple(
                secret.encrypt(
                    parameters.encode(
                        centred(numbers, parameters.plaintext_modulus).astype(np.int64),
                        level=level,
                    )
                )
                for secret, parameters in zip(self.secrets, self.parameter_sets, strict=True)
            )
        )

    def decrypt(self, value: Residues) -> NDArray[Any]:
        """The rows of integers, between minus and plus half of the product of all primes."""
        residues = [
            secret.decrypt(each)
            for secret, each in zip(self.secrets, value.ciphertexts, strict=True)
        ]
        return joined(residues, self._moduli).reshape(ROWS, -1)

    def evaluation_keys(
        self, relinearisation_level: int | None, rotations: Mapping[int, int]
    ) -> list[BgvEvaluationKeys]:
        """Evaluation keys of each prime at the levels asked for."""
        return [
            secret.evaluation_keys(
                relinearisation_level=relinearisation_level,
                rotations=rotations,
                row_swap_level=None,
            )
            for secret in self.secrets
        ]

    def __repr__(self) -> str:
        return "BgvKey(hidden)"


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
