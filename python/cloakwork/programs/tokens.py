"""The text of a program, line by line, and the words of a line, one after the other."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from cloakwork.errors import CloakworkError, InvalidProgramError

T = TypeVar("T")

_TOKEN = re.compile(
    r"""\s*( [A-Za-z_][A-Za-z_0-9]*                 # a word, such as rotate, v3 or x128
           | %[0-9]+                                # a value
           | 0x[0-9a-f]+                            # a table
           | -?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)? # a number
           | "(?:[^"\\]|\\.)*"                      # quoted text
           | [=:@,(){}\[\]/] )""",
    re.VERBOSE | re.ASCII,
)

# What fits 64 bits whatever the digits.
_MAX_DIGITS = 18
_MAX_TABLE = len("0x") + 16

_NUMBERED = {
    "%": "a value such as %3",
    "v": "a vector such as v3",
    "t": "a transform such as t3",
    "m": "a matrix such as m3, or its rows",
    "x": "a count such as x3",
}


@contextmanager
def program_lines(text: str, first_line: str) -> Iterator[tuple[str, Iterator[Tokens]]]:
    """The title of a program and the lines after it; errors while they are read name the line."""
    if not isinstance(text, str):
        raise InvalidProgramError(f"cannot read a program: expected text, got {type(text)}")
    stripped = enumerate(map(str.strip, text.split("\n")), start=1)
    numbered = filter(lambda each: each[1], stripped)
    number, first = next(numbered, (1, ""))

    def lines() -> Iterator[Tokens]:
        nonlocal number
        for place, line in numbered:
            number = place
            tokens = Tokens(line)
            yield tokens
            tokens.end()

    try:
        if first != first_line:
            got = repr(first[:40]) if first else "the end"
            raise InvalidProgramError(f"expected {first_line!r} and a title, got {got}")
        left = lines()
        title = next(left, Tokens(""))
        title.expect("title")
        yield title.quoted(), left
    except CloakworkError as error:
        raise InvalidProgramError(f"cannot read the program: line {number}: {error}") from error


class Tokens:
    """A line's tokens, read from left to right; its errors say what was expected."""

    def __init__(self, line: str) -> None:
        self._tokens: list[str] = []
        self._next = 0
        end, length = 0, len(line.rstrip())
        while end < length:
            match = _TOKEN.match(line, end)
            if match is None:
                raise InvalidProgramError(
                    f"expected a word or number, got {line[end : end + 20]!r}"
                )
            self._tokens.append(match[1])
            end = match.end()

    def peek(self) -> str:
        """The next token; empty at the end of the line."""
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def accept(self, token: str) -> bool:
        """Take the next token if it is this one, and say whether it was."""
        found = self.peek() == token
        self._next += found
        return found

    def expect(self, token: str) -> None:
        """Take this token."""
        if not self.accept(token):
            raise self._unexpected(token)

    def end(self) -> None:
        """Check that nothing is left."""
        if self.peek():
            raise self._unexpected("the end of the line")

    def word(self) -> str:
        """Take a word."""
        return self._taken("a word", fits=self.peek().isidentifier())

    def numbered(self, prefix: str) -> int:
        """Take a token such as %3, v3 or x3, made of this prefix and digits."""
        token = self.peek()
        digits = token.removeprefix(prefix) if token.startswith(prefix) else ""
        return self._digits(digits, _NUMBERED[prefix])

    def integer(self) -> int:
        """Take an integer that is not negative."""
        return self._digits(self.peek(), "an integer")

    def signed(self) -> int:
        """Take an integer of up to 63 bits that may be negative."""
        digits = self.peek().removeprefix("-")
        is_short = digits.isdecimal() and len(digits) <= _MAX_DIGITS + 1
        fits = is_short and not int(digits) >> 63
        return int(self._taken("an integer of up to 63 bits", fits=fits))

    def several(self, take: Callable[[], T]) -> list[T]:
        """Take a list in brackets."""
        taken: list[T] = []
        self.expect("[")
        while not self.accept("]"):
            if taken:
                self.expect(",")
            taken.append(take())
        return taken

    def table(self) -> int:
        """Take a look-up table in hexadecimal digits."""
        token = self.peek()
        fits = token.startswith("0x") and len(token) <= _MAX_TABLE
        return int(self._taken("a table such as 0x8", fits=fits), 16)

    def real(self) -> float:
        """Take a finite number."""
        token = self.peek()
        is_number = token.startswith(("-", *"0123456789")) and not token.startswith("0x")
        fits = is_number and math.isfinite(float(token))
        expected = "a number that a float64 holds" if is_number else "a number"
        return float(self._taken(expected, fits=fits))

    def quoted(self) -> str:
        """Take text in double quotes, escaped as in JSON."""
        token = self.peek()
        if not token.startswith('"'):
            raise self._unexpected("text in double quotes")
        try:
            text = json.loads(token)
        except ValueError:
            raise self._unexpected("text escaped as in JSON") from None
        self._next += 1
        return str(text)

    def _digits(self, digits: str, expected: str) -> int:
        self._taken(expected, fits=digits.isdecimal() and len(digits) <= _MAX_DIGITS)
        return int(digits)

    def _taken(self, expected: str, *, fits: bool) -> str:
        token = self.peek()
        if not fits:
            raise self._unexpected(expected)
        self._next += 1
        return token

    def _unexpected(self, expected: str) -> InvalidProgramError:
        got = self.peek()[:20]
        return InvalidProgramError(f"expected {expected}, got {repr(got) if got else 'the end'}")


def quote(text: str) -> str:
    """Text as `Tokens.quoted` reads it."""
    return json.dumps(text, ensure_ascii=False)
