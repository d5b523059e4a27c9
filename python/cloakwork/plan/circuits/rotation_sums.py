"""Sums of rotations of one vector, in few rotations.

The sum of a vector's rotations by 0, 1, 2 and 3 takes two rotations: x + rotate(x, 1) is
rotated by 2 and added to itself. In general a set of offsets is split into pairs that one
distance apart, what is left over being summed for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

# Up to so many offsets all distances are tried for a split, above it the least and the middle.
_FEW = 12


@dataclass(frozen=True, slots=True)
class Direct:
    """The sum of the rotations, one by one."""

    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Doubled:
    """A sum and its rotation by a distance, and the rest."""

    half: Direct | Doubled
    distance: int
    rest: Direct | Doubled | None


def cheapest_sum(offsets: tuple[int, ...], hoisted: float) -> Direct | Doubled:
    """The cheapest way to sum rotations of a vector.

    Example:
        >>> cheapest_sum((0, 1, 2, 3), hoisted=0.5)
        Doubled(half=Direct(offsets=(0, 2)), distance=1, rest=None)
    """
    return _best(offsets, hoisted)[2]


def rotations(offsets: tuple[int, ...], hoisted: float) -> float:
    """What `cheapest_sum` costs, in first rotations.

    Example:
        >>> rotations((0, 1, 2, 3), hoisted=0.5)
        2.0
    """
    return _best(offsets, hoisted)[0]


@lru_cache(maxsize=65536)
def _best(offsets: tuple[int, ...], hoisted: float) -> tuple[float, int, Direct | Doubled]:
    turns = sum(offset != 0 for offset in offsets)
    best: tuple[float, int, Direct | Doubled] = (
        1 + hoisted * (turns - 1) if turns else 0.0,
        turns,
        Direct(offsets),
    )
    if len(offsets) < 4:
        return best
    for half, distance, rest in _splits(offsets):
        cost, count, first = _best(half, hoisted)
        cost, count = cost + 1, count + 1
        second = None
        if rest:
            more, further, second = _best(rest, hoisted)
            # The rest is mostly a rotation beside others of the same vector.
            cost += more - ((1 - hoisted) if more else 0)
            count += further
        if (cost, count) < best[:2]:
            best = (cost, count, Doubled(first, distance, second))
    return best


def _splits(
    offsets: tuple[int, ...],
) -> Iterator[tuple[tuple[int, ...], int, tuple[int, ...]]]:
    distances = sorted({each - offsets[0] for each in offsets[1:]})
    if len(distances) > _FEW:
        distances = [distances[0], distances[len(distances) // 2]]
    for distance in distances:
        left = set(offsets)
        half: list[int] = []
        rest: list[int] = []
        for each in offsets:
            if each not in left:
                continue
            left.remove(each)
            if each + distance in left:
                left.remove(each + distance)
                half.append(each)
            else:
                rest.append(each)
        if not half:
            continue
        # The half that holds 0 needs no rotation of its own.
        if 0 not in half and -distance in half:
            yield tuple(each + distance for each in half), -distance, tuple(rest)
        else:
            yield tuple(half), distance, tuple(rest)


def emit(
    plan: Direct | Doubled,
    vector: int,
    rotated: Callable[[int, int], int],
    added: Callable[[int, int], int],
) -> int:
    """Make a sum of rotations of a vector."""
    match plan:
        case Direct(offsets=offsets):
            total = rotated(vector, offsets[0])
            for offset in offsets[1:]:
                total = added(total, rotated(vector, offset))
            return total
        case Doubled(half=half, distance=distance, rest=rest):
            first = emit(half, vector, rotated, added)
            total = added(first, rotated(first, distance))
            return total if rest is None else added(total, emit(rest, vector, rotated, added))
