"""Records: what objects are saved as, plain data with arrays and bytes as leaves.

A record is a mapping of names to numbers, text, truth values, None, arrays, bytes, lists of
these, and further records. Whoever reads one from a file does it through `Fields`, which
checks every entry as it is taken.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import MalformedBytesError

Record: TypeAlias = Mapping[str, Any]

_MOST_NUMBER = sys.float_info.max


class Fields:
    """The entries of a record from outside, checked as they are taken.

    Args:
        entries: What is to be a record.
        place: Where it comes from, for the messages of errors.

    Raises:
        MalformedBytesError: It is no record.

    Example:
        >>> fields = Fields({"batch": 3, "inputs": [{"name": "x"}]}, "the program")
        >>> fields.integer("batch", least=1, most=8)
        3
        >>> [each.text("name") for each in fields.several("inputs", most=2)]
        ['x']
    """

    def __init__(self, entries: Any, place: str) -> None:
        if not isinstance(entries, Mapping):
            raise MalformedBytesError(f"cannot read {place}: expected named entries")
        self._entries = entries
        self.place = place

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def raw(self, name: str) -> Any:
        """An entry as it is."""
        if name not in self._entries:
            raise MalformedBytesError(f"cannot read {self.place}: it has no {name}")
        return self._entries[name]

    def wrong(self, name: str, expected: str) -> MalformedBytesError:
        """The error for an entry that is not what was expected."""
        return MalformedBytesError(f"cannot read {self.place}: expected {name} to be {expected}")

    def text(self, name: str) -> str:
        """An entry that is text."""
        value = self.raw(name)
        if not isinstance(value, str):
            raise self.wrong(name, "text")
        return value

    def word(self, name: str) -> str:
        """An entry that is text without control characters."""
        value = self.text(name)
        if not value.isprintable():
            raise self.wrong(name, "text without control characters")
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """An entry that is one of some words."""
        value = self.raw(name)
        if not isinstance(value, str) or value not in choices:
            raise self.wrong(name, f"one of {', '.join(choices)}")
        return value

    def truth(self, name: str) -> bool:
        """An entry that is true or false."""
        value = self.raw(name)
        if not isinstance(value, bool):
            raise self.wrong(name, "true or false")
        return value

    def integer(self, name: str, *, least: int, most: int) -> int:
        """An entry that is an integer within limits."""
        value = self.raw(name)
        if type(value) is not int or not least <= value <= most:
            raise self.wrong(name, f"an integer from {least} up to {most}")
        return value

    def number(self, name: str) -> float:
        """An entry that is a finite number."""
        value = self.raw(name)
        # An integer may be too large for a float.
        if type(value) not in (int, float) or not -_MOST_NUMBER <= value <= _MOST_NUMBER:
            raise self.wrong(name, "a finite number")
        return float(value)

    def positive(self, name: str) -> float:
        """An entry that is a finite number above 0."""
        value = self.number(name)
        if not value > 0:
            raise self.wrong(name, "a number above 0")
        return value

    def data(self, name: str) -> bytes:
        """An entry of bytes."""
        value = self.raw(name)
        if not isinstance(value, bytes):
            raise self.wrong(name, "bytes")
        return value

    def array(self, name: str, dtype: str, *, ndim: int = 1) -> NDArray[Any]:
        """An array of a type and a number of axes."""
        value = self.raw(name)
        wanted = np.dtype(dtype)
        if not isinstance(value, np.ndarray) or (value.dtype, value.ndim) != (wanted, ndim):
            raise self.wrong(name, f"an array of {wanted} with {ndim} axes")
        return value

    def integers(self, name: str, *, least: int, most: int, count: int) -> tuple[int, ...]:
        """A list of up to so many integers within limits."""
        values = self.items(name, most=count)
        if not all(type(value) is int and least <= value <= most for value in values):
            raise self.wrong(name, f"integers from {least} up to {most}")
        return tuple(values)

    def items(self, name: str, *, most: int) -> list[Any]:
        """A list of up to so many entries of any kind."""
        values = self.raw(name)
        if not isinstance(values, list | tuple) or len(values) > most:
            raise self.wrong(name, f"a list of up to {most}")
        return list(values)

    def within(self, name: str) -> Fields:
        """A record in the record."""
        return Fields(self.raw(name), f"{self.place}, {name}")

    def several(self, name: str, *, most: int) -> Iterator[Fields]:
        """A list of up to so many records."""
        for number, each in enumerate(self.items(name, most=most)):
            yield Fields(each, f"{self.place}, {name} {number}")


def digest_of(record: Record) -> str:
    """64 hexadecimal digits that are equal for equal records, whoever made them.

    Example:
        >>> same = digest_of({"a": np.arange(3), "b": 1}) == digest_of({"b": 1, "a": np.arange(3)})
        >>> same, digest_of({"a": 1}) == digest_of({"a": 2})
        (True, False)
    """
    leaves = hashlib.sha256()

    def plain(value: Any) -> Any:
        match value:
            case np.ndarray():
                little = np.ascontiguousarray(value.astype(value.dtype.newbyteorder("<")))
                leaves.update(little.tobytes())
                return ["array", little.dtype.str, list(little.shape)]
            case bytes():
                leaves.update(value)
                return ["bytes", len(value)]
            case Mapping():
                return {"record": {name: plain(each) for name, each in value.items()}}
            case list() | tuple():
                return {"list": [plain(each) for each in value]}
            case _:
                return value

    form = json.dumps(plain(record), sort_keys=True).encode()
    return hashlib.sha256(hashlib.sha256(form).digest() + leaves.digest()).hexdigest()
