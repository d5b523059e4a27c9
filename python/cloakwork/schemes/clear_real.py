"""The clear backend: slot programs on float64 vectors, slot for slot.

It is the meaning of a program and its debugger: the same rotations and levels as
on ciphertexts, no encryption. With a model of the noise every operation adds an
error of the size that it would have on ciphertexts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import Basis, SlotProgram, State, Vector, polynomial_depth
from cloakwork.schemes.base import Decrypted, levels_of
from cloakwork.schemes.ckks_noise import NoiseModel, noise_of

# Numbers may outgrow a double on the way; whoever decrypts refuses what becomes of them.
_outgrowing = np.errstate(over="ignore", invalid="ignore")


@dataclass(frozen=True, slots=True, eq=False)
class ClearVector:
    """A vector of slots, and what its ciphertext would be.

    Args:
        slots: The numbers.
        level: The level.
        waiting: Whether it is a product that is not rescaled.
    """

    slots: Vector
    level: int
    waiting: bool = False

    @property
    def precision(self) -> float:
        """Bits that are right but for modelled noise: those of a float64."""
        return 52.0

    @property
    def nbytes(self) -> int:
        """Bytes of the vector."""
        return self.slots.nbytes


class ClearBackend:
    """Computes on `ClearVector` what `schemes.base.Backend` asks for.

    Args:
        noise: The errors to add, drawn anew from the model's seed by each backend; None for
            exact numbers.

    Example:
        >>> x = ClearVector(np.array([1.0, 2.0, 3.0, 4.0]), level=1)
        >>> ClearBackend().rotate(x, 1).slots.tolist()
        [2.0, 3.0, 4.0, 1.0]
    """

    def __init__(self, noise: NoiseModel | None = None) -> None:
        self._noise = noise
        self._generator = np.random.default_rng(None if noise is None else [noise.seed, 1])

    def bounded(self, value: ClearVector, bound: float) -> ClearVector:
        """The same value."""
        return value

    def level(self, value: ClearVector) -> int:
        """The level of a value."""
        return value.level

    @_outgrowing
    def add(self, left: ClearVector, right: ClearVector) -> ClearVector:
        """left + right."""
        return ClearVector(left.slots + right.slots, left.level, left.waiting)

    @_outgrowing
    def subtract(self, left: ClearVector, right: ClearVector) -> ClearVector:
        """left - right."""
        return ClearVector(left.slots - right.slots, left.level, left.waiting)

    @_outgrowing
    def add_constant(self, value: ClearVector, constant: Vector) -> ClearVector:
        """value + constant."""
        total = ClearVector(value.slots + constant, value.level, value.waiting)
        return self._with_error(total, NoiseModel.encoding)

    @_outgrowing
    def multiply(self, left: ClearVector, right: ClearVector) -> ClearVector:
        """left * right."""
        product = ClearVector(left.slots * right.slots, left.level, waiting=True)
        return self._with_error(product, NoiseModel.rotation)

    def multiply_lazily(self, left: ClearVector, right: ClearVector) -> ClearVector:
        """left * right."""
        return self.multiply(left, right)

    @_outgrowing
    def multiply_constant(self, value: ClearVector, constant: Vector) -> ClearVector:
        """value * constant."""
        encoded = self._with_error(ClearVector(constant, value.level), NoiseModel.encoding)
        return ClearVector(value.slots * encoded.slots, value.level, waiting=True)

    def negate(self, value: ClearVector) -> ClearVector:
        """-value."""
        return ClearVector(-value.slots, value.level, value.waiting)

    def rotate(self, value: ClearVector, steps: int) -> ClearVector:
        """Slot i receives slot i + steps."""
        rotated = ClearVector(np.roll(value.slots, -steps), value.level, value.waiting)
        return self._with_error(rotated, NoiseModel.rotation)

    def rotate_many(self, value: ClearVector, steps: Sequence[int]) -> list[ClearVector]:
        """The rotations by each of the steps."""
        return [self.rotate(value, single) for single in steps]

    def rotate_sum(self, value: Any, added: Any, subtracted: Any) -> NoReturn:
        """No program over reals has sums of rotations; see `programs.slots.state_after`."""
        raise InvalidProgramError("cannot run rotate_sum: programs over reals have none")

    @_outgrowing
    def linear(
        self, value: ClearVector, diagonals: Mapping[int, Vector], baby_steps: int
    ) -> ClearVector:
        """The sum over d of diagonals[d] * rotate(value, d), d split as the engine splits it."""
        if self._noise is None:
            return ClearVector(_transformed(value.slots, diagonals), value.level, waiting=True)
        steps = {d % baby_steps for d in diagonals}
        baby = {step: _Rotations(self._baby(value, step)) for step in steps}
        total = np.zeros_like(value.slots)
        for d, diagonal in diagonals.items():
            total += diagonal * baby[d % baby_steps].by(d - d % baby_steps)
        product = ClearVector(
            total + self._encoding_errors(value, diagonals), value.level, waiting=True
        )
        # Giant steps work at the scale of products, where all of them add next to nothing.
        return self._with_error(product, NoiseModel.rotation)

    def _encoding_errors(self, value: ClearVector, diagonals: Mapping[int, Vector]) -> Vector:
        """Those of all diagonals together: each meets the value rotated by its number."""
        squares = np.zeros_like(value.slots)
        rotations = _Rotations(value.slots**2)
        for d in diagonals:
            squares += rotations.by(d)
        one = self._with_error(
            ClearVector(np.zeros_like(value.slots), value.level), NoiseModel.encoding
        )
        return one.slots * np.sqrt(squares)

    def _baby(self, value: ClearVector, step: int) -> Vector:
        if step == 0:
            return value.slots
        rotated = ClearVector(np.roll(value.slots, -step), value.level)
        return self._with_error(rotated, NoiseModel.switching).slots

    @_outgrowing
    def polynomial(
        self, value: ClearVector, coefficients: Sequence[float], basis: Basis
    ) -> ClearVector:
        """A polynomial of every slot, rescaled as often as its degree asks."""
        evaluate = {"monomial": polynomial.polyval, "chebyshev": chebyshev.chebval}[basis]
        slots = np.asarray(evaluate(value.slots, list(coefficients)), dtype=np.float64)
        made = ClearVector(slots, value.level - polynomial_depth(coefficients))
        return self._with_error(
            made, lambda noise, scale: noise.polynomial(scale, coefficients, basis, value.slots)
        )

    def rescale(self, value: ClearVector) -> ClearVector:
        """The same numbers one level down."""
        return self._with_error(ClearVector(value.slots, value.level - 1), NoiseModel.rounding)

    def drop_level(self, value: ClearVector, level: int) -> ClearVector:
        """The same numbers at a lower level."""
        return self._with_error(ClearVector(value.slots, level), NoiseModel.rounding)

    def _with_error(
        self,
        value: ClearVector,
        deviation: Callable[[NoiseModel, float], float | NDArray[np.float64]],
    ) -> ClearVector:
        """The value with an error of a deviation that follows from its scale."""
        if self._noise is None:
            return value
        scale = self._noise.scale(value.level, waiting=value.waiting)
        size = deviation(self._noise, scale)
        errors = self._generator.normal(scale=size, size=value.slots.shape)
        return ClearVector(value.slots + errors, value.level, value.waiting)


class _Rotations:
    """All rotations of a vector: parts of two copies of it, one after the other."""

    def __init__(self, slots: Vector) -> None:
        self._slots = len(slots)
        self._twice = np.concatenate([slots, slots])

    def by(self, steps: int) -> Vector:
        start = steps % self._slots
        return self._twice[start : start + self._slots]


def _transformed(slots: Vector, diagonals: Mapping[int, Vector]) -> Vector:
    rotations = _Rotations(slots)
    total = np.zeros_like(slots)
    for d, diagonal in diagonals.items():
        total += diagonal * rotations.by(d)
    return total


class ClearKey:
    """Stands where a key stands, and hides nothing.

    Args:
        noise: The errors to add to what is encrypted; None for exact numbers.

    Example:
        >>> ClearKey().encrypt(np.zeros(4), level=2).level
        2
    """

    nbytes = 0

    def __init__(self, noise: NoiseModel | None = None) -> None:
        self._noise = noise
        self._generator = np.random.default_rng(None if noise is None else [noise.seed, 0])

    def encrypt(self, vector: Vector, *, level: int) -> ClearVector:
        """The vector at a level."""
        if self._noise is None:
            return ClearVector(vector.copy(), level)
        size = self._noise.encryption(level)
        errors = self._generator.normal(scale=size, size=vector.shape)
        return ClearVector(vector + errors, level)


class ClearReal:
    """The numbers of CKKS without encryption, slot for slot; see `schemes.base.Scheme`.

    Args:
        parameters: What the ciphertexts would be under.
        noise_seed: What modelled errors are drawn from; None for none.

    Example:
        >>> scheme = ClearReal(Parameters(levels=1, log_n=10, insecure=True))
        >>> str(scheme)
        'clear backend: hides nothing, 512 slots, 1 levels'
    """

    name: ClassVar[str] = "clear ckks"
    encrypts: ClassVar[bool] = False
    insecure = True
    public_inputs = True

    def __init__(self, parameters: Parameters, noise_seed: int | None = None) -> None:
        self.parameters = parameters
        self.noise = None if noise_seed is None else noise_of(parameters, noise_seed)

    def log2_failure(self, body: Any) -> float:
        """Nothing goes wrong."""
        return -math.inf

    def require_fitting(self, body: SlotProgram) -> None:
        """Refuse a program of other slots or more levels, or over integers."""
        require_reals(body, self.parameters)

    def in_clear(self, noise_seed: int | None = None) -> ClearReal:
        """The same numbers."""
        return ClearReal(self.parameters, noise_seed)

    def key_bytes(self, body: SlotProgram) -> int:
        """Bytes of the evaluation keys that ciphertexts would need."""
        return required_keys(body).nbytes(self.parameters.evaluation_key_bytes)

    def secret_key(self) -> ClearKey:
        """What stands where a secret key stands."""
        return ClearKey(self.noise)

    def public_key(self, secret: ClearKey) -> ClearKey:
        """What stands where a public key stands."""
        return secret

    def evaluation_keys(self, secret: ClearKey, body: SlotProgram) -> ClearKey:
        """What stands where evaluation keys stand."""
        return secret

    def encrypt_vector(
        self, key: ClearKey, vector: Vector, *, level: int, bound: float
    ) -> ClearVector:
        """The vector at a level."""
        return key.encrypt(vector, level=level)

    def encrypt(
        self,
        key: ClearKey,
        vectors: Mapping[int, Vector],
        body: SlotProgram,
        bounds: Sequence[float] | None,
    ) -> dict[int, ClearVector]:
        """Inputs of a program at their levels."""
        levels = levels_of(body, "inputs")
        return {
            number: key.encrypt(vector, level=levels[number]) for number, vector in vectors.items()
        }

    def claims(self, values: Sequence[ClearVector]) -> None:
        """Vectors say nothing of themselves."""

    def decrypt(
        self,
        secret: ClearKey,
        values: Sequence[ClearVector],
        body: Any,
        expected: Any = None,
        flooding: Any = None,
    ) -> Decrypted:
        """The vectors."""
        return Decrypted([value.slots for value in values], 2.0**-52)

    def backend(self, keys: ClearKey, *, cache_bytes: int) -> ClearBackend:
        """What a program runs on."""
        return ClearBackend(self.noise)

    def bytes_at(self, state: State) -> int:
        """Bytes of a vector."""
        return self.ciphertext_bytes(0)

    def ciphertext_bytes(self, level: int) -> int:
        """Bytes of a vector."""
        return self.parameters.slots * 8

    def dump(self, item: ClearKey | ClearVector) -> Record:
        """A vector as a record; a key is nothing."""
        if isinstance(item, ClearKey):
            return {}
        return {"slots": item.slots, "level": item.level}

    def read_key(self, kind: str, fields: Fields) -> ClearKey:
        """What stands where keys stand."""
        return ClearKey(self.noise)

    def read_value(self, fields: Fields, body: SlotProgram, number: int, role: str) -> ClearVector:
        """A vector of a record."""
        value = self.read_tensor_value(fields)
        if value.level != levels_of(body, role)[number]:
            raise fields.wrong("level", str(levels_of(body, role)[number]))
        return value

    def read_tensor_value(self, fields: Fields) -> ClearVector:
        """A vector of a record, at whatever level."""
        slots = fields.array("slots", "float64")
        if len(slots) != self.parameters.slots:
            raise fields.wrong("slots", f"{self.parameters.slots} numbers")
        return ClearVector(slots, fields.integer("level", least=0, most=self.parameters.levels))

    def to_record(self) -> Record:
        """The parameters as files hold them."""
        return {"scheme": self.name, "parameters": self.parameters.to_bytes()}

    def __str__(self) -> str:
        slots, levels = self.parameters.slots, self.parameters.levels
        return f"clear backend: hides nothing, {slots} slots, {levels} levels"


def require_reals(body: SlotProgram, parameters: Parameters) -> None:
    """Refuse what is no slot program over the reals of a parameter set.

    Raises:
        InvalidProgramError: It has no slots, is over integers, or has other slots or more levels.
    """
    if not isinstance(body, SlotProgram):
        raise InvalidProgramError("cannot use the program: it has no slots")
    levels = [state.level for state in body.states if state.level is not None]
    for wrong, reason in (
        (body.numbers != "real", "it is over integers"),
        (body.slots != parameters.slots, "its slots are not those of the parameters"),
        (max(levels, default=0) > parameters.levels, "it has more levels than the parameters"),
    ):
        if wrong:
            raise InvalidProgramError(f"cannot use {body.title}: {reason}")
