"""What users give to ports and get from them, as bits: numbers, bytes, arrays of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import (
    InvalidArgumentError,
    NotRealError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.ports import Port
from cloakwork.runtime.arguments import shown
from cloakwork.runtime.fixed_point import scaled, unscaled

Bits = NDArray[np.uint8]

# Integers of more bits than numpy's are Python's.
_WORD = 64


def bits_of_arguments(ports: Sequence[Port], arguments: Mapping[str, Any]) -> tuple[Bits, bool]:
    """The bits of all inputs, and whether they are many runs.

    Args:
        ports: The inputs.
        arguments: For every input an integer, bytes or an array, or a list, of the shape that the
            port has; or, with a leading axis, one of these for each run. What is given
            for a single run is taken for all runs. Ports with a fixed point take real numbers, for
            which the nearest stands that they have.

    Returns:
        A row per run, and whether any argument has the leading axis.

    Raises:
        InvalidArgumentError: An input is missing, or an argument is none of the inputs.
        NotRealError: An argument is not of integers or bytes, or of real numbers for a port
            with a fixed point.
        NotFiniteError: A number is NaN or infinite.
        ShapeMismatchError: A shape does not fit a port, or the numbers of runs differ.
        ValueOutOfRangeError: A number does not fit its port.

    Example:
        >>> bits_of_arguments([Port("a", "signed", 3)], {"a": [1, -2]})
        (array([[1, 0, 0],
               [0, 1, 1]], dtype=uint8), True)
    """
    names = [port.name for port in ports]
    for name in arguments:
        if name not in names:
            raise InvalidArgumentError(
                f"cannot run the gates: there is no input {name!r}; expected {', '.join(names)}"
            )
    for name in names:
        if name not in arguments:
            raise InvalidArgumentError(f"cannot run the gates: the input {name!r} is missing")
    read = [_read(port, arguments[port.name]) for port in ports]
    batches = {len(bits): port for port, (bits, many) in zip(ports, read, strict=True) if many}
    if len(batches) > 1:
        told = ", ".join(f"{count} for {port.name}" for count, port in batches.items())
        raise ShapeMismatchError(f"cannot run the gates: expected one number of runs, got {told}")
    runs = next(iter(batches), 1)
    spread = [np.broadcast_to(bits, (runs, bits.shape[1])) for bits, _ in read]
    empty = np.empty((runs, 0), dtype=np.uint8)
    return np.concatenate([empty, *spread], axis=1), bool(batches)


def results_of_bits(ports: Sequence[Port], bits: Bits, *, many: bool) -> dict[str, Any]:
    """The value of every output.

    Args:
        ports: The outputs.
        bits: A row per run.
        many: Whether the results have a leading axis; otherwise the only run is told.

    Returns:
        By name an `int` or `bytes` for a single element of a single run, otherwise an array:
        int64 or uint64 up to 64 bits, Python integers beyond, uint8 for bytes and bits. Of
        ports with a fixed point a `float` or float64 up to 53 bits, `Fraction` beyond.

    Example:
        >>> ports = [Port("a", "signed", 3), Port("b", "bytes", 8)]
        >>> results_of_bits(ports, np.array([[0, 1, 1] + [1, 0] * 4], dtype=np.uint8), many=False)
        {'a': -2, 'b': b'U'}
    """
    results: dict[str, Any] = {}
    end = 0
    for port in ports:
        start, end = end, end + port.bits
        made = _made(port, bits[:, start:end].reshape(-1, port.width))
        if port.fraction:
            made = unscaled(port, made)
        shape = () if port.length is None else (port.length,)
        made = made.reshape(len(bits), *shape, *made.shape[1:])
        results[port.name] = made if many else _single(port, made[0])
    return results


def _read(port: Port, value: Any) -> tuple[Bits, bool]:
    """The bits of one argument, a row per run, and whether it has a leading axis for runs."""
    if isinstance(value, np.ma.MaskedArray):
        raise NotRealError(
            f"cannot give {port.name!r} its value: expected {_expected(port)}, got an array with "
            "a mask; give what stands for the values that it hides"
        )
    numbers = _octets(value) if port.kind == "bytes" else value
    if not isinstance(numbers, np.ndarray):
        try:
            # Python's integers of any size stay what they are.
            numbers = np.array(numbers, dtype=object)
        except ValueError as error:
            raise ShapeMismatchError(
                f"cannot give {port.name!r} its value: expected parts of one shape, got several"
            ) from error
    if port.fraction:
        numbers = scaled(port, numbers)
    else:
        _require_integers(port, numbers)
    shape: tuple[int, ...] = () if port.length is None else (port.length,)
    shape += {"bits": (port.width,), "bytes": (port.width // 8,)}.get(port.kind, ())
    many = numbers.ndim == len(shape) + 1
    if numbers.shape[numbers.ndim - len(shape) :] != shape or numbers.ndim > len(shape) + 1:
        raise ShapeMismatchError(
            f"cannot give {port.name!r} its value: expected the shape {shape}, or that after an "
            f"axis of runs, got {numbers.shape}"
        )
    low, high = _range(port)
    if numbers.size and not (low <= int(numbers.min()) and int(numbers.max()) <= high):
        outside = int(numbers.min()) if int(numbers.min()) < low else int(numbers.max())
        raise ValueOutOfRangeError(
            f"cannot give {port.name!r} its value: expected {_number(port, low)} to "
            f"{_number(port, high)}, got {_number(port, outside)}"
        )
    element = {"bits": 1, "bytes": 8}.get(port.kind, port.width)
    runs = len(numbers) if many else 1
    return _bits(numbers.reshape(-1), element).reshape(runs, port.bits), many


def _octets(value: Any) -> Any:
    """Bytes, and lists of them, as lists of numbers."""
    if isinstance(value, bytes | bytearray):
        return np.frombuffer(value, dtype=np.uint8)
    if isinstance(value, list | tuple):
        return [_octets(each) for each in value]
    return value


def _require_integers(port: Port, numbers: NDArray[Any]) -> None:
    if numbers.dtype.kind in "iub":
        return
    if numbers.dtype.kind == "O":
        for number in numbers.flat:
            if not isinstance(number, int | np.integer | np.bool_):
                raise NotRealError(
                    f"cannot give {port.name!r} its value: expected {_expected(port)}, got an "
                    f"object of type {type(number).__name__}"
                )
        return
    raise NotRealError(
        f"cannot give {port.name!r} its value: expected {_expected(port)}, got {numbers.dtype}"
    )


def _expected(port: Port) -> str:
    if port.fraction:
        return "real numbers"
    return "bytes" if port.kind == "bytes" else "integers"


def _number(port: Port, number: int) -> str:
    """What an integer stands for, as an error shows it."""
    if not port.fraction:
        return shown(number)
    try:
        return str(number / (1 << port.fraction))
    except OverflowError:
        return shown(number >> port.fraction)


def _range(port: Port) -> tuple[int, int]:
    match port.kind:
        case "bits":
            return 0, 1
        case "bytes":
            return 0, 255
        case "unsigned":
            return 0, (1 << port.width) - 1
        case "signed":
            return -(1 << port.width - 1), (1 << port.width - 1) - 1


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
    padded = np.zeros((len(bits), 8), dtype=np.uint8)
    padded[:, : octets.shape[1]] = octets
    words = padded.view("<u8").reshape(-1).astype(np.uint64)
    if port.kind == "unsigned":
        return words
    return ((words ^ np.uint64(sign)) - np.uint64(sign)).view(np.int64)


def _single(port: Port, value: Any) -> Any:
    """One run's value of a port."""
    if port.length is not None or port.kind == "bits":
        return value
    if port.kind == "bytes":
        return value.tobytes()
    if port.fraction:
        return value if isinstance(value, Fraction) else float(value)
    return int(value)
