"""What a staged function cannot do with encrypted integers, refused with the user's line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType
from typing import Any, NoReturn

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.base.source_line import users_line
from cloakwork.errors import EncryptedConditionError, InvalidArgumentError, NotIntegerError

_SELECT = "write cw.select(bit, x, y) to choose between two values by an encrypted bit"

# The code of the function that runs, where its source was not found.
_unread: ContextVar[CodeType | None] = ContextVar("_unread", default=None)


@contextmanager
def telling_of_no_source(code: CodeType | None) -> Iterator[None]:
    """Say of refused conditions of a function that its source was not found; None of others."""
    token = _unread.set(code)
    try:
        yield
    finally:
        _unread.reset(token)


def at_line() -> str:
    """Where the user's program is, as a message says it; empty where unknown.

    Example:
        >>> at_line().startswith(" at ")
        True
    """
    place = users_line()
    return f" at {place}" if place else ""


def refuses(use: str, instead: str = _SELECT) -> Callable[..., NoReturn]:
    """A method that refuses a use of an encrypted value, naming the user's line."""

    def method(*_: object, **__: object) -> NoReturn:
        raise EncryptedConditionError(
            f"cannot use an encrypted integer {use}{at_line()}: its value is not known while the "
            f"program is made; {instead}"
        )

    return method


def refuses_change(self: object, *_: object) -> NoReturn:
    """A method that refuses to change a vector in place."""
    raise InvalidArgumentError(
        f"cannot change a {type(self).__name__}{at_line()}: expected a new list of its elements, "
        "such as [x, *v[1:]]"
    )


def refuse_number(value: Any) -> NoReturn:
    """Refuse an operand that is neither an integer nor made of integers.

    Raises:
        NotIntegerError: Always.
    """
    kind = f", a {type(value).__name__}" if isinstance(value, np.generic) else ""
    raise NotIntegerError(
        f"cannot compute{at_line()}: expected integers, encrypted or clear, "
        f"got {shown(value)}{kind}"
    )


for_membership = refuses("with in", "write numpy.isin(x, items), or numpy.any(items == x)")
divided = refuses("in a division that has no integers as results", "write x // y")
rounded = refuses("as a number of another kind", "it is an integer, and exact")
formatted = refuses("in text with a format", "format what is decrypted")


def as_condition(*_: object) -> NoReturn:
    """Refuse an encrypted value as a condition, with the cause where the source was not found.

    Raises:
        EncryptedConditionError: Always.
    """
    code = _unread.get()
    instead = _SELECT
    if code is not None and users_line().rpartition(":")[0] == code.co_filename:
        instead = (
            f"the source of {code.co_name}, by which both sides of a condition are computed, was "
            f"not found, as of a function that exec makes: define it in a file, or {_SELECT}"
        )
    refuses("as a condition", instead)()


comparisons_as_condition = refuses(
    "in comparisons of vectors as a condition", "write numpy.all(v == w) or numpy.any(v == w)"
)
as_index = refuses("as an index of a list", "write cw.table(items)[x]")
as_clear_number = refuses("as a clear number")
as_key = refuses("as a key")
as_exponent = refuses("as an exponent with a modulus", "write (x ** y) % modulus")
