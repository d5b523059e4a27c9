"""Moving elements between layouts, over any number of ciphertexts.

A movement runs over an index space with one axis per label. Each index takes the
element at a source place, multiplies it by a weight and adds it to a target place.
Changes of layout, replications, weighted sums and whole contractions with a clear
operand are such movements. For each pair of ciphertexts it is one sparse set of
diagonals.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.layout import Layout

Indices = NDArray[np.int64]

# Elements up to which movements are kept, the last ones: 16 bytes each.
_FEW, _MANY = 1 << 16, 1 << 20


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """Factors by label: an array whose axes are named by `labels`; axes of size 1 stretch."""

    labels: str
    array: NDArray[np.float64]

    def __hash__(self) -> int:
        return hash((self.labels, self.array.shape, self.array.tobytes()))

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Weights)
            and self.labels == other.labels
            and np.array_equal(self.array, other.array)
        )


def movements(
    source: Layout, target: Layout, weights: Weights | None = None
) -> Iterable[Mapping[int, SparseDiagonals]]:
    """For each target ciphertext, the diagonals that every source ciphertext gives to it.

    Example:
        >>> from cloakwork.programs.layout import Axis
        >>> there = Layout(8, (Axis(2, 3, "i"), Axis(3, 1, "j")))
        >>> back = Layout(8, (Axis(2, 1, "i"), Axis(3, 2, "j")))
        >>> [parts[0].numbers.tolist() for parts in movements(there, back)]
        [[0, 1, 2, 6, 7]]
    """
    sizes = {axis.name: axis.size for axis in (*target.axes, *source.axes)}
    elements = math.prod(sizes.values())
    # Axes of other names are equal.
    names = tuple(axis.name for axis in (*source.axes, *target.axes))
    if elements <= _FEW:
        return _few_elements(source, target, weights, names)
    if elements <= _MANY:
        return _many_elements(source, target, weights, names)
    return _movements(source, target, weights)


# Plans of one search have the same movements again and again.
@lru_cache(maxsize=64)
def _few_elements(
    source: Layout, target: Layout, weights: Weights | None, _names: tuple[str, ...]
) -> Sequence[Mapping[int, SparseDiagonals]]:
    return tuple(_movements(source, target, weights))


@lru_cache(maxsize=8)
def _many_elements(
    source: Layout, target: Layout, weights: Weights | None, _names: tuple[str, ...]
) -> Sequence[Mapping[int, SparseDiagonals]]:
    return tuple(_movements(source, target, weights))


def _movements(
    source: Layout, target: Layout, weights: Weights | None
) -> Iterator[Mapping[int, SparseDiagonals]]:
    sources = {axis.name: axis for axis in source.axes}
    targets = {axis.name: axis for axis in target.axes}
    sizes = {name: axis.size for name, axis in (targets | sources).items()}
    labels = list(sizes)
    steps = _grid_steps(source)
    for place in target.tile_indices():
        ranges: dict[str, Indices] = {}
        for axis, tile in zip(target.axes, place, strict=True):
            start = tile * axis.extent
            ranges[axis.name] = np.arange(start, min(start + axis.extent, axis.size))
        for label in labels:
            ranges.setdefault(label, np.arange(sizes[label]))
        shape = tuple(len(ranges[label]) for label in labels)

        def spread(parts: Mapping[str, Indices], shape: tuple[int, ...] = shape) -> Indices:
            return _spread(parts, labels, shape)

        slots = source.offset + spread(
            {name: axis.stride * (ranges[name] % axis.extent) for name, axis in sources.items()}
        )
        arrived = target.offset + spread(
            {name: axis.stride * (ranges[name] % axis.extent) for name, axis in targets.items()}
        )
        tiles = spread(
            {name: steps[name] * (ranges[name] // axis.extent) for name, axis in sources.items()}
        )
        factors = None if weights is None else _factors(weights, ranges, labels, shape)
        yield by_source(source, tiles, slots, arrived, factors)


def by_source(
    source: Layout,
    tiles: Indices,
    slots: Indices,
    arrived: Indices,
    factors: NDArray[np.float64] | None = None,
) -> dict[int, SparseDiagonals]:
    """The diagonals that every source ciphertext gives to one target.

    Example:
        >>> from cloakwork.programs.layout import Axis
        >>> there = Layout(4, (Axis(8, 1, "i", tile=4),))
        >>> parts = by_source(there, np.array([0, 1]), np.array([1, 2]), np.array([0, 1]))
        >>> {tile: part.numbers.tolist() for tile, part in parts.items()}
        {0: [1], 1: [1]}
    """
    found: dict[int, SparseDiagonals] = {}
    for tile in np.unique(tiles):
        here = slice(None) if source.ciphertexts == 1 else tiles == tile
        diagonals = SparseDiagonals(
            source.slots, slots[here], arrived[here], None if factors is None else factors[here]
        )
        if len(diagonals):
            found[int(tile)] = diagonals
    return found


def _grid_steps(layout: Layout) -> dict[str, int]:
    steps: dict[str, int] = {}
    step = 1
    for axis in reversed(layout.axes):
        steps[axis.name] = step
        step *= axis.tiles
    return steps


def _spread(parts: Mapping[str, Indices], labels: list[str], shape: tuple[int, ...]) -> Indices:
    """The sum of one part per label, over the whole index space, flat."""
    summed = np.zeros((1,) * len(shape), dtype=np.int64)
    for name, part in parts.items():
        place = labels.index(name)
        summed = summed + part.reshape((-1,) + (1,) * (len(shape) - place - 1))
    return np.broadcast_to(summed, shape).ravel()


def _factors(
    weights: Weights, ranges: Mapping[str, Indices], labels: list[str], shape: tuple[int, ...]
) -> NDArray[np.float64]:
    order = [label for label in labels if label in weights.labels]
    array = weights.array.transpose([weights.labels.index(label) for label in order])
    chosen = array[
        np.ix_(
            *(
                ranges[label] if size > 1 else np.zeros(1, dtype=np.int64)
                for label, size in zip(order, array.shape, strict=True)
            )
        )
    ]
    full = [chosen.shape[order.index(label)] if label in order else 1 for label in labels]
    return np.broadcast_to(chosen.reshape(full), shape).ravel()
