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
    with zipfile.ZipFile(path) as file:
        return str(json.loads(file.read(file.namelist()[-1]))["kind"])


def versions_in(paths: Iterable[Path]) -> dict[str, int]:
    """The version of the container, and of each kind of objects, that files have."""
    found: dict[str, set[int]] = {}
    for path in paths:
        with zipfile.ZipFile(path) as file:
            *members, header = file.namelist()
            found.setdefault("container", set()).add(json.loads(file.read(header))["version"])
            for data in map(file.read, members):
                if data[:4] in _OBJECTS:
                    version = int.from_bytes(data[4:6], "little")
                    found.setdefault(data[:4].decode(), set()).add(version)
    return {name: versions.pop() for name, versions in found.items() if len(versions) == 1}
