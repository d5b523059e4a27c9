"""Inputs and results of programs as files: .npz, .npy, .json, .csv, by the program's ports."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InputNameError, InvalidArgumentError, MalformedBytesError
from cloakwork.programs.port import Port

ENDINGS = (".npz", ".npy", ".json", ".csv")


def read_values(path: Path, ports: Sequence[Port]) -> dict[str, Any]:
    """The values of ports by name.

    Args:
        path: A file: .npz with an array for each port; .npy for a program of one port; .json with
            the values by name, bytes in hexadecimal digits; .csv with a column for each port of
            single elements and a row for each evaluation, or without names the one port's rows.
        ports: What may be in it.

    Raises:
        InvalidArgumentError: The file has another ending.
        MalformedBytesError: The file is damaged, or not of its ending's form.
        InputNameError: It has a name that no port has.
        OSError: The file cannot be read.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "in.json"
        >>> _ = path.write_text('{"a": 3}')
        >>> read_values(path, [Port("a", "integer")])
        {'a': 3}
    """
    try:
        found = _READERS[_ending(path)](path, ports)
    except (ValueError, EOFError, KeyError) as error:
        raise MalformedBytesError(f"cannot read {path}: {error}") from error
    names = {port.name: port for port in ports}
    for name in found:
        if name not in names:
            raise InputNameError(
                f"cannot read {path}: there is no port {name!r}; expected {', '.join(names)}"
            )
    return {name: _taken(value, names[name]) for name, value in found.items()}


def read_samples(path: Path) -> Any:
    """Batches of inputs of a network whose names are not known yet.

    Args:
        path: A file: .npz with an array for each input; .npy or .csv with the only input's; .json
            with either.

    Returns:
        The batch of the only input, or batches by name.

    Raises:
        InvalidArgumentError: The file has another ending.
        MalformedBytesError: The file is damaged, or not of its ending's form.
        OSError: The file cannot be read.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "in.json"
        >>> _ = path.write_text('{"a": [[1, 2]], "b": [[3]]}')
        >>> read_samples(path)
        {'a': [[1, 2]], 'b': [[3]]}
    """
    unnamed = Port("", "real")
    try:
        found = _READERS[_ending(path)](path, [unnamed])
    except (ValueError, EOFError, KeyError) as error:
        raise MalformedBytesError(f"cannot read {path}: {error}") from error
    return next(iter(found.values())) if len(found) == 1 else found


def write_values(path: Path, result: Any, ports: Sequence[Port]) -> None:
    """Write what a program gave, by the names of its ports.

    Args:
        path: The file, of one of the endings that `read_values` reads.
        result: What decrypting gave.
        ports: The program's outputs.

    Raises:
        InvalidArgumentError: The file has another ending, or its form holds no such results.
        OSError: The file cannot be written.
    """
    named = by_name(result, ports)
    ending = _ending(path)
    if ending == ".json":
        path.write_text(as_json(result) + "\n")
    elif ending == ".npz":
        with path.open("wb") as file:
            arrays: dict[str, Any] = {name: _array(value) for name, value in named.items()}
            np.savez(file, **arrays)
    elif len(named) > 1 and ending == ".npy":
        raise InvalidArgumentError(
            f"cannot write {path}: expected one result, got {', '.join(named)}; write .npz or .json"
        )
    elif ending == ".npy":
        with path.open("wb") as file:
            np.save(file, _array(next(iter(named.values()))), allow_pickle=False)
    else:
        path.write_text(_csv(path, named))


def by_name(result: Any, ports: Sequence[Port]) -> dict[str, Any]:
    """What a program gave, by the names of its ports.

    Example:
        >>> by_name((1.0, 2.0), [Port("result 1", "real"), Port("result 2", "real")])
        {'result 1': 1.0, 'result 2': 2.0}
    """
    if isinstance(result, Mapping):
        return dict(result)
    if isinstance(result, tuple) and len(result) == len(ports):
        return {port.name: value for port, value in zip(ports, result, strict=True)}
    return {ports[0].name: result}


def as_json(result: Any) -> str:
    """What a program gave as JSON, in its own form; bytes in hexadecimal digits.

    Example:
        >>> as_json({"y": np.array([1, 2]), "z": b"ab"})
        '{"y": [1, 2], "z": "6162"}'
    """
    return json.dumps(_plain(result))


def _plain(value: Any) -> Any:
    match value:
        case np.ndarray() | np.generic():
            return value.tolist()
        case bytes():
            return value.hex()
        case Mapping():
            return {name: _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def _ending(path: Path) -> str:
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise InvalidArgumentError(
            f"cannot use {path}: expected a name that ends in {', '.join(ENDINGS)}"
        )
    return ending


def _read_npz(path: Path, _ports: Sequence[Port]) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _read_npy(path: Path, ports: Sequence[Port]) -> dict[str, Any]:
    return {_only(path, ports): np.load(path, allow_pickle=False)}


def _read_json(path: Path, ports: Sequence[Port]) -> dict[str, Any]:
    data = json.loads(path.read_text())
    return data if isinstance(data, dict) else {_only(path, ports): data}


def _read_csv(path: Path, ports: Sequence[Port]) -> dict[str, Any]:
    rows = [row for row in csv.reader(io.StringIO(path.read_text())) if row]
    names = [port.name for port in ports]
    if not rows:
        raise ValueError("it has no rows")
    if not all(cell.strip() in names for cell in rows[0]):
        numbers = [[_number(cell) for cell in row] for row in rows]
        # A single row is the vector itself.
        return {_only(path, ports): numbers[0] if len(numbers) == 1 else numbers}
    columns = list(zip(*rows[1:], strict=True))
    kinds = {port.name: port.kind for port in ports}
    found: dict[str, Any] = {}
    for name, column in zip((cell.strip() for cell in rows[0]), columns, strict=True):
        values = [cell if kinds[name] == "bytes" else _number(cell) for cell in column]
        found[name] = values[0] if len(values) == 1 else values
    return found


_READERS = {".npz": _read_npz, ".npy": _read_npy, ".json": _read_json, ".csv": _read_csv}


def _number(cell: str) -> int | float:
    text = cell.strip()
    return int(text) if text.removeprefix("-").isdecimal() else float(text)


def _only(path: Path, ports: Sequence[Port]) -> str:
    if len(ports) != 1:
        raise InvalidArgumentError(
            f"cannot read {path}: the program has {len(ports)} inputs, and the file names none of "
            f"{', '.join(port.name for port in ports)}; write .npz or .json"
        )
    return ports[0].name


def _taken(value: Any, port: Port) -> Any:
    """A value as clients take it: text of bytes in hexadecimal digits."""
    if port.kind != "bytes":
        return value
    if isinstance(value, str):
        return bytes.fromhex(value)
    if isinstance(value, list):
        return [_taken(each, port) for each in value]
    return value


def _array(value: Any) -> NDArray[Any]:
    if isinstance(value, bytes):
        return np.frombuffer(value, dtype=np.uint8)
    array = np.asarray(value)
    if array.dtype.kind == "O":
        raise InvalidArgumentError(
            "cannot write the results as arrays: a number is too long, or they have no one shape; "
            "write .json"
        )
    return array


def _csv(path: Path, named: Mapping[str, Any]) -> str:
    arrays = {name: _array(value) for name, value in named.items()}
    text = io.StringIO()
    writer = csv.writer(text)
    if len(arrays) == 1:
        (array,) = arrays.values()
        if array.ndim > 2:
            raise InvalidArgumentError(
                f"cannot write {path}: a table has two axes, the result {array.ndim}; write .npy"
            )
        writer.writerows(np.atleast_2d(array).tolist())
        return text.getvalue()
    columns = {name: np.atleast_1d(array) for name, array in arrays.items()}
    if (
        any(column.ndim > 1 for column in columns.values())
        or len({len(column) for column in columns.values()}) > 1
    ):
        raise InvalidArgumentError(
            f"cannot write {path}: results of several shapes make no table; write .npz or .json"
        )
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue()
