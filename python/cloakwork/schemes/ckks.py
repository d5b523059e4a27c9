"""The CKKS backend: slot programs on ciphertexts of the native engine.

Every level has one canonical scale. A value that is no product stands at the
scale of its level, always: clear factors are encoded at the one scale after
which the rescale lands there, and a value that drops levels is aligned to the
scale of the lower one. So any two values of one level can be added.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NoReturn

from cloakwork._native import (
    PRECISION_FAILURE_BITS,
    Ciphertext,
    CkksEstimate,
    EvaluationKeys,
    Evaluator,
    Parameters,
    PublicKey,
    SecretKey,
)
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidProgramError, MalformedBytesError
from cloakwork.programs.keys import KeyRequirements, required_keys
from cloakwork.programs.slots import Basis, SlotProgram, State, Vector
from cloakwork.schemes.base import Decrypted, Flooding, levels_of
from cloakwork.schemes.clear_real import ClearReal, require_reals
from cloakwork.schemes.transform_cache import TransformCache, ciphertext_bytes


class CkksBackend:
    """Computes on ciphertexts what `schemes.base.Backend` asks for.

    Args:
        parameters: The parameter set.
        keys: The evaluation keys; it holds no other key.
        cache_bytes: Bytes that encoded linear transforms may take, so that later runs need not
            encode them again.

    Example:
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> key = SecretKey.generate(p)
        >>> keys = key.evaluation_keys(
        ...     relinearisation_level=None, rotations={}, conjugation_level=None)
        >>> CkksBackend(p, keys).keys.rotations()
        {}
    """

    def __init__(
        self, parameters: Parameters, keys: EvaluationKeys, *, cache_bytes: int = 0
    ) -> None:
        self.parameters = parameters
        self.keys = keys
        self.transforms = TransformCache(parameters, cache_bytes)
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
        """The rotations by each of the steps, which share the decomposition (hoisting)."""
        if value.degree == 2:
            value = self._evaluator.relinearize(value)
        return self._evaluator.rotate_hoisted(value, steps)

    def rotate_sum(self, value: Any, added: Any, subtracted: Any) -> NoReturn:
        """No program over reals has sums of rotations; see `programs.slots.state_after`."""
        raise InvalidProgramError("cannot run rotate_sum: programs over reals have none")

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


class Ckks:
    """CKKS under a parameter set: approximate numbers, see `schemes.base.Scheme`.

    Args:
        parameters: The parameter set.

    Example:
        >>> import numpy as np
        >>> scheme = Ckks(Parameters(levels=1, log_n=10, insecure=True))
        >>> secret = scheme.secret_key()
        >>> value = scheme.encrypt_vector(secret, np.full(512, 0.5), level=1, bound=1.0)
        >>> bool(abs(secret.decrypt(value, value.estimate).decode_real()[0] - 0.5) < 1e-4)
        True
    """

    name: ClassVar[str] = "ckks"
    encrypts: ClassVar[bool] = True
    # Errors are planned and estimated as of inputs that a public key encrypted.
    public_inputs: ClassVar[bool] = True

    def __init__(self, parameters: Parameters) -> None:
        self.parameters = parameters

    @property
    def insecure(self) -> bool:
        """Whether the parameters fall short of 128-bit security."""
        return self.parameters.insecure

    def log2_failure(self, body: SlotProgram) -> float:
        """log2 of the probability that a result errs by more than its precision says.

        Each ciphertext's does with 2^-20 (`crates/rlwe`, `ckks::estimate`).
        """
        return math.log2(len(levels_of(body, "outputs"))) - PRECISION_FAILURE_BITS

    def require_fitting(self, body: SlotProgram) -> None:
        """Refuse a program of other slots or more levels, or over integers."""
        require_reals(body, self.parameters)

    def in_clear(self, noise_seed: int | None = None) -> ClearReal:
        """The same numbers without encryption."""
        return ClearReal(self.parameters, noise_seed)

    def key_bytes(self, body: SlotProgram) -> int:
        """Bytes of the evaluation keys that a program needs."""
        return required_keys(body).nbytes(self.parameters.evaluation_key_bytes)

    def secret_key(self) -> SecretKey:
        """A new secret key."""
        return SecretKey.generate(self.parameters)

    def public_key(self, secret: SecretKey) -> PublicKey:
        """A key that encrypts and does nothing else."""
        return secret.public_key()

    def evaluation_keys(self, secret: SecretKey, body: SlotProgram) -> EvaluationKeys:
        """Exactly the evaluation keys that a program needs."""
        return self.keys_for(secret, required_keys(body))

    def keys_for(self, secret: SecretKey, needed: KeyRequirements) -> EvaluationKeys:
        """Evaluation keys at the levels asked for."""
        return secret.evaluation_keys(
            relinearisation_level=needed.relinearisation_level,
            rotations=needed.rotations,
            conjugation_level=None,
        )

    def encrypt_vector(
        self, key: SecretKey | PublicKey, vector: Vector, *, level: int, bound: float
    ) -> Ciphertext:
        """Encrypt at a level; `bound` is public, so that no ciphertext tells its own."""
        return key.encrypt(self.parameters.encode(vector, level=level, bound=bound))

    def encrypt(
        self,
        key: SecretKey | PublicKey,
        vectors: Mapping[int, Vector],
        body: SlotProgram,
        bounds: Sequence[float] | None,
    ) -> dict[int, Ciphertext]:
        """Encrypt inputs of a program, by their numbers, with their bounds."""
        assert bounds is not None
        levels = levels_of(body, "inputs")
        return {
            number: self.encrypt_vector(key, vector, level=levels[number], bound=bounds[number])
            for number, vector in vectors.items()
        }

    def claims(self, values: Sequence[Ciphertext]) -> Sequence[CkksEstimate]:
        """What ciphertexts say of themselves."""
        return [value.estimate for value in values]

    def decrypt(
        self,
        secret: SecretKey,
        values: Sequence[Ciphertext],
        body: Any,
        expected: Sequence[CkksEstimate] | None = None,
        flooding: Flooding | None = None,
    ) -> Decrypted:
        """The real parts of all slots of every value."""
        assert expected is not None
        if flooding is None:
            found = [secret.decrypt(*pair) for pair in zip(values, expected, strict=True)]
        else:
            found = [
                secret.decrypt_flooded(
                    *pair,
                    statistical_bits=flooding.statistical_bits,
                    decryptions=flooding.decryptions,
                )
                for pair in zip(values, expected, strict=True)
            ]
        vectors = [each.decode_real() for each in found]
        return Decrypted(vectors, max(2.0**-each.precision for each in found))

    def backend(self, keys: EvaluationKeys, *, cache_bytes: int) -> CkksBackend:
        """What a program runs on."""
        return CkksBackend(self.parameters, keys, cache_bytes=cache_bytes)

    def bytes_at(self, state: State) -> int:
        """Bytes of a ciphertext of degree 1 in a state."""
        return self.ciphertext_bytes(state.level or 0)

    def ciphertext_bytes(self, level: int) -> int:
        """Bytes of a ciphertext at a level."""
        return ciphertext_bytes(self.parameters, level)

    def dump(self, item: Any) -> Record:
        """A key or a ciphertext as a record."""
        return {"data": item.to_bytes()}

    def read_key(self, kind: str, fields: Fields) -> Any:
        """A key of a record."""
        return _KEYS[kind].from_bytes(self.parameters, fields.data("data"))

    def read_value(self, fields: Fields, body: SlotProgram, number: int, role: str) -> Ciphertext:
        """A ciphertext of a record, at the level that the program has it at."""
        value = self.read_tensor_value(fields)
        level = levels_of(body, role)[number]
        if value.level != level or value.slots != body.slots:
            raise MalformedBytesError(
                f"cannot read {fields.place}: expected a ciphertext at level {level}, got level "
                f"{value.level}"
            )
        return value

    def read_tensor_value(self, fields: Fields) -> Ciphertext:
        """A ciphertext of a record, at whatever level."""
        return Ciphertext.from_bytes(self.parameters, fields.data("data"))

    def to_record(self) -> Record:
        """The parameters as files hold them."""
        return {"scheme": self.name, "parameters": self.parameters.to_bytes()}

    def __str__(self) -> str:
        return str(self.parameters)


_KEYS: Mapping[str, Any] = {
    "secret_key": SecretKey,
    "public_key": PublicKey,
    "evaluation_keys": EvaluationKeys,
}
