"""Which versions a file says that it is of."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

# What the engine's objects begin with, and where the version is.
_OBJECTS = (b"CLWK", b"CLWB")


def kind_in(path: Path) -> str:
    """What kind of file it is."""
    if not zipfile.is_zipfile(path):
        return _format_in(path)[0]
    with zipfile.ZipFile(path) as file:
        return str(json.loads(file.read(file.namelist()[-1]))["kind"])


def _format_in(path: Path) -> tuple[str, int]:
    """What a file of JSON says that it is, and its version."""
    kind, version = str(json.loads(path.read_text())["format"]).rsplit(" ", 1)
    return kind, int(version)


def versions_in(paths: Iterable[Path]) -> dict[str, int]:
    """The version of the container, of each kind of objects and of files of JSON."""
    found: dict[str, set[int]] = {}
    for path in paths:
        if not zipfile.is_zipfile(path):
            kind, version = _format_in(path)
            found.setdefault(kind, set()).add(version)
            continue
        with zipfile.ZipFile(path) as file:
            *members, header = file.namelist()
            found.setdefault("container", set()).add(json.loads(file.read(header))["version"])
            for data in map(file.read, members):
                if data[:4] in _OBJECTS:
                    version = int.from_bytes(data[4:6], "little")
                    found.setdefault(data[:4].decode(), set()).add(version)
    return {name: versions.pop() for name, versions in found.items() if len(versions) == 1}
