"""What users give to ports and get from them, as bits: integers, bytes, arrays of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.arrays import is_masked
from cloakwork.errors import InvalidProgramError, ValueOutOfRangeError
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.packing import Maker, Packing, evaluation_rows, object_array, ready_made
from cloakwork.programs.packing.fixed_point import not_a_number, scaled_integers, unscaled
from cloakwork.programs.packing.results import Form, Leaf, filled, integers_of
from cloakwork.programs.port import BIT_KINDS, Port, distinct_ports

Bits = NDArray[np.uint8]

# Integers of more bits than numpy's are Python's.
_WORD = 64


@dataclass(frozen=True)
class BitPacking(Packing):
    """Inputs and outputs of a program over bits.

    The vectors of a run are the bits of each input, by the number of its port.

    Args:
        inputs: The inputs.
        outputs: The outputs.
    """

    kind: ClassVar[str] = "bits"
    contents: ClassVar[str] = "bits"

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]

    def __post_init__(self) -> None:
        distinct_ports(self.inputs, BIT_KINDS, "inputs")
        distinct_ports(self.outputs, BIT_KINDS, "outputs")

    def _read(self, port: Port, value: Any, _: str) -> tuple[Bits, bool]:
        return bits_of(port, value)

    def _maker(self, rows: Mapping[str, Bits]) -> Maker:
        return ready_made([rows[port.name][0] for port in self.inputs if port.name in rows])

    def unpack(self, runs: Sequence[Sequence[Bits]], count: int | None) -> dict[str, Any]:
        """Every output by name."""
        bits = np.stack([np.concatenate([*run, np.empty(0, np.uint8)]) for run in runs])
        return results_of_bits(self.outputs, bits.astype(np.uint8), many=count is not None)

    def is_of(self, body: Any, *_: int) -> bool:
        is_bits = isinstance(body, BootstrapProgram)
        return is_bits and (body.inputs, body.outputs) == (self.inputs, self.outputs)

    @property
    def held(self) -> list[tuple[str]]:
        return [(port.name,) for port in self.inputs]

    @property
    def vector_counts(self) -> tuple[int, int]:
        return len(self.inputs), len(self.outputs)


@dataclass(frozen=True)
class DecisionPacking(BitPacking):
    """Inputs of a program over bits, and some of its outputs as arrays of numbers.

    Args:
        inputs: The inputs.
        outputs: The outputs.
        results: The names of those that come out, in their order.
        form: Whether they come as one array, or as a tuple.
    """

    kind: ClassVar[str] = "decisions"

    results: tuple[str, ...]
    form: Form

    def __post_init__(self) -> None:
        super().__post_init__()
        numbers = [part.number for part in integers_of(self.form) if isinstance(part, Leaf)]
        is_whole = sorted(numbers) == [*range(len(self.results))]
        if not is_whole or set(self.results) - {port.name for port in self.outputs}:
            raise InvalidProgramError(
                "cannot make the program: expected the names of its outputs as results, and an "
                f"array for each, got {', '.join(map(repr, self.results)):.80}"
            )

    def unpack(self, runs: Sequence[Sequence[Bits]], count: int | None) -> Any:
        """The results as arrays."""
        found = super().unpack(runs, count)
        return filled(self.form, [np.asarray(found[name], np.float64) for name in self.results])


def bits_of(port: Port, value: Any) -> tuple[Bits, bool]:
    """The bits of one argument, a row per run, and whether it has a leading axis for runs.

    Example:
        >>> bits_of(Port("a", "unsigned", 3), 5)
        (array([[1, 0, 1]], dtype=uint8), False)
    """
    action = f"give {port.name!r} its value"
    if is_masked(value):
        raise not_a_number(port, "an array with a mask; give what stands for the values it hides")
    numbers = _octets(value) if port.kind == "bytes" else value
    if not isinstance(numbers, np.ndarray):
        numbers = object_array(numbers, port.name, action)
    if port.fraction:
        numbers = scaled_integers(port, numbers)
    else:
        _require_integers(port, numbers)
    within = {"bits": (port.width,), "bytes": (port.width // 8,)}.get(port.kind, ())
    rows, many = evaluation_rows(numbers, port.shape + within, port.name, action)
    element = {"bits": 1, "bytes": 8}.get(port.kind, port.width)
    low = -(1 << element - 1) if port.kind == "signed" else 0
    high = low + (1 << element) - 1
    if rows.size and not (low <= int(rows.min()) and int(rows.max()) <= high):
        outside = int(rows.min()) if int(rows.min()) < low else int(rows.max())
        raise ValueOutOfRangeError(
            f"cannot {action}: expected {_number(port, low)} to {_number(port, high)}, got "
            f"{_number(port, outside)}"
        )
    return _bits(rows.reshape(-1), element).reshape(len(rows), port.bits), many


def results_of_bits(ports: Sequence[Port], bits: Bits, *, many: bool) -> dict[str, Any]:
    """The value of every output by name, from a row of bits for each of many runs, or of one."""
    results: dict[str, Any] = {}
    end = 0
    for port in ports:
        start, end = end, end + port.bits
        made = _made(port, bits[:, start:end].reshape(-1, port.width))
        if port.fraction:
            made = unscaled(port, made)
        made = made.reshape(len(bits), *port.shape, *made.shape[1:])
        results[port.name] = made if many else _single(port, made)
    return results


def _octets(value: Any) -> Any:
    """Bytes, and lists of them, as lists of numbers."""
    if isinstance(value, bytes | bytearray):
        return np.frombuffer(value, dtype=np.uint8)
    if isinstance(value, list | tuple):
        return [_octets(each) for each in value]
    return value


def _require_integers(port: Port, numbers: NDArray[Any]) -> None:
    if numbers.dtype.kind not in "iubO":
        raise not_a_number(port, str(numbers.dtype))
    for number in numbers.flat if numbers.dtype.kind == "O" else ():
        if not isinstance(number, int | np.integer | np.bool_):
            raise not_a_number(port, f"an object of type {type(number).__name__}")


def _number(port: Port, number: int) -> str:
    """What an integer stands for, as an error shows it."""
    if not port.fraction:
        return shown(number)
    try:
        return str(number / (1 << port.fraction))
    except OverflowError:
        return shown(number >> port.fraction)


def _bits(numbers: NDArray[Any], width: int) -> Bits:
    """A row of bits, bit 0 first, for every number; negative ones in two's complement."""
    if numbers.dtype.kind != "O" and width <= _WORD:
        octets = numbers.astype("<u8").view(np.uint8).reshape(-1, 8)
    else:
        size, modulus = -(-width // 8), 1 << width
        packed = b"".join((int(each) % modulus).to_bytes(size, "little") for each in numbers)
        octets = np.frombuffer(packed, dtype=np.uint8).reshape(-1, size)
    return np.unpackbits(octets, axis=1, count=width, bitorder="little")


def _made(port: Port, bits: Bits) -> NDArray[Any]:
    """The elements of a port from a row of bits each."""
    if port.kind == "bits":
        return bits
    octets = np.packbits(bits, axis=1, bitorder="little")
    if port.kind == "bytes":
        return octets
    sign = 1 << port.width - 1 if port.kind == "signed" else 0
    if port.width > _WORD:
        numbers = [int.from_bytes(row.tobytes(), "little") for row in octets]
        # Flipping the top bit and taking its worth off extends a sign.
        return np.array([(number ^ sign) - sign for number in numbers], dtype=object)
    padded = np.pad(octets, ((0, 0), (0, _WORD // 8 - octets.shape[1])))
    words = padded.view("<u8").reshape(-1).astype(np.uint64)
    if port.kind == "unsigned":
        return words
    return ((words ^ np.uint64(sign)) - np.uint64(sign)).view(np.int64)


def _single(port: Port, made: NDArray[Any]) -> Any:
    """The value of a port in the only run."""
    if port.shape or port.kind == "bits":
        return made[0]
    return made.tobytes() if port.kind == "bytes" else made.item()
