"""Inputs of a network, packed beside others of a batch in the same ciphertexts.

Where the slots hold complex numbers, two inputs share them: see `Places.pack_pairs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.record import Word, added
from cloakwork.programs.packing import Packing
from cloakwork.programs.packing.results import Form, of_some
from cloakwork.programs.packing.tensor import WholeTensorPacking
from cloakwork.programs.places import Places
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Vector


@dataclass(frozen=True, eq=False)
class BatchPacking(WholeTensorPacking):
    """Where the elements of a network's inputs and results lie, several inputs beside each other.

    Args:
        inputs: The inputs, of kind `real` with their ranges.
        outputs: The results.
        input_places: For each input where its elements lie.
        output_places: For each result.
        form: How results stand in lists, tuples and dicts.
        width: Inputs that a ciphertext has slots for.
        batch: Of these, those that a run takes.
        pairs: Whether every two of the inputs share their slots.
        stays: The names of results that stay with the evaluator, which clients do not get; of a
            dict.
    """

    kind: ClassVar[str] = "batch"
    contents: ClassVar[str] = "a network"
    range_places: ClassVar[type | tuple[()]] = Places
    range_advice: ClassVar[str] = (
        "calibrate with inputs like these, or compile with a larger margin"
    )
    advice: ClassVar[str] = "calibrate with inputs like these, up to {}"

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    input_places: tuple[Places, ...]
    output_places: tuple[Places, ...]
    form: Form
    width: int
    batch: int = 1
    pairs: bool = False
    stays: tuple[Word, ...] = added(())

    def __post_init__(self) -> None:
        self._require(len(self.inputs) == len(self.input_places), "an input has no places")
        object.__setattr__(self, "lanes", self.width // 2 if self.pairs else self.width)
        self._place(list(zip(self.inputs, self.input_places, strict=True)), self.output_places)
        for port, places in (*self.tensors_in, *self.tensors_out):
            sizes = f"{port.count} elements and {len(places.places)} places"
            fits = port.count == len(places.places)
            self._require(fits, f"{port.name!r:.40} has {sizes}")
        self._require(1 <= self.batch <= self.width, f"{self.batch} of {self.width} are taken")
        self._require(not self.pairs or self.width % 2 == 0, f"{self.width} do not come in pairs")

    @cached_property
    def returned(self) -> Packing:
        """The packing of what clients get."""
        if not self.stays:
            return self
        numbers = [n for n, port in enumerate(self.outputs) if port.name not in self.stays]
        return replace(
            self,
            outputs=tuple(self.outputs[number] for number in numbers),
            output_places=tuple(self.output_places[number] for number in numbers),
            form=of_some(self.form, numbers),
            stays=(),
        )

    def with_all_returned(self) -> Self:
        return replace(self, stays=()) if self.stays else self

    @cached_property
    def returned_vectors(self) -> Sequence[int]:
        first = 0
        found: list[int] = []
        for port, places in zip(self.outputs, self.output_places, strict=True):
            numbers = range(first, first + places.ciphertexts)
            found += [] if port.name in self.stays else numbers
            first += places.ciphertexts
        return found

    def _packed(self, place: Places, rows: NDArray[np.float64]) -> list[Vector]:
        # Where there are slots for more, inputs repeat: a layer may be meant for no numbers that
        # zeros would bring to it.
        all_rows = rows.reshape(len(rows), -1)[np.arange(self.width) % len(rows)]
        return [*(place.pack_pairs(all_rows) if self.pairs else place.pack(all_rows))]

    def _unpacked(self, place: Places, vectors: Sequence[Vector]) -> NDArray[np.float64]:
        if self.pairs:
            return place.unpack_pairs(vectors, self.width)[: self.batch]
        return place.unpack([np.real(vector) for vector in vectors], self.width)[: self.batch]
