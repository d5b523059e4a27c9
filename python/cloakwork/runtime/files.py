"""The container that everything is saved in: a zip file of a header and named parts.

The header says the version and the kind; a part is the native engine's bytes,
which check themselves.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloakwork.errors import MalformedBytesError

_VERSION = 1
_HEADER = "header.json"
_HEADER_LIMIT = 1 << 20


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
    size = os.path.getsize(path)
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            # Stored members cannot be larger than the file, so reading one is never a bomb.
            if any(
                member.compress_type != zipfile.ZIP_STORED or member.file_size > size
                for member in members
            ):
                raise MalformedBytesError(f"cannot read {path}: a part is compressed or too long")
            if archive.getinfo(_HEADER).file_size > _HEADER_LIMIT:
                raise MalformedBytesError(f"cannot read {path}: the header is too long")
            head = json.loads(archive.read(_HEADER))
            parts = {
                member.filename: archive.read(member)
                for member in members
                if member.filename != _HEADER
            }
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, EOFError) as error:
        if isinstance(error, MalformedBytesError):
            raise
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
