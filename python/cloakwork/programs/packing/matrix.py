"""Tensors that lie as batches of matrices in blocks, of reals and of integers."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, groupby
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.itself import Itself
from cloakwork.base.record import Limits
from cloakwork.programs.matrices import BlockLayout, MatrixPlace
from cloakwork.programs.packing import Allocate, Maker, Packing
from cloakwork.programs.packing.integers import integer_rows
from cloakwork.programs.packing.results import Form, filled, plain_form
from cloakwork.programs.packing.scalar import MAX_BITS, bits_of, require_bits
from cloakwork.programs.packing.tensor import RealPacking
from cloakwork.programs.places import ScatteredPlace
from cloakwork.programs.port import Port, distinct_ports
from cloakwork.programs.slots import MAX_INTEGER, Numbers, Vector


@dataclass(frozen=True, slots=True)
class PlacedMatrix:
    """Which argument a tensor is that goes in, and where it lies; one may go in twice."""

    argument: int
    place: MatrixPlace


@dataclass(frozen=True, slots=True)
class ScatteredIntegers:
    """Which argument integers are that go in as another program left them, and where they lie."""

    argument: int
    scattered: ScatteredPlace

    @property
    def place(self) -> ScatteredPlace:
        """Where they lie."""
        return self.scattered


def _maker(
    tensors: Sequence[tuple[Port, Any]], rows: Mapping[str, NDArray[Any]], kind: Any
) -> Maker:
    """What makes the vectors of tensors that are given, of numbers of a kind.

    No more of the tensors is read than the vectors hold that are asked for.
    """
    given = [
        (place, place.matrices(rows[port.name][0])) for port, place in tensors if port.name in rows
    ]
    ends = [*accumulate(place.ciphertexts for place, _ in given)]

    def made(places: Sequence[int]) -> list[NDArray[Any]]:
        found: list[NDArray[Any]] = []
        for tensor, group in groupby(places, key=lambda number: bisect_right(ends, number)):
            place, matrices = given[tensor]
            first = ends[tensor] - place.ciphertexts
            numbers = np.array([number - first for number in group])
            found += place.pack_some(matrices, numbers, kind)
        return found

    return made


def _shape(port: Port, count: int | None) -> tuple[int, ...]:
    return port.shape if count is None else (count, *port.shape)


def _fill(
    arrays: Sequence[NDArray[Any]],
    places: Sequence[MatrixPlace],
    runs: Iterable[Iterable[Mapping[int, NDArray[Any]]]],
    count: int | None,
) -> None:
    """Put the vectors of runs, which come a few at a time, to their places in the results."""
    ends = accumulate(place.ciphertexts for place in places)
    owned = [range(end - place.ciphertexts, end) for place, end in zip(places, ends, strict=True)]
    for run, parts in enumerate(runs):
        tensors = [array if count is None else array[run] for array in arrays]
        targets = [place.matrices(tensor) for place, tensor in zip(places, tensors, strict=True)]
        for part in parts:
            for place, target, numbers in zip(places, targets, owned, strict=True):
                own = {
                    number - numbers.start: vector
                    for number, vector in part.items()
                    if number in numbers
                }
                if own:
                    place.layout.put(target, own)
        for place, target, tensor in zip(places, targets, tensors, strict=True):
            # Where axes that are one do not lie in a row, the matrices are a copy.
            if not np.may_share_memory(target, tensor):
                tensor[...] = target.reshape(place.sizes).transpose(np.argsort(place.order))


@dataclass(frozen=True)
class MatrixPacking(RealPacking):
    """How real arguments of products of matrices lie in ciphertexts, and their results.

    Args:
        inputs: The arguments, of kind `real` with their ranges.
        outputs: The results.
        placed: The tensors that go in, in the order of the program's inputs.
        results: Where each result lies.
        form: The one result, or a tuple.
    """

    kind: ClassVar[str] = "matrices"
    contents: ClassVar[str] = "matrices"
    range_places: ClassVar[type | tuple[()]] = BlockLayout
    # Whoever has one of several matrices cannot know what their products come to.
    checked_together: ClassVar[bool] = False
    advice: ClassVar[str] = "make the bound of its Spec, cw.Spec(shape, bound={}), as large"

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    placed: tuple[PlacedMatrix, ...]
    results: tuple[MatrixPlace, ...]
    form: Form

    def __post_init__(self) -> None:
        known = all(0 <= each.argument < len(self.inputs) for each in self.placed)
        self._require(known, "a tensor is of no argument")
        inputs = [(self.inputs[each.argument], each.place) for each in self.placed]
        self._place(inputs, self.results)
        for port, place in (*self.tensors_in, *self.tensors_out):
            fits = place.is_whole and port.shape == place.shape
            self._require(fits, f"{port.name!r:.40} has another shape")

    def _maker(self, rows: Mapping[str, NDArray[Any]]) -> Maker:
        return _maker(self.tensors_in, rows, np.float64)

    def unpack(self, runs: Sequence[Sequence[Vector]], count: int | None) -> Any:
        """Arrays in the form in which the function returns them."""
        return self.unpack_parts([[dict(enumerate(vectors))] for vectors in runs], count)

    def unpack_parts(
        self,
        runs: Sequence[Iterable[Mapping[int, NDArray[Any]]]],
        count: int | None,
        allocate: Allocate = np.empty,
    ) -> Any:
        """Arrays of float64, in which each part of the vectors takes its place as it comes."""
        arrays = [allocate(_shape(port, count), np.float64) for port, _ in self.tensors_out]
        _fill(arrays, self.results, runs, count)
        for (port, _), array in zip(self.tensors_out, arrays, strict=True):
            if port.exponent:
                np.ldexp(array, port.exponent, out=array)
        return filled(self.form, arrays)

    def input_bounds(self) -> list[Vector] | None:
        if any(math.isinf(port.bound) for port in self.inputs):
            return None
        bounds: list[Vector] = []
        for port, place in self.tensors_in:
            scaled: dict[Itself[Vector], Vector] = {}
            for vector in place.layout.fullness():
                if Itself(vector) not in scaled:
                    scaled[Itself(vector)] = port.held_bound * vector
                bounds.append(scaled[Itself(vector)])
        return bounds


@dataclass(frozen=True)
class IntegerMatrixPacking(Packing):
    """How integer arguments of products of matrices lie in ciphertexts, and their results.

    Args:
        inputs: The arguments, of kind `integer` with their ranges.
        outputs: The results, with the ranges of what may come out.
        placed: The tensors that go in, in the order of the program's inputs.
        results: Where each result lies.
        form: The one result, or a tuple.
        modulus: What results are modulo, the nearest to 0; None where they are integers.
    """

    kind: ClassVar[str] = "integer matrices"
    contents: ClassVar[str] = "matrices of integers"
    numbers: ClassVar[Numbers] = "integer"

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    placed: tuple[PlacedMatrix | ScatteredIntegers, ...]
    results: tuple[MatrixPlace, ...]
    form: Form
    modulus: Annotated[int, Limits(2, MAX_INTEGER)] | None = None

    def __post_init__(self) -> None:
        for ports, what in ((self.inputs, "inputs"), (self.outputs, "outputs")):
            distinct_ports(ports, ("integer",), what)
        known = all(0 <= each.argument < len(self.inputs) for each in self.placed)
        self._require(known, "a tensor is of no argument")
        for port in self.inputs:
            ranged = port.low is not None and port.high is not None
            self._require(ranged, f"{port.name!r:.40} has no range")
        self._require(len(self.outputs) == len(self.results) > 0, "a result has no places")
        object.__setattr__(self, "slots", self.results[0].slots)
        for port, place in (*self._tensors_in, *zip(self.outputs, self.results, strict=True)):
            fits = place.is_whole and port.shape == place.shape and place.slots == self.slots
            self._require(fits, f"{port.name!r:.40} has another shape")

    @cached_property
    def _tensors_in(self) -> list[tuple[Port, MatrixPlace | ScatteredPlace]]:
        return [(self.inputs[each.argument], each.place) for each in self.placed]

    def _read(self, port: Port, value: Any, action: str) -> tuple[NDArray[Any], bool]:
        return integer_rows(
            port,
            value,
            action,
            wider="compile with a larger bound or a wider range",
            instead=", or compile for reals",
        )

    def _maker(self, rows: Mapping[str, NDArray[Any]]) -> Maker:
        made = _maker(self._tensors_in, rows, np.int64)
        row_count = self.results[0].layout.blocks.rows
        return lambda places: [vector.reshape(row_count, -1) for vector in made(places)]

    def unpack(self, runs: Sequence[Sequence[NDArray[Any]]], count: int | None) -> Any:
        """Arrays of int64, or of Python's integers where results may be larger."""
        return self.unpack_parts([[dict(enumerate(vectors))] for vectors in runs], count)

    def unpack_parts(
        self,
        runs: Sequence[Iterable[Mapping[int, NDArray[Any]]]],
        count: int | None,
        allocate: Allocate = np.empty,
    ) -> Any:
        """Arrays as of `unpack`, in which each part of the vectors takes its place as it comes."""
        types = [np.int64 if port.bound <= MAX_INTEGER else object for port in self.outputs]
        arrays = [
            allocate(_shape(port, count), kind)
            for port, kind in zip(self.outputs, types, strict=True)
        ]
        _fill(arrays, self.results, map(self._reduced_parts, runs), count)
        return filled(self.form, arrays)

    def _reduced_parts(
        self, parts: Iterable[Mapping[int, NDArray[Any]]]
    ) -> Iterator[Mapping[int, NDArray[Any]]]:
        """Vectors modulo the modulus, if there is one, nearest to 0."""
        if self.modulus is None:
            yield from parts
            return
        half = self.modulus // 2
        for part in parts:
            yield {number: (vector + half) % self.modulus - half for number, vector in part.items()}

    @property
    def held(self) -> list[tuple[str]]:
        return [(port.name,) for port, place in self._tensors_in for _ in range(place.ciphertexts)]

    @property
    def vector_counts(self) -> tuple[int, int]:
        return (
            sum(place.ciphertexts for _, place in self._tensors_in),
            sum(place.ciphertexts for place in self.results),
        )

    @property
    def of_slots(self) -> IntegerMatrixPacking:
        """The same whose results are arrays of the integers that slots hold."""
        form = plain_form(len(self.outputs))
        return IntegerMatrixPacking(self.inputs, self.outputs, self.placed, self.results, form)


@dataclass(frozen=True)
class ListedMatrixPacking(IntegerMatrixPacking):
    """How matrices and vectors of a function over integers lie, whose results are lists.

    Args:
        bits: Results are signed numbers of so many bits.
        ranges: For each result the least and the greatest value that the ranges of the inputs
            allow.
    """

    kind: ClassVar[str] = "listed matrices"

    bits: Annotated[int, Limits(1, MAX_BITS)] = MAX_BITS
    ranges: tuple[tuple[int, int], ...] = ()

    def __post_init__(self) -> None:
        IntegerMatrixPacking.__post_init__(self)
        self._require(len(self.ranges) == len(self.results), "a range is missing")
        object.__setattr__(self, "least_modulus", 1 << self.bits)
        may_exceed = any(bits_of(each) > self.bits for each in self.ranges)
        object.__setattr__(self, "is_checked", may_exceed)

    def unpack_parts(
        self,
        runs: Sequence[Iterable[Mapping[int, NDArray[Any]]]],
        count: int | None,
        allocate: Allocate = np.empty,
    ) -> Any:
        """Python's integers in the form in which the function returns them."""
        arrays = self.of_slots.unpack_parts(runs, count, allocate)
        arrays = arrays if isinstance(arrays, tuple) else (arrays,)
        for array in arrays:
            require_bits((int(array.min()), int(array.max())), self.bits)
        if count is None:
            return filled(self.form, [array.tolist() for array in arrays])
        return [
            filled(self.form, [array[number].tolist() for array in arrays])
            for number in range(count)
        ]
