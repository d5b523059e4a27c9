"""Dates, texts and bytes as the integers that stand for them.

A date is a number of year, month and day, of 4 bits for the month and 5 for the day: it rises with
the date, and its parts are its bits. A text is its characters, and zeros beyond its end.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    CharacterError,
    NotDateError,
    NotTextError,
    TextTooLongError,
    ValueOutOfRangeError,
)
from cloakwork.programs.port import Port

MONTH_BITS, DAY_BITS = 4, 5
_MIDNIGHT = datetime.time()


def date_code(date: datetime.date) -> int:
    """The integer that stands for a date.

    Example:
        >>> import datetime
        >>> date_of_code(date_code(datetime.date(2026, 11, 30)))
        datetime.date(2026, 11, 30)
    """
    return (date.year << MONTH_BITS | date.month) << DAY_BITS | date.day


def date_of_code(code: int) -> datetime.date:
    """The date that an integer stands for."""
    rest, day = divmod(code, 1 << DAY_BITS)
    year, month = divmod(rest, 1 << MONTH_BITS)
    return datetime.date(year, month, day)


def coded(port: Port, value: Any, action: str) -> Any:
    """What is given for a port that is a coding as integers, in lists where it was.

    Raises:
        NotDateError, NotTextError: It is something else.
        ValueOutOfRangeError: A date is outside the range of the port.
        TextTooLongError: A text is too long, or bytes are not as many as the port has.
        CharacterError: A text has a character that the port does not hold.

    Example:
        >>> coded(Port("name", "unsigned", 7, (4,), coding="ascii"), ["Ann", "Bob"], "encrypt")
        [[65, 110, 110, 0], [66, 111, 98, 0]]
    """
    if isinstance(value, np.ndarray):
        value = value.tolist()
    elif hasattr(value, "to_numpy"):
        value = [*value]
    if isinstance(value, list | tuple):
        return [coded(port, each, action) for each in value]
    return _CODERS[port.coding](port, value, action)


def decoded(port: Port, numbers: NDArray[Any]) -> Any:
    """Values of a port for any integers within its range, each for one of them or near to it."""
    if port.coding == "date":
        assert port.low is not None
        assert port.high is not None
        first, last = (date_of_code(int(each)).toordinal() for each in (port.low, port.high))
        days = [first + int(number) % (last - first + 1) for number in numbers.flat]
        dates = [datetime.date.fromordinal(each) for each in days]
        return np.array(dates, dtype=object).reshape(numbers.shape).tolist()
    codes = bytes(int(each) for each in numbers.flat)
    return codes if port.coding == "bytes" else codes.partition(b"\0")[0].decode(port.coding)


def _date(port: Port, value: Any, action: str) -> int:
    date = value
    if isinstance(value, str):
        try:
            date = datetime.date.fromisoformat(value)
        except ValueError:
            date = None
    elif isinstance(value, datetime.datetime):
        date = value.date() if value.time() == _MIDNIGHT else None
    elif isinstance(value, np.datetime64):
        date = value.astype("datetime64[D]").item()
    if not isinstance(date, datetime.date):
        raise NotDateError(
            f"cannot {action}: expected {port.name!r} to be a date, got {shown(value)}; give a "
            "datetime.date, or a text such as '2026-11-30'"
        )
    code = date_code(date)
    assert port.low is not None
    assert port.high is not None
    if not port.low <= code <= port.high:
        first, last = (date_of_code(int(each)) for each in (port.low, port.high))
        raise ValueOutOfRangeError(
            f"cannot {action}: expected {port.name!r} to be a date from {first} to {last}, got "
            f"{date}; declare a wider range"
        )
    return code


def _text(port: Port, value: Any, action: str) -> list[int]:
    if not isinstance(value, str):
        _refuse_kind(port, value, action, "text")
    most = port.shape[-1]
    if len(value) > most:
        raise TextTooLongError(
            f"cannot {action}: expected {port.name!r} to have up to {most} characters, got "
            f"{len(value)}; declare a longer text"
        )
    try:
        codes = [*value.encode(port.coding)]
    except UnicodeEncodeError:
        codes = [0]
    if 0 in codes:
        other = "" if port.coding == "latin-1" else ", or declare cw.text(n, encoding='latin-1')"
        raise CharacterError(
            f"cannot {action}: expected {port.name!r} to have characters of {port.coding} other "
            f"than NUL, got others; leave them out{other}"
        )
    return codes + [0] * (most - len(codes))


def _bytes(port: Port, value: Any, action: str) -> list[int]:
    if not isinstance(value, bytes | bytearray | memoryview):
        _refuse_kind(port, value, action, "bytes")
    codes, expected = [*bytes(value)], port.shape[-1]
    if len(codes) != expected:
        raise TextTooLongError(
            f"cannot {action}: expected {port.name!r} to have {expected} bytes, got {len(codes)}"
        )
    return codes


def _refuse_kind(port: Port, value: Any, action: str, kind: str) -> NoReturn:
    raise NotTextError(
        f"cannot {action}: expected {port.name!r} to be {kind}, got one of type "
        f"{type(value).__name__}"
    )


_CODERS: Mapping[str, Callable[[Port, Any, str], Any]] = {
    "date": _date,
    "ascii": _text,
    "latin-1": _text,
    "bytes": _bytes,
}
