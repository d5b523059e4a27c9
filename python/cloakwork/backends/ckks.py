"""The CKKS backend: slot programs on ciphertexts of the native engine.

Every level has one canonical scale. A value that is no product stands at the
scale of its level, always: clear factors are encoded at the one scale after
which the rescale lands there, and a value that drops levels is aligned to the
scale of the lower one. So any two values of one level can be added.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from cloakwork._native import (
    Ciphertext,
    EvaluationKeys,
    Evaluator,
    Parameters,
    SecretKey,
)
from cloakwork.backends.kept_transforms import KeptTransforms
from cloakwork.backends.no_rotate_sums import NoRotateSums
from cloakwork.programs.slots import Basis, State, Vector
from cloakwork.runtime.memory import ciphertext_bytes


class Flooding(Protocol):
    """What a decryption for others is asked for."""

    @property
    def statistical_bits(self) -> int:
        """How well it hides the key."""

    @property
    def decryptions(self) -> int:
        """How many of them there may be."""


class CkksBackend(NoRotateSums):
    """Computes on ciphertexts what `runtime.executor.Backend` asks for.

    Args:
        parameters: The parameter set.
        keys: The evaluation keys; it holds no other key.
        kept: Bytes that encoded linear transforms may take, so that later runs need not encode
            them again.

    Example:
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> key = SecretKey.generate(p)
        >>> keys = key.evaluation_keys(
        ...     relinearisation_level=None, rotations={}, conjugation_level=None)
        >>> CkksBackend(p, keys).keys.rotations()
        {}
    """

    def __init__(self, parameters: Parameters, keys: EvaluationKeys, *, kept: int = 0) -> None:
        self.parameters = parameters
        self.keys = keys
        self.transforms = KeptTransforms(parameters, kept)
        self._evaluator = Evaluator(keys)

    def extend_keys(self, keys: EvaluationKeys) -> None:
        """Take in further evaluation keys of the same secret key.

        Raises:
            KeyMismatchError: They belong to another secret key.
        """
        self.keys.extend(keys)
        self._evaluator = Evaluator(self.keys)

    def bounded(self, value: Ciphertext, bound: float) -> Ciphertext:
        """The same value, known to be at most the bound."""
        return value.with_bound(bound)

    def level(self, value: Ciphertext) -> int:
        """The level of a value."""
        return value.level

    def bytes_at(self, state: State) -> int:
        """Bytes of a ciphertext of degree 1 in a state, which is not that of a constant.

        Raises:
            LevelMismatchError: The chain has no such level.
        """
        assert state.level is not None
        return ciphertext_bytes(self.parameters, state.level)

    def add(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
        """left + right."""
        return self._evaluator.add(left, right)

    def subtract(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
        """left - right."""
        return self._evaluator.sub(left, right)

    def add_constant(self, value: Ciphertext, constant: Vector) -> Ciphertext:
        """value + constant."""
        plaintext = self.parameters.encode(constant, level=value.level, scale=value.scale)
        return self._evaluator.add_plain(value, plaintext)

    def multiply(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
        """left * right, relinearised, not rescaled."""
        if left is right:
            return self._evaluator.square(left)
        return self._evaluator.multiply(left, right)

    def multiply_lazily(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
        """left * right of degree 2, not rescaled; a rescale or a rotation relinearises it."""
        return self._evaluator.multiply_lazily(left, right)

    def multiply_constant(self, value: Ciphertext, constant: Vector) -> Ciphertext:
        """value * constant, not rescaled."""
        scale = self.parameters.matching_scale(value.level, value.scale)
        plaintext = self.parameters.encode(constant, level=value.level, scale=scale)
        return self._evaluator.multiply_plain(value, plaintext)

    def negate(self, value: Ciphertext) -> Ciphertext:
        """-value."""
        return self._evaluator.negate(value)

    def rotate(self, value: Ciphertext, steps: int) -> Ciphertext:
        """Slot i receives slot i + steps."""
        return self.rotate_many(value, [steps])[0]

    def rotate_many(self, value: Ciphertext, steps: Sequence[int]) -> list[Ciphertext]:
        """The rotations by each of the steps, which share the dear part of the work."""
        if value.degree == 2:
            value = self._evaluator.relinearize(value)
        return self._evaluator.rotate_hoisted(value, steps)

    def linear(
        self, value: Ciphertext, diagonals: Mapping[int, Vector], baby_steps: int
    ) -> Ciphertext:
        """The sum over d of diagonals[d] * rotate(value, d), not rescaled."""
        transform = self.transforms.of(diagonals, value.level, value.scale, baby_steps)
        return self._evaluator.linear_transform(value, transform)

    def polynomial(
        self, value: Ciphertext, coefficients: Sequence[float], basis: Basis
    ) -> Ciphertext:
        """A polynomial of every slot."""
        return self._evaluator.polynomial(value, coefficients, basis)

    def rescale(self, value: Ciphertext) -> Ciphertext:
        """The same numbers one level down, at that level's scale."""
        return self._evaluator.relinearize_and_rescale(value)

    def drop_level(self, value: Ciphertext, level: int) -> Ciphertext:
        """The same numbers at a lower level, at that level's scale."""
        return self._evaluator.align(value, level)


class CkksKey:
    """A secret key, as `runtime.roles.Client` uses it.

    Example:
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> CkksKey(p, SecretKey.generate(p))
        CkksKey(hidden)
    """

    def __init__(self, parameters: Parameters, secret: SecretKey) -> None:
        self._parameters = parameters
        self._secret = secret

    def encrypt(self, vector: Vector, *, bound: float, level: int) -> Ciphertext:
        """Encrypt at a level; `bound` is public, so that no ciphertext tells its own."""
        plaintext = self._parameters.encode(vector, level=level, bound=bound)
        return self._secret.encrypt(plaintext)

    def decrypt(self, value: Ciphertext, *, flooding: Flooding | None) -> Vector:
        """The real parts of all slots, flooded with noise where asked."""
        if flooding is None:
            return self._secret.decrypt(value, value.estimate).decode_real()
        return self._secret.decrypt_flooded(
            value,
            value.estimate,
            statistical_bits=flooding.statistical_bits,
            decryptions=flooding.decryptions,
        ).decode_real()

    def precision(self, value: Ciphertext, *, flooding: Flooding | None) -> float:
        """Bits of the slots that are right, flooding included."""
        if flooding is None:
            return value.precision
        return value.estimate.flooded(
            statistical_bits=flooding.statistical_bits, decryptions=flooding.decryptions
        ).precision

    def evaluation_keys(
        self, relinearisation_level: int | None, rotations: Mapping[int, int]
    ) -> EvaluationKeys:
        """Evaluation keys at the levels asked for."""
        return self._secret.evaluation_keys(
            relinearisation_level=relinearisation_level,
            rotations=rotations,
            conjugation_level=None,
        )

    def to_bytes(self) -> bytes:
        """The secret key itself, unprotected."""
        return self._secret.to_bytes()

    def __repr__(self) -> str:
        return "CkksKey(hidden)"
