"""Bytes of secret keys in memory."""

from __future__ import annotations

from typing import Self


class SecretBytes(bytearray):
    """Bytes of a secret, which are wiped from memory when they are let go; never printed.

    Example:
        >>> given = bytearray(b"secret")
        >>> SecretBytes.taken(given), given
        (SecretBytes(hidden), bytearray(b'\\x00\\x00\\x00\\x00\\x00\\x00'))
    """

    @classmethod
    def taken(cls, data: bytearray) -> Self:
        """A copy of a secret, which is wiped from where it was."""
        made = cls(data)
        _wipe(data)
        return made

    def __del__(self) -> None:
        _wipe(self)

    def __repr__(self) -> str:
        return "SecretBytes(hidden)"

    __str__ = __repr__


def _wipe(data: bytearray) -> None:
    data[:] = bytes(len(data))
