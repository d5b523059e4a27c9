"""Packings: how what a user gives lies in the vectors of a program, and what comes out reads back.

A packing knows the program's inputs and outputs by name. It turns arguments into vectors, those of
a slot program's inputs or the bits of each port, and the vectors of results into what the user
sees.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import ChainMap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.frames import is_frame, numbers_and_gaps, numbers_of_frame
from cloakwork.errors import (
    InputNameError,
    InvalidArgumentError,
    InvalidProgramError,
    ShapeMismatchError,
)
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Numbers, SlotProgram, Vector

# Makes the vectors of one run, by their places among those that are given.
Maker: TypeAlias = Callable[[Sequence[int]], Sequence[NDArray[Any]]]
# Makes an array of a shape and a type whose elements are anything, as `numpy.empty` does.
Allocate: TypeAlias = Callable[[tuple[int, ...], Any], NDArray[Any]]

# A value that is always 0 comes out of ciphertexts as a small number.
LEAST_BOUND = 2.0**-20
# numpy's own functions take no more.
_MOST_AXES = 32


class Vectors(Mapping[int, NDArray[Any]]):
    """The vectors of one run by the number of the input that they are, made as they are taken.

    Args:
        numbers: The numbers, rising.
        maker: Makes them.

    Example:
        >>> vectors = Vectors((4, 7), lambda places: [np.full(2, place) for place in places])
        >>> vectors[7].tolist(), [*vectors.some([4, 7])]
        ([1, 1], [4, 7])
    """

    def __init__(self, numbers: Sequence[int], maker: Maker) -> None:
        self._places = {number: place for place, number in enumerate(numbers)}
        self._maker = maker

    def some(self, numbers: Sequence[int]) -> dict[int, NDArray[Any]]:
        """Some of the vectors, made together."""
        made = self._maker([self._places[number] for number in numbers])
        return dict(zip(numbers, made, strict=True))

    def __getitem__(self, number: int) -> NDArray[Any]:
        return self.some([number])[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def ready_made(vectors: Sequence[NDArray[Any]]) -> Maker:
    """A maker of vectors that are there already."""
    return lambda places: [vectors[place] for place in places]


def made_when_taken(make: Callable[[], Sequence[NDArray[Any]]]) -> Maker:
    """A maker of vectors that are made together, and dropped once each of them has been taken.

    Example:
        >>> maker = made_when_taken(lambda: [np.zeros(2), np.ones(2)])
        >>> maker([1])[0].tolist()
        [1.0, 1.0]
    """
    held: Sequence[NDArray[Any]] | None = None
    left: set[int] = set()

    def maker(places: Sequence[int]) -> Sequence[NDArray[Any]]:
        nonlocal held, left
        vectors = make() if held is None else held
        left = {*range(len(vectors))} if held is None else left
        left = left - {*places}
        held = vectors if left else None
        return [vectors[place] for place in places]

    return maker


@dataclass(frozen=True, slots=True)
class Packed:
    """Arguments as vectors.

    Args:
        runs: For each run of the program its vectors.
        ports: The names of the inputs that were given, in the program's order.
        count: How many evaluations they are; None where no argument had an axis for them.
    """

    runs: tuple[Vectors, ...]
    ports: tuple[str, ...]
    count: int | None


class Packing(ABC):
    """What each kind of program has: how arguments become vectors, and vectors results.

    Attributes:
        kind: A word that says which packing it is, in files too.
        contents: What is packed, for the messages of errors.
        numbers: What its programs compute with, over slots.
        range_places: How the operands of layers lie that have ranges; () where none have.
        range_advice: What to do about numbers that leave these ranges.
        checked_together: Whether these ranges need all inputs at once.
        checks_polynomials: Whether clients see to it that polynomials get what they are meant for.
        inputs: What goes in.
        outputs: What comes out.
        batch: Evaluations of one run; more of them are more runs.
        slots: Slots of each vector.
        lanes: Numbers, real or complex, that a ciphertext has for every place.
        least_modulus: What integers have to be modulo at least, to be as large as results.
        is_checked: Whether a client runs inputs in the clear first, as a result may have too many
            bits.
    """

    kind: ClassVar[str]
    contents: ClassVar[str]
    numbers: ClassVar[Numbers]
    range_places: ClassVar[type | tuple[()]] = ()
    range_advice: ClassVar[str] = "say by cloakwork.within that numbers may be as large"
    checked_together: ClassVar[bool] = True
    checks_polynomials: ClassVar[bool] = False
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    batch: int = 1
    slots: int
    lanes: int = 1
    least_modulus: int = 1
    is_checked: bool = False

    @property
    @abstractmethod
    def held(self) -> Sequence[Collection[str]]:
        """For each vector that goes in the names of the inputs that it holds."""

    def is_of(self, body: Any, inputs: int, outputs: int) -> bool:
        """Whether it is of the vectors that a program has, which so many are."""
        return (
            isinstance(body, SlotProgram)
            and (body.numbers, body.slots) == (self.numbers, self.slots)
            and (inputs, outputs) == self.vector_counts
        )

    def unranged(self) -> Packing:
        """The same for numbers of any size, where their ranges are no part of what they are."""
        return self

    @property
    @abstractmethod
    def vector_counts(self) -> tuple[int, int]:
        """How many vectors go in, and the least that come out."""

    def vectors_of(self, ports: Sequence[str]) -> tuple[int, ...]:
        """The numbers of the vectors that hold these inputs and no others."""
        return tuple(
            number for number, names in enumerate(self.held) if all(name in ports for name in names)
        )

    def require_apart(self, given: Sequence[str], action: str, *, checked: bool = False) -> None:
        """Refuse some inputs without others whose numbers lie beside theirs.

        Args:
            given: The names of those that are given.
            action: What is attempted.
            checked: Whether all are checked together.

        Raises:
            InputNameError: One is missing.
        """
        missing = [port.name for port in self.inputs if port.name not in given]
        apart = {*self.vectors_of(given), *self.vectors_of(missing)}
        if missing and (checked or len(apart) != self.vector_counts[0]):
            raise InputNameError(
                f"cannot {action}: expected all inputs, which share ciphertexts or are checked "
                f"together, got none for {', '.join(missing)}"
            )

    @property
    def slot_bounds(self) -> tuple[float, ...] | None:
        """For each vector that goes in the largest absolute value of any slot, if known."""
        bounds = self.input_bounds()
        if bounds is None:
            return None
        return tuple(max(float(each.max()), LEAST_BOUND) for each in bounds)

    @abstractmethod
    def unpack(self, runs: Sequence[Sequence[NDArray[Any]]], count: int | None) -> Any:
        """The results of runs, in the form that the user gets."""

    @property
    def returned(self) -> Packing:
        """The packing of what clients get: of all results, but for those that are state."""
        return self

    def with_all_returned(self) -> Self:
        """The same packing, of whose results clients get all."""
        return self

    @property
    def returned_vectors(self) -> Sequence[int]:
        """The numbers of the vectors that clients get."""
        return range(self.vector_counts[1])

    def unpack_parts(
        self,
        runs: Sequence[Iterable[Mapping[int, NDArray[Any]]]],
        count: int | None,
        _: Allocate = np.empty,
    ) -> Any:
        """The results of runs whose vectors come a few at a time.

        Args:
            runs: For each run its vectors by number, in any order.
            count: How many evaluations they are; None for one without an axis.
            _: Makes the arrays of results, of packings that fill them part by part.
        """
        found = [dict(ChainMap(*map(dict, parts))) for parts in runs]
        return self.unpack([[run[number] for number in sorted(run)] for run in found], count)

    def input_bounds(self) -> list[Vector] | None:
        """For each vector that goes in the largest absolute value of each slot, if known."""
        return None

    def pack(self, arguments: Mapping[str, Any], action: str) -> Packed:
        """The vectors of arguments by name, of all inputs or of some."""
        read = {
            port.name: self._read(port, arguments[port.name], action)
            for port in self.inputs
            if port.name in arguments
        }
        count = _count({name: len(rows) for name, (rows, many) in read.items() if many}, action)
        for port in self.inputs:
            if port.exponent and port.name in read:
                rows, many = read[port.name]
                read[port.name] = np.ldexp(rows, -port.exponent), many
        shared = {
            name: rows if many else np.broadcast_to(rows, (count or 1, *rows.shape[1:]))
            for name, (rows, many) in read.items()
        }
        numbers = self.vectors_of([*read])
        runs = tuple(
            Vectors(
                numbers,
                self._maker(
                    {name: rows[start : start + self.batch] for name, rows in shared.items()}
                ),
            )
            for start in range(0, count or 1, self.batch)
        )
        return Packed(runs, tuple(read), count)

    def _require(self, condition: bool, reason: str) -> None:
        if not condition:
            raise InvalidProgramError(f"cannot pack {self.contents}: {reason}")

    @abstractmethod
    def _read(self, port: Port, value: Any, action: str) -> tuple[NDArray[Any], bool]:
        """An argument, an evaluation a row, and whether it came with an axis for evaluations."""

    @abstractmethod
    def _maker(self, rows: Mapping[str, NDArray[Any]]) -> Maker:
        """What makes the vectors of one run, from evaluations of each input that is given."""


def bound_arguments(
    ports: Sequence[Port], args: Sequence[Any], named: Mapping[str, Any], action: str
) -> dict[str, Any]:
    """Arguments by name, those given by place taking the names of the ports in order."""
    names = [port.name for port in ports]
    if len(args) > len(names):
        raise InvalidArgumentError(
            f"cannot {action}: expected {len(names)} argument(s), {', '.join(names)}, got "
            f"{len(args)}"
        )
    found = dict(zip(names, args, strict=False))
    for name in named:
        if name not in names:
            raise InputNameError(
                f"cannot {action}: there is no input {name!r}; expected "
                f"{', '.join(names) or 'none'}"
            )
        if name in found:
            raise InputNameError(f"cannot {action}: the input {name!r} is given twice")
    known = {port.name: port for port in ports}
    return {
        name: _of_frame(value, known[name], action) if is_frame(value) else value
        for name, value in {**found, **named}.items()
    }


def _of_frame(frame: Any, port: Port, action: str) -> NDArray[Any]:
    read = numbers_and_gaps if port.missing else numbers_of_frame
    return read(frame, f"{action}, input {port.name!r}", port.columns)


def evaluation_rows(
    array: NDArray[Any], shape: tuple[int, ...], name: str, action: str
) -> tuple[NDArray[Any], bool]:
    """What was given for an input with an axis of evaluations, and whether it came with one."""
    many = array.ndim == len(shape) + 1
    # Where lists have several lengths, they are the elements.
    elements = array.flat if array.dtype == object else ()
    lists = [each for each in elements if isinstance(each, list | tuple)]
    if lists or array.shape[int(many) :] != shape:
        uneven = [f"a list of {len(each)}" for each in lists if (len(each),) != shape[-1:]]
        got = uneven[0] if uneven else array.shape if array.ndim else shown(array.item())
        raise ShapeMismatchError(
            f"cannot {action}: expected {name!r} of shape {shape}, or evaluations of it along a "
            f"first axis, got {got}"
        )
    return (array if many else array[np.newaxis]), many


def object_array(value: Any, name: str, action: str) -> NDArray[Any]:
    """What was given for an input as an array, Python's integers of any size as they are."""
    try:
        array = np.array(value, dtype=object)
    except ValueError as error:
        raise ShapeMismatchError(
            f"cannot {action}: expected {name!r} to have parts of one shape, got several"
        ) from error
    if array.ndim > _MOST_AXES:
        raise ShapeMismatchError(
            f"cannot {action}: expected {name!r} to have up to {_MOST_AXES} axes, got lists that "
            "are nested more deeply, as one that is in itself"
        )
    return array


def _count(counts: Mapping[str, int], action: str) -> int | None:
    """How many evaluations arguments make up, from the axes of those that have one."""
    if len(set(counts.values())) > 1:
        listed = ", ".join(f"{count} of {name}" for name, count in counts.items())
        raise ShapeMismatchError(
            f"cannot {action}: expected as many evaluations of every input, got {listed}"
        )
    if 0 in counts.values():
        raise ShapeMismatchError(f"cannot {action}: expected one evaluation or more, got none")
    return next(iter(counts.values()), None)
