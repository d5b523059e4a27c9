"""Arrangements of labels in which a contraction may be done, and a quick guess of their price.

An arrangement says for every label how it is cut into tiles, one ciphertext each, and
how far apart its elements lie in the slots.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cloakwork.plan.cost import price
from cloakwork.plan.tensors.contraction import ContractionWay
from cloakwork.plan.tensors.sums import merge, sum_steps
from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.layout import Axis, Layout, are_distinct, nest, power_of_two

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
