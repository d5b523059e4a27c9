"""Tensors that lie in ciphertexts as layouts say, an argument in one layout or in several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arrays import real_array, require_bound
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidLayoutError, InvalidProgramError, MalformedBytesError
from cloakwork.programs.layout import MAX_SLOTS, Axis, Layout
from cloakwork.programs.packing import Packed, counted_evaluations, evaluations, stacked
from cloakwork.programs.port import MAX_AXES, MAX_SIZE, Port, require_numbers
from cloakwork.programs.slots import Vector

_MAX_TENSORS = 1 << 16


@dataclass(frozen=True, slots=True)
class PlacedInput:
    """One tensor that goes in: which argument it is, and where its elements lie.

    Args:
        argument: The number of the argument; one may go in twice, in two layouts.
        layout: The layout.
    """

    argument: int
    layout: Layout


@dataclass(frozen=True)
class TensorPacking:
    """How the arguments of a compiled function lie in ciphertexts, and its results.

    Args:
        inputs: The arguments, of kind `real` with their ranges.
        outputs: The results.
        placed: The tensors that go in, in the order of the program's inputs.
        results: The layout of each result.
        single: Whether the function returned one tensor rather than a tuple.

    Raises:
        InvalidProgramError: The parts do not fit one another.

    Example:
        >>> layout = Layout(4, (Axis(3, 1),))
        >>> x, y = (Port(name, "real", shape=(3,), low=-1.0, high=1.0) for name in "xy")
        >>> packing = TensorPacking((x,), (y,), (PlacedInput(0, layout),), (layout,), True)
        >>> packing.pack({"x": [0.5, 0.0, 1.0]}, "encrypt").runs[0][0].tolist()
        [0.5, 0.0, 1.0, 0.0]
    """

    kind: ClassVar[str] = "tensors"

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    placed: tuple[PlacedInput, ...]
    results: tuple[Layout, ...]
    single: bool
    batch: ClassVar[int] = 1

    def __post_init__(self) -> None:
        def require(condition: bool, reason: str) -> None:
            if not condition:
                raise InvalidProgramError(f"cannot pack tensors: {reason}")

        require_numbers(self.inputs, "real", "inputs")
        require_numbers(self.outputs, "real", "outputs")
        require(len(self.outputs) == len(self.results) > 0, "a result has no layout")
        require(not self.single or len(self.results) == 1, "its one result is several")
        layouts = [each.layout for each in self.placed] + list(self.results)
        require(len({layout.slots for layout in layouts}) == 1, "a layout has other slots")
        for each in self.placed:
            require(0 <= each.argument < len(self.inputs), "a tensor is of no argument")
            same = each.layout.shape == self.inputs[each.argument].shape
            require(same, "a tensor has not the shape of its argument")
        for port, layout in zip(self.outputs, self.results, strict=True):
            require(port.shape == layout.shape, "a result has not the shape of its layout")

    def pack(self, arguments: Mapping[str, Any], action: str) -> Packed:
        """The vectors of arguments by name; see `programs.packing.Packing`."""
        given = [port for port in self.inputs if port.name in arguments]
        arrays: dict[str, NDArray[np.float64]] = {}
        counts: dict[str, int | None] = {}
        for port in given:
            array = real_array(arguments[port.name], f"{action} {port.name!r}")
            counts[port.name] = evaluations(array, port, action)
            advice = "the bound of its Spec, cw.Spec(shape, bound={}),"
            require_bound(array, port.bound, f"{action} {port.name!r}", advice)
            arrays[port.name] = array
        runs, count = counted_evaluations(counts, action)
        packed: list[dict[int, NDArray[Any]]] = [{} for _ in range(runs)]
        for first, each in zip(self._firsts(), self.placed, strict=True):
            name = self.inputs[each.argument].name
            if name not in arrays:
                continue
            for run, vectors in enumerate(packed):
                own = arrays[name] if counts[name] is None else arrays[name][run]
                vectors.update(enumerate(each.layout.pack(own), first))
        return Packed(tuple(packed), tuple(port.name for port in given), count)

    def unpack(self, runs: Sequence[Sequence[Vector]], count: int | None) -> Any:
        """One array, or a tuple where the function returned several."""
        found: list[NDArray[np.float64]] = []
        first = 0
        for layout in self.results:
            last = first + layout.ciphertexts
            found.append(stacked([layout.unpack(run[first:last]) for run in runs], count))
            first = last
        return found[0] if self.single else tuple(found)

    def input_bounds(self) -> list[Vector] | None:
        """For each input of the program the largest absolute value of each slot.

        None where an argument has no range.
        """
        if any(math.isinf(port.bound) for port in self.inputs):
            return None
        return [
            self.inputs[each.argument].bound * occupied
            for each in self.placed
            for occupied in each.layout.occupied()
        ]

    def vectors_of(self, ports: Sequence[str]) -> tuple[int, ...]:
        """The numbers of the vectors that hold these arguments."""
        return tuple(
            first + number
            for first, each in zip(self._firsts(), self.placed, strict=True)
            if self.inputs[each.argument].name in ports
            for number in range(each.layout.ciphertexts)
        )

    @property
    def vector_counts(self) -> tuple[int, int]:
        """How many vectors go in and come out."""
        return (
            sum(each.layout.ciphertexts for each in self.placed),
            sum(layout.ciphertexts for layout in self.results),
        )

    def _firsts(self) -> list[int]:
        """The number of the first vector of each tensor that goes in."""
        counts = [each.layout.ciphertexts for each in self.placed]
        return [sum(counts[:place]) for place in range(len(counts))]

    def to_record(self) -> Record:
        """The packing as files hold it."""
        return {
            "inputs": [port.to_record() for port in self.inputs],
            "outputs": [port.to_record() for port in self.outputs],
            "placed": [
                {"argument": each.argument, "layout": layout_record(each.layout)}
                for each in self.placed
            ],
            "results": [layout_record(layout) for layout in self.results],
            "single": self.single,
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> TensorPacking:
        """The packing of a record.

        Raises:
            MalformedBytesError: The record is of none.
        """
        return cls(
            tuple(map(Port.from_fields, fields.several("inputs", most=_MAX_TENSORS))),
            tuple(map(Port.from_fields, fields.several("outputs", most=_MAX_TENSORS))),
            tuple(
                PlacedInput(
                    each.integer("argument", least=0, most=_MAX_TENSORS),
                    read_layout(each.within("layout")),
                )
                for each in fields.several("placed", most=_MAX_TENSORS)
            ),
            tuple(map(read_layout, fields.several("results", most=_MAX_TENSORS))),
            fields.truth("single"),
        )


def layout_record(layout: Layout) -> Record:
    """A layout as files hold it.

    Example:
        >>> layout = Layout(4, (Axis(3, 1, "i"),))
        >>> read_layout(Fields(layout_record(layout), "the record")) == layout
        True
    """
    return {
        "slots": layout.slots,
        "axes": [_axis_record(axis) for axis in layout.axes],
        "replicas": [_axis_record(axis) for axis in layout.replicas],
        "garbage": layout.garbage,
        "offset": layout.offset,
    }


def _axis_record(axis: Axis) -> Record:
    name = axis.name if axis.name.isprintable() else ""
    return {"size": axis.size, "stride": axis.stride, "name": name, "tile": axis.tile}


def read_layout(fields: Fields) -> Layout:
    """The layout of a record.

    Raises:
        MalformedBytesError: The record is of none.
    """
    slots = fields.integer("slots", least=1, most=MAX_SLOTS)
    axes, replicas = (
        tuple(_read_axis(each, slots) for each in fields.several(name, most=MAX_AXES))
        for name in ("axes", "replicas")
    )
    # What elements there are has to fit the slots of as many ciphertexts, and these a list.
    if math.prod(axis.size for axis in axes) > MAX_SIZE:
        raise fields.wrong("axes", f"of up to {MAX_SIZE} elements")
    offset = fields.integer("offset", least=0, most=slots)
    try:
        return Layout(slots, axes, replicas, fields.truth("garbage"), offset)
    # numpy 1 indexes fewer axes, and says so by an IndexError.
    except (IndexError, InvalidLayoutError, ValueError) as error:
        raise MalformedBytesError(f"cannot read {fields.place}: {error}") from error


def _read_axis(fields: Fields, slots: int) -> Axis:
    return Axis(
        fields.integer("size", least=1, most=MAX_SIZE),
        fields.integer("stride", least=1 - slots, most=slots - 1),
        fields.word("name"),
        fields.integer("tile", least=0, most=slots),
    )
