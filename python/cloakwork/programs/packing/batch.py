"""Inputs of a network, packed beside others of a batch in the same ciphertexts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import apart
from cloakwork.base.arrays import real_array
from cloakwork.base.record import Fields, Record
from cloakwork.errors import (
    InvalidProgramError,
    NotFiniteError,
    NotRealError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.activation_range import places_record, read_places
from cloakwork.programs.packing import Packed, counted_evaluations, evaluations
from cloakwork.programs.packing.results import (
    Form,
    Leaf,
    filled,
    from_facts,
    integers_of,
    plain_form,
    to_facts,
)
from cloakwork.programs.places import Places
from cloakwork.programs.port import Port, require_numbers
from cloakwork.programs.slots import Vector

_MAX_PORTS = 1 << 10
_MAX_BATCH = 1 << 16


@dataclass(frozen=True, eq=False)
class BatchPacking:
    """Where the elements of a network's inputs and results lie, several inputs beside each other.

    Args:
        inputs: The inputs, of kind `real` with their ranges.
        outputs: The results.
        input_places: For each input where its elements lie.
        output_places: For each result.
        width: Inputs that a ciphertext has slots for.
        batch: Of these, those that a run takes.
        form: How results stand in lists, tuples and dicts; by default the one result, or a tuple.

    Raises:
        InvalidProgramError: The parts do not fit one another.

    Example:
        >>> x, y = (Port(name, "real", shape=(2,), low=-1.0, high=1.0) for name in "xy")
        >>> places = Places(2, np.array([0, 1]))
        >>> packing = BatchPacking((x,), (y,), (places,), (places,), width=2, batch=2)
        >>> packing.pack({"x": [[1.0, 0.5], [0.0, -1.0]]}, "encrypt").runs[0][0].tolist()
        [1.0, 0.0, 0.5, -1.0]
    """

    kind: ClassVar[str] = "batch"

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    input_places: tuple[Places, ...]
    output_places: tuple[Places, ...]
    width: int
    batch: int = 1
    form: Form | None = None

    def __post_init__(self) -> None:
        require_numbers(self.inputs, "real", "inputs")
        require_numbers(self.outputs, "real", "outputs")
        sides = ((self.inputs, self.input_places), (self.outputs, self.output_places))
        for ports, several in sides:
            if not len(ports) == len(several) > 0:
                raise InvalidProgramError("cannot pack a network: a port has no places")
            for port, places in zip(ports, several, strict=True):
                if port.count != len(places.places):
                    raise InvalidProgramError(
                        f"cannot pack a network: {port.name!r} has {port.count} elements and "
                        f"{len(places.places)} places"
                    )
        slots = {places.slots for places in (*self.input_places, *self.output_places)}
        if len(slots) != 1 or not 1 <= self.batch <= self.width:
            raise InvalidProgramError("cannot pack a network: its ports lie in other slots")
        leaves = [part for part in integers_of(self._form) if isinstance(part, Leaf)]
        if sorted(leaf.number for leaf in leaves) != [*range(len(self.outputs))]:
            raise InvalidProgramError("cannot pack a network: its results have another form")

    @property
    def _form(self) -> Form:
        return self.form or plain_form(len(self.outputs))

    def pack(self, arguments: Mapping[str, Any], action: str) -> Packed:
        """The vectors of arguments by name; see `programs.packing.Packing`."""
        given = [port for port in self.inputs if port.name in arguments]
        arrays = {port.name: _read(port, arguments[port.name], action) for port in given}
        counts = {port.name: evaluations(arrays[port.name], port, action) for port in given}
        evaluations_given, count = counted_evaluations(counts, action)
        starts = range(0, evaluations_given, self.batch)
        runs: list[dict[int, NDArray[Any]]] = [{} for _ in starts]
        for first, port, places in zip(self._firsts(), self.inputs, self.input_places, strict=True):
            if port.name not in arrays:
                continue
            rows = arrays[port.name].reshape(-1, port.count)
            for start, vectors in zip(starts, runs, strict=True):
                own = rows[start : start + self.batch] if counts[port.name] else rows
                vectors.update(enumerate(places.pack(self._filled(own)), first))
        return Packed(tuple(runs), tuple(port.name for port in given), count)

    def _filled(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """A batch of the width; where there are slots for more, its inputs repeat.

        A layer may be meant for no numbers that zeros would bring to it.
        """
        return rows[np.arange(self.width) % len(rows)]

    def unpack(self, runs: Sequence[Sequence[Vector]], count: int | None) -> Any:
        """One array, or several in the form in which the network returns them."""
        found: list[NDArray[np.float64]] = []
        first = 0
        for port, places in zip(self.outputs, self.output_places, strict=True):
            last = first + places.ciphertexts
            parts = [
                places.unpack(list(vectors[first:last]), self.width)[: self.batch]
                for vectors in runs
            ]
            array = np.concatenate(parts)[: count or 1].reshape(-1, *port.shape)
            found.append(np.asarray(array[0] if count is None else array))
            first = last
        return filled(self._form, found)

    def input_bounds(self) -> list[Vector] | None:
        """For each input of the program the largest absolute value of each slot.

        None where an input has no range.
        """
        if any(math.isinf(port.bound) for port in self.inputs):
            return None
        return [
            vector
            for port, places in zip(self.inputs, self.input_places, strict=True)
            for vector in places.pack(np.full((self.width, port.count), port.bound))
        ]

    def vectors_of(self, ports: Sequence[str]) -> tuple[int, ...]:
        """The numbers of the vectors that hold these inputs."""
        return tuple(
            first + number
            for first, port, places in zip(
                self._firsts(), self.inputs, self.input_places, strict=True
            )
            if port.name in ports
            for number in range(places.ciphertexts)
        )

    @property
    def vector_counts(self) -> tuple[int, int]:
        """How many vectors go in and come out."""
        return (
            sum(places.ciphertexts for places in self.input_places),
            sum(places.ciphertexts for places in self.output_places),
        )

    def _firsts(self) -> list[int]:
        """The number of the first vector of each input."""
        counts = [places.ciphertexts for places in self.input_places]
        return [sum(counts[:place]) for place in range(len(counts))]

    def to_record(self) -> Record:
        """The packing as files hold it."""
        return {
            "inputs": _sides_record(self.inputs, self.input_places),
            "outputs": _sides_record(self.outputs, self.output_places),
            "width": self.width,
            "batch": self.batch,
            "form": to_facts(self._form),
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> BatchPacking:
        """The packing of a record.

        Raises:
            MalformedBytesError: The record is of none.
        """
        inputs, input_places = _read_sides(fields, "inputs")
        outputs, output_places = _read_sides(fields, "outputs")
        return cls(
            inputs,
            outputs,
            input_places,
            output_places,
            fields.integer("width", least=1, most=_MAX_BATCH),
            fields.integer("batch", least=1, most=_MAX_BATCH),
            from_facts(fields.raw("form"), len(outputs)),
        )


def _read(port: Port, value: Any, action: str) -> NDArray[np.float64]:
    where = f"{action}, input {port.name!r}"
    try:
        array = real_array(value, action)
    except (NotFiniteError, NotRealError, ShapeMismatchError) as error:
        raise type(error)(
            f"cannot {where}: {str(error).removeprefix(f'cannot {action}: ')}; give an array of "
            "finite real numbers such as the sample that the network was compiled with"
        ) from error
    largest = float(np.abs(array).max(initial=0.0))
    if largest > port.bound:
        limit, came = apart(port.bound, largest)
        raise ValueOutOfRangeError(
            f"cannot {where}: expected numbers from -{limit} to {limit}, got one of {came}; "
            "calibrate with inputs like these, or scale them as the network was trained"
        )
    return array


def _sides_record(ports: Sequence[Port], several: Sequence[Places]) -> list[Record]:
    return [
        {"port": port.to_record(), **places_record(places)}
        for port, places in zip(ports, several, strict=True)
    ]


def _read_sides(fields: Fields, name: str) -> tuple[tuple[Port, ...], tuple[Places, ...]]:
    sides = list(fields.several(name, most=_MAX_PORTS))
    ports = tuple(Port.from_fields(each.within("port")) for each in sides)
    return ports, tuple(map(read_places, sides))
