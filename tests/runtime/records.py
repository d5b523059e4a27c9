"""Records of files, to be changed in places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cloakwork.base.record import Record
from cloakwork.runtime import container

Place = tuple[Any, ...]

# What an entry may be replaced by.
HOSTILE: list[Any] = [0, -1, 2, 257, 1 << 40, 10**30, 10**400, 1.5, float("nan"), float("inf")]
HOSTILE += [
    True,
    None,
    "x",
    "\x1b[2J",
    "",
    b"x",
    [],
    {},
    [1, 1],
    [[]],
    np.zeros(3),
    np.zeros((2, 2)),
]


def record_of(path: Path, kind: str, names: tuple[str, ...]) -> Record:
    """The record that a file holds."""
    fields = container.read(path, kind)
    return {name: fields.raw(name) for name in names}


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    """Every way down into a record."""
    inner: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        inner = list(value.items())
    elif isinstance(value, list | tuple):
        inner = list(enumerate(value))
    for key, each in inner:
        yield (*place, key)
        yield from places(each, (*place, key))


def at(record: Any, place: Place) -> Any:
    """What stands at a place."""
    for step in place:
        record = record[step]
    return record


def changed(record: Any, place: Place, value: Any) -> Any:
    """The record with another value at a place; ... leaves the place out."""
    if not place:
        return value
    first, *rest = place
    if isinstance(record, Mapping):
        entries = dict(record)
        if rest or value is not ...:
            entries[first] = changed(entries[first], tuple(rest), value)
        else:
            del entries[first]
        return entries
    several = list(record)
    if rest or value is not ...:
        several[first] = changed(several[first], tuple(rest), value)
    else:
        del several[first]
    return several
