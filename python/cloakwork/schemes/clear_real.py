"""The clear backend: slot programs on float64 vectors, slot for slot.

It is the meaning of a program and its debugger: the same rotations and levels as
on ciphertexts, no encryption. With a model of the noise every operation adds an
error of the size that it would have on ciphertexts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.polynomial import chebyshev, polynomial
from numpy.typing import NDArray

from cloakwork._native import BootstrappingParameters, Parameters
from cloakwork.base.itself import Itself
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.bsgs import split
from cloakwork.programs.coefficients import coefficients_of_slots
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.keys import (
    KeyExpansion,
    KeyRequirements,
    required_keys,
    rotations_used,
)
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.refreshing import RefreshedPacking, Refreshing
from cloakwork.programs.slots import (
    Basis,
    Bootstrap,
    BootstrapOfCoefficients,
    SlotProgram,
    State,
    Vector,
    polynomial_depth,
)
from cloakwork.schemes.base import (
    Backend,
    Decrypted,
    ReadLimits,
    SlotScheme,
    Sums,
    levels_of,
    require_slots,
)
from cloakwork.schemes.ckks_noise import NoiseModel, noise_of, powers_of
from cloakwork.schemes.clear import ClearScheme, NoKey, rotated_products, skewed
from cloakwork.schemes.gaussian import GaussianDraws

# What is refreshed beside real numbers in slots, as files say it.
_OTHERS = ("coefficients",)
# What follows from a model of the noise and the scale of a value.
_Deviation: TypeAlias = Callable[[NoiseModel, float], "float | NDArray[np.float64]"]
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

    def to_record(self) -> Record:
        """The vector as files hold it: imaginary parts, if any, by themselves."""
        record = {"slots": np.ascontiguousarray(self.slots.real), "level": self.level}
        if np.iscomplexobj(self.slots):
            record["imaginary"] = np.ascontiguousarray(self.slots.imag)
        return record


class ClearBackend(Backend[ClearVector]):
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
        self._draws = GaussianDraws(
            np.random.default_rng(None if noise is None else [noise.seed, 1])
        )
        self._shared: dict[Itself[ClearVector], _Shared] = {}

    @_outgrowing
    def add(self, left: ClearVector, right: ClearVector) -> ClearVector:
        return ClearVector(left.slots + right.slots, left.level, left.waiting)

    @_outgrowing
    def subtract(self, left: ClearVector, right: ClearVector) -> ClearVector:
        return ClearVector(left.slots - right.slots, left.level, left.waiting)

    @_outgrowing
    def add_constant(self, value: ClearVector, constant: Vector) -> ClearVector:
        total = ClearVector(value.slots + constant, value.level, value.waiting)
        return self._with_error(total, NoiseModel.encoding)

    @_outgrowing
    def multiply(self, left: ClearVector, right: ClearVector) -> ClearVector:
        product = ClearVector(left.slots * right.slots, left.level, waiting=True)
        return self._with_error(product, NoiseModel.rotation)

    @_outgrowing
    def multiply_constant(self, value: ClearVector, constant: Vector) -> ClearVector:
        encoded = self._with_error(ClearVector(constant, value.level), NoiseModel.encoding)
        return ClearVector(value.slots * encoded.slots, value.level, waiting=True)

    def negate(self, value: ClearVector) -> ClearVector:
        return ClearVector(-value.slots, value.level, value.waiting)

    def filled(self, value: ClearVector, constant: Vector) -> ClearVector:
        return self._with_error(ClearVector(constant, value.level), NoiseModel.encoding)

    def multiply_imaginary(self, value: ClearVector) -> ClearVector:
        turned: NDArray[Any] = 1j * value.slots
        return ClearVector(turned, value.level, value.waiting)

    def twice_real(self, value: ClearVector) -> ClearVector:
        doubled = ClearVector(2 * np.real(value.slots), value.level, value.waiting)
        return self._with_error(doubled, NoiseModel.rotation)

    def rotate(self, value: ClearVector, steps: int) -> ClearVector:
        rotated = ClearVector(np.roll(value.slots, -steps), value.level, value.waiting)
        return self._with_error(rotated, NoiseModel.rotation)

    def linear(
        self, value: ClearVector, diagonals: Mapping[int, Vector], baby_steps: int
    ) -> ClearVector:
        return self.shared_linear(value, diagonals, baby_steps, 1)

    @_outgrowing
    def shared_linear(
        self,
        value: ClearVector,
        diagonals: Mapping[int, Vector],
        baby_steps: int,
        shared_by: int,
    ) -> ClearVector:
        """The sum over d of diagonals[d] * rotate(value, d), d split as the engine splits it."""
        if self._noise is None:
            return ClearVector(_transformed(value.slots, diagonals), value.level, waiting=True)
        steps = split(diagonals, len(value.slots), baby_steps)
        moving = len(steps.baby), len(steps.giant)

        def deviation(model: NoiseModel, scale: float) -> float:
            return model.baby_step(scale, value.level, len(diagonals), moving, shared_by)

        shared = self._shared_with_others(value, shared_by)
        babies = self._babies(value, {d % baby_steps for d in diagonals}, deviation, shared)
        total = _transformed_babies(babies, baby_steps, diagonals)
        errors = self._encoding_errors(value, shared.sizes_of(value, diagonals))
        product = ClearVector(total + errors, value.level, waiting=True)
        # Giant steps work at the scale of products, where all of them add next to nothing.
        return self._with_error(product, NoiseModel.rotation)

    def _shared_with_others(self, value: ClearVector, shared_by: int) -> _Shared:
        """What transforms of a value share, until the last of them has it."""
        found = self._shared.pop(Itself(value), None) or _Shared(shared_by)
        found.uses -= 1
        if found.uses > 0:
            self._shared[Itself(value)] = found
        return found

    def _babies(
        self, value: ClearVector, steps: set[int], deviation: _Deviation, shared: _Shared
    ) -> _Babies:
        """A value rotated by baby steps, once for all transforms that the engine shares them by."""
        key = frozenset(steps), float(self._usual_size(value, deviation))
        found = shared.babies.get(key)
        if found is None:
            made = {step: self._baby(value, step, deviation) for step in steps}
            kept = sorted(made)
            found = _Babies(np.asarray(kept), np.stack([made[step] for step in kept]))
            shared.babies[key] = found
        return found

    def _encoding_errors(self, value: ClearVector, sizes: Vector) -> Vector:
        one = self._with_error(
            ClearVector(np.zeros_like(value.slots), value.level), NoiseModel.encoding
        )
        return one.slots * sizes

    def _baby(self, value: ClearVector, step: int, deviation: _Deviation) -> Vector:
        if step == 0:
            return value.slots
        rotated = ClearVector(np.roll(value.slots, -step), value.level)
        return self._with_error(rotated, deviation).slots

    @_outgrowing
    def polynomial(
        self, value: ClearVector, coefficients: Sequence[float], basis: Basis
    ) -> ClearVector:
        level = value.level - polynomial_depth(coefficients)
        if self._noise is not None:
            return self._noisy_polynomial(value, coefficients, basis, level)
        evaluate = {"monomial": polynomial.polyval, "chebyshev": chebyshev.chebval}[basis]
        slots: NDArray[Any] = evaluate(value.slots, np.asarray(coefficients, dtype=np.float64))
        return ClearVector(slots, level)

    def _noisy_polynomial(
        self, value: ClearVector, coefficients: Sequence[float], basis: Basis, level: int
    ) -> ClearVector:
        """The same with an error in each power, whose effects on the others are not independent."""

        def rounded(slots: NDArray[Any]) -> NDArray[Any]:
            return self._with_error(ClearVector(slots, level), NoiseModel.rounding).slots

        powers = powers_of(value.slots, len(coefficients), basis, rounded)
        # A constant alone has no power of the value.
        total = sum(c * power for c, power in zip(coefficients, powers, strict=False))
        return ClearVector(rounded(np.asarray(total)), level)

    @_outgrowing
    def rotated_products(
        self, left: Sequence[ClearVector], right: Sequence[ClearVector], step: int
    ) -> ClearVector:
        """The products, a row each."""
        u, v = (np.stack([each.slots for each in values]) for values in (left, right))
        return ClearVector(rotated_products(u, v, step), left[0].level, waiting=True)

    @_outgrowing
    def diagonal_products(
        self, left: Sequence[ClearVector], right: Sequence[ClearVector], step: int
    ) -> ClearVector:
        """The products, a row each."""
        u, v = (skewed(np.stack([each.slots for each in values]), step) for values in (left, right))
        return ClearVector(rotated_products(u, v, step), left[0].level, waiting=True)

    def add_products(self, left: ClearVector, right: ClearVector) -> ClearVector:
        return self.add(left, right)

    def switch_product(self, products: ClearVector, steps: int) -> ClearVector:
        row = products.slots[steps * len(products.slots) // products.slots.shape[-1]]
        taken = self._with_error(
            ClearVector(row, products.level, waiting=True), NoiseModel.switching
        )
        return self._with_error(taken, NoiseModel.rotation)

    @_outgrowing
    def weighted_sums(
        self, values: Sequence[ClearVector], weights: Vector, offsets: Vector
    ) -> Sums:
        rows = weights @ np.stack([each.slots for each in values]) + offsets[:, np.newaxis]
        level = values[0].level - 1
        return Sums(self._with_error(ClearVector(row, level), NoiseModel.rounding) for row in rows)

    def rescale(self, value: ClearVector) -> ClearVector:
        return self._with_error(ClearVector(value.slots, value.level - 1), NoiseModel.rounding)

    def drop_level(self, value: ClearVector, level: int) -> ClearVector:
        return self._with_error(ClearVector(value.slots, level), NoiseModel.rounding)

    def bootstrap(self, value: ClearVector, level: int) -> ClearVector:
        return self._with_error(
            ClearVector(value.slots, level), lambda noise, _: noise.bootstrapping
        )

    def bootstrap_of_coefficients(self, value: ClearVector, level: int) -> ClearVector:
        return self.bootstrap(ClearVector(coefficients_of_slots(value.slots), value.level), level)

    def bootstrap_pair(
        self, left: ClearVector, right: ClearVector, level: int
    ) -> Sequence[ClearVector]:
        return [
            self._with_error(
                ClearVector(value.slots, level), lambda noise, _: noise.paired_bootstrapping
            )
            for value in (left, right)
        ]

    def _with_error(
        self,
        value: ClearVector,
        deviation: _Deviation,
    ) -> ClearVector:
        """The value with an error of a deviation that follows from its scale."""
        if self._noise is None:
            return value
        slots = _with_drawn(value.slots, self._size(value, deviation), self._draws)
        return ClearVector(slots, value.level, value.waiting)

    def _size(self, value: ClearVector, deviation: _Deviation) -> float | NDArray[np.float64]:
        """The deviation that errors are drawn with."""
        assert self._noise is not None
        return self._noise.times * self._usual_size(value, deviation)

    def _usual_size(self, value: ClearVector, deviation: _Deviation) -> float | NDArray[np.float64]:
        """A deviation at a value's scale."""
        assert self._noise is not None
        return deviation(self._noise, self._noise.scale(value.level, waiting=value.waiting))


def _with_drawn(
    slots: Vector, size: float | NDArray[np.float64], draws: GaussianDraws
) -> NDArray[Any]:
    """Numbers with errors of a deviation, complex ones with complex errors."""
    errors = draws.vector(len(slots), size)
    if not np.iscomplexobj(slots):
        errors += slots
        return errors
    made = np.array(slots)
    made.real += errors
    made.imag += draws.vector(len(slots), size)
    return made


class _Rotations:
    """All rotations of a vector: parts of two copies of it, one after the other."""

    def __init__(self, slots: Vector) -> None:
        self._slots = len(slots)
        self._twice = np.concatenate([slots, slots])

    def by(self, steps: int) -> Vector:
        start = steps % self._slots
        return self._twice[start : start + self._slots]


def _transformed(slots: Vector, diagonals: Mapping[int, Vector]) -> Vector:
    if isinstance(diagonals, SparseDiagonals):
        return _of_both_parts(diagonals.applied, slots)
    rotations = _Rotations(slots)
    total = np.zeros_like(slots)
    for d, diagonal in diagonals.items():
        total += diagonal * rotations.by(d)
    return total


@dataclass(frozen=True, slots=True, eq=False)
class _Babies:
    """A value rotated by some steps, rising, a row each."""

    steps: NDArray[np.int64]
    rows: NDArray[Any]


@dataclass(slots=True, eq=False)
class _Shared:
    """What so many transforms of one value share: its baby steps, and what their errors grow by."""

    uses: int
    babies: dict[tuple[frozenset[int], float], _Babies] = field(default_factory=dict)
    sizes: dict[tuple[int, ...], Vector] = field(default_factory=dict)

    def sizes_of(self, value: ClearVector, diagonals: Mapping[int, Vector]) -> Vector:
        """Of the errors of all diagonals: each meets the value rotated by its number."""
        numbers = tuple(diagonals)
        if numbers not in self.sizes:
            self.sizes[numbers] = np.sqrt(_sum_of_rotations(np.abs(value.slots) ** 2, numbers))
        return self.sizes[numbers]


def _sum_of_rotations(vector: Vector, numbers: Sequence[int]) -> Vector:
    """The sum of a vector rotated by each number; numbers in a row share sums of halves.

    Example:
        >>> _sum_of_rotations(np.array([1, 10, 100, 1000]), [0, 1, 3]).tolist()
        [1011, 111, 1110, 1101]
    """
    ordered = np.sort(np.asarray(numbers) % len(vector))
    runs = np.split(ordered, np.flatnonzero(np.diff(ordered) != 1) + 1)
    ends = [(int(run[0]), len(run)) for run in runs]
    total = np.zeros_like(vector)
    doubled, taken = _Rotations(vector), 1
    while ends:
        for start, length in ends:
            if length & taken:
                # Those of the smaller parts of the run come first.
                total += doubled.by(start + length % taken)
        ends = [(start, length) for start, length in ends if length >= 2 * taken]
        if ends:
            doubled, taken = _Rotations(doubled.by(0) + doubled.by(taken)), 2 * taken
    return total


def _transformed_babies(
    babies: _Babies, baby_steps: int, diagonals: Mapping[int, Vector]
) -> Vector:
    """A transform, given what its baby steps made of a vector."""
    steps, rows = babies.steps, babies.rows
    if isinstance(diagonals, SparseDiagonals):
        return _of_both_parts(
            lambda part: diagonals.applied_to_babies(steps, part, baby_steps), rows
        )
    rotations = dict(zip(steps.tolist(), map(_Rotations, rows), strict=True))
    total: Vector = np.zeros_like(rows[0])
    for d, diagonal in diagonals.items():
        total += diagonal * rotations[d % baby_steps].by(d - d % baby_steps)
    return total


def _of_both_parts(transform: Callable[[Vector], Vector], slots: Vector) -> Vector:
    """A real transform of numbers that may be complex."""
    if not np.iscomplexobj(slots):
        return transform(slots)
    real, imaginary = map(transform, (slots.real, slots.imag))
    made: NDArray[Any] = real + 1j * imaginary
    return made


class ClearKey(NoKey):
    """Stands where a key stands, and hides nothing.

    Args:
        noise: The errors to add to what is encrypted; None for exact numbers.

    Example:
        >>> ClearKey().encrypt(np.zeros(4), level=2).level
        2
    """

    def __init__(self, noise: NoiseModel | None = None) -> None:
        self._noise = noise
        self._draws = GaussianDraws(
            np.random.default_rng(None if noise is None else [noise.seed, 0])
        )

    def encrypt(self, vector: Vector, *, level: int) -> ClearVector:
        """The vector at a level."""
        if self._noise is None:
            return ClearVector(vector.copy(), level)
        size = self._noise.times * self._noise.encryption(level)
        return ClearVector(_with_drawn(vector, size, self._draws), level)


class RealScheme(SlotScheme):
    """What CKKS has and its clear twin: a parameter set, and programs over reals.

    Args:
        parameters: The parameter set.
        refreshing: What bootstraps under it do; None where its chain has no levels for them.
        public_inputs: Whether inputs may be encrypted by a public key.
    """

    exact: ClassVar[bool] = False

    def __init__(
        self,
        parameters: Parameters,
        refreshing: Refreshing | None = None,
        *,
        public_inputs: bool = False,
    ) -> None:
        super().__init__(parameters, public_inputs=public_inputs)
        self.parameters = parameters
        self.parameter_sets = (parameters,)
        self.refreshing = refreshing

    def require_fitting(self, body: SlotProgram) -> None:
        """Refuse what is no slot program over reals, or has other slots or levels."""
        require_slots(body, "real", self.parameters)
        for operation in body.operations:
            if isinstance(operation, Bootstrap):
                self._require_refreshing(operation, body.title)

    def _require_refreshing(self, operation: Bootstrap, title: str) -> None:
        if self.refreshing is None:
            raise InvalidProgramError(
                f"cannot use {title}: it bootstraps, and its parameters have no levels for that"
            )
        has = (self.refreshing.input_level, self.refreshing.output_level)
        wants = (operation.least, operation.level)
        if wants != has:
            raise InvalidProgramError(
                f"cannot use {title}: its parameters bootstrap from level {has[0]} to {has[1]}, it "
                f"does from {wants[0]} to {wants[1]}"
            )
        is_of_coefficients = isinstance(operation, BootstrapOfCoefficients)
        if is_of_coefficients != (self.refreshing.packing == "coefficients"):
            raise InvalidProgramError(
                f"cannot use {title}: it has {operation.kind}, and its parameters are for what is "
                "in slots or in coefficients alone, which is the other"
            )

    @property
    def top_level(self) -> int:
        """The highest level that values of programs stand at."""
        if self.refreshing is None:
            return self.parameters.levels
        return self.refreshing.output_level

    def required_keys(
        self, body: SlotProgram, numbers: Collection[int] | None = None
    ) -> KeyRequirements:
        """The evaluation keys that a body needs, with those of its bootstraps."""
        needed = required_keys(body, numbers)
        counted = range(len(body.operations)) if numbers is None else numbers
        bootstraps = any(isinstance(body.operations[each], Bootstrap) for each in counted)
        if self.refreshing is None or not bootstraps:
            return needed
        return needed.joined(self.refreshing.keys)

    def rotations_used(self, body: SlotProgram) -> Iterator[tuple[int, int]]:
        """Every use of a Galois key of a rotation, with its level; each of a bootstrap's once."""
        if self.refreshing is not None:
            for _ in range(refreshes(body)):
                yield from self.refreshing.keys.rotations.items()
        yield from rotations_used(body)

    def bytes_of(self, keys: KeyRequirements) -> int:
        """Bytes of evaluation keys."""
        nbytes = keys.nbytes(self.parameters.evaluation_key_bytes)
        if keys.encapsulation_weight is not None:
            nbytes += self.parameters.encapsulation_key_bytes
        return nbytes

    def key_bytes(self, body: SlotProgram) -> int:
        return self.bytes_of(self.required_keys(body))

    def encrypt_vector(self, key: Any, vector: Vector, *, level: int, bound: float | None) -> Any:
        """A vector at a level, its numbers said to be at most the bound."""
        raise NotImplementedError

    def encrypt(
        self,
        key: Any,
        vectors: Mapping[int, Vector],
        body: SlotProgram,
        bounds: Sequence[float] | None,
    ) -> dict[int, Any]:
        levels = levels_of(body, "inputs")
        limits = [None] * len(levels) if bounds is None else bounds
        return {
            number: self.encrypt_vector(key, vector, level=levels[number], bound=limits[number])
            for number, vector in vectors.items()
        }

    def dump_parameters(self) -> Record:
        """The parameters; those of a bootstrapping say what their chain has levels for."""
        if self.refreshing is None:
            return {"parameters": self.parameters.to_bytes()}
        made = {"bootstrapping": self.refreshing.parameters.to_bytes()}
        if self.refreshing.packing == "coefficients":
            return {**made, "refreshed": self.refreshing.packing}
        return made

    @classmethod
    def read_parameters(
        cls, fields: Fields, limits: ReadLimits
    ) -> tuple[Parameters, Refreshing | None]:
        if not fields.has("bootstrapping"):
            return Parameters.from_bytes(fields.data("parameters"), **asdict(limits)), None
        data = fields.data("bootstrapping")
        is_of_coefficients = fields.has("refreshed") and fields.choice("refreshed", _OTHERS)
        packing: RefreshedPacking = "coefficients" if is_of_coefficients else "real"
        made = BootstrappingParameters.from_bytes(data, **asdict(limits))
        refreshing = Refreshing(made, packing)
        return refreshing.chain, refreshing


class ClearReal(ClearScheme, RealScheme):
    """The numbers of CKKS without encryption, slot for slot; see `schemes.base.Scheme`.

    Args:
        parameters: What the ciphertexts would be under.
        refreshing: What bootstraps under it do; None where its chain has no levels for them.
        noise_seed: What modelled errors are drawn from; None for none.
        public_inputs: Whether they are those of inputs that a public key encrypts.

    Example:
        >>> scheme = ClearReal(Parameters(levels=1, log_n=10, insecure=True))
        >>> str(scheme)
        'clear backend: hides nothing, 512 slots, 1 levels'
    """

    name: ClassVar[str] = "clear ckks"
    error: ClassVar[float] = 2.0**-52

    def __init__(
        self,
        parameters: Parameters,
        refreshing: Refreshing | None = None,
        noise_seed: int | None = None,
        *,
        public_inputs: bool = False,
    ) -> None:
        super().__init__(parameters, refreshing, public_inputs=public_inputs)
        self.noise: NoiseModel | None = None
        if noise_seed is not None:
            self.noise = noise_of(parameters, noise_seed, refreshing, public_inputs=public_inputs)

    def in_clear(self, noise_seed: int | None = None) -> ClearReal:
        return ClearReal(
            self.parameters, self.refreshing, noise_seed, public_inputs=self.public_inputs
        )

    def secret_key(self) -> ClearKey:
        return ClearKey(self.noise)

    def encrypt_vector(
        self, key: ClearKey, vector: Vector, *, level: int, bound: float | None
    ) -> ClearVector:
        return key.encrypt(vector, level=level)

    def decrypt(
        self,
        secret: NoKey,
        values: Sequence[ClearVector],
        body: Any,
        expected: Any = None,
        flooding: Any = None,
    ) -> Decrypted:
        """The vectors, real or complex."""
        return Decrypted([value.slots for value in values], self.error)

    def backend(
        self, keys: NoKey, *, cache_bytes: int, expansion: KeyExpansion | None = None
    ) -> ClearBackend:
        return ClearBackend(self.noise)

    def bytes_at(self, state: State) -> int:
        return self.parameters.slots * 8

    def read_products(self, fields: Fields) -> Any:
        raise fields.wrong("data", "encrypted: products in the clear are not moved")

    def read_ciphertext(self, fields: Fields) -> ClearVector:
        slots: NDArray[Any] = self._read_slots(fields, "slots")
        if fields.has("imaginary"):
            slots = slots + 1j * self._read_slots(fields, "imaginary")
        return ClearVector(slots, fields.integer("level", least=0, most=self.parameters.levels))

    def _read_slots(self, fields: Fields, name: str) -> NDArray[np.float64]:
        numbers = fields.array(name, "float64", most=self.parameters.slots)
        if len(numbers) != self.parameters.slots:
            raise fields.wrong(name, f"{self.parameters.slots} numbers")
        return numbers

    def __str__(self) -> str:
        slots, levels = self.parameters.slots, self.parameters.levels
        return f"clear backend: hides nothing, {slots} slots, {levels} levels"
