"""Moving elements between layouts as one sparse linear transform.

A strided map runs over an index space with one axis per label. For each index
it takes the element at a source slot, multiplies it by a weight and adds it to
a destination slot; all three places are affine in the index. Permutations,
replications, weighted sums and whole contractions with a clear operand are such
maps. What a backend applies is the map's diagonals: `diagonal d` multiplies the
input rotated by d, where d = source - destination modulo the slots
(Halevi and Shoup, "Algorithms in HElib", CRYPTO 2014).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class StridedMap:
    """destination[index . destinations] += weights[index . weights] * source[index . sources].

    Args:
        sizes: Extent of each label.
        sources: Stride of each label among the source's slots.
        destinations: Stride of each label among the destination's slots.
        weights: Stride of each label in the flat array of weights.
    """

    sizes: tuple[int, ...]
    sources: tuple[int, ...]
    destinations: tuple[int, ...]
    weights: tuple[int, ...]


def diagonal_numbers(strided: StridedMap, slots: int) -> NDArray[np.int64]:
    """The diagonals that the map touches, ascending, without running over its indices.

    Example:
        >>> diagonal_numbers(StridedMap((2, 3), (3, 1), (3, 2), (0, 0)), 8).tolist()
        [0, 6, 7]
    """
    numbers = np.zeros(1, dtype=np.int64)
    for size, source, destination in zip(
        strided.sizes, strided.sources, strided.destinations, strict=True
    ):
        if source != destination:
            offsets = (source - destination) * np.arange(size, dtype=np.int64)
            numbers = np.unique((numbers[:, np.newaxis] + offsets) % slots)
    return numbers


def diagonals(
    strided: StridedMap, slots: int, weights: NDArray[np.float64]
) -> dict[int, NDArray[np.float64]]:
    """The map's diagonals as vectors of `slots` numbers, those without a weight left out.

    Args:
        strided: The map.
        slots: Slots of source and destination.
        weights: Flat array that the map's weight strides point into.

    Example:
        >>> shift = StridedMap((3,), (1,), (0,), (1,))
        >>> {d: v.tolist() for d, v in diagonals(shift, 4, np.array([5.0, 6.0, 7.0])).items()}
        {0: [5.0, 0.0, 0.0, 0.0], 1: [6.0, 0.0, 0.0, 0.0], 2: [7.0, 0.0, 0.0, 0.0]}
    """
    numbers = diagonal_numbers(strided, slots)
    source = _affine(strided.sizes, strided.sources)
    destination = _affine(strided.sizes, strided.destinations)
    rows = np.searchsorted(numbers, (source - destination) % slots)
    summed = np.bincount(
        rows * slots + destination,
        weights=weights[_affine(strided.sizes, strided.weights)],
        minlength=len(numbers) * slots,
    )
    filled = summed.astype(np.float64, copy=False).reshape(len(numbers), slots)
    used = {int(d): row for d, row in zip(numbers, filled, strict=True) if row.any()}
    return used or {0: np.zeros(slots)}


def _affine(sizes: Sequence[int], strides: Sequence[int]) -> NDArray[np.int64]:
    places = np.zeros(1, dtype=np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        places = (places[:, np.newaxis] + stride * np.arange(size, dtype=np.int64)).ravel()
    assert len(places) == math.prod(sizes)
    return places
