"""The CKKS backend on a GPU: slot programs on ciphertexts that stay there for a whole program.

Each operation makes the residues that `schemes.ckks.CkksBackend` makes. Keys go to the device when
they are first used, and make room for others where they do not fit together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from cloakwork._native import (
    WORD_BYTES,
    Ciphertext,
    CkksEstimate,
    DeviceBootstrapping,
    DeviceCiphertext,
    DeviceEvaluator,
    DeviceLinearTransform,
    DeviceParameters,
    DevicePlaintext,
    EvaluationKeys,
    LinearTransform,
    Parameters,
)
from cloakwork.base.itself import Itself
from cloakwork.errors import DeviceOperationError, InvalidProgramError, MemoryBudgetError
from cloakwork.programs.bsgs import split
from cloakwork.programs.keys import required_keys
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    AddProducts,
    Basis,
    Bootstrap,
    BootstrapOfCoefficients,
    DiagonalProducts,
    Linear,
    Operation,
    PairedBootstrap,
    Polynomial,
    RotatedProducts,
    SlotProgram,
    State,
    SwitchProduct,
    Vector,
)
from cloakwork.schemes.base import Backend, Sums
from cloakwork.schemes.device.cache import DeviceCache
from cloakwork.schemes.device.devices import OpenDevice, open_device
from cloakwork.schemes.device.recorded_runs import RecordedRuns, give_up_recordings
from cloakwork.schemes.device.staying import give_up
from cloakwork.schemes.encoded_cache import ciphertext_bytes, diagonal_limbs, native_diagonals

_Diagonals: TypeAlias = Mapping[int, Vector]

_LACKING = (
    RotatedProducts,
    DiagonalProducts,
    AddProducts,
    SwitchProduct,
    BootstrapOfCoefficients,
)
# Index tables of a level, of a key's use there, and of a combination: above those of any chain.
_TABLE_BYTES = 1 << 16
# Ciphertexts between the steps of one operation: one is relinearised, conjugated and added.
_BETWEEN = 2
# The memory of a polynomial does not depend on how large numbers are; small ones fit any modulus.
_SMALL_BOUND = 2.0**-20


def require_device_operations(program: SlotProgram) -> None:
    """Refuse a program that has an operation which devices lack.

    Example:
        >>> from cloakwork.programs.slots import Input, Neg, Output
        >>> program = SlotProgram("", 8, (Input("x", 1), Neg(0), Output(1)), (None,) * 3)
        >>> require_device_operations(program)
    """
    for number, operation in enumerate(program.operations):
        if isinstance(operation, _LACKING):
            raise DeviceOperationError(
                f"cannot run {program.title} on a device: devices have no {operation.kind}, which "
                f"is operation {program.line(number)}; run it on the CPU, device='cpu'"
            )


class CkksDeviceBackend(Backend[DeviceCiphertext]):
    """Computes on ciphertexts of a device what `schemes.base.Backend` asks for.

    Args:
        parameters: The parameter set.
        keys: The evaluation keys; it holds no other key.
        device: The device.
        cache_bytes: Bytes that constants and diagonals of linear transforms may take on the device,
            to be used again; those beyond are encoded and sent whenever they are used.
        refreshing: What bootstraps do; None where there are none.

    Attributes:
        name: The name of the device.
        needed: Bytes that programs take which ran before; see `runtime.on_device.device_bytes`.
        recorded: The programs that ran before.
        spare: Bytes of the device that are free beside the program that runs.

    Example:
        >>> import numpy as np
        >>> from cloakwork._native import SecretKey
        >>> from cloakwork.schemes.device.devices import open_device
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> secret = SecretKey.generate(p)
        >>> keys = secret.evaluation_keys(
        ...     relinearisation_level=None, rotations={}, conjugation_level=None)
        >>> backend = CkksDeviceBackend(p, keys, open_device("software"))
        >>> x = secret.encrypt(p.encode(np.full(p.slots, 0.5), level=1, bound=1.0))
        >>> doubled = backend.fetch(backend.add(backend.send(x), backend.send(x)))
        >>> bool(abs(secret.decrypt(doubled, doubled.estimate).decode_real()[0] - 1) < 1e-4)
        True
    """

    def __init__(
        self,
        parameters: Parameters,
        keys: EvaluationKeys,
        device: OpenDevice,
        *,
        cache_bytes: int = 0,
        refreshing: Refreshing | None = None,
    ) -> None:
        self.parameters = parameters
        self._refreshing = refreshing
        self.keys = keys
        self.needed: WeakKeyDictionary[SlotProgram, int] = WeakKeyDictionary()
        self._cache_bytes = cache_bytes
        self.name = device.name
        self._begin(device)

    def _begin(self, device: OpenDevice) -> None:
        self.device = device
        self._is_there = True
        self._tables = DeviceParameters(device.native, self.parameters)
        self._evaluator = DeviceEvaluator(self._tables, self.keys)
        self._cache = DeviceCache(self._cache_bytes)
        self.recorded = RecordedRuns(device)
        self.spare = 0
        # What each program takes in all, for which the tables of its levels were made.
        self._totals: WeakKeyDictionary[SlotProgram, int] = WeakKeyDictionary()
        self._circuit: DeviceBootstrapping | None = None

    def reopen_if_lost(self) -> None:
        """Where the device was lost, open it again: tables, keys and diagonals are sent anew."""
        if self._is_there and not self.device.lost.is_set():
            return
        if self._is_there:
            self._is_there = False
            give_up(self.device)
            del self.device, self._tables, self._evaluator, self._cache, self._circuit
            del self.recorded
        self._begin(open_device(self.name))

    def extend_keys(self, keys: EvaluationKeys) -> None:
        """Take in further evaluation keys of the same secret key."""
        # On all threads, which the launch of an operation does not take.
        keys.expand()
        self.keys.extend(keys)
        # Where the device has not been opened again yet, all keys go there once it is.
        if self._is_there:
            self._evaluator = self._evaluator.extended(keys)

    def require(self, program: SlotProgram, needed: int) -> None:
        """Make room for a program, which is about to run."""
        total = self._totals.get(program)
        if total is None:
            require_device_operations(program)
            total = self._totals[program] = needed + self._beside_values(program)
        native = self.device.native
        if native.budget - native.used < total:
            # Otherwise keys are given up first, which recordings read.
            give_up_recordings(self.device)
        try:
            self._evaluator.require(total)
        except MemoryBudgetError:
            # What is encoded once more takes time, but no memory.
            self._cache.clear()
            self._evaluator.require(total)
        self.spare = max(0, native.budget - native.used - total)
        self._cache.begin(program, self.spare)

    def _beside_values(self, program: SlotProgram) -> int:
        """Bytes of the largest key, of two plaintexts and of the tables of a program's levels."""
        levels = {state.level for state in program.states if state.level is not None}
        if refreshes(program):
            # A bootstrap goes through all levels.
            levels = {*range(self.parameters.levels + 1)}
        for level in levels:
            # The tables of a level are made when it is first asked for.
            self._tables.working_bytes(level)
        polynomial = ciphertext_bytes(self.parameters, max(levels, default=0)) // 2
        # Beside those that are kept one at a time is on the device, or one imaginary unit.
        plaintexts = 2 * polynomial
        return self._largest_key(program) + plaintexts + _TABLE_BYTES * (4 + len(levels))

    def working_bytes(self, program: SlotProgram, operation: Operation, together: int) -> int:
        """Bytes that an operation of a program works in on the device, keys apart."""
        level = _level(program, operation)
        match operation:
            case Linear(diagonals=diagonals, baby_steps=baby_steps):
                steps = split(diagonals, self.parameters.slots, baby_steps)
                babies = len(steps.baby) + 1
                streamed = min(babies, len(steps.numbers))
                limbs = diagonal_limbs(self.parameters, steps, level, together)
                return self._tables.transform_working_bytes(level, babies, streamed, limbs)
            case Polynomial(coefficients=coefficients, basis=basis):
                return self._tables.polynomial_bytes(self._fresh(level), coefficients, basis)
            case Bootstrap():
                circuit = self._made_refreshing().circuit
                return self._tables.bootstrapping_bytes(self._fresh(level), circuit)
            case PairedBootstrap():
                circuit = self._made_refreshing().circuit
                return self._tables.bootstrapping_pair_bytes(self._fresh(level), circuit)
            case _:
                between = _BETWEEN * ciphertext_bytes(self.parameters, level)
                return self._tables.working_bytes(level) + between

    def bytes_at(self, state: State) -> int:
        """Bytes of a value of degree 1 in a state."""
        return ciphertext_bytes(self.parameters, state.level or 0)

    def _fresh(self, level: int) -> CkksEstimate:
        """What is known of a fresh ciphertext of small numbers at a level."""
        slots = self.parameters.slots
        return self.parameters.estimate(slots, level=level, bound=_SMALL_BOUND).encrypted()

    def _largest_key(self, program: SlotProgram) -> int:
        needed = required_keys(program)
        levels = [*needed.rotations.values()]
        levels += [
            each
            for each in (needed.relinearisation_level, needed.conjugation_level)
            if each is not None
        ]
        if not levels and not refreshes(program):
            return 0
        # Whoever made the keys may have made them for higher levels.
        return self.parameters.evaluation_key_bytes(self.parameters.levels)

    def send(self, value: Ciphertext) -> DeviceCiphertext:
        """A ciphertext sent to the device."""
        return self._tables.send(value)

    def fetch(self, value: DeviceCiphertext) -> Ciphertext:
        """A ciphertext of the device, once all work on it is done."""
        return value.fetch()

    def bounded(self, value: DeviceCiphertext, bound: float) -> DeviceCiphertext:
        return value.with_bound(bound)

    def add(self, left: DeviceCiphertext, right: DeviceCiphertext) -> DeviceCiphertext:
        return self._evaluator.add(left, right)

    def subtract(self, left: DeviceCiphertext, right: DeviceCiphertext) -> DeviceCiphertext:
        if left.degree < right.degree:
            return self._evaluator.add(left, self._evaluator.negate(right))
        return self._evaluator.sub(left, right)

    def add_constant(self, value: DeviceCiphertext, constant: Vector) -> DeviceCiphertext:
        plaintext = self._encoded(constant, value.level, value.scale)
        return self._evaluator.add_plain(value, plaintext)

    def multiply(self, left: DeviceCiphertext, right: DeviceCiphertext) -> DeviceCiphertext:
        return self._evaluator.multiply(left, right)

    def multiply_lazily(self, left: DeviceCiphertext, right: DeviceCiphertext) -> DeviceCiphertext:
        return self._evaluator.multiply_lazily(left, right)

    def multiply_constant(self, value: DeviceCiphertext, constant: Vector) -> DeviceCiphertext:
        scale = self.parameters.matching_scale(value.level, value.scale)
        plaintext = self._encoded(constant, value.level, scale)
        return self._evaluator.multiply_plain(value, plaintext)

    def negate(self, value: DeviceCiphertext) -> DeviceCiphertext:
        return self._evaluator.negate(value)

    def filled(self, value: DeviceCiphertext, constant: Vector) -> DeviceCiphertext:
        nothing = self._evaluator.multiply_integer(value, 0)
        return self.add_constant(nothing, constant)

    def multiply_imaginary(self, value: DeviceCiphertext) -> DeviceCiphertext:
        return self._evaluator.multiply_imaginary(value)

    def twice_real(self, value: DeviceCiphertext) -> DeviceCiphertext:
        if value.degree == 2:
            value = self._evaluator.relinearize(value)
        return self._evaluator.add(value, self._evaluator.conjugate(value))

    def rotate(self, value: DeviceCiphertext, steps: int) -> DeviceCiphertext:
        return self.rotate_many(value, [steps])[0]

    def rotate_many(self, value: DeviceCiphertext, steps: Sequence[int]) -> list[DeviceCiphertext]:
        """The rotations by each of the steps, which share the decomposition (hoisting)."""
        if value.degree == 2:
            value = self._evaluator.relinearize(value)
        return self._evaluator.rotate_hoisted(value, steps)

    def linear(
        self, value: DeviceCiphertext, diagonals: _Diagonals, baby_steps: int
    ) -> DeviceCiphertext:
        return self.shared_linear(value, diagonals, baby_steps, 1)

    def shared_linear(
        self, value: DeviceCiphertext, diagonals: _Diagonals, baby_steps: int, shared_by: int
    ) -> DeviceCiphertext:
        """The transform by itself, of the diagonals that the CPU has where it shares steps."""
        made = self._transform(diagonals, value.level, value.scale, baby_steps, shared_by)
        return self._evaluator.linear_transform(value, made)

    def polynomial(
        self, value: DeviceCiphertext, coefficients: Sequence[float], basis: Basis
    ) -> DeviceCiphertext:
        return self._evaluator.polynomial(value, coefficients, basis)

    def rotated_products(
        self, left: Sequence[DeviceCiphertext], right: Sequence[DeviceCiphertext], step: int
    ) -> Any:
        raise _lacking("rotated_products")

    def diagonal_products(
        self, left: Sequence[DeviceCiphertext], right: Sequence[DeviceCiphertext], step: int
    ) -> Any:
        raise _lacking("diagonal_products")

    def add_products(self, left: Any, right: Any) -> Any:
        raise _lacking("add_products")

    def switch_product(self, products: Any, steps: int) -> DeviceCiphertext:
        raise _lacking("switch_product")

    def bootstrap(self, value: DeviceCiphertext, level: int) -> DeviceCiphertext:
        made = self._evaluator.bootstrap(value, self._made_circuit())
        return self._evaluator.align(made, level)

    def bootstrap_of_coefficients(self, value: DeviceCiphertext, level: int) -> DeviceCiphertext:
        raise _lacking("bootstrap_of_coefficients")

    def bootstrap_pair(
        self, left: DeviceCiphertext, right: DeviceCiphertext, level: int
    ) -> Sequence[DeviceCiphertext]:
        made = self._evaluator.bootstrap_pair(left, right, self._made_circuit())
        return [self._evaluator.align(each, level) for each in made]

    def weighted_sums(
        self, values: Sequence[DeviceCiphertext], weights: Vector, offsets: Vector
    ) -> Sums:
        return Sums(self._evaluator.weighted_sums(values, weights.ravel(), offsets))

    def rescale(self, value: DeviceCiphertext) -> DeviceCiphertext:
        return self._evaluator.relinearize_and_rescale(value)

    def drop_level(self, value: DeviceCiphertext, level: int) -> DeviceCiphertext:
        return self._evaluator.align(value, level)

    def _made_refreshing(self) -> Refreshing:
        if self._refreshing is None:
            raise InvalidProgramError("cannot bootstrap: the parameters have no levels for it")
        return self._refreshing

    def _made_circuit(self) -> DeviceBootstrapping:
        """The circuit, whose diagonals stay on the device where there is space."""
        if self._circuit is None:
            refreshing = self._made_refreshing()
            nbytes = refreshing.circuit.whole_nbytes + _TABLE_BYTES * len(refreshing.transforms)
            if self._fits(nbytes):
                self._circuit = self._tables.send_bootstrapping(refreshing.circuit)
                self._cache.reserve(nbytes)
            else:
                self._circuit = self._tables.stream_bootstrapping(refreshing.circuit)
        return self._circuit

    def _fits(self, nbytes: int) -> bool:
        """Whether so many bytes may stay on the device; then they are free there."""
        fits = self._cache.free_up(nbytes)
        if fits:
            self._evaluator.require(nbytes)
        return fits

    def _encoded(self, constant: Vector, level: int, scale: float) -> DevicePlaintext:
        """A constant encoded at a level and scale, which stays on the device where it fits."""
        key = (Itself(constant), level, scale)
        found: DevicePlaintext | None = self._cache.find(key)
        if found is not None:
            return found
        made = self.parameters.encode(constant, level=level, scale=scale)
        nbytes = ciphertext_bytes(self.parameters, level) // 2
        fits = self._fits(nbytes)
        sent = self._tables.send_plaintext(made)
        if fits:
            self._cache.keep(key, sent, nbytes)
        return sent

    def _transform(
        self, diagonals: _Diagonals, level: int, scale: float, baby_steps: int, shared_by: int
    ) -> DeviceLinearTransform:
        """A transform of a value at a level and scale, which stays on the device where it fits."""
        key = (Itself(diagonals), level, baby_steps, shared_by)
        found: DeviceLinearTransform | None = self._cache.find(key)
        if found is not None:
            return found
        # Whether it stays or not, its encoded diagonals are not needed on the host.
        made = LinearTransform.streamed(
            self.parameters,
            native_diagonals(diagonals),
            slots=self.parameters.slots,
            level=level,
            scale=self.parameters.matching_scale(level, scale),
            baby_steps=baby_steps,
            shared_by=shared_by,
        )
        steps = split(diagonals, self.parameters.slots, baby_steps)
        limbs = diagonal_limbs(self.parameters, steps, level, shared_by) * len(steps.numbers)
        nbytes = limbs * self.parameters.n * WORD_BYTES + _TABLE_BYTES
        if not self._fits(nbytes):
            return self._tables.stream_transform(made)
        sent = self._tables.send_transform(made)
        self._cache.keep(key, sent, nbytes)
        return sent


def _lacking(kind: str) -> DeviceOperationError:
    """The refusal of an operation by a caller who has not asked `require_device_operations`."""
    return DeviceOperationError(f"cannot run {kind} on a device: devices lack it; use the CPU")


def _level(program: SlotProgram, operation: Operation) -> int:
    """The level of the operands of an operation, which is that of its highest."""
    levels = (program.states[number].level for number in operation.operands)
    return max((level for level in levels if level is not None), default=0)
