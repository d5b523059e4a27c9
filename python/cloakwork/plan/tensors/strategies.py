"""Choosing how to contract: the best arrangements are written out, and the cheapest is kept.

An arrangement says for every label how it is cut into tiles, one ciphertext each, and
how far apart its elements lie in the slots. A quick guess of their price says which are best.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.progress import progress_bar
from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.cost import price
from cloakwork.plan.tensors.contraction import ContractionWay, UnpackedInput, contract
from cloakwork.plan.tensors.placed import (
    Placed,
    level_of,
    merge,
    sum_steps,
)
from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.layout import Axis, Layout, are_distinct, nest, power_of_two
from cloakwork.programs.slots import Builder, Input

# Arrangements whose operations are written out, of all that are scored.
_TRIED = 6
_MOST_STAGES = 2
# Levels that a scratch program starts above its operands', so that it never runs out.
_LIFT = 64
Sizes: TypeAlias = Mapping[str, int]

_PERMUTED_LABELS = 4


@dataclass(frozen=True, slots=True)
class EncryptedOperand:
    """An encrypted operand: its labels, one per axis, its layout and its level."""

    labels: str
    layout: Layout
    level: int


@dataclass(frozen=True, slots=True)
class ClearOperand:
    """A clear operand: its labels, one per axis, and its shape."""

    labels: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Free:
    """An operand that will be encrypted in whatever layout is best: its labels and shape."""

    labels: str
    shape: tuple[int, ...]


Operand: TypeAlias = EncryptedOperand | ClearOperand | Free


@dataclass(frozen=True, slots=True)
class _Anchor:
    """An encrypted operand by label, as far as scoring looks at it."""

    axes: Mapping[str, Axis]
    garbage: bool


def candidates(operands: Sequence[Operand], output: str, slots: int) -> Iterator[ContractionWay]:
    """Ways that may be worth trying; some come more than once.

    Example:
        >>> x = EncryptedOperand("i", Layout(8, (Axis(4, 2),)), level=1)
        >>> len(set(candidates((x, x), "i", 8))) > 1
        True
    """
    size_of: dict[str, int] = {}
    for each in operands:
        for label, size in zip(each.labels, _shape(each), strict=True):
            size_of[label] = max(size, size_of.get(label, 1))
    if len(operands) == 1:
        yield ContractionWay(())
        return
    anchors = [_anchor(each) for each in operands if isinstance(each, EncryptedOperand)]
    clear = any(isinstance(each, ClearOperand) for each in operands)
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
                    yield ContractionWay(axes)
                if clear and anchors:
                    yield ContractionWay(axes, copies_first=False)


def _shape(operand: Operand) -> tuple[int, ...]:
    return operand.layout.shape if isinstance(operand, EncryptedOperand) else operand.shape


def _varying(operands: Sequence[Operand], output: str) -> set[str]:
    """Labels of size above 1 that the product runs over: shared ones and those of the result."""
    counts: dict[str, int] = {}
    for each in operands:
        long = {label for label, size in zip(each.labels, _shape(each), strict=True) if size > 1}
        for label in long:
            counts[label] = counts.get(label, 0) + 1
    return {label for label, count in counts.items() if count > 1 or label in output}


def _anchor(operand: EncryptedOperand) -> _Anchor:
    axes: dict[str, Axis] = {}
    for label, axis in zip(operand.labels, operand.layout.axes, strict=True):
        if axis.size > 1:
            known = axes.get(label)
            stride = axis.stride + (known.stride if known else 0)
            axes[label] = replace(axis, name=label, stride=stride)
    has_garbage = operand.layout.garbage or bool(operand.layout.replicas)
    return _Anchor(axes, has_garbage or len(set(operand.labels)) < len(operand.labels))


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


def score(operands: Sequence[Operand], output: str, way: ContractionWay, slots: int) -> float:
    """A quick guess of a way's price, by which the ways to try are chosen."""
    cost = 0.0
    for each in operands:
        if isinstance(each, EncryptedOperand):
            cost += _gather_score(_anchor(each), way, slots)
    products = math.prod(axis.tiles for axis in way.axes)
    shown = math.prod(axis.tiles for axis in way.axes if axis.name in output)
    reduced = merge([axis.in_tile for axis in way.axes if axis.name not in output])
    steps = sum(len(sum_steps(axis)) for axis in reduced)
    return cost + price.PRODUCT * products + shown * (price.RESULT + 1.0 + steps)


def _gather_score(anchor: _Anchor, way: ContractionWay, slots: int) -> float:
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
    if in_place and not summed_inside and not (missing and anchor.garbage):
        return float(count * copies)
    split = cheapest_split(numbers, slots)
    return count * (copies + split.cost + price.DIAGONAL * len(numbers)) + price.LEVEL


@lru_cache(maxsize=4096)
def ways(
    operands: tuple[Operand, ...],
    output: str,
    slots: int,
    count: int = 1,
    level_price: float = price.LEVEL,
) -> tuple[ContractionWay, ...]:
    """The cheapest ways found to contract one or two operands, cheapest first.

    Example:
        >>> from cloakwork.programs.layout import default_layout
        >>> x = EncryptedOperand("ij", default_layout((3, 4), 16), level=3)
        >>> ways((x,), "ji", 16)
        (ContractionWay(axes=(), copies_first=True, stages=1),)
    """
    tried = list(dict.fromkeys(candidates(operands, output, slots)))
    if len(tried) > _TRIED * count:
        tried.sort(key=lambda way: score(operands, output, way, slots))
        del tried[_TRIED * count :]
    # What a way takes does not depend on how high its operands stand.
    low = _lowest(operands)
    found: list[tuple[float, int, ContractionWay]] = []

    def add(way: ContractionWay) -> None:
        # Axes of other names are equal.
        names = "".join(axis.name for axis in way.axes)
        cost, used = _tried(low, output, way, slots, names)
        found.append((cost + level_price * used, used, way))

    stages_tried = range(2, _MOST_STAGES + 1 if len(operands) > 1 else 2)
    total = len(tried) + len(stages_tried)
    with progress_bar(f"planning a contraction to {output!r}", total=total, unit="plan") as bar:
        for way in tried:
            add(way)
            bar.update()
        _, _, best = min(found, key=lambda each: each[0])
        for stages in stages_tried:
            add(replace(best, stages=stages))
            bar.update()
    least = min(used for _, used, _ in found)
    levels = [each.level for each in operands if isinstance(each, EncryptedOperand)]
    available = min(levels) if levels else _LIFT
    affordable = [(cost, way) for cost, used, way in found if used <= available]
    if not affordable:
        raise LevelExhaustedError(
            f"needs {least} level(s), the operands have {available}; make the session deeper"
        )
    affordable.sort(key=lambda each: each[0])
    return tuple(way for _, way in affordable[:count])


def _lowest(operands: Sequence[Operand]) -> tuple[Operand, ...]:
    """The operands with the lowest of their levels at 0."""
    least = min((each.level for each in operands if isinstance(each, EncryptedOperand)), default=0)
    return tuple(
        replace(each, level=each.level - least) if isinstance(each, EncryptedOperand) else each
        for each in operands
    )


@lru_cache(maxsize=4096)
def _tried(
    operands: tuple[Operand, ...], output: str, way: ContractionWay, slots: int, _names: str
) -> tuple[float, int]:
    """Price and levels of a way, from its operations; levels themselves have no price here."""
    builder = Builder("", slots)
    stand_ins: list[Placed | UnpackedInput | NDArray[np.float64]] = []
    levels: list[int] = []
    for each in operands:
        match each:
            case EncryptedOperand(layout=layout, level=level):
                values = tuple(
                    builder.append(Input("", level + _LIFT)) for _ in range(layout.ciphertexts)
                )
                stand_ins.append(Placed(values, layout))
                levels.append(level + _LIFT)
            case ClearOperand(shape=shape):
                stand_ins.append(np.ones(shape))
            case Free(shape=shape):
                stand_ins.append(_ScratchInput(shape))
    before = len(builder.operations)
    result = contract(builder, stand_ins, [each.labels for each in operands], output, way)
    start = min(levels) if levels else 2 * _LIFT
    used = start - level_of(builder, result)
    results = price.RESULT * len(result.values)
    return price.price(builder.operations, slots, before) + results, used


@dataclass(frozen=True, slots=True)
class _ScratchInput:
    shape: tuple[int, ...]

    def packed(self, builder: Builder, layout: Layout) -> Placed:
        values = tuple(builder.append(Input("", 2 * _LIFT)) for _ in range(layout.ciphertexts))
        return Placed(values, layout)


def contracted(
    builder: Builder,
    operands: Sequence[Placed | UnpackedInput | NDArray[np.float64]],
    labels: Sequence[str],
    output: str,
    choice: int = 0,
    level_price: float = price.LEVEL,
) -> Placed:
    """Plan a contraction and append it."""
    described = tuple(
        _described(builder, each, names) for names, each in zip(labels, operands, strict=True)
    )
    found = ways(described, output, builder.slots, choice + 1, level_price)
    return contract(builder, operands, labels, output, found[-1])


def _described(
    builder: Builder, operand: Placed | UnpackedInput | NDArray[np.float64], labels: str
) -> Operand:
    if isinstance(operand, np.ndarray):
        return ClearOperand(labels, operand.shape)
    if isinstance(operand, Placed):
        return EncryptedOperand(labels, operand.layout, level_of(builder, operand))
    return Free(labels, operand.shape)
