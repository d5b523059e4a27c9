"""How the scalars of many evaluations lie in the vectors of a program over integers.

A vector has rows of slots, on which every operation works alike. An evaluation takes `width`
slots; evaluations lie side by side, row after row.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.record import Fields, Record
from cloakwork.errors import (
    InputNameError,
    InvalidProgramError,
    NotIntegerError,
    ResultOverflowError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.ir.vectors import Clear, PlacedScalar
from cloakwork.programs.layout import MAX_SLOTS
from cloakwork.programs.packing import Packed, counted_evaluations
from cloakwork.programs.packing.results import (
    Form,
    Leaf,
    filled,
    from_facts,
    integers_of,
    result_ports,
    to_facts,
)
from cloakwork.programs.port import Port, require_numbers

# Of one vector on ciphertexts of BGV; rotations stay within a row.
ROWS = 2
# Of a result.
MAX_BITS = 64
_MAX_PORTS = 1 << 16
_MAX_DIGITS = 400


def capacity(width: int, slots: int) -> int:
    """Evaluations that rows of so many slots hold, each so many slots wide.

    Example:
        >>> capacity(3, 8)
        4
    """
    return ROWS * (slots // width)


@dataclass(frozen=True, slots=True)
class ResultPlace:
    """Where a result lies: which output of the program, and in which slot of its evaluation."""

    output: int
    slot: int


@dataclass(frozen=True, slots=True)
class ScalarPlaces:
    """Where scalars go in and results come out.

    Args:
        slots: Slots of a row.
        width: Slots of one evaluation.
        inputs: For each input of the program the scalars that lie in it.
        results: For each result where it lies, or what it is.

    Raises:
        InvalidProgramError: An evaluation does not fit a row, two scalars share a slot, or a
            scalar or a result lies outside.

    Example:
        >>> places = ScalarPlaces(4, 2, ((PlacedScalar(1, "x", 0),),), (ResultPlace(0, 1),))
        >>> places.pack([{"x": [5]}, {"x": [6]}, {"x": [7]}])[0].tolist()
        [[0, 5, 0, 6], [0, 7, 0, 0]]
    """

    slots: int
    width: int
    inputs: tuple[tuple[PlacedScalar, ...], ...]
    results: tuple[ResultPlace | Clear, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.width <= self.slots <= MAX_SLOTS:
            raise InvalidProgramError(
                f"cannot pack integers: an evaluation takes {self.width} of {self.slots} slots"
            )
        for number, scalars in enumerate(self.inputs):
            taken = {scalar.slot % self.slots for scalar in scalars}
            if len(taken) != len(scalars):
                raise InvalidProgramError(
                    f"cannot pack integers: two scalars share a slot of input {number}"
                )
        for place in self.results:
            if isinstance(place, ResultPlace) and place.output < 0:
                raise InvalidProgramError("cannot pack integers: a result is of no output")

    @property
    def capacity(self) -> int:
        """Evaluations at once."""
        return capacity(self.width, self.slots)

    def pack(
        self,
        evaluations: Sequence[Mapping[str, Sequence[int]]],
        numbers: Sequence[int] | None = None,
    ) -> list[NDArray[Any]]:
        """A vector of Python's integers, row by row, for inputs of the program.

        Args:
            evaluations: The scalars of every input by name, up to `capacity` times.
            numbers: The vectors wanted, by default all.
        """
        vectors: list[NDArray[Any]] = []
        for wanted in range(len(self.inputs)) if numbers is None else numbers:
            vector = np.zeros((ROWS, self.slots), dtype=object)
            for number, values in enumerate(evaluations):
                row, start = self._start(number)
                for scalar in self.inputs[wanted]:
                    slot = (start + scalar.slot) % self.slots
                    vector[row, slot] = int(values[scalar.input][scalar.index])
            vectors.append(vector)
        return vectors

    def unpack(self, vectors: Sequence[NDArray[Any]], evaluations: int) -> list[list[int]]:
        """The results of each of the first evaluations, in order.

        Example:
            >>> places = ScalarPlaces(4, 2, (), (ResultPlace(0, 1), Clear(9)))
            >>> places.unpack([np.arange(8).reshape(2, 4)], 3)
            [[1, 9], [3, 9], [5, 9]]
        """
        return [
            [self._result(place, vectors, number) for place in self.results]
            for number in range(evaluations)
        ]

    def _result(
        self, place: ResultPlace | Clear, vectors: Sequence[NDArray[Any]], evaluation: int
    ) -> int:
        if isinstance(place, Clear):
            return place.value
        row, start = self._start(evaluation)
        return int(vectors[place.output][row, (start + place.slot) % self.slots])

    def _start(self, evaluation: int) -> tuple[int, int]:
        """The row and the first slot of an evaluation."""
        in_row = self.slots // self.width
        return evaluation // in_row, evaluation % in_row * self.width

    def starts(self) -> list[int]:
        """The first slot of every evaluation of a row.

        Example:
            >>> ScalarPlaces(8, 3, (), ()).starts()
            [0, 3]
        """
        return [number * self.width for number in range(self.slots // self.width)]


@dataclass(frozen=True, eq=False)
class ScalarPacking:
    """A program's integers by name: what goes in, where it lies, the form of what comes out.

    Args:
        inputs: The inputs, of kind `integer` with their ranges.
        places: Where scalars lie in vectors.
        form: How results stand in lists, tuples and dicts.
        bits: Results are signed numbers of so many bits.
        ranges: For each result the least and the greatest value that the ranges of the inputs
            allow; for explanation.

    Raises:
        InvalidProgramError: The parts do not fit one another.
    """

    kind: ClassVar[str] = "scalars"

    inputs: tuple[Port, ...]
    places: ScalarPlaces
    form: Form
    bits: int
    ranges: tuple[tuple[int, int], ...]

    def __post_init__(self) -> None:
        def require(condition: bool, reason: str) -> None:
            if not condition:
                raise InvalidProgramError(f"cannot pack integers: {reason}")

        places = self.places
        require(1 <= self.bits <= MAX_BITS, f"its results have {self.bits} bits")
        require_numbers(self.inputs, "integer", "inputs")
        for port in self.inputs:
            ranged = port.low is not None and port.high is not None
            require(ranged, f"{port.name!r:.40} has no range")
        counts = {port.name: port.count for port in self.inputs}
        for scalar in (scalar for scalars in places.inputs for scalar in scalars):
            known = 0 <= scalar.index < counts.get(scalar.input, 0)
            require(known, "it packs a scalar that no input has")
        require(len(self.ranges) == len(places.results), "a range is missing")
        for part in integers_of(self.form):
            found = not isinstance(part, Leaf) or part.number < len(places.results)
            require(found, "a result is missing")

    @property
    def batch(self) -> int:
        """Evaluations of one run: as many as the rows have slots for."""
        return self.places.capacity

    @property
    def outputs(self) -> tuple[Port, ...]:
        """The results: one port, or one for each name where they are a dict."""
        return result_ports(self.form, self.bits)

    def pack(self, arguments: Mapping[str, Any], action: str) -> Packed:
        """The vectors of arguments by name; see `programs.packing.Packing`."""
        given = [port for port in self.inputs if port.name in arguments]
        names = tuple(port.name for port in given)
        values = {port.name: _listed(arguments[port.name]) for port in given}
        counts = {port.name: _evaluations(port, values[port.name], action) for port in given}
        found, count = counted_evaluations(counts, action)
        evaluations = [
            {
                port.name: _scalars(
                    port,
                    values[port.name] if counts[port.name] is None else values[port.name][run],
                    action,
                )
                for port in given
            }
            for run in range(found)
        ]
        numbers = self.vectors_of(names)
        parts = [evaluations[at : at + self.batch] for at in range(0, found, self.batch)]
        runs = [dict(zip(numbers, self.places.pack(each, numbers), strict=True)) for each in parts]
        return Packed(tuple(runs), names, count)

    def unpack(self, runs: Sequence[Sequence[NDArray[Any]]], count: int | None) -> Any:
        """Python's integers in the form in which the function returns them.

        Raises:
            ResultOverflowError: A result is no signed number of so many bits.
        """
        left = 1 if count is None else count
        found: list[list[int]] = []
        for vectors in runs:
            found += self.places.unpack(vectors, min(self.batch, left - len(found)))
        for evaluation in found:
            require_bits(evaluation, self.bits)
        made = [filled(self.form, values) for values in found]
        return made[0] if count is None else made

    def input_bounds(self) -> None:
        """None: integers modulo a prime have no bound."""

    def vectors_of(self, ports: Sequence[str]) -> tuple[int, ...]:
        """The numbers of the vectors that hold scalars of these inputs and of no others."""
        return tuple(
            number
            for number, scalars in enumerate(self.places.inputs)
            if all(scalar.input in ports for scalar in scalars)
        )

    @property
    def vector_counts(self) -> tuple[int, int]:
        """How many vectors go in, and the least that come out."""
        outputs = [each.output for each in self.places.results if isinstance(each, ResultPlace)]
        return len(self.places.inputs), max(outputs, default=-1) + 1

    def to_record(self) -> Record:
        """The packing as files hold it."""
        places = self.places
        return {
            "inputs": [port.to_record() for port in self.inputs],
            "slots": places.slots,
            "width": places.width,
            "scalars": [
                {
                    "slots": [each.slot for each in scalars],
                    "inputs": [each.input for each in scalars],
                    "indices": [each.index for each in scalars],
                }
                for scalars in places.inputs
            ],
            "results": [
                str(place.value) if isinstance(place, Clear) else [place.output, place.slot]
                for place in places.results
            ],
            "form": to_facts(self.form),
            "bits": self.bits,
            "ranges": [[str(low), str(high)] for low, high in self.ranges],
        }

    @classmethod
    def from_fields(cls, fields: Fields) -> ScalarPacking:
        """The packing of a record.

        Raises:
            MalformedBytesError: The record is of none.
        """
        slots = fields.integer("slots", least=1, most=MAX_SLOTS)
        results = fields.items("results", most=_MAX_PORTS)
        places = ScalarPlaces(
            slots,
            fields.integer("width", least=1, most=slots),
            tuple(
                _read_scalars(each, slots) for each in fields.several("scalars", most=_MAX_PORTS)
            ),
            tuple(_read_place(fields, each, slots) for each in results),
        )
        ranges = fields.items("ranges", most=len(results))
        return cls(
            tuple(map(Port.from_fields, fields.several("inputs", most=_MAX_PORTS))),
            places,
            from_facts(fields.raw("form"), len(results)),
            fields.integer("bits", least=1, most=MAX_BITS),
            tuple(_read_range(fields, each) for each in ranges),
        )


def one_evaluation(
    ports: Sequence[Port], arguments: Mapping[str, Any], action: str
) -> dict[str, list[int]]:
    """The scalars of every input in order, of a single evaluation.

    Args:
        ports: The inputs.
        arguments: For every input an integer, a list, or a list of lists, of its shape.
        action: What the caller is about to do, for the message of an error.

    Raises:
        InputNameError: An input is missing, or there is none of a name.
        ShapeMismatchError: A shape does not fit.
        NotIntegerError: A number is no integer.
        ValueOutOfRangeError: A number is outside the range of its input.

    Example:
        >>> port = Port("a", "integer", shape=(2,), low=-8, high=7)
        >>> one_evaluation([port], {"a": [3, -4]}, "run")
        {'a': [3, -4]}
    """
    names = [port.name for port in ports]
    if set(names) != set(arguments):
        raise InputNameError(
            f"cannot {action}: expected the inputs {', '.join(names) or 'none'}, got "
            f"{', '.join(arguments) or 'none'}"
        )
    return {port.name: _scalars(port, arguments[port.name], action) for port in ports}


def _evaluations(port: Port, value: Any, action: str) -> int | None:
    """How many evaluations a value is of, None where it has the shape of its port."""
    depth, within = 0, value
    while isinstance(within, list | tuple):
        depth, within = depth + 1, within[0] if within else None
    if depth == len(port.shape):
        return None
    if depth == len(port.shape) + 1:
        return len(value)
    raise _wrong_shape(port, value, action)


def _scalars(port: Port, value: Any, action: str) -> list[int]:
    flat: list[int] = []
    _flatten(port, value, port.shape, flat, action)
    for number in flat:
        if not (port.low is not None and port.high is not None and port.low <= number <= port.high):
            raise ValueOutOfRangeError(
                f"cannot {action}: expected {port.name!r} to hold integers from {port.low} to "
                f"{port.high}, got {shown(number)}; declare more bits, or compile with more"
            )
    return flat


def _flatten(port: Port, value: Any, shape: tuple[int, ...], flat: list[int], action: str) -> None:
    value = _listed(value)
    is_list = isinstance(value, list | tuple)
    if is_list != bool(shape) or (is_list and len(value) != shape[0]):
        raise _wrong_shape(port, value, action)
    if not is_list:
        flat.append(_integer(port, value, action))
        return
    for part in value:
        _flatten(port, part, shape[1:], flat, action)


def _wrong_shape(port: Port, value: Any, action: str) -> ShapeMismatchError:
    got = f"a list of {len(value)}" if isinstance(value, list | tuple) else shown(value)
    return ShapeMismatchError(
        f"cannot {action}: expected {port.name!r} of shape {port.shape}, or a list of evaluations "
        f"of it, got {got}"
    )


def _listed(value: Any) -> Any:
    """Arrays, of whatever library, as lists."""
    return value.tolist() if hasattr(value, "tolist") else value


def _integer(port: Port, value: Any, action: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise NotIntegerError(
            f"cannot {action}: expected {port.name!r} to hold integers, got {shown(value)}"
        ) from None


def require_bits(results: Sequence[int], bits: int) -> None:
    """Refuse results that are no signed numbers of so many bits.

    Raises:
        ResultOverflowError: One has more.

    Example:
        >>> require_bits([127, -128], 8)
    """
    limit = 1 << bits - 1
    for number, value in enumerate(results):
        if not -limit <= value < limit:
            needed = max(value, ~value).bit_length() + 1
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


def _read_scalars(fields: Fields, slots: int) -> tuple[PlacedScalar, ...]:
    own = fields.integers("slots", least=-slots, most=slots, count=slots)
    names = fields.items("inputs", most=slots)
    indices = fields.integers("indices", least=0, most=1 << 40, count=slots)
    if not len(own) == len(names) == len(indices) or not all(isinstance(n, str) for n in names):
        raise fields.wrong("slots, inputs and indices", "as many of each")
    return tuple(map(PlacedScalar, own, names, indices))


def _read_place(fields: Fields, row: Any, slots: int) -> ResultPlace | Clear:
    match row:
        case [output, slot] if type(output) is type(slot) is int and abs(slot) < slots:
            return ResultPlace(output, slot)
        case str():
            return Clear(_read_integer(fields, row))
        case _:
            raise fields.wrong("results", "outputs and slots")


def _read_range(fields: Fields, row: Any) -> tuple[int, int]:
    match row:
        case [str(low), str(high)]:
            return _read_integer(fields, low), _read_integer(fields, high)
        case _:
            raise fields.wrong("ranges", "pairs of integers")


def _read_integer(fields: Fields, digits: str) -> int:
    body = digits.removeprefix("-")
    if not (body.isascii() and body.isdecimal() and len(body) <= _MAX_DIGITS):
        raise fields.wrong("an integer", f"up to {_MAX_DIGITS} digits")
    return int(digits)
