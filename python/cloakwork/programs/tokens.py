"""The words of one line of a program's text, taken one after the other."""

from __future__ import annotations

import json
import math
import re

from cloakwork.errors import InvalidProgramError

_TOKEN = re.compile(
    r"""\s*( [A-Za-z_][A-Za-z_0-9]*                 # a word, such as rotate, v3 or x128
           | %[0-9]+                                # a value
           | -?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)? # a number
           | "(?:[^"\\]|\\.)*"                      # quoted text
           | [=:@,(){}\[\]/] )""",
    re.VERBOSE | re.ASCII,
)

# What fits 64 bits whatever the digits.
_MAX_DIGITS = 18


class Tokens:
    """A line's tokens, read from left to right; every refusal says what was expected.

    Args:
        line: The line.

    Raises:
        InvalidProgramError: A character begins no token.

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
        """Take this token.

        Raises:
            InvalidProgramError: Another one comes.
        """
        if not self.accept(token):
            raise self._unexpected(token)

    def end(self) -> None:
        """Check that nothing is left.

        Raises:
            InvalidProgramError: Something is.
        """
        if self.peek():
            raise self._unexpected("the end of the line")

    def word(self) -> str:
        """Take a word.

        Raises:
            InvalidProgramError: Something else comes.
        """
        token = self.peek()
        if not token.isidentifier():
            raise self._unexpected("a word")
        self._next += 1
        return token

    def numbered(self, prefix: str) -> int:
        """Take a token such as %3, v3 or x3, made of this prefix and digits.

        Raises:
            InvalidProgramError: Something else comes.
        """
        token = self.peek()
        if not token.startswith(prefix):
            raise self._unexpected(f"{prefix} and a number")
        return self._digits(token.removeprefix(prefix), f"{prefix} and a number")

    def integer(self) -> int:
        """Take an integer that is not negative.

        Raises:
            InvalidProgramError: Something else comes.
        """
        return self._digits(self.peek(), "an integer")

    def signed(self) -> int:
        """Take an integer that may be negative.

        Raises:
            InvalidProgramError: Something else comes.
        """
        token = self.peek()
        magnitude = self._digits(token.removeprefix("-"), "an integer")
        return -magnitude if token.startswith("-") else magnitude

    def long(self) -> int:
        """Take an integer of up to 63 bits that may be negative.

        Raises:
            InvalidProgramError: Something else comes.
        """
        token = self.peek()
        digits = token.removeprefix("-")
        if not digits.isdecimal() or len(digits) > _MAX_DIGITS + 1 or int(digits) >> 63:
            raise self._unexpected("an integer of up to 63 bits")
        self._next += 1
        return int(token)

    def real(self) -> float:
        """Take a finite number.

        Raises:
            InvalidProgramError: Something else comes.
        """
        token = self.peek()
        if not token.startswith(("-", *"0123456789")):
            raise self._unexpected("a number")
        number = float(token)
        if not math.isfinite(number):
            raise self._unexpected("a number that a float64 holds")
        self._next += 1
        return number

    def quoted(self) -> str:
        """Take text in double quotes, escaped as in JSON.

        Raises:
            InvalidProgramError: Something else comes.
        """
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
