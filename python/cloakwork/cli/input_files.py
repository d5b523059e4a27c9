"""Inputs of programs from files: .npz, .npy, .json, .csv, by the program's ports."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Literal, NoReturn

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    InputNameError,
    InvalidArgumentError,
    MalformedBytesError,
)
from cloakwork.programs.port import Port
from cloakwork.runtime.storage import named_reading

# Of each ending what its files hold, for the message of an error.
_FORMS = {
    ".npz": "what numpy.savez writes, an array for each input",
    ".npy": "what numpy.save writes, the array of the only input",
    ".json": "JSON, an object with the values by name or the value of the only input",
    ".csv": "a table, a column for each input under its name, or the rows of the only input, under "
    "the names of its columns if it was compiled with some",
}
ENDINGS = tuple(_FORMS)
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


# Bytes of an array that is not read as a whole.
_LARGE = 1 << 26
# Bytes before the name of a member of an archive; the last four are the lengths of what follows.
_ZIP_HEADER = 30
# Bytes that are looked at together.
_PART = 1 << 20


class _UnfitError(Exception):
    """What a file has instead of what its ending promises."""


def read_inputs(path: Path, ports: Sequence[Port]) -> dict[str, Any]:
    """The values of ports by name.

    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "in.json"
        >>> _ = path.write_text('{"a": 3}')
        >>> read_inputs(path, [Port("a", "integer")])
        {'a': 3}
    """
    found = _parsed(path, ports)
    if not isinstance(found, dict):
        found = {_only(path, ports): found}
    by_name = {port.name: port for port in ports}
    for name in found:
        if name not in by_name:
            raise InputNameError(
                f"cannot read {path}: there is no port {name!r}; expected {', '.join(by_name)}"
            )
    if ports and not found:
        raise MalformedBytesError(
            f"cannot read {path}: expected values for {', '.join(by_name)}, got none; name each "
            "input with its value"
        )
    return {name: _taken(value, by_name[name], path) for name, value in found.items()}


def read_samples(path: Path) -> Any:
    """Batches of inputs of a network whose names are not known yet.


    Example:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "in.json"
        >>> _ = path.write_text('{"a": [[1, 2]], "b": [[3]]}')
        >>> read_samples(path)
        {'a': [[1, 2]], 'b': [[3]]}
    """
    found = _parsed(path, ())
    if isinstance(found, dict) and len(found) == 1:
        return next(iter(found.values()))
    return found


def require_ending(path: Path, action: str) -> str:
    """The ending of a file of values, in small letters.

    Example:
        >>> require_ending(Path("in.JSON"), "read")
        '.json'
    """
    ending = path.suffix.lower()
    if ending not in _FORMS:
        raise InvalidArgumentError(
            f"cannot {action} {path}: expected a name that ends in {', '.join(ENDINGS)}"
        )
    return ending


def _parsed(path: Path, ports: Sequence[Port]) -> Any:
    """The values of a file by name, or the value of the only input."""
    ending = require_ending(path, "read")
    with named_reading(path):
        opened = open(path, "rb")  # noqa: SIM115
    try:
        with opened as file:
            return _READERS[ending](_seekable(file), ports)
    except _UnfitError as error:
        got = str(error)
    except MemoryError:
        got = "more numbers than the memory holds"
    except RecursionError:
        got = "lists that are nested too deeply"
    except UnicodeDecodeError:
        got = "text that is not in UTF-8"
    # Of damaged bytes numpy, zipfile, json and csv raise errors of many classes.
    except Exception as error:
        got = f"a file that is damaged or of another form ({type(error).__name__}: {error})"
    raise MalformedBytesError(
        f"cannot read {path}: expected {_FORMS[ending]}, got {got}; write the file anew"
    )


def _seekable(file: BinaryIO) -> BinaryIO:
    """A file as it is; what comes through a pipe is read."""
    return file if file.seekable() else io.BytesIO(file.read())


def _read_npz(file: BinaryIO, _ports: Sequence[Port]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    try:
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                name = member.filename.removesuffix(".npy")
                if member.compress_type == zipfile.ZIP_STORED and member.file_size >= _LARGE:
                    file.seek(_checked_start(file, member))
                    found[name] = _array(file, member.file_size)
                else:
                    found[name] = _array(io.BytesIO(archive.read(member)), member.file_size)
    except zipfile.BadZipFile as error:
        raise _UnfitError("a file that is damaged or not an archive") from error
    return found


def _checked_start(file: BinaryIO, member: zipfile.ZipInfo) -> int:
    """Where the bytes of a member begin that is not compressed, and is as it was written."""
    file.seek(member.header_offset)
    header = file.read(_ZIP_HEADER)
    name, extra = struct.unpack_from("<HH", header, _ZIP_HEADER - 4)
    start = file.seek(name + extra, os.SEEK_CUR)
    left, found = member.file_size, 0
    while left and (data := file.read(min(left, _PART))):
        left, found = left - len(data), zlib.crc32(data, found)
    if left or found != member.CRC:
        raise _UnfitError(f"an archive whose {shown(member.filename)} is damaged")
    return start


def _read_npy(file: BinaryIO, _ports: Sequence[Port]) -> NDArray[Any]:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return _array(file, size)


def _array(file: BinaryIO, size: int) -> NDArray[Any]:
    """What `numpy.save` wrote from here on, all of its numbers being there; large ones stay there.

    Args:
        file: The file.
        size: Its bytes from here on.
    """
    start = file.tell()
    if file.read(len(np.lib.format.MAGIC_PREFIX)) != np.lib.format.MAGIC_PREFIX:
        raise _UnfitError("bytes that are not an array of numpy")
    file.seek(start)
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise _UnfitError(f"an array in version {version} of its format")
    shape, is_in_columns, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise _UnfitError("an array of Python objects, where numbers are needed")
    expected, found = math.prod(shape) * dtype.itemsize, size - (file.tell() - start)
    if expected != found:
        raise _UnfitError(f"an array of shape {shape} in {found} bytes, where it has {expected}")
    if expected >= _LARGE and not isinstance(file, io.BytesIO):
        order: Literal["C", "F"] = "F" if is_in_columns else "C"
        return np.memmap(file, dtype, "r", file.tell(), shape, order)
    file.seek(start)
    array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array


def _read_json(file: BinaryIO, _ports: Sequence[Port]) -> Any:
    return json.loads(
        _text(file.read()), object_pairs_hook=_each_once, parse_constant=_refused_constant
    )


def _refused_constant(text: str) -> NoReturn:
    raise _UnfitError(f"{text}, which JSON has no number for and which cannot be encrypted")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    _require_distinct(names)
    return dict(pairs)


def _read_csv(file: BinaryIO, ports: Sequence[Port]) -> Any:
    rows = [row for row in csv.reader(io.StringIO(_text(file.read()))) if row]
    if not rows:
        raise _UnfitError("no rows")
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            raise _UnfitError(f"{len(row)} cells in row {number}, {len(rows[0])} in row 1")
    kinds = {port.name: port.kind for port in ports}
    names = [cell.strip() for cell in rows[0]]
    if len(ports) == 1 and ports[0].columns and {*names} == {*ports[0].columns}:
        return _by_column(names, rows[1:], ports[0])
    if not all(name in kinds for name in names):
        kind = ports[0].kind if len(ports) == 1 else "real"
        table = [[_cell(cell, kind, number) for cell in row] for number, row in enumerate(rows, 1)]
        # A single row is the vector itself.
        return table[0] if len(table) == 1 else table
    _require_distinct(names)
    if len(rows) == 1:
        raise _UnfitError("a row of names, and no row of values")
    found: dict[str, Any] = {}
    for name, column in zip(names, zip(*rows[1:], strict=True), strict=True):
        values = [_cell(cell, kinds[name], number) for number, cell in enumerate(column, 2)]
        found[name] = values[0] if len(values) == 1 else values
    return found


def _by_column(names: Sequence[str], rows: Sequence[Sequence[str]], port: Port) -> Any:
    """The rows of an input whose columns have names, in the order of these."""
    _require_distinct(names)
    if not rows:
        raise _UnfitError("a row of names, and no row of values")
    places = [names.index(each) for each in port.columns]

    def number_in(cell: str, row: int) -> Any:
        is_missing = bool(port.missing) and not cell.strip()
        return math.nan if is_missing else _cell(cell, port.kind, row)

    table = [[number_in(row[place], at) for place in places] for at, row in enumerate(rows, 2)]
    return table[0] if len(table) == len(port.shape) == 1 else table


_READERS: Mapping[str, Callable[[BinaryIO, Sequence[Port]], Any]] = {
    ".npz": _read_npz,
    ".npy": _read_npy,
    ".json": _read_json,
    ".csv": _read_csv,
}


def _text(data: bytes) -> str:
    """Text, without the mark that some programs put before it."""
    return data.decode("utf-8-sig")


def _require_distinct(names: Sequence[str]) -> None:
    for name, times in Counter(names).items():
        if times > 1:
            raise _UnfitError(f"the name {shown(name)} {times} times")


def _cell(cell: str, kind: str, row: int) -> int | float | str:
    text = cell.strip()
    if kind == "bytes":
        return text
    try:
        return int(text) if text.removeprefix("-").isdecimal() else float(text)
    except ValueError as error:
        what = "neither a number nor the name of an input" if row == 1 else "not a number"
        raise _UnfitError(f"{shown(cell)} in row {row}, which is {what}") from error


def _only(path: Path, ports: Sequence[Port]) -> str:
    if len(ports) != 1:
        raise InvalidArgumentError(
            f"cannot read {path}: the program has {len(ports)} inputs, and the file names none of "
            f"{', '.join(port.name for port in ports)}; write .npz or .json"
        )
    return ports[0].name


def _taken(value: Any, port: Port, path: Path) -> Any:
    """A value as clients take it: text of bytes in hexadecimal digits."""
    if port.kind != "bytes":
        return value
    if isinstance(value, list):
        return [_taken(each, port, path) for each in value]
    if not isinstance(value, str):
        return value
    try:
        return bytes.fromhex(value)
    except ValueError as error:
        raise MalformedBytesError(
            f"cannot read {path}: expected two hexadecimal digits for each byte of {port.name}, "
            f"got {shown(value)}"
        ) from error
