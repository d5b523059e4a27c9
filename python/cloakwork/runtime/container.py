"""The container that everything is saved in: a zip file of a header and named parts.

The header says the version and the kind; a part is the native engine's bytes,
which check themselves.
"""

from __future__ import annotations

import json
import os
import struct
import tempfile
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

from cloakwork.base.arguments import file_path
from cloakwork.errors import MalformedBytesError

_VERSION = 1
_HEADER = "header.json"

# What a zip file of at least one member begins with, and its last record, which has no comment.
_START = b"PK\3\4"
_END = b"PK\5\6"
_END_BYTES = 22

# What the zip and JSON readers raise on damaged bytes, the file itself being open.
_DAMAGE = (
    zipfile.BadZipFile,
    struct.error,
    EOFError,
    LookupError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    ValueError,
)


def write(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], parts: Mapping[str, bytes]
) -> None:
    """Write a container that only its owner may read; it appears at once or not at all.

    Args:
        path: Where.
        kind: What it holds; reading asks for it again.
        header: Facts that fit JSON.
        parts: Bytes by name.

    Raises:
        InvalidArgumentError: The path is none.
        OSError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(f"{folder}/a", "note", {"pages": 2}, {"text": b"..."})
        ...     read(f"{folder}/a", "note")
        ({'pages': 2}, {'text': b'...'})
    """
    target = file_path(path, "write")
    # Its name is no other's, so that two who write to one path do not meet; its mode is 0600.
    descriptor, partial = tempfile.mkstemp(suffix=".partial", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            head = {"version": _VERSION, "kind": kind, "facts": dict(header)}
            archive.writestr(_HEADER, json.dumps(head))
            for name, data in parts.items():
                archive.writestr(name, data)
        os.replace(partial, target)
    except BaseException:
        os.unlink(partial)
        raise


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read a container back as its header and parts.

    Raises:
        MalformedBytesError: The file is none, is damaged, or holds another kind.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    with open(file_path(path, "read"), "rb") as file:
        try:
            head, parts = _members(file, os.fstat(file.fileno()).st_size)
        except _DAMAGE as error:
            raise MalformedBytesError(f"cannot read {path}: {error}") from error
    # True is equal to 1.
    if not isinstance(head, dict) or head.get("version") is True or head.get("version") != _VERSION:
        raise MalformedBytesError(f"cannot read {path}: expected version {_VERSION}")
    if head.get("kind") != kind:
        raise MalformedBytesError(
            f"cannot read {path}: expected kind {kind}, got {head.get('kind')}"
        )
    facts = head.get("facts")
    if not isinstance(facts, dict):
        raise MalformedBytesError(f"cannot read {path}: the header has no facts")
    return facts, parts


def _members(file: BinaryIO, size: int) -> tuple[Any, dict[str, bytes]]:
    _require_whole(file, size)
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("a part is compressed")
        # So that reading takes no more memory than the file has bytes.
        if sum(member.file_size for member in members) > size:
            raise ValueError("the parts are longer than the file")
        parts = {member.filename: archive.read(member) for member in members}
    return json.loads(parts.pop(_HEADER)), parts


def _require_whole(file: BinaryIO, size: int) -> None:
    """Refuse bytes before the archive, and after it, which zip readers skip."""
    first = file.read(len(_START))
    file.seek(max(0, size - _END_BYTES))
    if (first, file.read(len(_END))) != (_START, _END):
        raise ValueError("it is no archive, or there are other bytes before or after it")
    file.seek(0)
