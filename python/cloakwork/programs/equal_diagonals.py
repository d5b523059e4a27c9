"""What is equal of the diagonals of a linear transform: the engine encodes and stores it once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.slots import Vector


def period_of(diagonals: Mapping[int, Vector]) -> int:
    """Slots after which all diagonals repeat themselves.

    Example:
        >>> period_of({0: np.array([1.0, 2.0, 1.0, 2.0]), 1: np.ones(4)})
        2
    """
    if isinstance(diagonals, SparseDiagonals):
        return diagonals.period
    return max(map(_period, diagonals.values()))


def _period(vector: Vector) -> int:
    half = len(vector) // 2
    while half and np.array_equal(vector[:half], vector[half:]):
        vector = vector[:half]
        half //= 2
    return len(vector)


def different_by_giant(diagonals: Mapping[int, Vector], baby_steps: int) -> Counter[int]:
    """For each giant step how many of its diagonals differ from one another.

    Example:
        >>> different_by_giant({0: np.zeros(4), 1: np.ones(4), 2: np.ones(4), 3: np.ones(4)}, 2)
        Counter({0: 2, 2: 1})
    """
    slots, of_each = _contents(diagonals)
    giants = ((number - number % baby_steps) % slots for number in diagonals)
    return Counter(giant for giant, _ in set(zip(giants, of_each, strict=True)))


def _contents(diagonals: Mapping[int, Vector]) -> tuple[int, Iterator[int]]:
    """The slots, and of each diagonal a number that is the same for those of the same numbers."""
    if isinstance(diagonals, SparseDiagonals):
        return diagonals.slots, map(hash, _elements(diagonals))
    vectors = [*diagonals.values()]
    return len(vectors[0]), (hash(vector.tobytes()) for vector in vectors)


def _elements(diagonals: SparseDiagonals) -> Iterator[tuple[bytes, ...]]:
    _, counts, targets, places, weights, _, pattern_of = diagonals.arrays()
    arrays = (targets, weights if places is None else places, pattern_of)
    for start, end in pairwise([0, *np.cumsum(counts).tolist()]):
        yield tuple(each[start:end].tobytes() for each in arrays if each is not None)
