"""Vectors of a program: which are the same, and how one reads as text.

Equal means equal bit by bit, so that 0.0 and -0.0 differ.
"""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.slots import DTYPES, Numbers
from cloakwork.programs.tokens import Tokens

# A group in brackets repeats at least twice, so that deeper ones outnumber the slots.
_MAX_NESTING = 17
_CANDIDATE_PERIODS = 4


class VectorTable:
    """Numbers vectors by what they hold; each object is read once.

    Example:
        >>> table = VectorTable()
        >>> [table.number_of(v) for v in (np.ones(2), np.zeros(2), np.ones(2))]
        [0, 1, 0]
    """

    def __init__(self) -> None:
        # Weakly, so that vectors made on demand can go; the next may take their identity.
        self._by_identity: dict[int, tuple[weakref.ref[NDArray[Any]], int]] = {}
        self._by_content: dict[bytes, int] = {}

    def number_of(self, vector: NDArray[Any]) -> int:
        """The number of the first vector seen that holds the same."""
        known = self._by_identity.get(id(vector))
        if known is not None and known[0]() is vector:
            return known[1]
        digest = hashlib.blake2b(np.ascontiguousarray(vector).data).digest()
        number = self._by_content.setdefault(digest, len(self._by_content))
        self._by_identity[id(vector)] = (weakref.ref(vector), number)
        return number


class DistinctVectors:
    """The vectors of a program, each once.

    Example:
        >>> distinct = DistinctVectors()
        >>> [distinct.number_of(v) for v in (np.ones(2), np.zeros(2), np.ones(2))]
        [0, 1, 0]
        >>> len(distinct.vectors)
        2
    """

    def __init__(self) -> None:
        self.vectors: list[NDArray[Any]] = []
        self._table = VectorTable()

    def number_of(self, vector: NDArray[Any]) -> int:
        """The number of a vector among the distinct ones."""
        number = self._table.number_of(vector)
        if number == len(self.vectors):
            self.vectors.append(vector)
        return number


def vector_text(vector: NDArray[Any]) -> str:
    """A vector as text: runs of equal numbers, and patterns that repeat in brackets.

    Example:
        >>> vector_text(np.array([1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.5]))
        '(1.0 x2, 0.0) x2, 0.5'
    """
    bits = np.ascontiguousarray(vector).view(np.int64)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(bits)) + 1])
    lengths = np.diff(starts, append=len(bits))
    return _folded(
        [
            repr(number) if length == 1 else f"{number!r} x{length}"
            for number, length in zip(vector[starts].tolist(), lengths.tolist(), strict=True)
        ]
    )


def _folded(runs: Sequence[str]) -> str:
    following = _next_equal(runs)
    items: list[str] = []
    start = 0
    while start < len(runs):
        period, repeats = _repetition(runs, following, start)
        if repeats == 1:
            items.append(runs[start])
        else:
            items.append(f"({_folded(runs[start : start + period])}) x{repeats}")
        start += period * repeats
    return ", ".join(items)


def _next_equal(runs: Sequence[str]) -> list[int]:
    """Where each run comes next; the end where it does not."""
    seen: dict[str, int] = {}
    following = [len(runs)] * len(runs)
    for number in reversed(range(len(runs))):
        following[number] = seen.get(runs[number], len(runs))
        seen[runs[number]] = number
    return following


def _repetition(runs: Sequence[str], following: Sequence[int], start: int) -> tuple[int, int]:
    """Period and count of the repetition found here that covers most."""
    best = (1, 1)
    second = start
    for _ in range(_CANDIDATE_PERIODS):
        second = following[second]
        if second == len(runs):
            break
        period = second - start
        end = second
        while end < len(runs) and runs[end] == runs[end - period]:
            end += 1
        repeats = (end - start) // period
        if repeats > 1 and repeats * period > best[0] * best[1]:
            best = (period, repeats)
    return best


def read_vector(tokens: Tokens, slots: int, numbers: Numbers = "real") -> NDArray[Any]:
    """Read what `vector_text` wrote, to the end of the line.

    Example:
        >>> read_vector(Tokens("1.0 x2, 0.5"), 3).tolist()
        [1.0, 1.0, 0.5]
    """
    read = tokens.real if numbers == "real" else tokens.signed
    items = _read_items(tokens, read, slots, nesting=0)
    tokens.end()
    if len(items) != slots:
        raise InvalidProgramError(f"expected {slots} numbers, got {len(items)}")
    return np.array(items, dtype=DTYPES[numbers])


def _read_items(
    tokens: Tokens, read: Callable[[], float], most: int, *, nesting: int
) -> list[float]:
    numbers: list[float] = []
    while True:
        item = _read_item(tokens, read, most, nesting=nesting)
        repeats = tokens.numbered("x") if tokens.peek().startswith("x") else 1
        if repeats < 1 or len(numbers) + repeats * len(item) > most:
            raise InvalidProgramError(f"expected {most} numbers, got fewer than one or more")
        numbers += item * repeats
        if not tokens.accept(","):
            return numbers


def _read_item(
    tokens: Tokens, read: Callable[[], float], most: int, *, nesting: int
) -> list[float]:
    if not tokens.accept("("):
        return [read()]
    if nesting == _MAX_NESTING:
        raise InvalidProgramError(f"expected at most {_MAX_NESTING} brackets in one another")
    numbers = _read_items(tokens, read, most, nesting=nesting + 1)
    tokens.expect(")")
    return numbers


def uniform_integer(vector: NDArray[np.int64]) -> int | None:
    """The integer that is in every slot, if it is one.

    Example:
        >>> uniform_integer(np.array([3, 3])), uniform_integer(np.array([3, 4]))
        (3, None)
    """
    return int(vector[0]) if bool((vector == vector[0]).all()) else None
