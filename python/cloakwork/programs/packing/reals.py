"""What packings of tensors of real numbers have in common: each lies in vectors of its own."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arrays import real_array, require_bound
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.packing import Packing, evaluation_rows
from cloakwork.programs.packing.results import Form, Leaf, filled, integers_of
from cloakwork.programs.port import Port, require_numbers
from cloakwork.programs.slots import Vector


class _Place(Protocol):
    @property
    def slots(self) -> int: ...
    @property
    def ciphertexts(self) -> int: ...


P = TypeVar("P", bound=_Place)


class RealPacking(Packing, Generic[P]):
    """Tensors of real numbers, each in vectors that hold nothing else.

    Attributes:
        form: How results stand in lists, tuples and dicts.
        contents: What it packs, for the messages of errors.
        advice: Where a larger bound is given, see `base.arrays.require_bound`.
    """

    form: Form
    contents: ClassVar[str]
    advice: ClassVar[str]

    def __post_init__(self) -> None:
        require_numbers(self.inputs, "real", "inputs")
        require_numbers(self.outputs, "real", "outputs")
        numbers = [part.number for part in integers_of(self.form) if isinstance(part, Leaf)]
        every = bool(self.outputs) and sorted(numbers) == [*range(len(self.outputs))]
        self._require(every, "its results have another form")
        slots = {place.slots for _, place in (*self.tensors_in, *self.tensors_out)}
        self._require(len(slots) == 1, "its ports lie in other slots")

    def _require(self, condition: bool, reason: str) -> None:
        if not condition:
            raise InvalidProgramError(f"cannot pack {self.contents}: {reason}")

    @property
    @abstractmethod
    def tensors_in(self) -> Sequence[tuple[Port, P]]:
        """Of each tensor that goes in which input it is, and where it lies."""

    @property
    @abstractmethod
    def tensors_out(self) -> Sequence[tuple[Port, P]]:
        """The same of results."""

    @abstractmethod
    def _packed(self, place: P, rows: NDArray[np.float64]) -> list[Vector]:
        """The vectors of a batch of tensors."""

    @abstractmethod
    def _unpacked(self, place: P, vectors: Sequence[Vector]) -> NDArray[np.float64]:
        """A batch of tensors, one a row."""

    def _read(self, port: Port, value: Any, action: str) -> tuple[NDArray[np.float64], bool]:
        where = f"{action}, input {port.name!r}"
        array = real_array(value, where)
        rows = evaluation_rows(array, port.shape, port.name, action)
        require_bound(array, port.bound, where, self.advice)
        return rows

    def _vectors(self, rows: Mapping[str, NDArray[np.float64]]) -> dict[int, Vector]:
        return {
            first + number: vector
            for first, port, place in self._numbered()
            if port.name in rows
            for number, vector in enumerate(self._packed(place, rows[port.name]))
        }

    def unpack(self, runs: Sequence[Sequence[Vector]], count: int | None) -> Any:
        """Arrays in the form in which the function or the network returns them."""
        found: list[NDArray[np.float64]] = []
        first = 0
        for port, place in self.tensors_out:
            last = first + place.ciphertexts
            parts = [self._unpacked(place, vectors[first:last]) for vectors in runs]
            array = np.concatenate(parts)[: count or 1].reshape(-1, *port.shape)
            found.append(np.asarray(array[0] if count is None else array))
            first = last
        return filled(self.form, found)

    def input_bounds(self) -> list[Vector] | None:
        """For each input of the program the largest absolute value of each slot.

        None where an input has no range.
        """
        if any(math.isinf(port.bound) for port in self.inputs):
            return None
        return [
            vector
            for port, place in self.tensors_in
            for vector in self._packed(place, np.full((1, *port.shape), port.bound))
        ]

    def vectors_of(self, ports: Sequence[str]) -> tuple[int, ...]:
        """The numbers of the vectors that hold these inputs."""
        return tuple(
            first + number
            for first, port, place in self._numbered()
            if port.name in ports
            for number in range(place.ciphertexts)
        )

    @property
    def vector_counts(self) -> tuple[int, int]:
        """How many vectors go in and come out."""
        return (
            sum(place.ciphertexts for _, place in self.tensors_in),
            sum(place.ciphertexts for _, place in self.tensors_out),
        )

    def _numbered(self) -> Iterator[tuple[int, Port, P]]:
        """The tensors that go in, each after the number of its first vector."""
        first = 0
        for port, place in self.tensors_in:
            yield first, port, place
            first += place.ciphertexts
