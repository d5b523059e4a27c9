"""The clear backend of programs over integers: exact, whatever their size, slot for slot.

Nothing wraps around: numbers are int64 where no result can leave it, Python's integers
otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import BgvParameters
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.keys import required_keys
from cloakwork.programs.packing.scalar import ROWS
from cloakwork.programs.slots import MAX_INTEGER, Integers, SlotProgram, State
from cloakwork.schemes.base import Decrypted, levels_of, requirements_bytes

# Of an integer in a file.
_MAX_DIGITS = 4000


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


class ClearIntegersBackend:
    """Computes on `ClearIntegers` what `schemes.base.Backend` asks for.

    Example:
        >>> x = exact([1, 2, 2**40], level=1)
        >>> ClearIntegersBackend().multiply(x, x).slots.tolist()
        [1, 4, 1208925819614629174706176]
    """

    def bounded(self, value: ClearIntegers, bound: float) -> ClearIntegers:
        """The same value."""
        return value

    def level(self, value: ClearIntegers) -> int:
        """The level of a value."""
        return value.level

    def add(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        """left + right."""
        return _computed(np.add, left, right, left.largest + right.largest)

    def subtract(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        """left - right."""
        return _computed(np.subtract, left, right, left.largest + right.largest)

    def add_constant(self, value: ClearIntegers, constant: Integers) -> ClearIntegers:
        """value + constant."""
        return self.add(value, ClearIntegers(constant, value.level))

    def multiply(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        """left * right."""
        return _computed(np.multiply, left, right, left.largest * right.largest)

    def multiply_lazily(self, left: ClearIntegers, right: ClearIntegers) -> ClearIntegers:
        """left * right."""
        return self.multiply(left, right)

    def multiply_constant(self, value: ClearIntegers, constant: Integers) -> ClearIntegers:
        """value * constant."""
        return self.multiply(value, ClearIntegers(constant, value.level))

    def negate(self, value: ClearIntegers) -> ClearIntegers:
        """-value."""
        return ClearIntegers(-value.slots, value.level)

    def rotate(self, value: ClearIntegers, steps: int) -> ClearIntegers:
        """Slot i receives slot i + steps."""
        return ClearIntegers(np.roll(value.slots, -steps, axis=-1), value.level)

    def rotate_many(self, value: ClearIntegers, steps: Sequence[int]) -> list[ClearIntegers]:
        """The rotations by each of the steps."""
        return [self.rotate(value, single) for single in steps]

    def rotate_sum(
        self, value: ClearIntegers, added: Sequence[int], subtracted: Sequence[int]
    ) -> ClearIntegers:
        """The sum of rotations, less others; 0 stands for the value itself."""
        terms = [self.rotate(value, step) for step in added]
        terms += [self.negate(self.rotate(value, step)) for step in subtracted]
        return reduce(self.add, terms)

    def linear(
        self, value: ClearIntegers, diagonals: Mapping[int, Integers], baby_steps: int
    ) -> ClearIntegers:
        """The sum over d of diagonals[d] * rotate(value, d)."""
        terms = [
            self.multiply_constant(self.rotate(value, steps), diagonal)
            for steps, diagonal in diagonals.items()
        ]
        return reduce(self.add, terms)

    def polynomial(self, value: Any, coefficients: Any, basis: Any) -> NoReturn:
        """No program over integers has polynomials; see `programs.slots.state_after`."""
        raise InvalidProgramError("cannot run polynomial: programs over integers have none")

    def rescale(self, value: ClearIntegers) -> ClearIntegers:
        """The same numbers one level down."""
        return ClearIntegers(value.slots, value.level - 1)

    def drop_level(self, value: ClearIntegers, level: int) -> ClearIntegers:
        """The same numbers at a lower level."""
        return ClearIntegers(value.slots, level)


class ClearInteger:
    """The integers of BGV without encryption, exact whatever their size; see `schemes.base.Scheme`.

    Args:
        parameter_sets: What the ciphertexts would be under, one for each prime.
    """

    name: ClassVar[str] = "clear bgv"
    encrypts: ClassVar[bool] = False
    insecure = True
    public_inputs = True

    def __init__(self, parameter_sets: Sequence[BgvParameters]) -> None:
        self.parameter_sets = tuple(parameter_sets)

    def log2_failure(self, body: Any) -> float:
        """Nothing goes wrong."""
        return -math.inf

    def require_fitting(self, body: SlotProgram) -> None:
        """Refuse a program of other slots or more levels, or over reals."""
        require_integers(body, self.parameter_sets)

    def in_clear(self, noise_seed: int | None = None) -> ClearInteger:
        """The same integers."""
        return self

    def key_bytes(self, body: SlotProgram) -> int:
        """Bytes of the evaluation keys that ciphertexts would need."""
        return requirements_bytes(required_keys(body), self.parameter_sets)

    def secret_key(self) -> ClearIntegerKey:
        """What stands where a secret key stands."""
        return ClearIntegerKey()

    def public_key(self, secret: ClearIntegerKey) -> ClearIntegerKey:
        """What stands where a public key stands."""
        return secret

    def evaluation_keys(self, secret: ClearIntegerKey, body: SlotProgram) -> ClearIntegerKey:
        """What stands where evaluation keys stand."""
        return secret

    def encrypt(
        self,
        key: ClearIntegerKey,
        vectors: Mapping[int, NDArray[Any]],
        body: SlotProgram,
        bounds: Any,
    ) -> dict[int, ClearIntegers]:
        """Inputs of a program at their levels."""
        levels = levels_of(body, "inputs")
        return {number: exact(vector, levels[number]) for number, vector in vectors.items()}

    def decrypt(
        self,
        secret: ClearIntegerKey,
        values: Sequence[ClearIntegers],
        body: SlotProgram,
        expected: Any = None,
        flooding: Any = None,
    ) -> Decrypted:
        """The vectors."""
        return Decrypted([value.slots for value in values])

    def backend(self, keys: ClearIntegerKey, *, cache_bytes: int) -> ClearIntegersBackend:
        """What a program runs on."""
        return ClearIntegersBackend()

    def bytes_at(self, state: State) -> int:
        """Bytes of a vector."""
        return self.parameter_sets[0].n * 8

    def dump(self, item: ClearIntegerKey | ClearIntegers) -> Record:
        """A vector as a record; a key is nothing."""
        if isinstance(item, ClearIntegerKey):
            return {}
        rows = [[str(number) for number in row] for row in np.atleast_2d(item.slots).tolist()]
        return {"rows": rows, "level": item.level}

    def read_key(self, kind: str, fields: Fields) -> ClearIntegerKey:
        """What stands where keys stand."""
        return ClearIntegerKey()

    def read_value(
        self, fields: Fields, body: SlotProgram, number: int, role: str
    ) -> ClearIntegers:
        """A vector of a record."""
        level = levels_of(body, role)[number]
        fields.integer("level", least=level, most=level)
        rows = fields.items("rows", most=ROWS)
        if len(rows) != ROWS:
            raise fields.wrong("rows", f"{ROWS} rows")
        for row in rows:
            if not isinstance(row, list) or len(row) != body.slots or not all(map(_is_number, row)):
                raise fields.wrong("rows", f"rows of {body.slots} integers")
        return exact(np.array([list(map(int, row)) for row in rows], dtype=object), level)

    def to_record(self) -> Record:
        """The parameters as files hold them."""
        return {
            "scheme": self.name,
            "parameters": [each.to_bytes() for each in self.parameter_sets],
        }

    def __str__(self) -> str:
        first = self.parameter_sets[0]
        return f"clear backend: hides nothing, {first.slots} slots, {first.levels} levels"


@dataclass(frozen=True, slots=True)
class ClearIntegerKey:
    """Stands where a key stands, and hides nothing."""

    nbytes: ClassVar[int] = 0


def _is_number(text: Any) -> bool:
    digits = text.removeprefix("-") if isinstance(text, str) else ""
    return digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS


def require_integers(body: SlotProgram, parameter_sets: Sequence[BgvParameters]) -> None:
    """Refuse what is no slot program over the integers of some parameter sets.

    Raises:
        InvalidProgramError: It has no slots, is over reals, has other slots or more levels, or the
            sets differ.
    """
    if not isinstance(body, SlotProgram):
        raise InvalidProgramError("cannot use the program: it has no slots")
    first = parameter_sets[0]
    levels = [state.level for state in body.states if state.level is not None]
    for wrong, reason in (
        (body.numbers != "integer", "it is over reals"),
        (
            any((each.n, each.levels) != (first.n, first.levels) for each in parameter_sets),
            "its parameter sets have different rings or levels",
        ),
        (
            len({each.plaintext_modulus for each in parameter_sets}) != len(parameter_sets),
            "two of its parameter sets have one prime",
        ),
        (body.slots != first.slots, "its slots are not those of the parameters"),
        (max(levels, default=0) > first.levels, "it has more levels than the parameters"),
    ):
        if wrong:
            raise InvalidProgramError(f"cannot use {body.title}: {reason}")


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
