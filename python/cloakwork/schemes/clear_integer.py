"""The clear backend of programs over integers: exact, whatever their size, slot for slot.

Nothing wraps around: numbers are int64 where no result can leave it, Python's integers
otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import BgvParameters
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.keys import KeyExpansion, KeyRequirements
from cloakwork.programs.packing.scalar import ROWS
from cloakwork.programs.slots import MAX_INTEGER, Integers, SlotProgram, State
from cloakwork.schemes.base import Backend, ReadLimits, SlotScheme, levels_of, require_slots
from cloakwork.schemes.bgv_plaintext import centred
from cloakwork.schemes.clear import ClearScheme, NoKey, rotated_products, skewed

# Up to here every integer is a double.
_MAX_FLOAT_INTEGER = 1 << 53
# Of an integer in a file.
_MAX_DIGITS = 4000
# Of one program.
_MAX_PRIMES = 64


@dataclass(frozen=True, eq=False)
class ClearIntegers:
    """A vector of integers, and the level that its ciphertext would have.

    Args:
        slots: The numbers, as int64 or as Python's integers, in one row or in several.
        level: The level.
    """

    slots: NDArray[Any]
    level: int

    @cached_property
    def largest(self) -> int:
        """The largest absolute value of any slot."""
        return max(abs(int(self.slots.min())), abs(int(self.slots.max())))

    @property
    def nbytes(self) -> int:
        """Bytes of the vector; of Python's integers those of their places alone."""
        return self.slots.nbytes

    def to_record(self) -> Record:
        """The vector as files hold it."""
        rows = [[str(number) for number in row] for row in np.atleast_2d(self.slots).tolist()]
        return {"rows": rows, "level": self.level}


def exact(numbers: Sequence[int] | NDArray[Any], level: int) -> ClearIntegers:
    """A value of integers of any size.

    Example:
        >>> exact([1, 2**70], 0).largest == 2**70, exact([1, 2], 0).slots.dtype
        (True, dtype('int64'))
    """
    value = ClearIntegers(np.array(numbers, dtype=object), level)
    if value.largest > MAX_INTEGER:
        return value
    return ClearIntegers(value.slots.astype(np.int64), level)


class ClearIntegersBackend(Backend[ClearIntegers]):
    """Computes on `ClearIntegers` what `schemes.base.Backend` asks for.

    Args:
        modulus: What products and sums are taken modulo; None leaves them as they are.

    Example:
        >>> x = exact([1, 2, 2**40], level=1)
        >>> ClearIntegersBackend().multiply(x, x).slots.tolist()
        [1, 4, 1208925819614629174706176]
        >>> ClearIntegersBackend(17).multiply(x, x).slots.tolist()
        [1, 4, 1]
    """

    def __init__(self, modulus: int | None = None) -> None:
        self._modulus = modulus

    def add(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        return self._reduced(_computed(np.add, left, right, left.largest + right.largest))

    def subtract(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        return self._reduced(_computed(np.subtract, left, right, left.largest + right.largest))

    def add_constant(self, value: ClearIntegers, constant: Integers) -> ClearIntegers:
        return self.add(value, ClearIntegers(constant, value.level))

    def multiply(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        made = _computed(np.multiply, left, right, left.largest * right.largest)
        return self._reduced(made)

    def _reduced(self, value: ClearIntegers) -> ClearIntegers:
        if self._modulus is None or value.largest <= self._modulus // 2:
            return value
        reduced = centred(value.slots, self._modulus)
        if reduced.dtype == np.int64:
            return ClearIntegers(reduced, value.level)
        return exact(reduced, value.level)

    def multiply_constant(self, value: ClearIntegers, constant: Integers) -> ClearIntegers:
        return self.multiply(value, ClearIntegers(constant, value.level))

    def negate(self, value: ClearIntegers) -> ClearIntegers:
        return ClearIntegers(-value.slots, value.level)

    def rotate(self, value: ClearIntegers, steps: int) -> ClearIntegers:
        return ClearIntegers(np.roll(value.slots, -steps, axis=-1), value.level)

    def rotate_sum(
        self, value: ClearIntegers, added: Sequence[int], subtracted: Sequence[int]
    ) -> ClearIntegers:
        terms = [self.rotate(value, step) for step in added]
        terms += [self.negate(self.rotate(value, step)) for step in subtracted]
        return reduce(self.add, terms)

    def linear(
        self, value: ClearIntegers, diagonals: Mapping[int, Integers], baby_steps: int
    ) -> ClearIntegers:
        if isinstance(diagonals, SparseDiagonals):
            sums = diagonals.absolute().applied(np.ones(diagonals.slots))
            if value.largest * sums.max() <= _MAX_FLOAT_INTEGER:
                rows = np.atleast_2d(value.slots).astype(np.float64)
                made = np.stack([diagonals.applied(row) for row in rows]).astype(np.int64)
                return self._reduced(ClearIntegers(made.reshape(value.slots.shape), value.level))
        terms = [
            self.multiply_constant(self.rotate(value, steps), diagonal.astype(np.int64, copy=False))
            for steps, diagonal in diagonals.items()
        ]
        return reduce(self.add, terms)

    def rotated_products(
        self, left: Sequence[ClearIntegers], right: Sequence[ClearIntegers], step: int
    ) -> ClearIntegers:
        """The products, one after the other along a first axis."""
        u, v = (np.stack([each.slots for each in values]) for values in (left, right))
        level = left[0].level
        largest = [max(each.largest for each in values) for values in (left, right)]
        bound = len(left) * largest[0] * largest[1]
        if bound <= _MAX_FLOAT_INTEGER:
            # No sum leaves what a double holds, and products of doubles are fast.
            products = rotated_products(u.astype(np.float64), v.astype(np.float64), step)
            return ClearIntegers(products.astype(np.int64), level)
        if bound <= MAX_INTEGER:
            return ClearIntegers(rotated_products(u, v, step), level)
        return exact(rotated_products(u.astype(object), v.astype(object), step), level)

    def diagonal_products(
        self, left: Sequence[ClearIntegers], right: Sequence[ClearIntegers], step: int
    ) -> ClearIntegers:
        """The products, one after the other along a first axis."""
        level = left[0].level
        one, other = (
            [
                ClearIntegers(each, level)
                for each in skewed(np.stack([each.slots for each in values]), step)
            ]
            for values in (left, right)
        )
        return self.rotated_products(one, other, step)

    def add_products(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        return self.add(left, right)

    def switch_product(self, products: ClearIntegers, steps: int) -> ClearIntegers:
        number = steps * len(products.slots) // products.slots.shape[-1]
        return ClearIntegers(products.slots[number], products.level)

    def rescale(self, value: ClearIntegers) -> ClearIntegers:
        return ClearIntegers(value.slots, value.level - 1)

    def drop_level(self, value: ClearIntegers, level: int) -> ClearIntegers:
        return ClearIntegers(value.slots, level)


class IntegerScheme(SlotScheme):
    """What BGV has and its clear twin: a parameter set for each prime, and programs over integers.

    Args:
        parameter_sets: The parameters of each prime.
        public_inputs: Whether inputs may be encrypted by a public key.
        modular: Whether programs are meant modulo the product of the primes, as polynomials are
            that interpolate modulo these. In the clear nothing is then larger.
    """

    def __init__(
        self,
        parameter_sets: Sequence[BgvParameters],
        *,
        public_inputs: bool = False,
        modular: bool = False,
    ) -> None:
        super().__init__(parameter_sets, public_inputs=public_inputs)
        self.parameter_sets: tuple[BgvParameters, ...] = tuple(parameter_sets)
        self.modular = modular
        self.modulus = math.prod(each.plaintext_modulus for each in self.parameter_sets)

    def require_fitting(self, body: SlotProgram) -> None:
        """Refuse what is no slot program over integers, has other slots or more levels."""
        sets = self.parameter_sets
        require_slots(body, "integer", sets[0])
        for kinds, count, reason in (
            (
                {(each.n, each.levels) for each in sets},
                1,
                "its parameter sets have different rings or levels",
            ),
            (
                {each.plaintext_modulus for each in sets},
                len(sets),
                "two of its parameter sets have one prime",
            ),
        ):
            if len(kinds) != count:
                raise InvalidProgramError(f"cannot use {body.title}: {reason}")

    def bytes_of(self, keys: KeyRequirements) -> int:
        return sum(keys.nbytes(each.evaluation_key_bytes) for each in self.parameter_sets)

    def key_bytes(self, body: SlotProgram) -> int:
        return self.bytes_of(self.required_keys(body))

    def dump_parameters(self) -> Record:
        return {"parameters": [each.to_bytes() for each in self.parameter_sets]}

    def to_record(self) -> Record:
        # Programs that are not have no such entry, as none had before there were any.
        return {**super().to_record(), **({"modular": True} if self.modular else {})}

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Self:
        return cls(
            *cls.read_parameters(fields, limits),
            public_inputs=fields.value("public_inputs", bool),
            modular=fields.has("modular") and fields.value("modular", bool),
        )

    @classmethod
    def read_parameters(cls, fields: Fields, limits: ReadLimits) -> tuple[list[BgvParameters]]:
        data = fields.items("parameters", most=_MAX_PRIMES)
        if not data or not all(isinstance(each, bytes) for each in data):
            raise fields.wrong("parameters", "bytes for every prime")
        return ([BgvParameters.from_bytes(each, **asdict(limits)) for each in data],)


class ClearInteger(ClearScheme, IntegerScheme):
    """The integers of BGV without encryption, exact whatever their size; see `schemes.base.Scheme`.

    Args:
        parameter_sets: What the ciphertexts would be under, one for each prime.
    """

    name: ClassVar[str] = "clear bgv"

    def encrypt(
        self, key: NoKey, vectors: Mapping[int, NDArray[Any]], body: SlotProgram, bounds: Any
    ) -> dict[int, ClearIntegers]:
        levels = levels_of(body, "inputs")
        return {number: exact(vector, levels[number]) for number, vector in vectors.items()}

    def backend(
        self, keys: NoKey, *, cache_bytes: int, expansion: KeyExpansion | None = None
    ) -> ClearIntegersBackend:
        return ClearIntegersBackend(self.modulus if self.modular else None)

    def bytes_at(self, state: State) -> int:
        return self.parameter_sets[0].n * 8

    def read_products(self, fields: Fields) -> Any:
        raise fields.wrong("data", "encrypted: products in the clear are not moved")

    def read_ciphertext(self, fields: Fields) -> ClearIntegers:
        first = self.parameter_sets[0]
        rows = fields.items("rows", most=ROWS)
        if len(rows) != ROWS:
            raise fields.wrong("rows", f"{ROWS} rows")
        for row in rows:
            if (
                not isinstance(row, list)
                or len(row) != first.slots
                or not all(map(_is_number, row))
            ):
                raise fields.wrong("rows", f"rows of {first.slots} integers")
        numbers = np.array([list(map(int, row)) for row in rows], dtype=object)
        return exact(numbers, fields.integer("level", least=0, most=first.levels))

    def __str__(self) -> str:
        first = self.parameter_sets[0]
        return f"clear backend: hides nothing, {first.slots} slots, {first.levels} levels"


def _is_number(text: Any) -> bool:
    digits = text.removeprefix("-") if isinstance(text, str) else ""
    return digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS


def _computed(
    function: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]],
    left: ClearIntegers,
    right: ClearIntegers,
    bound: int,
) -> ClearIntegers:
    if bound <= MAX_INTEGER:
        return ClearIntegers(function(left.slots, right.slots), left.level)
    made = function(left.slots.astype(object), right.slots.astype(object))
    return exact(made, left.level)
