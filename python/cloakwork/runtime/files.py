"""The container that everything is saved in: a zip file of a header and named parts.

The header says the version and the kind; a part is the native engine's bytes,
which check themselves.
"""

from __future__ import annotations

import json
import os
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from cloakwork.errors import MalformedBytesError

_VERSION = 1
_HEADER = "header.json"

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

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write(f"{folder}/a", "note", {"pages": 2}, {"text": b"..."})
        ...     read(f"{folder}/a", "note")
        ({'pages': 2}, {'text': b'...'})
    """
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w") as archive:
            head = {"version": _VERSION, "kind": kind, "facts": dict(header)}
            archive.writestr(_HEADER, json.dumps(head))
            for name, data in parts.items():
                archive.writestr(name, data)
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Read a container back as its header and parts.

    Raises:
        MalformedBytesError: The file is none, is damaged, or holds another kind.
        OSError: The file cannot be opened.
    """
    with open(path, "rb") as file:
        try:
            head, parts = _members(file, os.fstat(file.fileno()).st_size)
        except _DAMAGE as error:
            raise MalformedBytesError(f"cannot read {path}: {error}") from error
    if not isinstance(head, dict) or head.get("version") != _VERSION:
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
    with zipfile.ZipFile(file) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("a part is compressed")
        # So that reading takes no more memory than the file has bytes.
        if sum(member.file_size for member in members) > size:
            raise ValueError("the parts are longer than the file")
        parts = {member.filename: archive.read(member) for member in members}
    return json.loads(parts.pop(_HEADER)), parts
