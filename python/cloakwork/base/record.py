"""Records: what objects are saved as, plain data with arrays and bytes as leaves.

A record is a mapping of names to numbers, text, truth values, None, arrays, bytes, secret bytes,
lists of these, and further records. In place of a list there may be an iterator, with which a
record is written once. Whoever reads one from a file does it through `Fields`, which checks every
entry as it is taken. A dataclass is a record of its fields: `record_of` makes it, and `Fields.made`
reads it as the annotations of the fields say. A field that came with a later release is `added`:
it stands in a record where it is not as it was before.
"""

from __future__ import annotations

import builtins
import collections.abc
import hashlib
import itertools
import json
import math
import sys
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.secret_bytes import SecretBytes
from cloakwork.errors import MalformedBytesError

T = TypeVar("T")

Record: TypeAlias = Mapping[str, Any]
# Text without control characters, as the annotation of a field.
Word: TypeAlias = Annotated[str, str.isprintable]

_MOST_NUMBER = sys.float_info.max
# Of an integer without limits, and entries of a list.
_MAX_DIGITS = 400
_MAX_ENTRIES = 1 << 20
# In the metadata of a field.
_ADDED = "added"
# Of an array.
_MAX_NUMBERS = 1 << 29


@dataclass(frozen=True, slots=True)
class Limits:
    """The least and the greatest that an integer may be, in the annotation of a field."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class PackedArray:
    """An array of a file that takes no more memory than in the file until it is asked for.

    Args:
        dtype: The type of its numbers.
        shape: Its shape.
        unpacked: Makes it.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    unpacked: Callable[[], NDArray[Any]]

    @property
    def nbytes(self) -> int:
        """Bytes that it takes once it is made."""
        return math.prod(self.shape) * self.dtype.itemsize


class Fields:
    """The entries of a record from a place outside, checked as they are taken.

    What is not as asked for raises a `MalformedBytesError`.

    Example:
        >>> Fields({"batch": 3}, "the program").integer("batch", least=1, most=8)
        3
    """

    def __init__(self, entries: Any, place: str) -> None:
        if not isinstance(entries, Mapping):
            raise MalformedBytesError(f"cannot read {place}: expected named entries")
        self._entries = entries
        self.place = place

    def has(self, name: str) -> bool:
        """Whether there is an entry of that name."""
        return name in self._entries

    def raw(self, name: str) -> Any:
        """An entry as it is."""
        if name not in self._entries:
            raise MalformedBytesError(f"cannot read {self.place}: it has no {name}")
        return self._entries[name]

    def wrong(self, name: str, expected: str) -> MalformedBytesError:
        """The error for an entry that is not what was expected."""
        return MalformedBytesError(f"cannot read {self.place}: expected {name} to be {expected}")

    def _typed(self, name: str, kind: type[T], expected: str) -> T:
        value = self.raw(name)
        if not isinstance(value, kind):
            raise self.wrong(name, expected)
        return value

    def text(self, name: str) -> str:
        """An entry that is text."""
        return self._typed(name, str, "text")

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
        return self._typed(name, bytes, "bytes")

    def secret(self, name: str) -> SecretBytes:
        """An entry of secret bytes."""
        return self._typed(name, SecretBytes, "secret bytes")

    def array(
        self, name: str, dtype: str, *, ndim: int = 1, most: int = _MAX_NUMBERS
    ) -> NDArray[Any]:
        """An array of a type, a number of axes and up to so many numbers."""
        return self.array_of_any(name, (dtype,), ndim=ndim, most=most)

    def array_of_any(
        self, name: str, dtypes: Sequence[str], *, ndim: int = 1, most: int = _MAX_NUMBERS
    ) -> NDArray[Any]:
        """An array of one of some types, a number of axes and up to so many numbers.

        One that lies in a file is made where it is as expected.
        """
        value = self.raw(name)
        wanted = [np.dtype(dtype) for dtype in dtypes]
        is_array = isinstance(value, np.ndarray | PackedArray)
        if not is_array or value.dtype not in wanted or len(value.shape) != ndim:
            types = " or ".join(map(str, wanted))
            raise self.wrong(name, f"an array of {types} with {ndim} axes")
        if math.prod(value.shape) > most:
            raise self.wrong(name, f"an array of up to {most} numbers")
        return value.unpacked() if isinstance(value, PackedArray) else value

    def arrays(self, name: str, dtype: str, *, ndim: int, most: int) -> list[NDArray[Any]]:
        """A list of up to so many arrays of a type and a number of axes."""
        return [
            Fields({place: each}, self.place).array(place, dtype, ndim=ndim)
            for place, each in self._placed(name, most)
        ]

    def require_no_arrays(self) -> None:
        """Refuse arrays, which records of some kinds have none of."""
        left: list[Any] = [self._entries]
        while left:
            match left.pop():
                case np.ndarray() | PackedArray():
                    raise MalformedBytesError(
                        f"cannot read {self.place}: expected no arrays, got one"
                    )
                case Mapping() as record:
                    left += record.values()
                case list() as entries:
                    left += entries

    def items(self, name: str, *, most: int) -> list[Any]:
        """A list of up to so many entries of any kind."""
        values: list[Any] = self._typed(name, list, f"a list of up to {most}")
        if len(values) > most:
            raise self.wrong(name, f"a list of up to {most}")
        return values

    def drained(self, name: str) -> Iterator[Any]:
        """The entries of a list, the last one first; the record gives up each as it is taken.

        So what is made of long bytes need not lie in memory beside all of them.

        Example:
            >>> list(Fields({"parts": [1, 2, 3]}, "the file").drained("parts"))
            [3, 2, 1]
        """
        left = self.items(name, most=_MAX_ENTRIES)
        while left:
            yield left.pop()

    def within(self, name: str) -> Fields:
        """A record in the record."""
        return Fields(self.raw(name), f"{self.place}, {name}")

    def several(self, name: str, *, most: int) -> Iterator[Fields]:
        """A list of up to so many records."""
        for number, each in enumerate(self.items(name, most=most)):
            yield Fields(each, f"{self.place}, {name} {number}")

    def made(self, kind: type[T]) -> T:
        """The dataclass whose record this is, made by `record_of`.

        Example:
            >>> Fields({"least": 1, "most": 2}, "the record").made(Limits)
            Limits(least=1, most=2)
        """
        known = _added(kind)
        entries = {
            name: self.value(name, each)
            for name, each in _annotations(kind).items()
            if name not in known or self.has(name)
        }
        try:
            return kind(**entries)
        # numpy 1 indexes fewer axes than numpy 2, and says so by an IndexError.
        except (IndexError, ValueError) as error:
            raise MalformedBytesError(f"cannot read {self.place}: {error}") from error

    def value(self, name: str, kind: Any) -> Any:
        """An entry as an annotation says: of what it is made, and within which limits."""
        kind = _unaliased(kind)
        parts = typing.get_args(kind)
        match typing.get_origin(kind) or kind:
            case builtins.bool:
                return self._typed(name, bool, "true or false")
            case builtins.str:
                return self.text(name)
            case builtins.float:
                return self.number(name)
            case builtins.int:
                return self._long_integer(name)
            case typing.Annotated if isinstance(parts[1], Limits):
                return self.integer(name, least=parts[1].least, most=parts[1].most)
            case typing.Annotated:
                return self.word(name)
            case typing.Literal:
                return self.choice(name, parts)
            case np.ndarray:
                return self.array(name, np.dtype(typing.get_args(parts[1])[0]).str)
            case types.UnionType | typing.Union:
                return self._one_of(name, parts)
            case builtins.tuple:
                return self._tuple(name, parts)
            case collections.abc.Mapping:
                pair = tuple[parts]  # type: ignore[valid-type]
                return dict(self._tuple(name, (pair, ...)))
            case _:
                return self.within(name).made(kind)

    def _long_integer(self, name: str) -> int:
        value = self.raw(name)
        if type(value) is not int or abs(value) >= 10**_MAX_DIGITS:
            raise self.wrong(name, f"an integer of up to {_MAX_DIGITS} digits")
        return value

    def _one_of(self, name: str, kinds: Sequence[Any]) -> Any:
        """An entry of one of several kinds, dataclasses being told apart by their fields."""
        value = self.raw(name)
        if value is None and types.NoneType in kinds:
            return None
        if float in kinds:
            number = self.number(name)
            return value if int in kinds else number
        for kind in kinds:
            if not isinstance(value, Mapping) or not is_dataclass(kind):
                continue
            names = _annotations(kind).keys()
            if names - _added(kind).keys() <= value.keys() <= names:
                return self.value(name, kind)
        raise self.wrong(name, f"one of {', '.join(each.__name__ for each in kinds)}")

    def _tuple(self, name: str, kinds: Sequence[Any]) -> tuple[Any, ...]:
        placed = self._placed(name, _MAX_ENTRIES)
        count = len(self.items(name, most=_MAX_ENTRIES))
        if kinds[-1] is not ... and count != len(kinds):
            raise self.wrong(name, f"a list of {len(kinds)}")
        of_each = itertools.repeat(kinds[0], count) if kinds[-1] is ... else kinds
        return tuple(
            Fields({place: each}, self.place).value(place, kind)
            for (place, each), kind in zip(placed, of_each, strict=True)
        )

    def _placed(self, name: str, most: int) -> Iterator[tuple[str, Any]]:
        """The entries of a list, each with what errors call it."""
        for number, each in enumerate(self.items(name, most=most)):
            yield f"{name} {number}", each


def _fields_of(kind: Any) -> dict[str, Any]:
    """The annotations of the fields that a dataclass is made of."""
    hints = typing.get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind) if each.init}


_annotations: Callable[[Any], Mapping[str, Any]] = cache(_fields_of)


def added(default: T) -> T:
    """A field of a dataclass that older files lack, and what it is there."""
    made: T = field(default=default, metadata={_ADDED: True})
    return made


def _added_of(kind: Any) -> dict[str, Any]:
    """The fields that older files lack, and what they are there."""
    return {each.name: each.default for each in fields(kind) if _ADDED in each.metadata}


_added: Callable[[Any], Mapping[str, Any]] = cache(_added_of)


def _unaliased(kind: Any) -> Any:
    """What an alias with parameters stands for: `NDArray` is one from numpy 2.5 on."""
    meaning = getattr(typing.get_origin(kind), "__value__", None)
    return kind if meaning is None else meaning[typing.get_args(kind)]


def record_of(value: Any) -> Any:
    """Dataclasses, and lists of them, as the records that `Fields.made` and `value` read.

    Example:
        >>> record_of((Limits(1, 2), "text"))
        [{'least': 1, 'most': 2}, 'text']
    """
    match value:
        case int() | str():
            # Most are, and whether they are mappings takes long to ask.
            return value
        case tuple() | list():
            return [record_of(each) for each in value]
        case Mapping():
            return [[name, record_of(each)] for name, each in value.items()]
        case _ if is_dataclass(value):
            known = _added(type(value))
            parts = {name: getattr(value, name) for name in _annotations(type(value))}
            return {
                name: record_of(part)
                for name, part in parts.items()
                if name not in known or part != known[name]
            }
        case _:
            return value


def digest_of(record: Record) -> str:
    """64 hexadecimal digits that are equal for equal records, whoever made them."""
    leaves = hashlib.sha256()

    def plain(value: Any) -> Any:
        match value:
            case int() | str():
                return value
            case PackedArray():
                return plain(value.unpacked())
            case np.ndarray():
                little = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<"))
                leaves.update(little.reshape(-1).data)
                return ["array", little.dtype.str, list(little.shape)]
            case bytes():
                leaves.update(value)
                return ["bytes", len(value)]
            case Mapping():
                return {"record": {name: plain(each) for name, each in value.items()}}
            case list() | tuple() | Iterator():
                return {"list": [plain(each) for each in value]}
            case _:
                return value

    form = json.dumps(plain(record), sort_keys=True).encode()
    return hashlib.sha256(hashlib.sha256(form).digest() + leaves.digest()).hexdigest()
