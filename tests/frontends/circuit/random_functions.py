"""Random functions of integers: the same on Python's integers and on symbols."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

MAX_OPERATIONS = 200
# Products of products of products, at most: numbers double their bits at each.
MAX_DEPTH = 5

_KINDS: tuple[Callable[[Any, Any], Any], ...] = (operator.add, operator.sub, operator.mul)


@dataclass(frozen=True)
class RandomFunction:
    """A function of one vector, as a list of steps on values that are there already.

    Args:
        length: Of the vector.
        steps: What is computed: an operation of two values, or of one and a clear integer.
        results: Which values are returned.
    """

    length: int
    steps: tuple[tuple[int, int, int | None, int], ...]
    results: tuple[int, ...]

    def __call__(self, x: Sequence[Any]) -> list[Any]:
        """Compute it, on whatever has + - and *."""
        values = list(x)
        for kind, left, right, clear in self.steps:
            other = clear if right is None else values[right]
            values.append(_KINDS[kind](values[left], other))
        return [values[number] for number in self.results]


@st.composite
def functions(
    draw: st.DrawFn, most: int = MAX_OPERATIONS, depth: int = MAX_DEPTH
) -> RandomFunction:
    """A random function of at most so many operations and products in a row."""
    length = draw(st.integers(1, 8))
    count = draw(st.integers(1, most))
    seed = draw(st.randoms(use_true_random=False))
    depths = [0] * length
    steps: list[tuple[int, int, int | None, int]] = []
    for _ in range(count):
        # Mostly of late values, so that what is computed is used.
        left = max(seed.randrange(len(depths)), seed.randrange(len(depths)))
        right = None if seed.random() < 0.2 else seed.randrange(len(depths))
        kind = seed.randrange(3)
        below = max(depths[left], 0 if right is None else depths[right])
        if kind == 2 and right is not None and below == depth:
            kind = 0
        depths.append(below + (kind == 2 and right is not None))
        steps.append((kind, left, right, seed.randint(-3, 3)))
    results = draw(st.lists(st.integers(0, len(depths) - 1), min_size=1, max_size=4))
    # At least one result comes of a step.
    return RandomFunction(length, tuple(steps), (*results, len(depths) - 1))
