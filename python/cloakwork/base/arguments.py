"""Reads what users pass as arguments, and shows in refusals what came."""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Sequence
from numbers import Real
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from cloakwork.errors import InvalidArgumentError

# Longer reprs would bury the message that they are in.
_SHOWN_CHARACTERS = 60
_SHOWN_BITS = 128

T = TypeVar("T")

_MOST_BYTES = (1 << 63) - 1


def integer(value: Any, name: str, action: str, *, least: int, most: int) -> int:
    """The value as an int; numpy's integers count, truth values do not.

    Example:
        >>> integer(np.int64(3), "depth", "make a session", least=0, most=9)
        3
    """
    expected = f"cannot {action}: expected {name} to be an integer from {least} up to {most}"
    if isinstance(value, bool | np.bool_):
        raise InvalidArgumentError(f"{expected}, got {value}")
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidArgumentError(f"{expected}, got {shown(value)}") from None
    if not least <= number <= most:
        raise InvalidArgumentError(f"{expected}, got {shown(number)}")
    return number


def bytes_limit(value: Any, name: str, action: str) -> int | None:
    """A number of bytes, or None for any.

    Example:
        >>> bytes_limit(1 << 20, "key_budget", "compile"), bytes_limit(None, "memory_limit", "run")
        (1048576, None)
    """
    return None if value is None else integer(value, name, action, least=0, most=_MOST_BYTES)


def positive(value: Any, name: str, action: str) -> float:
    """The value as a float; numpy's numbers count, truth values do not.

    Example:
        >>> positive(np.float32(0.5), "bound", "make a session")
        0.5
    """
    expected = f"cannot {action}: expected {name} to be a finite number above 0"
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise InvalidArgumentError(f"{expected}, got {shown(value)}")
    try:
        number = float(value)
    except OverflowError:
        raise InvalidArgumentError(f"{expected}, got {shown(value)}") from None
    if not (math.isfinite(number) and number > 0):
        raise InvalidArgumentError(f"{expected}, got {shown(value)}")
    return number


def optional(value: Any, kind: type[T], name: str, action: str) -> T | None:
    """The value, where it is None or of a kind.

    Example:
        >>> optional(None, dict, "prices", "compile") is None
        True
    """
    if value is None or isinstance(value, kind):
        return value
    wanted = with_article(kind.__qualname__)
    raise InvalidArgumentError(
        f"cannot {action}: expected {name} to be {wanted} or None, got {shown(value)}"
    )


def with_article(noun: str) -> str:
    """A noun with its article.

    Example:
        >>> with_article("Event"), with_article("client file")
        ('an Event', 'a client file')
    """
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def file_path(value: Any, action: str) -> Path:
    """The value as a path.

    Example:
        >>> file_path("circuits/adder.txt", "read").name
        'adder.txt'
    """
    text = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(text, str):
        raise InvalidArgumentError(f"cannot {action} a file: expected a path, got {shown(value)}")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        encoded = b""
    if not encoded or b"\0" in encoded:
        raise InvalidArgumentError(f"cannot {action} a file: expected a path, got {shown(text)}")
    return Path(text)


def shown(value: Any) -> str:
    """A value as a refusal shows it: its repr where that is short, else its type.

    Example:
        >>> shown("a"), shown(10**30000)
        ("'a'", 'an integer of 99658 bits')
    """
    if isinstance(value, int) and value.bit_length() > _SHOWN_BITS:
        return f"an integer of {value.bit_length()} bits"
    if isinstance(value, np.ndarray):
        return f"an array of shape {value.shape}"
    try:
        text = repr(value)
    # Another's repr may raise anything, such as ValueError for a set of long integers.
    except Exception:
        return with_article(type(value).__name__)
    short = len(text) <= _SHOWN_CHARACTERS and "\n" not in text
    return text if short else with_article(type(value).__name__)


def apart(limit: float, value: float) -> tuple[str, str]:
    """A limit and a value, with as many digits as it takes to see which is larger.

    Example:
        >>> apart(1.25, 3.0), apart(1.25, 1.2500001), apart(1.0, 1.0)
        (('1.25', '3'), ('1.25', '1.2500001'), ('1', '1'))
    """
    for digits in (4, 6, 9):
        texts = f"{limit:.{digits}g}", f"{value:.{digits}g}"
        if texts[0] != texts[1]:
            return texts
    return (f"{limit:.4g}",) * 2 if limit == value else (repr(limit), repr(value))


def digits_above(value: float, limit: float) -> str:
    """A value with as many digits as it takes to see that it is above a limit.

    Example:
        >>> digits_above(70.0, 64.0), digits_above(64.00001, 64.0)
        ('70', '64.00001')
    """
    texts = (f"{value:g}", f"{value:.9g}", repr(value))
    return next((text for text in texts if float(text) > limit), texts[-1])


def truth(value: Any, name: str, action: str) -> bool:
    """The value as a bool; numpy's truth values count, numbers do not.

    Example:
        >>> truth(np.True_, "insecure", "compile")
        True
    """
    if not isinstance(value, bool | np.bool_):
        raise InvalidArgumentError(
            f"cannot {action}: expected {name} to be True or False, got {shown(value)}"
        )
    return bool(value)


def choice(value: Any, choices: Sequence[str], name: str, action: str) -> str:
    """The value, where it is one of some words.

    Example:
        >>> choice("clear", ("ckks", "clear"), "backend", "make a session")
        'clear'
    """
    if not (isinstance(value, str) and value in choices):
        raise InvalidArgumentError(
            f"cannot {action}: expected {name} to be one of {', '.join(choices)}, got "
            f"{shown(value)}"
        )
    return value


def printable(text: str) -> str:
    r"""Text on one line, its control characters escaped as Python's repr escapes them.

    Example:
        >>> print(printable("größer\r\x1b[2J"))
        größer\r\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
