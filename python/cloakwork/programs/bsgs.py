"""Baby steps and giant steps: the rotations that a linear transform takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

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
    return _split(_array_of(diagonals).tobytes(), slots, baby_steps)


@lru_cache(maxsize=4096)
def _split(diagonals: bytes, slots: int, baby_steps: int) -> Split:
    numbers = np.frombuffer(diagonals, dtype=np.int64)
    baby = numbers % baby_steps
    giant = (numbers - baby) % slots
    return Split(
        tuple(numbers.tolist()),
        baby_steps,
        tuple(step for step in _each_once(baby).tolist() if step),
        tuple(step for step in _each_once(giant).tolist() if step),
    )


def baby_steps_of(diagonals: Iterable[int], baby_steps: int) -> frozenset[int]:
    """The baby steps of diagonals, the one by 0 among them if there is any.

    Example:
        >>> sorted(baby_steps_of([0, 1, 5, -3], 4))
        [0, 1]
    """
    return frozenset(_each_once(_array_of(diagonals) % baby_steps).tolist())


def sharing_babies(transforms: Iterable[tuple[Hashable, Iterable[int], int]]) -> list[int]:
    """For each of some transforms how many of them share its baby rotations, itself among them.

    Args:
        transforms: The value that each transforms, its diagonals and its number of baby steps.

    Example:
        >>> sharing_babies([("x", [0, 1], 2), ("y", [0, 1], 2), ("x", [2, 3], 2), ("x", [0], 2)])
        [2, 1, 2, 1]
    """
    shared = [(value, steps, baby_steps_of(each, steps)) for value, each, steps in transforms]
    sharing = Counter(shared)
    return [sharing[each] for each in shared]


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
    numbers = _each_once(_array_of(diagonals) % slots).tobytes()
    return _cheapest(_Blocks(numbers, (numbers,), (numbers,)), slots, hoisted)[0]


def cheapest_common_split(
    blocks: Mapping[tuple[int, int], Iterable[int]],
    slots: int,
    hoisted: float = HOISTED,
) -> tuple[Split, float]:
    """The split of least cost for transforms of several values into several sums, and the cost.

    Transforms of one value share its baby steps, and those that are summed the giant steps of the
    sum; so the more values are summed the fewer the baby steps.

    Args:
        blocks: The diagonals of each transform, by the numbers of its operand and its sum.
        slots: The slots of every value.
        hoisted: What a baby step costs, in giant steps.

    Returns:
        The split of the diagonals of all transforms, each of which has those of its own.

    Example:
        >>> cheapest_common_split({(0, 0): range(64)}, 64)[0].baby_steps
        8
        >>> many = {(value, 0): range(64) for value in range(64)}
        >>> cheapest_common_split(many, 64)[0].baby_steps
        1
    """
    of_operands: dict[int, list[NDArray[np.int64]]] = {}
    of_sums: dict[int, list[NDArray[np.int64]]] = {}
    for (operand, total), diagonals in blocks.items():
        numbers = _array_of(diagonals) % slots
        of_operands.setdefault(operand, []).append(numbers)
        of_sums.setdefault(total, []).append(numbers)
    operands, sums = (
        tuple(_union(each) for each in parts.values()) for parts in (of_operands, of_sums)
    )
    everything = _union([np.frombuffer(each, dtype=np.int64) for each in sums])
    return _cheapest(_Blocks(everything, operands, sums), slots, hoisted)


def _union(numbers: Sequence[NDArray[np.int64]]) -> bytes:
    return _each_once(np.concatenate(numbers)).tobytes()


def _each_once(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The different numbers in rising order, without the masked arrays that `np.unique` loads."""
    ordered = np.sort(numbers, axis=None)
    return ordered[np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))]


def _array_of(diagonals: Iterable[int]) -> NDArray[np.int64]:
    if isinstance(diagonals, np.ndarray):
        return diagonals.astype(np.int64, copy=False)
    return np.fromiter(diagonals, dtype=np.int64)


class _Blocks(NamedTuple):
    """Diagonals of all transforms, of those of each operand, and of those of each sum."""

    all: bytes
    operands: tuple[bytes, ...]
    sums: tuple[bytes, ...]


@lru_cache(maxsize=4096)
def _cheapest(blocks: _Blocks, slots: int, hoisted: float) -> tuple[Split, float]:
    tried = _tried(blocks, slots)
    # What the hoisted rotations of a value share is there once for each that is rotated.
    shared = (1 - hoisted) * np.maximum(tried.turned - 1, 0)
    costs = hoisted * tried.babies + tried.giants - tried.stays + shared
    # The first of the cheapest.
    best = int(np.argmin(costs))
    width, way = tried.ways[best]
    counted = _countings(np.frombuffer(blocks.all, dtype=np.int64), slots, width)[way]
    return split(counted, slots, width), float(costs[best])


@dataclass(frozen=True, slots=True, eq=False)
class _Splits:
    """Splits of the diagonals of some transforms, whatever rotations cost.

    Args:
        ways: Their widths, and the place of each among the countings of its width.
        babies: How many baby steps rotate.
        giants: How many giant steps there are.
        stays: How many of them do not rotate.
        turned: How many operands have baby steps that rotate.
    """

    ways: Sequence[tuple[int, int]]
    babies: NDArray[np.int64]
    giants: NDArray[np.int64]
    stays: NDArray[np.int64]
    turned: NDArray[np.int64]


# Levels differ in what rotations cost, and ask for the same transforms.
@lru_cache(maxsize=1024)
def _tried(blocks: _Blocks, slots: int) -> _Splits:
    found = np.frombuffer(blocks.all, dtype=np.int64)
    widths = {
        spacing << bits
        for spacing in _spacings(found, slots)
        for bits in range((slots // spacing).bit_length())
    }
    parts = [
        (_places(found, part), blocks.operands.count(part), blocks.sums.count(part))
        for part in {*blocks.operands, *blocks.sums}
    ]
    ways: list[tuple[int, int]] = []
    steps: list[tuple[int, int, int, int]] = []
    for width in sorted(widths):
        for way, counted in enumerate(_countings(found, slots, width)):
            ways.append((width, way))
            steps.append(_steps_of_parts(counted, parts, slots, width))
    babies, giants, stays, turned = np.array(steps).T
    return _Splits(ways, babies, giants, stays, turned)


def _places(numbers: NDArray[np.int64], part: bytes) -> NDArray[np.int64] | slice:
    """Where some of the numbers stand among all."""
    found = np.frombuffer(part, dtype=np.int64)
    return slice(None) if len(found) == len(numbers) else np.searchsorted(numbers, found)


def _steps_of_parts(
    counted: NDArray[np.int64],
    parts: Sequence[tuple[NDArray[np.int64] | slice, int, int]],
    slots: int,
    width: int,
) -> tuple[int, int, int, int]:
    """The `_steps` of parts of diagonals, those of so many operands and of so many sums.

    And how many operands have baby steps that rotate.
    """
    babies = giants = stays = turned = 0
    for part, operands, sums in parts:
        of_one, rotating, still = _steps(counted[part], slots, width)
        babies += operands * of_one
        giants += sums * rotating
        stays += sums * still
        turned += operands * (of_one > 0)
    return babies, giants, stays, turned


def _spacings(numbers: NDArray[np.int64], slots: int) -> set[int]:
    """1, and the commonest distances between diagonals."""
    some = numbers[:: -(-len(numbers) // _COMPARED)]
    apart = (numbers - some[:, np.newaxis]).ravel() % slots
    distances = np.minimum(apart, slots - apart)
    frequencies = np.bincount(distances)
    frequencies[0] = 0
    values = np.flatnonzero(frequencies)
    common = values[np.argsort(-frequencies[values], kind="stable")[:_SPACINGS]]
    return {1, *common.tolist()}


def _countings(numbers: NDArray[np.int64], slots: int, width: int) -> list[NDArray[np.int64]]:
    """Each diagonal counted from 0 or from minus the slots up, in one way or another."""
    if slots % width == 0:
        # All ways have the same steps.
        return [numbers]
    # Diagonal 0 stays: minus the slots is no number of a diagonal.
    below = np.where(numbers > 0, numbers - slots, 0)
    up, down = numbers % width, below % width
    popularity = np.bincount(up, minlength=width) + np.bincount(down, minlength=width)
    return [
        numbers,
        np.where(numbers > slots // 2, below, numbers),
        np.where((up != 0) & (down == 0), below, numbers),
        np.where(popularity[down] > popularity[up], below, numbers),
    ]


def _steps(numbers: NDArray[np.int64], slots: int, width: int) -> tuple[int, int, int]:
    """Baby steps that rotate, giant steps, and how many of these do not rotate."""
    whole = numbers // width * width
    baby, giant = numbers - whole, whole % slots
    if len(numbers) > _FEW:
        return _count_marked(baby, slots), _count_marked(giant, slots), 0
    # Of a few hundred numbers sets are made faster than they are sorted.
    babies, giants = set(baby.tolist()), set(giant.tolist())
    return len(babies) - (0 in babies), len(giants), int(0 in giants)


def _count_marked(steps: NDArray[np.int64], slots: int) -> int:
    """How many steps there are but 0."""
    marks = np.zeros(slots, dtype=bool)
    marks[steps] = True
    return int(np.count_nonzero(marks[1:]))
