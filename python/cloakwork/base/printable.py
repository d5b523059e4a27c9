"""Text from elsewhere as a line that does nothing to a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Text on one line, its control characters escaped as Python's repr escapes them.

    Example:
        >>> print(printable("größer\r\x1b[2J"))
        größer\r\x1b[2J
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
