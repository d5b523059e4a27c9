"""How the scalars of many evaluations lie in the vectors of a program over integers.

A vector has rows of slots, on which every operation works alike. An evaluation takes `width`
slots; evaluations lie side by side, row after row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.record import Limits, added
from cloakwork.errors import (
    ResultOverflowError,
    ShapeMismatchError,
)
from cloakwork.programs.ir.vectors import Clear, PlacedScalar
from cloakwork.programs.layout import MAX_SLOTS
from cloakwork.programs.packing import Maker, Packing, ready_made
from cloakwork.programs.packing.integers import integer_rows
from cloakwork.programs.packing.results import Form, Leaf, filled, integers_of, result_ports
from cloakwork.programs.port import Port, distinct_ports
from cloakwork.programs.slots import Numbers

# Of one vector on ciphertexts of BGV; rotations stay within a row.
ROWS = 2
# Of a result.
MAX_BITS = 64


def capacity(width: int, slots: int) -> int:
    """Evaluations that rows of so many slots hold, each so many slots wide."""
    return ROWS * (slots // width)


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """Where a result lies: which output of the program, and in which slot of its evaluation."""

    output: int
    slot: int


@dataclass(frozen=True, slots=True)
class InputDigits:
    """An input whose numbers lie in slots as their digits, each a scalar of its own.

    Args:
        input: Its name.
        bits: Bits of a digit.
        count: Digits of a number, the lowest first; the highest has the sign.
    """

    input: str
    bits: Annotated[int, Limits(1, MAX_BITS)]
    count: Annotated[int, Limits(2, MAX_BITS)]

    def split(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Integers, an evaluation a row, as their digits.

        Example:
            >>> InputDigits("x", 4, 2).split(np.array([[7, -20]])).tolist()
            [[7, 0, 12, -2]]
        """
        shifted = [rows >> self.bits * place for place in range(self.count)]
        last = (1 << self.bits) - 1
        digits = [*(each & last for each in shifted[:-1]), shifted[-1]]
        return np.stack(digits, axis=-1).reshape(len(rows), -1)


@dataclass(frozen=True, slots=True)
class ScalarPlaces:
    """Where scalars go in and results come out.

    Args:
        slots: Slots of a row.
        width: Slots of one evaluation.
        inputs: For each input of the program the scalars that lie in it.
        results: For each result where it lies, or what it is.
    """

    slots: int
    width: int
    inputs: tuple[tuple[PlacedScalar, ...], ...]
    results: tuple[ResultPlace | Clear, ...]

    def pack(
        self, evaluations: Mapping[str, NDArray[Any]], numbers: Sequence[int] | None = None
    ) -> list[NDArray[Any]]:
        """Vectors of Python's integers, row by row, of inputs by name, an evaluation a row."""
        vectors: list[NDArray[Any]] = []
        for wanted in range(len(self.inputs)) if numbers is None else numbers:
            vector = np.zeros((ROWS, self.slots), dtype=object)
            by_input: dict[str, list[PlacedScalar]] = {}
            for scalar in self.inputs[wanted]:
                by_input.setdefault(scalar.input, []).append(scalar)
            for name, scalars in by_input.items():
                given = evaluations[name]
                places = self._slots([scalar.slot for scalar in scalars], len(given))
                vector[places] = given[:, [scalar.index for scalar in scalars]]
            vectors.append(vector)
        return vectors

    def unpack(self, vectors: Sequence[NDArray[Any]], evaluations: int) -> list[list[int]]:
        """The results of each of the first evaluations, in order."""
        columns = [
            [place.value] * evaluations
            if isinstance(place, Clear)
            else vectors[place.output][self._slots([place.slot], evaluations)][:, 0]
            for place in self.results
        ]
        return [[int(column[number]) for column in columns] for number in range(evaluations)]

    def _slots(
        self, slots: Sequence[int], evaluations: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows and the slots in which some slots of each of the first evaluations lie."""
        rows, places = np.divmod(np.arange(evaluations)[:, np.newaxis], self.slots // self.width)
        return rows, (places * self.width + np.array(slots)) % self.slots


@dataclass(frozen=True, eq=False)
class ScalarPacking(Packing):
    """A program's integers by name: what goes in, where it lies, the form of what comes out.

    Args:
        inputs: The inputs, of kind `integer` with their ranges.
        places: Where scalars lie in vectors.
        form: How results stand in lists, tuples and dicts.
        bits: Results are signed numbers of so many bits.
        ranges: For each result the least and the greatest value that the ranges of the inputs
            allow.
        wrapping: Whether results of more bits may wrap around unseen.
        digits: The inputs that lie as digits.
    """

    kind: ClassVar[str] = "scalars"
    contents: ClassVar[str] = "integers"
    numbers: ClassVar[Numbers] = "integer"

    inputs: tuple[Port, ...]
    places: ScalarPlaces
    form: Form
    bits: int
    ranges: tuple[tuple[int, int], ...]
    wrapping: bool = False
    digits: tuple[InputDigits, ...] = added(())
    outputs: tuple[Port, ...] = field(init=False)
    batch: int = field(init=False)

    def __post_init__(self) -> None:
        places = self.places
        fits = 1 <= places.width <= places.slots <= MAX_SLOTS
        self._require(fits, f"an evaluation takes {places.width} of {places.slots} slots")
        self._require(1 <= self.bits <= MAX_BITS, f"its results have {self.bits} bits")
        distinct_ports(self.inputs, ("integer",), "inputs")
        for port in self.inputs:
            ranged = port.low is not None and port.high is not None
            self._require(ranged, f"{port.name!r:.40} has no range")
        counts = {port.name: port.count for port in self.inputs}
        split = self.digits_of
        self._require(len(split) == len(self.digits), "two entries have the digits of one input")
        for name, each in split.items():
            self._require(name in counts, "it has digits of no input")
            counts[name] *= each.count
        for number, scalars in enumerate(places.inputs):
            for scalar in scalars:
                known = 0 <= scalar.index < counts.get(scalar.input, 0)
                self._require(known, "it packs a scalar that no input has")
            taken = {scalar.slot % places.slots for scalar in scalars}
            self._require(len(taken) == len(scalars), f"two scalars share a slot of input {number}")
        results = [place for place in places.results if isinstance(place, ResultPlace)]
        slots = {each.slot for each in results} | {each.slot for each in chain(*places.inputs)}
        inside = all(abs(slot) < places.slots for slot in slots)
        self._require(inside, "a slot lies outside its row")
        self._require(all(place.output >= 0 for place in results), "a result is of no output")
        self._require(len(self.ranges) == len(places.results), "a range is missing")
        leaves = [part.number for part in integers_of(self.form) if isinstance(part, Leaf)]
        found = all(0 <= number < len(places.results) for number in leaves)
        self._require(found, "a result is missing")
        object.__setattr__(self, "outputs", result_ports(self.form, self.bits))
        object.__setattr__(self, "batch", capacity(places.width, places.slots))
        object.__setattr__(self, "slots", places.slots)
        object.__setattr__(self, "least_modulus", 1 << self.bits)
        may_exceed = any(bits_of(each) > self.bits for each in self.ranges)
        object.__setattr__(self, "is_checked", may_exceed and not self.wrapping)

    @property
    def digits_of(self) -> dict[str, InputDigits]:
        """The digits of inputs that lie so, by name."""
        return {each.input: each for each in self.digits}

    def _read(self, port: Port, value: Any, action: str) -> tuple[NDArray[Any], bool]:
        rows, many = _integers(port, value, action)
        rows = rows.reshape(len(rows), port.count)
        digits = self.digits_of.get(port.name)
        return (rows if digits is None else digits.split(rows)), many

    def _maker(self, rows: Mapping[str, NDArray[Any]]) -> Maker:
        return ready_made(self.places.pack(rows, self.vectors_of([*rows])))

    def unpack(self, runs: Sequence[Sequence[NDArray[Any]]], count: int | None) -> Any:
        """Python's integers in the form in which the function returns them."""
        left = 1 if count is None else count
        found: list[list[int]] = []
        for vectors in runs:
            found += self.places.unpack(vectors, min(self.batch, left - len(found)))
        for evaluation in found:
            require_bits(evaluation, self.bits)
        made = [filled(self.form, values) for values in found]
        return made[0] if count is None else made

    def is_of(self, body: Any, inputs: int, outputs: int) -> bool:
        # Some outputs may be no results.
        return super().is_of(body, inputs, min(outputs, self.vector_counts[1]))

    @property
    def held(self) -> list[set[str]]:
        return [{scalar.input for scalar in scalars} for scalars in self.places.inputs]

    @property
    def vector_counts(self) -> tuple[int, int]:
        outputs = [each.output for each in self.places.results if isinstance(each, ResultPlace)]
        return len(self.places.inputs), max(outputs, default=-1) + 1


def fits_signed(found: tuple[int, int], bits: int) -> bool:
    """Whether all of a range are signed numbers of so many bits.

    Example:
        >>> fits_signed((-128, 127), 8), fits_signed((0, 128), 8)
        (True, False)
    """
    return bits_of(found) <= bits


def bits_of(found: tuple[int, int]) -> int:
    """Bits of the signed numbers of a range.

    Example:
        >>> bits_of((-128, 127)), bits_of((0, 128))
        (8, 9)
    """
    return max(max(end, ~end).bit_length() for end in found) + 1


def one_evaluation(port: Port, value: Any, action: str) -> list[int]:
    """The integers of an input in order, of a single evaluation; it raises what `pack` raises."""
    rows, many = _integers(port, value, action)
    if many:
        raise ShapeMismatchError(
            f"cannot {action}: expected {port.name!r} of shape {port.shape}, got {rows.shape}"
        )
    return list(rows.flat)


def _integers(port: Port, value: Any, action: str) -> tuple[NDArray[Any], bool]:
    """An argument as Python's integers, an evaluation a row, and whether it has an axis of them."""
    rows, many = integer_rows(port, value, action, wider="declare more bits, or compile with more")
    return rows.astype(object), many


def require_bits(results: Sequence[int], bits: int) -> None:
    """Refuse results that are not signed numbers of so many bits."""
    for number, value in enumerate(results):
        needed = bits_of((value, value))
        if needed > bits:
            advice = (
                f"compile with bits={needed} or more"
                if needed <= MAX_BITS
                else f"it takes {needed} bits, and a result has up to {MAX_BITS}: return it in "
                "parts, or bound the inputs"
            )
            raise ResultOverflowError(
                f"cannot give the results: expected signed numbers of {bits} bits, result "
                f"{number} is {shown(value)}; {advice}"
            )
