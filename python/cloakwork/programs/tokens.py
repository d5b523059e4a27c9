"""The text of a program, line by line, and the words of a line, one after the other."""

from __future__ import annotations

import json
import math
import re
from typing import ClassVar

from cloakwork.errors import CloakworkError, InvalidProgramError

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
    "x": "a count such as x3",
}


class TextReader:
    """Reads the text of a program: a line that says what it is, its title, the other lines."""

    first_line: ClassVar[str]

    def __init__(self) -> None:
        self._has_begun = False
        self.title: str | None = None

    def read(self, text: str) -> None:
        """Read all lines.

        Raises:
            InvalidProgramError: The text is no program; the message names the line.
        """
        if not isinstance(text, str):
            raise InvalidProgramError(f"cannot read a program: expected text, got {type(text)}")
        for number, line in enumerate(text.split("\n"), start=1):
            try:
                self._read(line.strip())
            except CloakworkError as error:
                raise InvalidProgramError(
                    f"cannot read the program: line {number}: {error}"
                ) from error

    def read_line(self, tokens: Tokens) -> None:
        """Read a line after the title."""
        raise NotImplementedError

    def ended_early(self, expected: str) -> InvalidProgramError:
        """The error that the text ends before what every program has."""
        return InvalidProgramError(
            f"cannot read the program: expected {self.first_line!r}, {expected}, got the end"
        )

    def _read(self, line: str) -> None:
        if not line:
            return
        if not self._has_begun:
            if line != self.first_line:
                raise InvalidProgramError(f"expected {self.first_line!r}, got {line[:40]!r}")
            self._has_begun = True
            return
        tokens = Tokens(line)
        if self.title is None:
            tokens.expect("title")
            self.title = tokens.quoted()
        else:
            self.read_line(tokens)
        tokens.end()


class Tokens:
    """A line's tokens, read from left to right; every refusal says what was expected.

    Args:
        line: The line.

    Raises:
        InvalidProgramError: A character begins no token; and of every method but `peek` and
            `accept`, something else comes.

    Example:
        >>> tokens = Tokens("rotate %0 by 3")
        >>> tokens.word(), tokens.numbered("%"), tokens.accept("by"), tokens.integer()
        ('rotate', 0, True, 3)
    """

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
        token = self.peek()
        if not token.isidentifier():
            raise self._unexpected("a word")
        self._next += 1
        return token

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
        token = self.peek()
        digits = token.removeprefix("-")
        if not digits.isdecimal() or len(digits) > _MAX_DIGITS + 1 or int(digits) >> 63:
            raise self._unexpected("an integer of up to 63 bits")
        self._next += 1
        return int(token)

    def table(self) -> int:
        """Take a look-up table in hexadecimal digits."""
        token = self.peek()
        if not token.startswith("0x") or len(token) > _MAX_TABLE:
            raise self._unexpected("a table such as 0x8")
        self._next += 1
        return int(token, 16)

    def real(self) -> float:
        """Take a finite number."""
        token = self.peek()
        if not token.startswith(("-", *"0123456789")) or token.startswith("0x"):
            raise self._unexpected("a number")
        number = float(token)
        if not math.isfinite(number):
            raise self._unexpected("a number that a float64 holds")
        self._next += 1
        return number

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
        if not digits.isdecimal() or len(digits) > _MAX_DIGITS:
            raise self._unexpected(expected)
        self._next += 1
        return int(digits)

    def _unexpected(self, expected: str) -> InvalidProgramError:
        got = self.peek()[:20]
        return InvalidProgramError(f"expected {expected}, got {repr(got) if got else 'the end'}")


def quote(text: str) -> str:
    """Text as `Tokens.quoted` reads it.

    Example:
        >>> print(quote('say "x"'))
        "say \\"x\\""
    """
    return json.dumps(text, ensure_ascii=False)
