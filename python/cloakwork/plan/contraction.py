"""Planning the contraction of one or two tensors inside one ciphertext.

The plan has up to four stages, each left out where it has nothing to do:

1. gather: each encrypted operand sums the labels that are its own, moves to the
   strides of a common arrangement of labels (one sparse linear transform) and is
   copied along the labels it lacks (rotations);
2. weigh: a clear operand enters, as a product slot by slot or as one sparse
   linear transform that may sum at the same time;
3. multiply: two encrypted operands, slot by slot;
4. reduce: the labels left over are summed by rotations.

The planner tries arrangements, counts what each costs and keeps the least. What
it returns is plain data: sizes and strides.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from cloakwork.errors import LevelExhaustedError, TooManySlotsError
from cloakwork.plan.layout import Axis, Layout, are_distinct, more_slots, nest
from cloakwork.plan.permute import StridedMap, diagonal_numbers
from cloakwork.plan.rotate import cheapest_split, merge, sum_steps

Strides: TypeAlias = Mapping[str, int]

# In units of one rotation. A diagonal is encoded and multiplied; a level spent is a level
# that no later operation has.
_DIAGONAL_COST = 0.3
_LEVEL_COST = 6.0
_PERMUTED_LABELS = 4


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
class Gather:
    """How one encrypted operand reaches the common arrangement, in this order."""

    sums: tuple[Axis, ...]
    move: StridedMap | None
    copies: tuple[Axis, ...]
    layout: Layout


@dataclass(frozen=True, slots=True)
class Weigh:
    """How the clear operand enters: `kept` are its labels once its own sums are done."""

    kept: str
    strided: StridedMap
    layout: Layout


@dataclass(frozen=True, slots=True)
class Recipe:
    """A planned contraction of encrypted operands, in order, and perhaps one clear one."""

    gathers: tuple[Gather, ...]
    weigh: Weigh | None
    reduce: tuple[Axis, ...]
    output: Layout
    level: int
    cost: float


@dataclass(frozen=True, slots=True)
class _Source:
    """An operand seen by label: strides of the labels along which it varies."""

    strides: dict[str, int]
    sums: tuple[Axis, ...]
    dirty: bool
    level: int


@lru_cache(maxsize=1024)
def plan(
    operands: tuple[Encrypted | Clear, ...], output: str, sizes: tuple[tuple[str, int], ...]
) -> Recipe:
    """The cheapest way found to contract one or two operands to the output labels.

    Args:
        operands: One or two, at least one of them encrypted.
        output: Labels of the result, each once.
        sizes: Size of every label.

    Raises:
        TooManySlotsError: The labels that must lie side by side outnumber the slots.
        LevelExhaustedError: Every plan takes more levels than the operands have.

    Example:
        >>> from cloakwork.plan.layout import row_major
        >>> x = Encrypted("ij", row_major((3, 4), 16), level=3)
        >>> recipe = plan((x,), "ji", (("i", 3), ("j", 4)))
        >>> recipe.output.axes, recipe.level
        ((Axis(size=4, stride=1, name='j'), Axis(size=3, stride=4, name='i')), 3)
    """
    size_of = dict(sizes)
    encrypted = [operand for operand in operands if isinstance(operand, Encrypted)]
    clear = [operand for operand in operands if isinstance(operand, Clear)]
    slots = encrypted[0].layout.slots
    if clear:
        kept = _kept(clear[0], encrypted[0], output, size_of)
        weights = _row_major_strides(clear[0], kept)
        varying = {label for label in kept if weights[label]}
        source = _source(encrypted[0], varying | set(output), size_of)
        candidates = _weighed(source, kept, weights, output, size_of, slots)
    elif len(encrypted) == 2:
        first, second = encrypted
        sources = [
            _source(first, set(second.labels) | set(output), size_of),
            _source(second, set(first.labels) | set(output), size_of),
        ]
        candidates = _multiplied(sources, output, size_of, slots)
    else:
        source = _source(encrypted[0], set(output), size_of)
        candidates = _alone(source, output, size_of, slots)
    found = list(candidates)
    if not found:
        raise TooManySlotsError(_too_many(operands, output, size_of, slots))
    affordable = [recipe for recipe in found if recipe.level >= 0]
    if not affordable:
        level = min(operand.level for operand in encrypted)
        needed = level - max(recipe.level for recipe in found)
        raise LevelExhaustedError(
            f"needs {needed} level(s), the operands have {level}; make the session deeper"
        )
    return min(affordable, key=lambda recipe: recipe.cost)


def _too_many(
    operands: Sequence[Encrypted | Clear], output: str, size_of: Mapping[str, int], slots: int
) -> str:
    labels = set(output)
    if all(isinstance(operand, Encrypted) for operand in operands):
        labels |= set.intersection(*(set(operand.labels) for operand in operands))
    product = " * ".join(f"{label}={size_of[label]}" for label in sorted(labels))
    needed = math.prod(size_of[label] for label in labels)
    return f"{product} needs {needed} slots, one ciphertext has {slots}; {more_slots(needed)}"


def _source(operand: Encrypted, wanted: set[str], size_of: Mapping[str, int]) -> _Source:
    """The operand by label, with the labels nobody else wants set aside to be summed."""
    strides: dict[str, int] = {}
    for label, axis in zip(operand.labels, operand.layout.axes, strict=True):
        if axis.size > 1:
            strides[label] = strides.get(label, 0) + axis.stride
    sums = tuple(
        Axis(size_of[label], stride, label)
        for label, stride in strides.items()
        if label not in wanted
    )
    has_diagonal = len(set(operand.labels)) < len(operand.labels)
    return _Source(
        {label: stride for label, stride in strides.items() if label in wanted},
        merge(sums),
        operand.layout.dirty or has_diagonal or bool(sums),
        operand.level,
    )


def _kept(clear: Clear, other: Encrypted, output: str, size_of: Mapping[str, int]) -> str:
    """Labels of the clear operand that remain once it has summed those that are its own."""
    varying = {
        label
        for label, axis in zip(other.labels, other.layout.axes, strict=True)
        if axis.size > 1 or size_of[label] == 1
    }
    return "".join(
        label for label in dict.fromkeys(clear.labels) if label in varying or label in output
    )


def _row_major_strides(clear: Clear, kept: str) -> Strides:
    shape = dict(zip(clear.labels, clear.shape, strict=True))
    axes = nest([(label, shape[label]) for label in kept], innermost=1)
    return {axis.name: axis.stride for axis in axes}


def _alone(
    source: _Source, output: str, size_of: Mapping[str, int], slots: int
) -> Iterator[Recipe]:
    gather = _gather(source, source.strides, size_of, slots)
    yield _finished((gather,), None, source.strides, output, size_of, (source.level,))


def _weighed(
    source: _Source,
    kept: str,
    weights: Strides,
    output: str,
    size_of: Mapping[str, int],
    slots: int,
) -> Iterator[Recipe]:
    varying = set(source.strides) | {label for label in kept if weights[label]}
    contracted = [label for label in sorted(varying) if label not in output]
    shown = [label for label in output if label in varying]

    def weigh(sources: Strides, target: Strides) -> Weigh:
        labels = sorted(varying)
        strided = StridedMap(
            tuple(size_of[label] for label in labels),
            tuple(sources.get(label, 0) for label in labels),
            tuple(target.get(label, 0) for label in labels),
            tuple(weights.get(label, 0) for label in labels),
        )
        return Weigh(kept, strided, _layout(target, size_of, slots, dirty=False))

    levels = (source.level,)
    plain = _gather(source, source.strides, size_of, slots)
    for labels in dict.fromkeys((tuple(shown), tuple(shown + contracted))):
        for target in _arrangements(labels, [source.strides], size_of, slots):
            entry = weigh(source.strides, target)
            yield _finished((plain,), entry, target, output, size_of, levels)
            gathered = _gather(source, target, size_of, slots)
            if set(varying) == set(labels) and gathered.copies and gathered.move is None:
                entry = weigh(target, target)
                yield _finished((gathered,), entry, target, output, size_of, levels)


def _multiplied(
    sources: Sequence[_Source], output: str, size_of: Mapping[str, int], slots: int
) -> Iterator[Recipe]:
    varying = set(sources[0].strides) | set(sources[1].strides)
    shown = [label for label in output if label in varying]
    contracted = [label for label in sorted(varying) if label not in output]
    anchors = [source.strides for source in sources]
    levels = tuple(source.level for source in sources)
    for target in _arrangements(tuple(shown + contracted), anchors, size_of, slots):
        gathers = tuple(_gather(source, target, size_of, slots) for source in sources)
        yield _finished(gathers, None, target, output, size_of, levels)


def _gather(source: _Source, target: Strides, size_of: Mapping[str, int], slots: int) -> Gather:
    """Bring a source to the target's strides, copied along labels it does not have."""
    missing = merge(
        [
            Axis(size_of[label], stride, label)
            for label, stride in target.items()
            if label not in source.strides
        ]
    )
    own = {label: stride for label, stride in target.items() if label in source.strides}
    in_place = all(source.strides[label] == stride for label, stride in own.items())
    axes = tuple(Axis(size_of[label], stride, label) for label, stride in own.items())
    if in_place and not (missing and source.dirty):
        dirty = source.dirty
        return Gather(source.sums, None, missing, Layout(slots, axes, missing, dirty))
    labels = sorted(own)
    move = StridedMap(
        tuple(size_of[label] for label in labels),
        tuple(source.strides[label] for label in labels),
        tuple(own[label] for label in labels),
        (0,) * len(labels),
    )
    return Gather(source.sums, move, missing, Layout(slots, axes, missing))


def _finished(
    gathers: tuple[Gather, ...],
    weigh: Weigh | None,
    target: Strides,
    output: str,
    size_of: Mapping[str, int],
    levels: tuple[int, ...],
) -> Recipe:
    slots = gathers[0].layout.slots
    reduce = merge(
        [
            Axis(size_of[label], stride, label)
            for label, stride in target.items()
            if label not in output
        ]
    )
    clean = weigh is not None or not all(gather.layout.dirty for gather in gathers)
    layout = Layout(
        slots,
        tuple(Axis(size_of[label], target.get(label, 0), label) for label in output),
        dirty=bool(reduce) or not clean,
    )
    gathered = min(
        level - int(gather.move is not None) for level, gather in zip(levels, gathers, strict=True)
    )
    level = gathered - int(weigh is not None) - int(len(gathers) == 2)
    recipe = Recipe(gathers, weigh, reduce, layout, level, 0.0)
    return replace(recipe, cost=_cost(recipe, slots) + _LEVEL_COST * (min(levels) - level))


def _cost(recipe: Recipe, slots: int) -> float:
    cost = sum(len(sum_steps(axis)) for axis in recipe.reduce)
    moves = [recipe.weigh.strided] if recipe.weigh else []
    for gather in recipe.gathers:
        cost += sum(len(sum_steps(axis)) for axis in gather.sums + gather.copies)
        moves += [gather.move] if gather.move else []
    return cost + sum(_cost_of_map(move, slots) for move in moves)


@lru_cache(maxsize=4096)
def _cost_of_map(strided: StridedMap, slots: int) -> float:
    numbers = diagonal_numbers(strided, slots)
    return cheapest_split(numbers, slots).cost + _DIAGONAL_COST * len(numbers)


def _arrangements(
    labels: tuple[str, ...],
    anchors: Sequence[Strides],
    size_of: Mapping[str, int],
    slots: int,
) -> Iterator[dict[str, int]]:
    """Strides for the labels: an operand's own, extended by the rest; and dense ones."""
    seen: set[tuple[int, ...]] = set()
    for axes in _raw_arrangements(labels, anchors, size_of):
        strides = {axis.name: axis.stride for axis in axes}
        key = tuple(strides[label] for label in labels)
        if key not in seen and are_distinct(axes, slots):
            seen.add(key)
            yield strides


def _raw_arrangements(
    labels: tuple[str, ...], anchors: Sequence[Strides], size_of: Mapping[str, int]
) -> Iterator[tuple[Axis, ...]]:
    for anchor in anchors:
        kept = tuple(
            Axis(size_of[label], anchor[label], label) for label in labels if label in anchor
        )
        rest = [(label, size_of[label]) for label in labels if label not in anchor]
        span = 1 + sum((axis.size - 1) * axis.stride for axis in kept)
        ends = {axis.size * axis.stride for axis in kept}
        for innermost in sorted({1, span, _power_of_two(span), *ends, *anchor.values()}):
            for order in (rest, rest[::-1]):
                yield kept + nest(order, innermost=innermost)
    orders = (
        itertools.permutations(labels)
        if len(labels) <= _PERMUTED_LABELS
        else iter([labels, labels[::-1]])
    )
    for names in orders:
        yield nest([(label, size_of[label]) for label in names], innermost=1)
        yield _padded(names, size_of)


def _padded(labels: Sequence[str], size_of: Mapping[str, int]) -> tuple[Axis, ...]:
    padded = nest([(label, _power_of_two(size_of[label])) for label in labels], innermost=1)
    return tuple(Axis(size_of[axis.name], axis.stride, axis.name) for axis in padded)


def _power_of_two(size: int) -> int:
    return 1 << (size - 1).bit_length()


def _layout(strides: Strides, size_of: Mapping[str, int], slots: int, *, dirty: bool) -> Layout:
    axes = tuple(Axis(size_of[label], stride, label) for label, stride in strides.items())
    return Layout(slots, axes, dirty=dirty)
