"""Interpolation modulo a prime: the polynomial that has given values at given integers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

# Below this all inverses are computed at once.
_MOST_TABULATED = 1 << 20


def interpolated_modulo(points: Sequence[int], values: Sequence[int], prime: int) -> list[int]:
    """The coefficients of the least polynomial with these values, the constant one first.

    By Newton's divided differences, which are written out in powers afterwards.

    Args:
        points: Integers that differ modulo the prime.
        values: The value at each.
        prime: A prime below 2^31, so that products fit words.

    Example:
        >>> interpolated_modulo([0, 1, 2, 3], [0, 1, 4, 9], 17)
        [0, 0, 1]
    """
    x = np.array([point % prime for point in points], np.int64)
    differences = np.array([value % prime for value in values], np.int64)
    for step in range(1, len(x)):
        apart = _inverses((x[step:] - x[:-step]) % prime, prime)
        differences[step:] = (differences[step:] - differences[step - 1 : -1]) % prime
        differences[step:] = differences[step:] * apart % prime
    made = np.zeros(len(x), np.int64)
    for place in range(len(x) - 1, -1, -1):
        # What there is so far times (x - point), and the next difference.
        moved = np.concatenate([[0], made[:-1]])
        made = (moved - x[place] * made) % prime
        made[0] = (made[0] + differences[place]) % prime
    degree = max(np.flatnonzero(made), default=0)
    return [int(each) for each in made[: degree + 1]]


def inverses(numbers: NDArray[np.int64], prime: int) -> NDArray[np.int64]:
    """The inverses of integers modulo a prime, by Fermat's exponent.

    Example:
        >>> inverses(np.array([1, 2, 3]), 7).tolist()
        [1, 4, 5]
    """
    made = np.ones_like(numbers)
    power, exponent = numbers, prime - 2
    while exponent:
        if exponent & 1:
            made = made * power % prime
        power = power * power % prime
        exponent >>= 1
    return made


def _inverses(numbers: NDArray[np.int64], prime: int) -> NDArray[np.int64]:
    if prime < _MOST_TABULATED:
        return _table_of_inverses(prime)[numbers]
    return inverses(numbers, prime)


@cache
def _table_of_inverses(prime: int) -> NDArray[np.int64]:
    return inverses(np.arange(prime), prime)
