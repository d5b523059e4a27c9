"""Rows of things that say the same over and over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Twice the same is told twice: that is shorter to read than what would say so.
_FEWEST = 3
_LONGEST = 8


@dataclass(frozen=True, slots=True)
class Repeat:
    """Neighbours that come again and again.

    Args:
        start: The first of them.
        length: How many they are.
        times: How often they come, one after the other.
    """

    start: int
    length: int
    times: int


def runs_of(things: Sequence[str]) -> list[Repeat]:
    """Split a row into runs, each as long as it goes on repeating; a single thing is a run too.

    Example:
        >>> [(run.length, run.times) for run in runs_of("cababab")]
        [(1, 1), (2, 3)]
    """
    runs: list[Repeat] = []
    start = 0
    while start < len(things):
        most = min(_LONGEST, (len(things) - start) // _FEWEST)
        found = [
            Repeat(start, length, _times(things, start, length)) for length in range(1, most + 1)
        ]
        repeated = [run for run in found if run.times >= _FEWEST]
        # Of those that reach as far the shortest, which says the same in less.
        run = max(repeated, key=lambda run: run.length * run.times, default=Repeat(start, 1, 1))
        runs.append(run)
        start += run.length * run.times
    return runs


def _times(things: Sequence[str], start: int, length: int) -> int:
    first = things[start : start + length]
    times = 1
    while things[start + times * length : start + (times + 1) * length] == first:
        times += 1
    return times
