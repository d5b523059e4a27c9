"""The container that everything is saved in: a zip file of a header, arrays and bytes.

The header says the version, the kind and the record (see `base.record`); arrays are members in
numpy's own format, bytes are members as they are, and the header names them where they stand.
"""

from __future__ import annotations

import io
import json
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from cloakwork.base.arguments import file_path
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidArgumentError, MalformedBytesError

VERSION = 2
_HEADER = "header.json"
# Bytes that the arrays of one file may take in memory, unless its reader allows more.
ARRAY_BYTES = 1 << 30
_DTYPES = ("|b1", "|u1", "<u4", "<i4", "<i8", "<u8", "<f8")

# What a zip file of at least one member begins with, and its last record, which has no comment.
_START = b"PK\3\4"
_END = b"PK\5\6"
_END_BYTES = 22

# What the zip, JSON and numpy readers raise on damaged bytes, the file itself being open.
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    TypeError,
    ValueError,
)


def write(path: str | os.PathLike[str], kind: str, record: Record) -> None:
    """Write a container that only its owner may read; it appears at once or not at all.

    Args:
        path: Where.
        kind: What it holds; reading asks for it again.
        record: What is saved.

    Raises:
        InvalidArgumentError: The path is invalid.
        OSError: The file cannot be written.

    Example:
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(f"{folder}/a", "note", {"pages": 2, "text": b"..."})
        ...     read(f"{folder}/a", "note").integer("pages", least=0, most=9)
        2
    """
    target = file_path(path, "write")
    # Its name is no other's, so that two who write to one path do not meet; its mode is 0600.
    descriptor, partial = tempfile.mkstemp(suffix=".partial", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _write_members(file, kind, record)
        os.replace(partial, target)
    except BaseException:
        os.unlink(partial)
        raise


def to_bytes(kind: str, record: Record) -> bytes:
    """A container as bytes.

    Example:
        >>> read_bytes(to_bytes("note", {"text": "hello"}), "note").text("text")
        'hello'
    """
    file = io.BytesIO()
    _write_members(file, kind, record)
    return file.getvalue()


def read(path: str | os.PathLike[str], kind: str, *, array_bytes: int = ARRAY_BYTES) -> Fields:
    """Read the record of a container back.

    Args:
        path: The file.
        kind: What it has to hold.
        array_bytes: Bytes that its arrays may take in memory.

    Raises:
        MalformedBytesError: The file is no container, is damaged, or holds another kind.
        InvalidArgumentError: The path is invalid.
        OSError: The file cannot be opened.
    """
    source = file_path(path, "read")
    with open(source, "rb") as file:
        found, record = _contents(file, str(source), array_bytes)
    return _of_kind(found, record, kind, str(source))


def read_bytes(data: object, kind: str, *, array_bytes: int = ARRAY_BYTES) -> Fields:
    """Read the record of a container from its bytes.

    Raises:
        InvalidArgumentError: They are no bytes.
        MalformedBytesError: They are no container, are damaged, or hold another kind.
    """
    if not isinstance(data, bytes):
        raise InvalidArgumentError(f"cannot read bytes: got {type(data).__name__}")
    found, record = _contents(io.BytesIO(data), "the bytes", array_bytes)
    return _of_kind(found, record, kind, "the bytes")


def read_any(path: str | os.PathLike[str]) -> tuple[str, Fields, int]:
    """The kind of a container, its record and the bytes of its file, for `inspect`.

    Raises:
        MalformedBytesError: The file is no container, or is damaged.
        InvalidArgumentError: The path is invalid.
        OSError: The file cannot be opened.
    """
    source = file_path(path, "read")
    with open(source, "rb") as file:
        kind, record = _contents(file, str(source), ARRAY_BYTES)
    return kind, Fields(record, str(source)), Path(source).stat().st_size


def kind_of(path: str | os.PathLike[str]) -> str:
    """What a container holds, as its header says.

    Raises:
        MalformedBytesError: The file is no container, or is damaged.
        InvalidArgumentError: The path is invalid.
        OSError: The file cannot be opened.
    """
    source = file_path(path, "read")
    with open(source, "rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                if archive.getinfo(_HEADER).compress_type != zipfile.ZIP_STORED:
                    raise MalformedBytesError(f"cannot read {source}: its header is compressed")
                head = json.loads(archive.read(_HEADER))
            return str(head["kind"])
        except _DAMAGE as error:
            raise MalformedBytesError(f"cannot read {source}: {error}") from error


def _of_kind(found: str, record: Any, kind: str, place: str) -> Fields:
    if found != kind:
        raise MalformedBytesError(
            f"cannot read {place}: expected {_named(kind)}, got {_named(found)}"
        )
    return Fields(record, place)


def _named(kind: str) -> str:
    return f"{'an' if kind[:1] in 'aeiou' else 'a'} {kind}"


def _write_members(file: BinaryIO, kind: str, record: Record) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        count = 0

        def member(data: bytes, ending: str, compression: int) -> str:
            nonlocal count
            name = f"{count}{ending}"
            count += 1
            archive.writestr(name, data, compression)
            return name

        def plain(value: Any) -> Any:
            match value:
                case np.ndarray():
                    return {"array": member(_npy(value), ".npy", zipfile.ZIP_DEFLATED)}
                case bytes():
                    return {"bytes": member(value, "", zipfile.ZIP_STORED)}
                case Mapping():
                    return {"record": {name: plain(each) for name, each in value.items()}}
                case list() | tuple():
                    return [plain(each) for each in value]
                case _:
                    return value

        head = {"version": VERSION, "kind": kind, "content": plain(record)}
        archive.writestr(_HEADER, json.dumps(head))


def _npy(array: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    npy.write_array(file, np.ascontiguousarray(little), allow_pickle=False)
    return file.getvalue()


def _contents(file: BinaryIO, place: str, array_bytes: int) -> tuple[str, Any]:
    """The kind of a container and its record."""
    try:
        file.seek(0, os.SEEK_END)
        size = file.tell()
        _require_whole(file, size)
        with zipfile.ZipFile(file) as archive:
            return _read_members(archive, size, array_bytes)
    except MalformedBytesError as error:
        raise MalformedBytesError(f"cannot read {place}: {error}") from error
    except _DAMAGE as error:
        raise MalformedBytesError(f"cannot read {place}: {error}") from error


def _require_whole(file: BinaryIO, size: int) -> None:
    """Refuse bytes before the archive, and after it, which zip readers skip."""
    file.seek(0)
    first = file.read(len(_START))
    file.seek(max(0, size - _END_BYTES))
    if (first, file.read(len(_END))) != (_START, _END):
        raise MalformedBytesError(
            "it is not an archive, or there are other bytes before or after it"
        )
    file.seek(0)


def _read_members(archive: zipfile.ZipFile, size: int, array_bytes: int) -> tuple[str, Any]:
    members = {member.filename: member for member in archive.infolist()}
    # So that reading takes no more memory than the file has bytes and arrays are allowed.
    stored = sum(each.file_size for name, each in members.items() if not name.endswith(".npy"))
    arrays = sum(each.file_size for name, each in members.items() if name.endswith(".npy"))
    if archive.infolist()[0].header_offset != 0:
        raise MalformedBytesError("there are other bytes before it")
    if len(members) != len(archive.infolist()) or stored > size:
        raise MalformedBytesError("its members are longer than the file")
    if arrays > array_bytes:
        raise MalformedBytesError(f"its arrays take {arrays} bytes, {array_bytes} are allowed")
    for name, each in members.items():
        if each.compress_type != zipfile.ZIP_STORED and not name.endswith(".npy"):
            raise MalformedBytesError(f"the member {name!r} is compressed")
    head = json.loads(archive.read(_HEADER))
    left = set(members) - {_HEADER}

    def taken(name: Any) -> bytes:
        # Each once, so that no name makes two copies.
        left.remove(name)
        return archive.read(name)

    def restored(value: Any) -> Any:
        match value:
            case {"array": str(name), **others} if not others:
                return _array(taken(name))
            case {"bytes": str(name), **others} if not others:
                return taken(name)
            case {"record": dict(entries), **others} if not others:
                return {name: restored(each) for name, each in entries.items()}
            case list():
                return [restored(each) for each in value]
            case dict():
                raise MalformedBytesError("its header has an entry of no kind")
            case _:
                return value

    # True is equal to 1.
    version = head.get("version") if isinstance(head, dict) else None
    if type(version) is not int or version != VERSION:
        raise MalformedBytesError(f"expected version {VERSION}, got {version!r:.20}")
    kind = head.get("kind")
    if not (isinstance(kind, str) and kind.isprintable()):
        raise MalformedBytesError("it does not say what it holds")
    record = restored(head.get("content"))
    if left:
        raise MalformedBytesError(f"{len(left)} members belong to nothing")
    return kind, record


def _array(data: bytes) -> NDArray[Any]:
    """An array from numpy's own format, its size checked before it is made."""
    file = io.BytesIO(data)
    version = npy.read_magic(file)
    if version != (1, 0):
        raise MalformedBytesError(f"an array is of numpy's format {version}, expected 1.0")
    try:
        shape, fortran, dtype = npy.read_array_header_1_0(file, max_header_size=1 << 12)
    except Exception as error:
        # numpy reads headers as Python, with errors of several kinds that it does not name.
        raise MalformedBytesError(f"the header of an array is damaged: {error}") from error
    body = memoryview(data)[file.tell() :]
    if dtype.str not in _DTYPES or fortran:
        raise MalformedBytesError(f"an array is of {dtype.str:.20}")
    count = 1
    for length in shape:
        count *= length
    if count * dtype.itemsize != len(body):
        raise MalformedBytesError(f"an array of shape {shape} has {len(body)} bytes")
    array = np.frombuffer(body, dtype=dtype).reshape(shape)
    return array.astype(dtype.newbyteorder("="), copy=False)
