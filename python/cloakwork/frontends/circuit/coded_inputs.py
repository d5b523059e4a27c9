"""Dates, texts and bytes as inputs of functions over integers."""

from __future__ import annotations

import datetime
from typing import Any, Literal

from cloakwork.base.arguments import integer, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.inputs import Declared
from cloakwork.programs.packing.codings import date_code

# Characters are compared as one number, of up to 1024 bits.
_MOST_CHARACTERS = 128
_MOST_DATES = 1 << 12
_HIGHEST = {"ascii": 127, "latin-1": 255}


def date(first: datetime.date, last: datetime.date, *, n: int | None = None) -> Declared:
    """An encrypted date as an input of a circuit, which then runs on bits.

    Dates are compared with one another and with `datetime.date`; they have `year`, `month` and
    `day`; the difference of two has `days`; `datetime.timedelta` of whole days and `days` of other
    differences are added and subtracted.

    Args:
        first: The earliest date that it may be.
        last: The latest.
        n: How many there are; None for one. The function gets a list of them.

    Raises:
        InvalidArgumentError: The range is empty, or an argument is of another kind.

    Example:
        >>> import cloakwork as cw
        >>> day = cw.date(datetime.date(1900, 1, 1), datetime.date(2100, 12, 31))
        >>> @cw.circuit(born=day, today=day)
        ... def age(born, today):
        ...     had_none = (today.month, today.day) < (born.month, born.day)
        ...     return today.year - born.year - had_none
        >>> age(datetime.date(1990, 3, 15), datetime.date(2026, 3, 14))
        35
    """
    action = "declare a date"
    for each in (first, last):
        if not isinstance(each, datetime.date):
            raise InvalidArgumentError(
                f"cannot {action}: expected the first and the last as datetime.date, got "
                f"{shown(each)}"
            )
    bounds = date_code(first), date_code(last)
    if bounds[0] > bounds[1]:
        raise InvalidArgumentError(
            f"cannot {action}: expected the first date before the last, got {first} and {last}"
        )
    shape = () if n is None else (integer(n, "n", action, least=1, most=_MOST_DATES),)
    return Declared(shape, bounds, coding="date")


def text(n: int, *, encoding: Literal["ascii", "latin-1"] = "ascii") -> Declared:
    """An encrypted text of up to so many characters, as an input of a circuit on bits.

    How long it is, is encrypted: beyond its end are empty texts. Texts are equal, less, `in` and at
    the start of one another as Python's; `text[2]` and `text[1:4]` are texts.

    Args:
        n: The most characters, up to 128.
        encoding: The characters that it may have: those of ASCII, or of Latin-1, but for NUL.

    Raises:
        InvalidArgumentError: An argument is out of range.

    Example:
        >>> import cloakwork as cw
        >>> @cw.circuit(name=cw.text(8), other=cw.text(8))
        ... def before(name, other):
        ...     return {"before": name < other, "is doctor": name.startswith("Dr ")}
        >>> before("Dr No", "James")
        {'before': True, 'is doctor': True}
    """
    action = "declare a text"
    n = integer(n, "n", action, least=1, most=_MOST_CHARACTERS)
    highest: Any = _HIGHEST.get(encoding)
    if highest is None:
        raise InvalidArgumentError(
            f"cannot {action}: expected an encoding of ascii or latin-1, got {shown(encoding)}"
        )
    return Declared((n,), (0, highest), coding=encoding)


def bytestring(n: int) -> Declared:
    """Encrypted bytes, exactly so many, as an input of a circuit, which then runs on bits.

    Args:
        n: How many, up to 128.

    Raises:
        InvalidArgumentError: It is out of range.

    Example:
        >>> import cloakwork as cw
        >>> @cw.circuit(token=cw.bytestring(4), known=cw.bytestring(4))
        ... def check(token, known):
        ...     return {"same": token == known, "first": token[0] ^ known[0]}
        >>> check(b"abcd", b"abce")
        {'same': False, 'first': 0}
    """
    n = integer(n, "n", "declare bytes", least=1, most=_MOST_CHARACTERS)
    return Declared((n,), (0, 255), coding="bytes")
