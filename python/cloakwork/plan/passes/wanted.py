"""What later steps want of a value, for many ways to place them at once.

What is wanted is named by a number, so that ways are rows of numbers, which numpy compares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
T = TypeVar("T", np.int64, np.float64)

# More than twice any level.
_BEYOND = 1 << 16


@dataclass(frozen=True, slots=True)
class Wanted:
    """At which levels later steps use a value.

    Args:
        itself: Levels of uses of the value itself.
        refreshed: Levels of uses of its bootstrap.
        rotated: Those at which it is rotated, and whether refreshed: further rotations cost less.
    """

    itself: frozenset[int] = frozenset()
    refreshed: frozenset[int] = frozenset()
    rotated: frozenset[tuple[bool, int]] = frozenset()

    def used(self, level: int, *, refreshed: bool, rotated: bool) -> Wanted:
        """With one use more."""
        turned = self.rotated | {(refreshed, level)} if rotated else self.rotated
        if refreshed:
            return Wanted(self.itself, self.refreshed | {level}, turned)
        return Wanted(self.itself | {level}, self.refreshed, turned)

    def level(self, least: int) -> int:
        """The level that the value must have, a refreshed one that of what is refreshed."""
        return max(self.itself | ({least} if self.refreshed else {0}))


class WantedNumbers:
    """Numbers of what is wanted of values; 0 is that nothing is.

    Example:
        >>> numbers = WantedNumbers(least=1)
        >>> itself = np.zeros(3, dtype=np.bool_)
        >>> used = numbers.used(np.array([0, 0, 0]), np.array([3, 3, 2]), itself, rotated=True)
        >>> used, numbers.levels(used)
        (array([2, 2, 1]), array([3, 3, 2]))
    """

    def __init__(self, least: int) -> None:
        self._least = least
        self._numbers: dict[Wanted, int] = {}
        self._wanted: list[Wanted] = []
        self._levels: list[int] = []
        self._used: dict[tuple[int, int, bool], int] = {}
        self._number_of(Wanted())

    def levels(self, numbers: Numbers) -> Numbers:
        """The levels that values must have."""
        return np.array(self._levels)[numbers]

    def used(
        self, numbers: Numbers, levels: Numbers, refreshed: NDArray[np.bool_], *, rotated: bool
    ) -> Numbers:
        """What is wanted with one use more, at a level, refreshed or not."""

        def of_one(number: int, place: int) -> int:
            key = number, place, rotated
            if key not in self._used:
                level, is_refreshed = divmod(place, 2)
                wanted = self._wanted[number]
                self._used[key] = self._number_of(
                    wanted.used(level, refreshed=bool(is_refreshed), rotated=rotated)
                )
            return self._used[key]

        return _of_pairs(numbers, 2 * levels + refreshed, of_one, np.int64)

    def seconds(
        self, numbers: Numbers, places: Numbers, function: Callable[[Wanted, int], float]
    ) -> NDArray[np.float64]:
        """What each takes, a function of what is wanted and of a number beside it."""

        def of_one(number: int, place: int) -> float:
            return function(self._wanted[number], place)

        return _of_pairs(numbers, places, of_one, np.float64)

    def _number_of(self, wanted: Wanted) -> int:
        """The number of what is wanted, a new one where it is new."""
        if wanted not in self._numbers:
            self._numbers[wanted] = len(self._wanted)
            self._wanted.append(wanted)
            self._levels.append(wanted.level(self._least))
        return self._numbers[wanted]


def _of_pairs(
    firsts: Numbers, seconds: Numbers, function: Callable[[int, int], float], kind: type[T]
) -> NDArray[T]:
    """A function of each pair of numbers, called once for every two that differ."""
    pairs, places = np.unique(firsts * _BEYOND + seconds, return_inverse=True)
    found = [function(*divmod(pair, _BEYOND)) for pair in pairs.tolist()]
    return np.array(found, dtype=kind)[places]
