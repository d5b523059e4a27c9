"""Stand-ins for encrypted texts and bytes while a function is staged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import IndexOutOfRangeError, InvalidArgumentError
from cloakwork.frontends.circuit import refusals
from cloakwork.frontends.circuit.compared_values import Compare, ComparedValue
from cloakwork.frontends.circuit.ordering import all_hold, any_holds
from cloakwork.frontends.circuit.symbols import Symbol, clear_integer

_CODE_BITS = 8
_OF_LENGTH = "how long it is, is encrypted"


class EncryptedText(ComparedValue):
    """Stands for an encrypted text: the codes of its characters, and zeros beyond its end.

    Args:
        codes: Encrypted integers.
    """

    def __init__(self, codes: Sequence[Any]) -> None:
        self.codes = tuple(codes)

    def _codes_of(self, value: Any) -> tuple[Any, ...]:
        """The codes of a text, encrypted or clear."""
        if isinstance(value, EncryptedText):
            return value.codes
        if not isinstance(value, str):
            raise InvalidArgumentError(
                f"cannot compute with a text{refusals.at_line()}: expected another text, got "
                f"{shown(value)}"
            )
        return tuple(map(ord, value))

    def compared(self, other: Any, compare: Compare) -> Any:
        others = self._codes_of(other)
        length = max(len(self.codes), len(others))
        return compare(_number(self.codes, length), _number(others, length))

    def startswith(self, prefix: Any) -> Any:
        """Whether a text, encrypted or clear, is at its start."""
        return self._is_at(0, self._codes_of(prefix))

    def contains(self, part: Any) -> Any:
        """Whether a text, encrypted or clear, is in it."""
        codes = self._codes_of(part)
        return any_holds([self._is_at(place, codes) for place in range(len(self.codes) + 1)])

    def _is_at(self, place: int, part: Sequence[Any]) -> Any:
        """Whether the characters of a text stand at a place; what is beyond its end may be any."""
        own = self.codes[place : place + len(part)]
        rest = [each == 0 for each in part[len(own) :]]
        if not any(isinstance(each, Symbol) for each in part):
            clear = all(rest)
            return (_number(own, len(own)) == _number(part[: len(own)], len(own))) if clear else 0
        same = [(code == 0) | (code == each) for code, each in zip(part, own, strict=False)]
        return all_hold([*same, *rest])

    def __getitem__(self, index: Any) -> EncryptedText:
        return EncryptedText(_taken(self.codes, index, _OF_LENGTH))

    __iter__ = refusals.refuses("in a loop", f"{_OF_LENGTH}; write name[0], name[1] and so on")
    __len__ = refusals.refuses("for its length", f"{_OF_LENGTH}; count what is not empty")
    __contains__ = refusals.for_membership


class EncryptedBytes(ComparedValue):
    """Stands for encrypted bytes, as many as are declared.

    Args:
        codes: Encrypted integers from 0 to 255.
    """

    def __init__(self, codes: Sequence[Any]) -> None:
        self.codes = tuple(codes)

    def _codes_of(self, value: Any) -> tuple[Any, ...]:
        if isinstance(value, EncryptedBytes):
            return value.codes
        if not isinstance(value, bytes | bytearray):
            raise InvalidArgumentError(
                f"cannot compute with bytes{refusals.at_line()}: expected other bytes, got "
                f"{shown(value)}"
            )
        return tuple(value)

    def __eq__(self, other: Any) -> Any:
        others = self._codes_of(other)
        length = len(others)
        return len(self) == length and _number(self.codes, length) == _number(others, length)

    def __ne__(self, other: Any) -> Any:
        found = self == other
        return ~found if isinstance(found, Symbol) else not found

    def compared(self, other: Any, compare: Compare) -> Any:
        """By what both have, and then by their lengths."""
        others = self._codes_of(other)
        length = min(len(self), len(others))
        own, theirs = (_number(each[:length], length) for each in (self.codes, others))
        return compare(2 * own + (len(self) > length), 2 * theirs + (len(others) > length))

    def startswith(self, prefix: Any) -> Any:
        """Whether other bytes, encrypted or clear, are at its start."""
        codes = self._codes_of(prefix)
        return len(codes) <= len(self) and self[: len(codes)] == prefix

    def endswith(self, suffix: Any) -> Any:
        """Whether other bytes, encrypted or clear, are at its end."""
        codes = self._codes_of(suffix)
        return len(codes) <= len(self) and self[len(self) - len(codes) :] == suffix

    def contains(self, part: Any) -> Any:
        """Whether a byte, or other bytes, are in it."""
        if isinstance(part, Symbol) or clear_integer(part) is not None:
            return any_holds([each == part for each in self.codes])
        length = len(self._codes_of(part))
        places = range(len(self) - length + 1)
        return any_holds([self[place : place + length] == part for place in places])

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return EncryptedBytes(self.codes[index])
        return _taken(self.codes, index, "write cw.vector(n, bounds=(0, 255)) for such indices")[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.codes)

    def __len__(self) -> int:
        return len(self.codes)

    __contains__ = refusals.for_membership
    __hash__ = refusals.as_key


def _number(codes: Sequence[Any], length: int) -> Any:
    """Codes as the digits of one number, with zeros up to a length."""
    padded = [*codes, *[0] * (length - len(codes))]
    return sum((code << _CODE_BITS * place for place, code in enumerate(reversed(padded))), 0)


def _taken(codes: Sequence[Any], index: Any, reason: str) -> Sequence[Any]:
    """The codes that an index or a slice takes, counted from the start."""
    if isinstance(index, slice):
        ends = [each for each in (index.start, index.stop) if each is not None]
        if index.step in (None, 1) and all((clear_integer(each) or 0) >= 0 for each in ends):
            return codes[index]
        raise InvalidArgumentError(
            f"cannot index{refusals.at_line()}: expected a slice counted from the start, got "
            f"{shown(index)}; {reason}"
        )
    place = clear_integer(index)
    if place is None or not 0 <= place < len(codes):
        raise IndexOutOfRangeError(
            f"cannot index{refusals.at_line()}: expected an index from 0 up to {len(codes) - 1}, "
            f"got {shown(index)}; {reason}"
        )
    return codes[place : place + 1]
