"""AES-128 (FIPS 197) on bytes, which may be encrypted, and its round keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import cloakwork as cw

ROUNDS, BYTES = 10, 16
_POLYNOMIAL = 0x1B


@dataclass(frozen=True, slots=True)
class Direction:
    """Ciphering or deciphering: what rounds substitute, and how they move and mix bytes.

    Args:
        substituted: For each byte what stands for it.
        step: By how many columns, times its row, a byte comes from the right.
        is_inverse: Whether columns are mixed backwards.
    """

    substituted: Sequence[int]
    step: int
    is_inverse: bool

    def last(self, state: Sequence[Any], key: Sequence[Any]) -> list[Any]:
        """A round that mixes no columns."""
        table = cw.table(list(self.substituted))
        moved = [state[(n + 4 * self.step * (n % 4)) % BYTES] for n in range(BYTES)]
        return added([table[byte] for byte in moved], key)

    def round(self, state: Sequence[Any], key: Sequence[Any]) -> list[Any]:
        """A round, with a key that is mixed where columns are mixed backwards."""
        return added(self.mixed(self.last(state, [0] * BYTES)), key)

    def mixed(self, state: Sequence[Any]) -> list[Any]:
        """All columns mixed."""
        columns = [state[start : start + 4] for start in range(0, BYTES, 4)]
        return [byte for column in columns for byte in self._column(column)]

    def _column(self, column: Sequence[Any]) -> list[Any]:
        if self.is_inverse:
            twice = [_doubled(_doubled(column[n] ^ column[n + 2])) for n in range(2)]
            column = [byte ^ twice[n % 2] for n, byte in enumerate(column)]
        total = column[0] ^ column[1] ^ column[2] ^ column[3]
        pairs = zip(column, [*column[1:], column[0]], strict=True)
        return [byte ^ total ^ _doubled(byte ^ beside) for byte, beside in pairs]


def added(state: Sequence[Any], key: Sequence[Any]) -> list[Any]:
    """Two blocks added."""
    return [byte ^ other for byte, other in zip(state, key, strict=True)]


def round_keys(direction: Direction, key: bytes) -> list[list[int]]:
    """The keys of all rounds, in their order, and before them what is added at first."""
    words, constant = [list(key[start : start + 4]) for start in range(0, BYTES, 4)], 1
    for number in range(4, 4 * (ROUNDS + 1)):
        word = words[-1]
        if number % 4 == 0:
            word = [CIPHER.substituted[byte] for byte in (*word[1:], word[0])]
            word[0] ^= constant
            constant = _doubled(constant)
        words.append([byte ^ other for byte, other in zip(words[number - 4], word, strict=True)])
    flat = [byte for word in words for byte in word]
    keys = [flat[start : start + BYTES] for start in range(0, len(flat), BYTES)]
    if direction.is_inverse:
        first, *middle, last = reversed(keys)
        keys = [first, *(direction.mixed(each) for each in middle), last]
    return keys


def _doubled(byte: Any) -> Any:
    """A byte times x, modulo the polynomial."""
    return ((byte << 1) & 0xFF) ^ (_POLYNOMIAL * (byte >> 7))


def _substituted() -> list[int]:
    """For each byte its inverse, in bits that are added up."""
    found, inverse, power = [0x63] * 256, 1, 1
    for _ in range(255):
        # By the generator 3 and by its inverse.
        power = power ^ _doubled(power)
        for shift in (1, 2, 4):
            inverse ^= inverse << shift & 0xFF
        inverse ^= 0x09 * (inverse >> 7)
        for shift in range(5):
            found[power] ^= (inverse << shift | inverse >> 8 - shift) & 0xFF
    return found


CIPHER = Direction(_substituted(), 1, is_inverse=False)
DECIPHER = Direction([CIPHER.substituted.index(byte) for byte in range(256)], -1, is_inverse=True)
