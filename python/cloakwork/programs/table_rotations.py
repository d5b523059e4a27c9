"""Tables of a bootstrap that are rotations of one another, which its blind rotation gives at once.

After a blind rotation the coefficient p holds what coefficient 0 would hold for a phase of p places
more: f(v) and f(v + c) are read from one table. Sums of rotations of one step are all functions of
the messages: Carpov, Izabachene and Mollimard, "New techniques for multi-value input homomorphic
evaluation and applications", CT-RSA 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

_TURN = 1 << 32

# Numbers of the messages 0 to 2^(m-1) - 1.
Table = tuple[int, ...]


@lru_cache(maxsize=1 << 12)
def distinct_tables(tables: tuple[Table, ...]) -> int:
    """How many of some tables are no rotation of one before them.

    Example:
        >>> distinct_tables(((1, 2), (2, -1), (-1, -2), (1, 3)))
        2
    """
    kept: list[Table] = []
    for table in tables:
        numbers = tuple(number % _TURN for number in table)
        if not any(numbers in _rotations(each) for each in kept):
            kept.append(numbers)
    return len(kept)


def step_rotation(size: int, earlier: int, height: int) -> Table:
    """The step that is `height` in the first half turn, rotated by some messages below half a turn.

    Example:
        >>> step_rotation(4, 1, 5)
        (5, 5, 5, -5)
    """
    return (height,) * (size - earlier) + (-height,) * earlier


def rotated_steps(function: Sequence[int], height: int) -> dict[int, int]:
    """The rotations of a step whose weighted sum is a function of the message.

    Example:
        >>> rotated_steps((0, 2, 0, 2), 1)
        {3: -1, 2: 1, 1: -1, 0: 1}
    """
    size = len(function)
    weights = {
        size - message: (before - after) // (2 * height)
        for message, (before, after) in enumerate(pairwise(function), 1)
    }
    weights[0] = function[0] // height - sum(weights.values())
    return {earlier: weight for earlier, weight in weights.items() if weight}


@lru_cache(maxsize=1 << 12)
def _rotations(table: Table) -> frozenset[Table]:
    whole = (*table, *(-number % _TURN for number in table)) * 2
    size = len(table)
    return frozenset(whole[at : at + size] for at in range(2 * size))
