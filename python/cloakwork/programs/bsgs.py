"""Baby steps and giant steps: the rotations that a linear transform takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# A hoisted rotation shares the decomposition of its input, which is about half the work.
HOISTED = 0.5
# Diagonals that are compared with all others, and distances tried, to find a spacing.
_COMPARED = 32
_SPACINGS = 6
# Numbers up to which sets are made faster than all slots are marked.
_FEW = 512


@dataclass(frozen=True, slots=True)
class Split:
    """Diagonals as sums of a baby step, below `baby_steps`, and a giant step, a multiple of it.

    Args:
        numbers: The diagonals, each counted from 0 or from minus the slots up.
        baby_steps: The giant steps are multiples of it.
        baby: Baby steps that rotate.
        giant: Giant steps that rotate, modulo the slots.
    """

    numbers: tuple[int, ...]
    baby_steps: int
    baby: tuple[int, ...]
    giant: tuple[int, ...]

    @property
    def rotations(self) -> int:
        """How many rotations are done; a step of 0 is none."""
        return len(self.baby) + len(self.giant)

    @property
    def cost(self) -> float:
        """The work in full rotations; baby steps are hoisted."""
        return HOISTED * len(self.baby) + len(self.giant)


def split(diagonals: Iterable[int], slots: int, baby_steps: int) -> Split:
    """The steps that a baby-step giant-step evaluation of these diagonals rotates by.

    Example:
        >>> split([0, 1, 5, -3], 16, 4)
        Split(numbers=(0, 1, 5, -3), baby_steps=4, baby=(1,), giant=(4, 12))
    """
    numbers = np.fromiter(diagonals, dtype=np.int64)
    baby = numbers % baby_steps
    giant = (numbers - baby) % slots
    return Split(
        tuple(numbers.tolist()),
        baby_steps,
        tuple(step for step in np.unique(baby).tolist() if step),
        tuple(step for step in np.unique(giant).tolist() if step),
    )


def cheapest_split(diagonals: Iterable[int], slots: int, hoisted: float = HOISTED) -> Split:
    """The split of least cost whose baby steps are a power of two times a spacing.

    Spacings tried are 1 and the distances that most pairs of diagonals lie apart: a change
    of strides has diagonals 127 i, or 6 i - 255 j, and these split at 127 and at 255. Each
    diagonal is counted from 0 or from minus the slots up, as shares a baby step with more
    of the others.

    Source: Halevi and Shoup, "Faster homomorphic linear transformations in HElib",
    CRYPTO 2018.

    Example:
        >>> cheapest_split(range(16), 64).rotations
        6
        >>> cheapest_split([(127 * k) % 16384 for k in range(-127, 128)], 16384).rotations
        31
        >>> cheapest_split([6 * i - 255 * j for i in range(20) for j in range(7)], 8192).rotations
        25
    """
    numbers = np.unique(np.fromiter(diagonals, dtype=np.int64) % slots)
    width, counted = _cheapest(numbers.tobytes(), slots, hoisted)
    return split(counted, slots, width)


@lru_cache(maxsize=4096)
def _cheapest(numbers: bytes, slots: int, hoisted: float) -> tuple[int, tuple[int, ...]]:
    found = np.frombuffer(numbers, dtype=np.int64)
    widths = {
        spacing << bits
        for spacing in _spacings(found, slots)
        for bits in range((slots // spacing).bit_length())
    }
    choices = (
        (width, counted) for width in sorted(widths) for counted in _countings(found, slots, width)
    )
    width, counted = min(choices, key=lambda choice: _cost(choice[1], slots, choice[0], hoisted))
    return width, tuple(counted.tolist())


def _spacings(numbers: NDArray[np.int64], slots: int) -> set[int]:
    """1, and the commonest distances between diagonals."""
    some = numbers[:: -(-len(numbers) // _COMPARED)]
    apart = (numbers - some[:, np.newaxis]).ravel() % slots
    distances = np.minimum(apart, slots - apart)
    values, frequencies = np.unique(distances[distances > 0], return_counts=True)
    common = values[np.argsort(-frequencies, kind="stable")[:_SPACINGS]]
    return {1, *common.tolist()}


def _countings(numbers: NDArray[np.int64], slots: int, width: int) -> Iterator[NDArray[np.int64]]:
    """Each diagonal counted from 0 or from minus the slots up, in one way or another."""
    # Diagonal 0 stays: minus the slots is no number of a diagonal.
    below = np.where(numbers > 0, numbers - slots, 0)
    yield numbers
    yield np.where(numbers > slots // 2, below, numbers)
    up, down = numbers % width, below % width
    yield np.where((up != 0) & (down == 0), below, numbers)
    both = np.concatenate([up, down])
    popularity = np.bincount(both)[both]
    yield np.where(popularity[len(numbers) :] > popularity[: len(numbers)], below, numbers)


def _cost(numbers: NDArray[np.int64], slots: int, width: int, hoisted: float) -> float:
    baby = numbers % width
    if len(numbers) > _FEW:
        marks = np.zeros((2, slots), dtype=bool)
        marks[0, baby] = marks[1, (numbers - baby) % slots] = True
        babies_and_giants = np.count_nonzero(marks[:, 1:], axis=1)
        return float(hoisted * babies_and_giants[0] + babies_and_giants[1])
    # Of a few hundred numbers sets are made faster than they are sorted.
    babies = set(baby.tolist())
    giants = set(((numbers - baby) % slots).tolist())
    return hoisted * (len(babies) - (0 in babies)) + len(giants) - (0 in giants)
