"""Planning the contraction of one or two tensors.

A contraction has up to four stages, each left out where it has nothing to do:

1. each encrypted operand sums the labels that are its own;
2. gather: it moves to a common arrangement of labels (one sparse linear transform)
   and is copied along the labels it lacks (rotations);
3. multiply: slot by slot by the other operand, ciphertext by ciphertext. A clear one
   enters as constants, or inside a linear transform that sums at the same time;
4. reduce: the labels left over are summed, over ciphertexts first, then by rotations.

An arrangement says for every label how it is cut into tiles and how far apart its
elements lie. The planner scores many, writes the operations of the best few into a
scratch program, and keeps the cheapest.
"""

from __future__ import annotations

import itertools
import math
import string
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.layout import Axis, Layout, are_distinct, default_layout, nest, power_of_two
from cloakwork.plan.movement import Weights
from cloakwork.plan.placed import (
    Placed,
    cleaned,
    copied,
    gathered,
    level_of,
    moved,
    moved_freely,
    multiplied,
    ordered,
    summed,
)
from cloakwork.plan.price import price
from cloakwork.plan.rotate import cheapest_split, merge, sum_steps
from cloakwork.programs.slots import Builder, Input

Sizes: TypeAlias = Mapping[str, int]

# In units of one rotation: a level spent is a level that no later operation has.
LEVEL_PRICE = 80.0
_DIAGONAL_PRICE = 0.6
_PRODUCT_PRICE = 1.0
# Whatever comes after works on every ciphertext of the result.
_RESULT_PRICE = 10.0
_PERMUTED_LABELS = 4
# Arrangements whose operations are written out, of all that are scored.
_TRIED = 6
_MOST_STAGES = 2
# Levels that a scratch program starts above its operands', so that it never runs out.
_LIFT = 64


@dataclass(frozen=True, slots=True)
class Encrypted:
    """An encrypted operand: its labels, one per axis, its layout and its level."""

    labels: str
    layout: Layout
    level: int


@dataclass(frozen=True, slots=True)
class Clear:
    """A clear operand: its labels, one per axis, and its shape."""

    labels: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Free:
    """An operand that will be encrypted in whatever layout is best: its labels and shape."""

    labels: str
    shape: tuple[int, ...]


Operand: TypeAlias = Encrypted | Clear | Free


class Packing(Protocol):
    """An input that has no layout yet."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    def packed(self, builder: Builder, layout: Layout) -> Placed: ...


@dataclass(frozen=True, slots=True)
class Way:
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
    operands: Sequence[Placed | Packing | NDArray[np.float64]],
    labels: Sequence[str],
    output: str,
    way: Way,
) -> Placed:
    """Append a contraction, done in the given way.

    Args:
        builder: Where the operations go.
        operands: One or two; clear arrays but for at least one.
        labels: Labels of each operand, one per axis.
        output: Labels of the result.
        way: The arrangement; one of `ways`.

    Raises:
        LevelExhaustedError: The operands have too few levels.
    """
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
        result = multiplied(builder, pair[0], pair[1], way.axes, shown)
    else:
        result = encrypted[0]
    gone = set(result.names) - set(output)
    return _shown(summed(builder, result, gone), output, size_of)


def _sizes(
    labels: Sequence[str], operands: Iterable[Placed | Packing | NDArray[np.float64]]
) -> dict[str, int]:
    size_of: dict[str, int] = {}
    for names, each in zip(labels, operands, strict=True):
        for name, size in zip(names, _shape_of(each), strict=True):
            size_of[name] = max(size, size_of.get(name, 1))
    return size_of


def _shape_of(operand: Placed | Packing | NDArray[np.float64]) -> tuple[int, ...]:
    return operand.layout.shape if isinstance(operand, Placed) else operand.shape


def _own(builder: Builder, placed: Placed, names: str, wanted: set[str]) -> Placed:
    """The operand by label, with the labels nobody else wants summed away."""
    labelled = _labelled(builder, placed, names)
    gone = set(labelled.names) - wanted
    if labelled.layout.dirty and any(labelled.axis(name).ragged for name in gone):
        labelled = cleaned(builder, labelled)
    return summed(builder, labelled, gone)


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
    return Placed(values, replace(layout, axes=tuple(axes), dirty=True))


def _diagonal_moved(builder: Builder, placed: Placed) -> Placed:
    """The elements at which axes of one name agree, moved; it takes a level, whatever the cuts."""
    kept = "".join(dict.fromkeys(placed.names))
    terms = "->".join(_plain(labels, placed.names) for labels in (placed.names, kept))
    tiles, slots = (np.einsum(terms, each) for each in placed.layout.tile_places())
    target = default_layout(tiles.shape, builder.slots)
    axes = tuple(replace(axis, name=name) for name, axis in zip(kept, target.axes, strict=True))
    return moved_freely(builder, placed, tiles, slots, replace(target, axes=axes))


def _packed(
    builder: Builder, free: Packing, names: str, axes: Sequence[Axis], wanted: set[str]
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
            if all(pair[number].layout.dirty for number in holders):
                replicas = pair[holders[0]].layout.replicas
                bare = cleaned(builder, pair[holders[0]])
                pair[holders[0]] = copied(builder, bare, replicas)
    return pair


def _weighed(builder: Builder, placed: Placed, weights: Weights, output: str, way: Way) -> Placed:
    weights = _summed_weights(weights, placed.names, output)
    if not way.copies_first:
        return moved(builder, placed, Layout(builder.slots, way.axes), weights)
    everywhere = _reused(gathered(builder, placed, way.axes), way.axes)
    return moved(builder, everywhere, Layout(builder.slots, way.axes), weights)


def _lacking(placed: Placed, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    return tuple(axis for axis in axes if axis.name not in placed.names)


def _reused(placed: Placed, axes: Sequence[Axis]) -> Placed:
    """Copies as elements, so that each meets a weight of its own.

    Every ciphertext stands for all tiles of the labels that the tensor lacks.
    """
    grid = np.asarray(placed.values).reshape(placed.layout.grid)
    lacking = _lacking(placed, axes)
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


@lru_cache(maxsize=4096)
def ways(
    operands: tuple[Operand, ...],
    output: str,
    slots: int,
    count: int = 1,
    level_price: float = LEVEL_PRICE,
) -> tuple[Way, ...]:
    """The cheapest ways found to contract one or two operands, cheapest first.

    Args:
        operands: One or two, at least one of them encrypted or free.
        output: Labels of the result, each once.
        slots: Slots of a ciphertext.
        count: How many ways at most; their results lie differently.
        level_price: What a level is worth, in rotations.

    Raises:
        LevelExhaustedError: Every way takes more levels than the operands have.

    Example:
        >>> x = Encrypted("ij", default_layout((3, 4), 16), level=3)
        >>> ways((x,), "ji", 16)
        (Way(axes=(), copies_first=True, stages=1),)
    """
    candidates = list(dict.fromkeys(_candidates(operands, output, slots)))
    if len(candidates) > _TRIED * count:
        candidates.sort(key=lambda way: _score(operands, output, way, slots))
        del candidates[_TRIED * count :]
    found: list[tuple[float, int, Way]] = []
    for way in candidates:
        cost, used = _tried(operands, output, way, slots, level_price)
        found.append((cost, used, way))
    _, _, best = min(found, key=lambda each: each[0])
    for stages in range(2, _MOST_STAGES + 1 if len(operands) > 1 else 2):
        further = replace(best, stages=stages)
        cost, used = _tried(operands, output, further, slots, level_price)
        found.append((cost, used, further))
    least = min(used for _, used, _ in found)
    levels = [each.level for each in operands if isinstance(each, Encrypted)]
    available = min(levels) if levels else _LIFT
    affordable = [(cost, way) for cost, used, way in found if used <= available]
    if not affordable:
        raise LevelExhaustedError(
            f"needs {least} level(s), the operands have {available}; make the session deeper"
        )
    affordable.sort(key=lambda each: each[0])
    return tuple(way for _, way in affordable[:count])


def _tried(
    operands: Sequence[Operand], output: str, way: Way, slots: int, level_price: float
) -> tuple[float, int]:
    """Price and levels of a way, from its operations."""
    builder = Builder("", slots)
    stand_ins: list[Placed | Packing | NDArray[np.float64]] = []
    levels: list[int] = []
    for each in operands:
        match each:
            case Encrypted(layout=layout, level=level):
                values = tuple(
                    builder.append(Input("", level + _LIFT)) for _ in range(layout.ciphertexts)
                )
                stand_ins.append(Placed(values, layout))
                levels.append(level + _LIFT)
            case Clear(shape=shape):
                stand_ins.append(np.ones(shape))
            case Free(shape=shape):
                stand_ins.append(_ScratchInput(shape))
    before = len(builder.operations)
    result = contract(builder, stand_ins, [each.labels for each in operands], output, way)
    start = min(levels) if levels else 2 * _LIFT
    used = start - level_of(builder, result)
    results = _RESULT_PRICE * len(result.values)
    return price(builder.operations, slots, before) + results + level_price * used, used


@dataclass(frozen=True, slots=True)
class _ScratchInput:
    shape: tuple[int, ...]

    def packed(self, builder: Builder, layout: Layout) -> Placed:
        values = tuple(builder.append(Input("", 2 * _LIFT)) for _ in range(layout.ciphertexts))
        return Placed(values, layout)


@dataclass(frozen=True, slots=True)
class _Anchor:
    """An encrypted operand by label, as far as scoring looks at it."""

    axes: Mapping[str, Axis]
    dirty: bool


def _candidates(operands: Sequence[Operand], output: str, slots: int) -> Iterator[Way]:
    size_of: dict[str, int] = {}
    for each in operands:
        for label, size in zip(each.labels, _shape(each), strict=True):
            size_of[label] = max(size, size_of.get(label, 1))
    if len(operands) == 1:
        yield Way(())
        return
    anchors = [_anchor(each) for each in operands if isinstance(each, Encrypted)]
    clear = any(isinstance(each, Clear) for each in operands)
    varying = _varying(operands, output)
    shown = [label for label in output if label in varying]
    contracted = [label for label in sorted(varying) if label not in output]
    choices = [tuple(shown + contracted)]
    if clear and contracted:
        choices.append(tuple(shown))
    for labels in choices:
        full = len(labels) == len(varying)
        for extents in _tilings(labels, anchors, size_of, slots):
            for strides in _arrangements(labels, anchors, extents, slots):
                axes = tuple(
                    Axis(
                        size_of[label],
                        strides[label],
                        label,
                        extents[label] if extents[label] < size_of[label] else 0,
                    )
                    for label in labels
                )
                if full:
                    yield Way(axes)
                if clear and anchors:
                    yield Way(axes, copies_first=False)


def _shape(operand: Operand) -> tuple[int, ...]:
    return operand.layout.shape if isinstance(operand, Encrypted) else operand.shape


def _varying(operands: Sequence[Operand], output: str) -> set[str]:
    """Labels of size above 1 that the product runs over: shared ones and those of the result."""
    holders: dict[str, int] = {}
    for each in operands:
        long = {label for label, size in zip(each.labels, _shape(each), strict=True) if size > 1}
        for label in long:
            holders[label] = holders.get(label, 0) + 1
    return {label for label, count in holders.items() if count > 1 or label in output}


def _anchor(operand: Encrypted) -> _Anchor:
    axes: dict[str, Axis] = {}
    for label, axis in zip(operand.labels, operand.layout.axes, strict=True):
        if axis.size > 1:
            known = axes.get(label)
            stride = axis.stride + (known.stride if known else 0)
            axes[label] = replace(axis, name=label, stride=stride)
    spilled = operand.layout.dirty or bool(operand.layout.replicas)
    return _Anchor(axes, spilled or len(set(operand.labels)) < len(operand.labels))


def _tilings(
    labels: Sequence[str], anchors: Sequence[_Anchor], size_of: Sizes, slots: int
) -> Iterator[dict[str, int]]:
    """How many elements of each label one ciphertext takes."""
    seen: set[tuple[int, ...]] = set()
    for priority in (anchors, anchors[::-1]):
        known = {
            label: anchor.axes[label].extent
            for anchor in reversed(priority)
            for label in anchor.axes
        }
        base = {label: known.get(label, size_of[label]) for label in labels}
        for extents in _shrunk(base, slots):
            key = tuple(extents.values())
            if key not in seen:
                seen.add(key)
                yield extents


def _shrunk(base: dict[str, int], slots: int) -> Iterator[dict[str, int]]:
    if math.prod(base.values()) <= slots:
        yield base
        return
    labels = list(base)
    orders: Iterable[Sequence[str]] = (
        itertools.permutations(labels)
        if len(labels) <= _PERMUTED_LABELS
        else (labels[start:] + labels[:start] for start in range(len(labels)))
    )
    for order in orders:
        extents = dict(base)
        for label in order:
            while math.prod(extents.values()) > slots and extents[label] > 1:
                extents[label] = power_of_two(extents[label]) // 2
        yield extents


def _arrangements(
    labels: Sequence[str], anchors: Sequence[_Anchor], extents: Sizes, slots: int
) -> Iterator[dict[str, int]]:
    """Strides for the labels: an operand's own, extended by the rest; and dense ones."""
    seen: set[tuple[int, ...]] = set()
    for axes in _raw_arrangements(labels, anchors, extents):
        strides = {axis.name: axis.stride for axis in axes}
        key = tuple(strides[label] for label in labels)
        if key not in seen and min(key, default=0) >= 0 and are_distinct(axes, slots):
            seen.add(key)
            yield strides


def _raw_arrangements(
    labels: Sequence[str], anchors: Sequence[_Anchor], extents: Sizes
) -> Iterator[tuple[Axis, ...]]:
    for anchor in anchors:
        kept = tuple(
            Axis(extents[label], anchor.axes[label].stride, label)
            for label in labels
            if label in anchor.axes and extents[label] > 1
        )
        alone = tuple(
            Axis(1, 0, label) for label in labels if label in anchor.axes and extents[label] == 1
        )
        rest = [(label, extents[label]) for label in labels if label not in anchor.axes]
        span = 1 + sum((axis.size - 1) * axis.stride for axis in kept)
        starts = {1, span, power_of_two(max(span, 1))}
        starts |= {axis.size * axis.stride for axis in kept}
        starts |= {axis.stride for axis in kept}
        for innermost in sorted(start for start in starts if start > 0):
            for order in (rest, rest[::-1]):
                yield kept + alone + nest(order, innermost=innermost)
    orders: Iterable[Sequence[str]] = (
        itertools.permutations(labels)
        if len(labels) <= _PERMUTED_LABELS
        else (labels, labels[::-1])
    )
    for names in orders:
        yield nest([(label, extents[label]) for label in names], innermost=1)
        padded = nest([(label, power_of_two(extents[label])) for label in names], innermost=1)
        yield tuple(Axis(extents[axis.name], axis.stride, axis.name) for axis in padded)


def _score(operands: Sequence[Operand], output: str, way: Way, slots: int) -> float:
    """A quick guess of a way's price, by which the ways to try are chosen."""
    cost = 0.0
    for each in operands:
        if isinstance(each, Encrypted):
            cost += _gather_score(_anchor(each), way, slots)
    products = math.prod(axis.tiles for axis in way.axes)
    shown = math.prod(axis.tiles for axis in way.axes if axis.name in output)
    reduced = merge([axis.in_tile for axis in way.axes if axis.name not in output])
    steps = sum(len(sum_steps(axis)) for axis in reduced)
    return cost + _PRODUCT_PRICE * products + shown * (_RESULT_PRICE + 1.0 + steps)


def _gather_score(anchor: _Anchor, way: Way, slots: int) -> float:
    own = [axis for axis in way.axes if axis.name in anchor.axes]
    missing = merge([axis.in_tile for axis in way.axes if axis.name not in anchor.axes])
    count = math.prod(axis.tiles for axis in own)
    numbers = np.zeros(1, dtype=np.int64)
    in_place = True
    for axis in own:
        known = anchor.axes[axis.name]
        in_place &= (known.stride, known.extent) == (axis.stride, axis.extent)
        if known.stride != axis.stride:
            offsets = (known.stride - axis.stride) * np.arange(axis.extent, dtype=np.int64)
            numbers = np.unique((numbers[:, np.newaxis] + offsets) % slots)
    summed_inside = [label for label in anchor.axes if label not in {a.name for a in own}]
    for label in summed_inside:
        known = anchor.axes[label]
        offsets = known.stride * np.arange(known.extent, dtype=np.int64)
        numbers = np.unique((numbers[:, np.newaxis] + offsets) % slots)
    copies = sum(len(sum_steps(axis)) for axis in missing) if way.copies_first else 0
    if in_place and not summed_inside and not (missing and anchor.dirty):
        return float(count * copies)
    split = cheapest_split(numbers, slots)
    return count * (copies + split.cost + _DIAGONAL_PRICE * len(numbers)) + LEVEL_PRICE


def contracted(
    builder: Builder,
    operands: Sequence[Placed | Packing | NDArray[np.float64]],
    labels: Sequence[str],
    output: str,
    choice: int = 0,
    level_price: float = LEVEL_PRICE,
) -> Placed:
    """Plan a contraction and append it.

    Args:
        builder: Where the operations go.
        operands: One or two, at least one not clear.
        labels: Labels of each operand, one per axis.
        output: Labels of the result.
        choice: Which of the ways, the cheapest being 0; where there are fewer, the last.
        level_price: What a level is worth, in rotations.

    Raises:
        LevelExhaustedError: The operands have too few levels.
    """
    described = tuple(
        _described(builder, each, names) for names, each in zip(labels, operands, strict=True)
    )
    found = ways(described, output, builder.slots, choice + 1, level_price)
    return contract(builder, operands, labels, output, found[-1])


def _described(
    builder: Builder, operand: Placed | Packing | NDArray[np.float64], labels: str
) -> Operand:
    if isinstance(operand, np.ndarray):
        return Clear(labels, operand.shape)
    if isinstance(operand, Placed):
        return Encrypted(labels, operand.layout, level_of(builder, operand))
    return Free(labels, operand.shape)
