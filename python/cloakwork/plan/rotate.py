"""Rotations: how many, and which, a linear transform or a sum takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.layout import Axis
from cloakwork.programs.diagonals import SparseDiagonals

# A hoisted rotation shares the decomposition of its input, which is about half the work.
HOISTED = 0.5


@dataclass(frozen=True, slots=True)
class Split:
    """Diagonals as sums of a baby step, below `baby_steps`, and a giant step, a multiple of it."""

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


def unrolled(numbers: NDArray[np.int64], slots: int) -> NDArray[np.int64]:
    """Diagonals in the order of the circle, from the one after the widest gap on.

    Those of a transpose lie on both sides of 0, equally far apart; modulo the slots they
    would not. Diagonal 0 stays 0, so that it takes no rotation.

    Example:
        >>> unrolled(np.array([0, 3, 13]), 16).tolist()
        [-3, 0, 3]
    """
    around = np.unique(numbers % slots)
    gaps = np.diff(around, prepend=around[-1] - slots)
    start = int(around[gaps.argmax()])
    if around[0] == 0 and start:
        start -= slots
    return start + np.sort((around - start) % slots)


def split(diagonals: Iterable[int], slots: int, baby_steps: int) -> Split:
    """The steps that a baby-step giant-step evaluation of these diagonals rotates by.

    Example:
        >>> split([0, 1, 5], 16, 4)
        Split(baby_steps=4, baby=(1,), giant=(4,))
    """
    return _split_unrolled(unrolled(_numbers(diagonals), slots), slots, baby_steps)


def _split_unrolled(numbers: NDArray[np.int64], slots: int, baby_steps: int) -> Split:
    baby = numbers % baby_steps
    giant = (numbers - baby) % slots
    return Split(
        baby_steps,
        tuple(int(step) for step in np.unique(baby) if step),
        tuple(int(step) for step in np.unique(giant) if step),
    )


def cheapest_split(diagonals: Iterable[int], slots: int) -> Split:
    """The split of least cost whose baby steps are a power of two times a spacing.

    Spacings tried are 1, the diagonals' common spacing and their most frequent one:
    100 diagonals that lie 127 apart split as well as 100 that lie side by side.

    Source: Halevi and Shoup, "Faster homomorphic linear transformations in HElib",
    CRYPTO 2018.

    Example:
        >>> cheapest_split(range(16), 64).rotations
        6
        >>> cheapest_split([(127 * k) % 16384 for k in range(-127, 128)], 16384).rotations
        30
    """
    numbers = unrolled(_numbers(diagonals), slots)
    spacings = {1}
    if len(numbers) > 1:
        gaps, frequencies = np.unique(np.diff(numbers), return_counts=True)
        spacings |= {int(np.gcd.reduce(gaps)), int(gaps[frequencies.argmax()])}
    widths = sorted(
        {spacing << bits for spacing in spacings for bits in range((slots // spacing).bit_length())}
    )
    return min((_split_unrolled(numbers, slots, width) for width in widths), key=lambda choice: choice.cost)


def _numbers(diagonals: Iterable[int]) -> NDArray[np.int64]:
    if isinstance(diagonals, SparseDiagonals):
        return diagonals.numbers
    if isinstance(diagonals, np.ndarray):
        return diagonals
    return np.fromiter(diagonals, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class SumStep:
    """total = base + rotate(total, rotation), where base is the total or the first value."""

    rotation: int
    onto_first: bool


def sum_steps(axis: Axis) -> tuple[SumStep, ...]:
    """Steps after which slot s holds the sum of slots s + k * stride for all k below size.

    Reads no other slot, so what lies beside the axis may be dirty. Takes
    floor(log2 size) rotations and one more for every further bit set in size. A
    negative stride replicates instead: slot s + k * |stride| receives slot s.

    Example:
        >>> [step.rotation for step in sum_steps(Axis(6, 10))]
        [10, 10, 30]
    """
    steps: list[SumStep] = []
    reached = 1
    for bit in bin(axis.size)[3:]:
        steps.append(SumStep(reached * axis.stride, onto_first=False))
        reached *= 2
        if bit == "1":
            steps.append(SumStep(axis.stride, onto_first=True))
            reached += 1
    return tuple(steps)


def merge(axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The same axes with those that continue one another joined into one.

    Example:
        >>> merge([Axis(3, 5), Axis(5, 1)])
        (Axis(size=15, stride=1, name='', tile=0),)
    """
    joined: list[Axis] = []
    for axis in sorted((axis for axis in axes if axis.size > 1), key=lambda axis: axis.stride):
        last = joined[-1] if joined else None
        if last is not None and axis.stride == last.stride * last.size:
            joined[-1] = Axis(last.size * axis.size, last.stride, axis.name + last.name)
        else:
            joined.append(axis)
    return tuple(joined)
