"""Results of programs as files: .npz, .npy, .json, .csv, by the program's ports."""

from __future__ import annotations

import csv
import io
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.cli.input_files import require_ending
from cloakwork.cli.outputs import require_not_of_cloakwork, require_separate
from cloakwork.errors import InvalidArgumentError, NotReplaceableError
from cloakwork.programs.port import Port
from cloakwork.runtime.array_file import is_replaceable
from cloakwork.runtime.storage import named_full_disk, named_reading, named_writing


def require_results_place(
    path: Path, files: Iterable[Path], inputs: Sequence[Port], outputs: Sequence[Port]
) -> None:
    """Refuse a file that no results can be written to, before they are computed."""
    require_ending(path, "write")
    require_separate({"--output": path}, files)
    require_not_of_cloakwork(path)
    if not path.exists() or not path.stat().st_size:
        return
    if not _is_of_form(path):
        raise NotReplaceableError(
            f"cannot write {path}: expected a new file, or earlier results to replace, got a file "
            f"that is not of the form of {path.suffix}; name another file, or remove this one"
        )
    of_results = {port.name for port in outputs}
    named = _names_in(path) & {port.name for port in inputs} - of_results
    if named:
        raise NotReplaceableError(
            f"cannot write {path}: expected a new file, or earlier results to replace, got a file "
            f"of inputs, with {', '.join(sorted(named))}; name another file, or remove this one"
        )


def _is_of_form(path: Path) -> bool:
    """Whether a file holds what its ending says, as earlier results do."""
    ending = require_ending(path, "write")
    if ending == ".npy":
        return is_replaceable(path)
    if ending == ".npz":
        try:
            with named_reading(path), zipfile.ZipFile(path) as archive:
                return all(name.endswith(".npy") for name in archive.namelist())
        except zipfile.BadZipFile:
            return False
    with named_reading(path):
        data = path.read_bytes()
    try:
        text = data.decode()
        if ending == ".json":
            json.loads(text)
    except (ValueError, RecursionError):
        return False
    return "\0" not in text


def _names_in(path: Path) -> set[str]:
    """The names in a file of its ending's form: of arrays, of values, or in a table's first row."""
    ending = require_ending(path, "write")
    if ending == ".npy":
        return set()
    with named_reading(path):
        if ending == ".npz":
            with zipfile.ZipFile(path) as archive:
                return {name.removesuffix(".npy") for name in archive.namelist()}
        text = path.read_text("utf-8")
    if ending == ".csv":
        return {name.strip() for name in text.partition("\n")[0].split(",")}
    found = json.loads(text)
    return set(found) if isinstance(found, dict) else set()


def write_results(path: Path, result: Any, ports: Sequence[Port]) -> None:
    """Write what a program gave, by the names of its ports."""
    named = by_name(result, ports)
    ending = require_ending(path, "write")
    if ending == ".json":
        write = _of_text(as_json(result) + "\n")
    elif ending == ".csv":
        write = _of_text(_csv(path, named))
    elif ending == ".npz":
        arrays: dict[str, Any] = {name: _array(path, value) for name, value in named.items()}
        write = partial(np.savez, **arrays)
    elif len(named) > 1:
        raise InvalidArgumentError(
            f"cannot write {path}: expected one result, got {', '.join(named)}; write .npz or .json"
        )
    else:
        write = partial(np.save, arr=_array(path, next(iter(named.values()))), allow_pickle=False)
    with (
        named_full_disk(f"{path}", "give another path"),
        named_writing(path),
        open(path, "wb", opener=_private) as file,
    ):
        write(file)


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


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner may read, whoever might read it before."""
    descriptor = os.open(path, flags, 0o600)
    os.fchmod(descriptor, 0o600)
    return descriptor


def _of_text(text: str) -> Callable[[IO[bytes]], object]:
    data = text.encode()
    return lambda file: file.write(data)


def _array(path: Path, value: Any) -> NDArray[Any]:
    if isinstance(value, bytes):
        return np.frombuffer(value, dtype=np.uint8)
    try:
        array = np.asarray(value)
    except ValueError:
        # Lists of several lengths.
        array = None
    if array is None or array.dtype.kind == "O":
        raise InvalidArgumentError(
            f"cannot write {path}: expected results that make arrays, got a number of more than "
            "64 bits, or lists of several lengths; write .json"
        )
    return array


def _csv(path: Path, named: Mapping[str, Any]) -> str:
    arrays = {name: _array(path, value) for name, value in named.items()}
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
