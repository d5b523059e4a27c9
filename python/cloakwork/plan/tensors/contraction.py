"""Contracting one or two tensors in a given way: the operations that it takes.

A contraction has up to four stages, each left out where it has nothing to do:

1. each encrypted operand sums the labels that are its own;
2. gather: it moves to a common arrangement of labels (sparse linear transforms)
   and is copied along the labels it lacks (rotations);
3. multiply: slot by slot by the other operand, ciphertext by ciphertext. A clear one
   enters as constants, or inside a linear transform that sums at the same time;
4. reduce: the labels left over are summed, over ciphertexts first, then by rotations.

An arrangement says for every label how it is cut into tiles and how far apart its
elements lie; `plan.tensors.strategies` chooses one.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.tensors.movement import Weights
from cloakwork.plan.tensors.placed import (
    Placed,
    copied,
    gathered,
    masked,
    merge,
    moved,
    moved_freely,
    multiplied_tensors,
    ordered,
    summed_labels,
)
from cloakwork.programs.layout import Axis, Layout, default_layout
from cloakwork.programs.slots import Builder

Sizes: TypeAlias = Mapping[str, int]


class UnpackedInput(Protocol):
    """An input that has no layout yet."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def packed(self, builder: Builder, layout: Layout) -> Placed: ...


@dataclass(frozen=True, slots=True)
class ContractionWay:
    """How to contract: the arrangement of labels, and what happens before the product.

    Args:
        axes: Tile and stride of every label, in tiles of one size each.
        copies_first: Whether an encrypted operand is copied along the labels it lacks
            before clear factors enter, or by them.
        stages: Levels that a change of layout may take.
    """

    axes: tuple[Axis, ...]
    copies_first: bool = True
    stages: int = 1


def contract(
    builder: Builder,
    operands: Sequence[Placed | UnpackedInput | NDArray[np.float64]],
    labels: Sequence[str],
    output: str,
    way: ContractionWay,
) -> Placed:
    """Append a contraction, done in the given way."""
    clear = [
        Weights(names, each)
        for names, each in zip(labels, operands, strict=True)
        if isinstance(each, np.ndarray)
    ]
    size_of = _sizes(labels, operands)
    arranged = "".join(axis.name for axis in way.axes)
    others = [
        {name for name, size in zip(names, _shape_of(each), strict=True) if size > 1}
        for names, each in zip(labels, operands, strict=True)
    ]
    encrypted: list[Placed] = []
    for number, (names, each) in enumerate(zip(labels, operands, strict=True)):
        if isinstance(each, np.ndarray):
            continue
        wanted = set(output).union(*others[:number], *others[number + 1 :])
        if isinstance(each, Placed):
            encrypted.append(_own(builder, each, names, wanted))
        else:
            encrypted.append(_packed(builder, each, names, way.axes, wanted))
    if clear:
        result = _weighed(builder, encrypted[0], clear[0], output, way)
    elif len(encrypted) == 2:
        pair = [gathered(builder, each, way.axes, way.stages) for each in encrypted]
        pair = _without_garbage(builder, pair, way.axes, output)
        shown = "".join(label for label in output if label in arranged)
        result = multiplied_tensors(builder, pair[0], pair[1], way.axes, shown)
    else:
        result = encrypted[0]
    gone = set(result.names) - set(output)
    return _shown(summed_labels(builder, result, gone), output, size_of)


def _sizes(
    labels: Sequence[str], operands: Iterable[Placed | UnpackedInput | NDArray[np.float64]]
) -> dict[str, int]:
    size_of: dict[str, int] = {}
    for names, each in zip(labels, operands, strict=True):
        for name, size in zip(names, _shape_of(each), strict=True):
            size_of[name] = max(size, size_of.get(name, 1))
    return size_of


def _shape_of(operand: Placed | UnpackedInput | NDArray[np.float64]) -> tuple[int, ...]:
    return operand.layout.shape if isinstance(operand, Placed) else operand.shape


def _own(builder: Builder, placed: Placed, names: str, wanted: set[str]) -> Placed:
    """The operand by label, with the labels nobody else wants summed away."""
    labelled = _labelled(builder, placed, names)
    gone = set(labelled.names) - wanted
    if labelled.layout.garbage and any(labelled.axis(name).ragged for name in gone):
        labelled = masked(builder, labelled)
    return summed_labels(builder, labelled, gone)


def _labelled(builder: Builder, placed: Placed, names: str) -> Placed:
    """The tensor with its axes named by label, those of size 1 dropped, each label once."""
    layout = placed.layout
    axes = tuple(replace(axis, name=name) for name, axis in zip(names, layout.axes, strict=True))
    varying = tuple(axis for axis in axes if axis.size > 1)
    placed = replace(placed, layout=replace(layout, axes=varying))
    if len({(axis.name, axis.extent) for axis in varying}) > len(set(placed.names)):
        return _diagonal_moved(builder, placed)
    for name in dict.fromkeys(placed.names):
        while placed.names.count(name) > 1:
            placed = _diagonal(placed, name)
    return placed


def _diagonal(placed: Placed, name: str) -> Placed:
    """The elements at which two axes of one name agree, as one axis; the two are cut alike."""
    layout = placed.layout
    first, second, *_ = (number for number, axis in enumerate(layout.axes) if axis.name == name)
    grid = np.asarray(placed.values).reshape(layout.grid)
    chosen = np.moveaxis(np.diagonal(grid, axis1=first, axis2=second), -1, first)
    axes = list(layout.axes)
    other = axes.pop(second)
    axes[first] = replace(axes[first], stride=axes[first].stride + other.stride)
    values = tuple(int(value) for value in chosen.ravel())
    return Placed(values, replace(layout, axes=tuple(axes), garbage=True))


def _diagonal_moved(builder: Builder, placed: Placed) -> Placed:
    """The elements at which axes of one name agree, moved; it takes a level, whatever the cuts."""
    kept = "".join(dict.fromkeys(placed.names))
    terms = "->".join(_plain(labels, placed.names) for labels in (placed.names, kept))
    tiles, slots = (np.einsum(terms, each) for each in placed.layout.tile_places())
    target = default_layout(tiles.shape, builder.slots)
    axes = tuple(replace(axis, name=name) for name, axis in zip(kept, target.axes, strict=True))
    return moved_freely(builder, placed, tiles, slots, replace(target, axes=axes))


def _packed(
    builder: Builder, free: UnpackedInput, names: str, axes: Sequence[Axis], wanted: set[str]
) -> Placed:
    """An input encrypted as the arrangement wants it, where its labels allow."""
    arranged = {axis.name: axis for axis in axes}
    varying = [name for name, size in zip(names, free.shape, strict=True) if size > 1]
    if len(set(names)) < len(names) or not set(varying) <= set(arranged) & wanted:
        layout = default_layout(free.shape, builder.slots)
        return _own(builder, free.packed(builder, layout), names, wanted)
    own = tuple(
        arranged[name] if size > 1 else Axis(1, 0, name)
        for name, size in zip(names, free.shape, strict=True)
    )
    missing = merge([axis.in_tile for axis in axes if axis.name not in varying])
    layout = Layout(builder.slots, own, missing)
    return _own(builder, free.packed(builder, layout), names, wanted)


def _without_garbage(
    builder: Builder, pair: Sequence[Placed], axes: Sequence[Axis], output: str
) -> list[Placed]:
    """Operands of which one at least is zero wherever a sum will read past the elements."""
    pair = list(pair)
    for axis in axes:
        if axis.ragged and axis.name not in output:
            holders = [number for number, each in enumerate(pair) if axis.name in each.names]
            if all(pair[number].layout.garbage for number in holders):
                replicas = pair[holders[0]].layout.replicas
                bare = masked(builder, pair[holders[0]])
                pair[holders[0]] = copied(builder, bare, replicas)
    return pair


def _weighed(
    builder: Builder, placed: Placed, weights: Weights, output: str, way: ContractionWay
) -> Placed:
    weights = _summed_weights(weights, placed.names, output)
    if not way.copies_first:
        return moved(builder, placed, Layout(builder.slots, way.axes), weights)
    everywhere = _reused(gathered(builder, placed, way.axes), way.axes)
    return moved(builder, everywhere, Layout(builder.slots, way.axes), weights)


def _reused(placed: Placed, axes: Sequence[Axis]) -> Placed:
    """Copies as elements, so that each meets a weight of its own.

    Every ciphertext stands for all tiles of the labels that the tensor lacks.
    """
    grid = np.asarray(placed.values).reshape(placed.layout.grid)
    lacking = tuple(axis for axis in axes if axis.name not in placed.names)
    spread = np.broadcast_to(
        grid.reshape(grid.shape + (1,) * len(lacking)),
        grid.shape + tuple(axis.tiles for axis in lacking),
    )
    layout = Layout(placed.layout.slots, placed.layout.axes + lacking)
    return Placed(tuple(int(value) for value in spread.ravel()), layout)


def _summed_weights(weights: Weights, names: str, output: str) -> Weights:
    """The weights with labels that are theirs alone summed, and repeated ones joined."""
    stretched = {
        label for label, size in zip(weights.labels, weights.array.shape, strict=True) if size == 1
    }
    kept = "".join(
        label
        for label in dict.fromkeys(weights.labels)
        if label not in stretched and (label in names or label in output)
    )
    terms = (_plain(labels, weights.labels) for labels in (weights.labels, kept))
    array = np.einsum("->".join(terms), weights.array)
    return Weights(kept, np.asarray(array))


def _plain(labels: str, alphabet: str) -> str:
    """Labels as letters that numpy takes."""
    letters = dict(zip(dict.fromkeys(alphabet), string.ascii_letters, strict=False))
    return "".join(letters[label] for label in labels)


def _shown(placed: Placed, output: str, size_of: Sizes) -> Placed:
    """The result with its axes in the order of the output, those of size 1 back."""
    varying = "".join(label for label in output if label in placed.names)
    in_order = ordered(placed, varying)
    axes = tuple(
        in_order.axis(label) if label in varying else Axis(size_of[label], 0, label)
        for label in output
    )
    return replace(in_order, layout=replace(in_order.layout, axes=axes))
