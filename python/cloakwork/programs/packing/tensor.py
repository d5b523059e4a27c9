"""Tensors of real numbers in ciphertexts of their own, and those that lie as layouts say."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import apart
from cloakwork.base.arrays import filled_numbers, real_numbers, require_bound
from cloakwork.errors import ShapeMismatchError, ValueOutOfRangeError
from cloakwork.programs.layout import Layout
from cloakwork.programs.packing import (
    Maker,
    Packing,
    evaluation_rows,
    made_when_taken,
    object_array,
)
from cloakwork.programs.packing.bits import bits_of
from cloakwork.programs.packing.results import Form, Leaf, filled, integers_of
from cloakwork.programs.phases import PhasePlace
from cloakwork.programs.places import TensorPlace
from cloakwork.programs.port import BIT_KINDS, Port, distinct_ports
from cloakwork.programs.slots import Numbers, Vector

# What rounding may add to a length.
_ROUNDING = 1e-9


class RealPacking(Packing):
    """What packings of real numbers have in common.

    Attributes:
        tensors_in: Of each tensor that goes in which input it is, and where it lies.
        kinds: The kinds of inputs and outputs.
        tensors_out: Of each result which output it is, and where it lies.
        form: How results stand in lists, tuples and dicts.
        advice: What to do about larger numbers, see `base.arrays.require_bound`.
    """

    tensors_in: Sequence[tuple[Port, Any]]
    tensors_out: Sequence[tuple[Port, Any]]
    form: Form
    numbers: ClassVar[Numbers] = "real"
    # Of inputs and of outputs.
    kinds: ClassVar[Mapping[str, Sequence[str]]] = {"inputs": ("real",), "outputs": ("real",)}
    advice: ClassVar[str]

    def _place(self, inputs: Sequence[tuple[Port, Any]], results: Sequence[Any]) -> None:
        """Set where tensors lie, where the parts of the packing fit one another."""
        for ports, what in ((self.inputs, "inputs"), (self.outputs, "outputs")):
            distinct_ports(ports, self.kinds[what], what)
        self._require(len(self.outputs) == len(results) > 0, "a result has no places")
        outputs = list(zip(self.outputs, results, strict=True))
        numbers = [part.number for part in integers_of(self.form) if isinstance(part, Leaf)]
        self._require(sorted(numbers) == [*range(len(results))], "its results have another form")
        slots = {place.slots for _, place in (*inputs, *outputs)}
        self._require(len(slots) == 1, "its tensors lie in other slots")
        object.__setattr__(self, "slots", self.lanes * slots.pop())
        object.__setattr__(self, "tensors_in", inputs)
        object.__setattr__(self, "tensors_out", outputs)

    def _read(self, port: Port, value: Any, action: str) -> tuple[NDArray[Any], bool]:
        where = f"{action}, input {port.name!r}"
        try:
            array = numbers_of(port, value, where)
        except ShapeMismatchError:
            # Rows of different lengths are named beside the shape that is expected.
            evaluation_rows(object_array(value, port.name, action), port.shape, port.name, action)
            raise
        rows = evaluation_rows(array, port.shape, port.name, action)
        require_bound(array, port.bound, where, self.advice)
        self._require_range(array, port, where)
        self._require_lengths(array, port, where)
        return rows

    @staticmethod
    def _require_lengths(array: NDArray[Any], port: Port, where: str) -> None:
        """Refuse vectors along the first axis of an input that are longer than it takes."""
        if not port.length or not array.size:
            return
        longest = float(np.linalg.norm(array, axis=array.ndim - len(port.shape)).max())
        if longest > port.length * (1 + _ROUNDING):
            expected, got = apart(port.length, longest)
            raise ValueOutOfRangeError(
                f"cannot {where}: expected vectors of length {expected} at most along the first "
                f"axis, got one of {got}; scale the data, or let the index encrypt it"
            )

    @staticmethod
    def _require_range(array: NDArray[Any], port: Port, where: str) -> None:
        """Refuse numbers within the bound of an input and outside its range."""
        if port.low is None or port.high is None or not array.size:
            return
        least, greatest = float(array.min()), float(array.max())
        if least < port.low or greatest > port.high:
            raise ValueOutOfRangeError(
                f"cannot {where}: expected values from {port.low:g} to {port.high:g}, got "
                f"{least:g} to {greatest:g}; make the range of its Spec, cw.Spec(shape, low=, "
                "high=), wider, or scale the data"
            )

    def unranged(self) -> Packing:
        inputs = tuple(replace(port, low=None, high=None, length=0.0) for port in self.inputs)
        made: Packing = replace(self, inputs=inputs)  # type: ignore[type-var]
        return made

    @property
    def held(self) -> list[tuple[str]]:
        return [(port.name,) for port, place in self.tensors_in for _ in range(place.ciphertexts)]

    @property
    def vector_counts(self) -> tuple[int, int]:
        # Without a list of them: a file may say that they are many.
        return (
            sum(place.ciphertexts for _, place in self.tensors_in),
            sum(place.ciphertexts for _, place in self.tensors_out),
        )


def numbers_of(port: Port, value: Any, action: str) -> NDArray[Any]:
    """What is given for an input of reals, with what stands for missing numbers.

    Example:
        >>> numbers_of(Port("x", "real", 0, (2,), missing=(0.5,)), [1.0, None], "encrypt").tolist()
        [1.0, 0.5]
    """
    if port.missing:
        return filled_numbers(value, port.missing, action)
    return real_numbers(value, action)


class WholeTensorPacking(RealPacking):
    """What packings have in common that pack tensors of real numbers as a whole."""

    @abstractmethod
    def _packed(self, place: Any, rows: NDArray[np.float64]) -> list[Vector]:
        """The vectors of a batch of tensors."""

    @abstractmethod
    def _unpacked(self, place: Any, vectors: Sequence[Vector]) -> NDArray[np.float64]:
        """A batch of tensors, one a row, of vectors that may be complex."""

    def _maker(self, rows: Mapping[str, NDArray[Any]]) -> Maker:
        # Of many evaluations no more are packed at once than are encrypted.
        return made_when_taken(
            lambda: [
                vector
                for port, place in self.tensors_in
                if port.name in rows
                for vector in self._packed(place, np.asarray(rows[port.name], dtype=np.float64))
            ]
        )

    def unpack(self, runs: Sequence[Sequence[Vector]], count: int | None) -> Any:
        """Arrays in the form in which the function or the network returns them."""
        found: list[NDArray[np.float64]] = []
        left = [iter(vectors) for vectors in runs]
        for port, place in self.tensors_out:
            parts = [self._unpacked(place, [*islice(each, place.ciphertexts)]) for each in left]
            held = np.concatenate(parts)[: count or 1].reshape(-1, *port.shape)
            array = np.ldexp(held, port.exponent) if port.exponent else held
            found.append(np.asarray(array[0] if count is None else array))
        return filled(self.form, found)

    def input_bounds(self) -> list[Vector] | None:
        if any(math.isinf(port.bound) for port in self.inputs):
            return None
        return [
            np.abs(vector)
            for port, place in self.tensors_in
            for vector in self._packed(place, np.full((1, *port.shape), port.held_bound))
        ]


@dataclass(frozen=True, slots=True)
class PlacedInput:
    """Which argument a tensor is that goes in, and where it lies; one may go in twice."""

    argument: int
    layout: TensorPlace


@dataclass(frozen=True)
class TensorPacking(WholeTensorPacking):
    """How the arguments of a compiled function lie in ciphertexts, and its results.

    Args:
        inputs: The arguments, of kind `real` with their ranges, or bits that come as phases.
        outputs: The results.
        placed: The tensors that go in, in the order of the program's inputs.
        results: The layout of each result.
        form: The one result, or a tuple.
    """

    kind: ClassVar[str] = "tensors"
    contents: ClassVar[str] = "tensors"
    range_places: ClassVar[type | tuple[()]] = Layout
    checks_polynomials: ClassVar[bool] = True
    kinds: ClassVar[Mapping[str, Sequence[str]]] = {
        "inputs": ("real", *BIT_KINDS),
        "outputs": ("real",),
    }
    advice: ClassVar[str] = "make the bound of its Spec, cw.Spec(shape, bound={}), as large"

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    placed: tuple[PlacedInput, ...]
    results: tuple[Layout, ...]
    form: Form

    def __post_init__(self) -> None:
        known = all(0 <= each.argument < len(self.inputs) for each in self.placed)
        self._require(known, "a tensor is of no argument")
        inputs = [(self.inputs[each.argument], each.layout) for each in self.placed]
        self._place(inputs, self.results)
        for port, place in (*self.tensors_in, *self.tensors_out):
            is_phases = isinstance(place, PhasePlace)
            self._require(port.is_bits == is_phases, f"{port.name!r:.40} is of another kind")
            shape = (*port.shape, port.width) if is_phases else port.shape
            self._require(shape == place.shape, f"{port.name!r:.40} has another shape")

    def _read(self, port: Port, value: Any, action: str) -> tuple[NDArray[Any], bool]:
        return bits_of(port, value) if port.is_bits else super()._read(port, value, action)

    def input_bounds(self) -> list[Vector] | None:
        if any(math.isinf(port.bound) and not port.is_bits for port in self.inputs):
            return None
        return [
            (1.0 if port.is_bits else port.held_bound) * filled
            for port, place in self.tensors_in
            for filled in place.filled()
        ]

    def _packed(self, place: TensorPlace, rows: NDArray[np.float64]) -> list[Vector]:
        return [*place.pack(rows[0])]

    def _unpacked(self, place: Layout, vectors: Sequence[Vector]) -> NDArray[np.float64]:
        return place.unpack([np.real(vector) for vector in vectors])[np.newaxis]
