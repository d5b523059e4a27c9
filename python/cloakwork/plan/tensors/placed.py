"""Tensors placed in the values of a program, and the steps that move and combine them.

Every step appends operations to a builder, says as their stage what they are for, and
returns where the tensor is then. The axes of a placed tensor are named by the labels of
the contraction at hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import LevelExhaustedError
from cloakwork.plan.tensors.factor import product_of_sparser
from cloakwork.plan.tensors.movement import Weights, by_source, movements
from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.layout import Axis, Layout, power_of_two
from cloakwork.programs.slots import (
    Add,
    Builder,
    DropLevel,
    Linear,
    Mul,
    Rescale,
    Rotate,
)

# Sums have no labels; they name axes by place, in characters of private use.
_PLACES = {0xE000 + place: str(place) for place in range(64)}


@dataclass(frozen=True, slots=True)
class Placed:
    """A tensor in the values of a program.

    Args:
        values: Numbers of the values, one per ciphertext of the layout, in order.
        layout: Which element sits where.
    """

    values: tuple[int, ...]
    layout: Layout

    def axis(self, name: str) -> Axis:
        """The axis of that name."""
        return next(axis for axis in self.layout.axes if axis.name == name)

    @property
    def names(self) -> str:
        """The names of the axes, in order."""
        return "".join(axis.name for axis in self.layout.axes)

    @property
    def has_garbage(self) -> bool:
        """Whether slots without an element may hold something, be it only copies."""
        return self.layout.garbage or bool(self.layout.replicas)


def _stage(text: str) -> str:
    return text.translate(_PLACES)


def level_of(builder: Builder, placed: Placed) -> int:
    """The level of all its values, which stand at one."""
    return builder.level(placed.values[0])


def total_of_tensors(builder: Builder, values: Sequence[int]) -> int:
    """The sum of values, added as a balanced tree."""
    while len(values) > 1:
        pairs = [
            builder.append(Add(values[k], values[k + 1])) for k in range(0, len(values) - 1, 2)
        ]
        values = pairs + ([values[-1]] if len(values) % 2 else [])
    return values[0]


def rotated(builder: Builder, value: int, steps: int) -> int:
    """The value rotated; a rotation by a multiple of the slots is none."""
    steps %= builder.slots
    return builder.append(Rotate(value, steps)) if steps else value


def require_levels(builder: Builder, placed: Placed, levels: int) -> None:
    """Refuse a step that takes more levels than there are."""
    left = level_of(builder, placed)
    if left < levels:
        raise LevelExhaustedError(f"needs {levels} level(s), there are {left}")


def dropped(builder: Builder, placed: Placed, level: int) -> Placed:
    """The tensor at a lower level."""
    if level_of(builder, placed) == level:
        return placed
    builder.stage = "align levels"
    values = tuple(builder.append(DropLevel(value, level)) for value in placed.values)
    return replace(placed, values=values)


def ordered(placed: Placed, names: str) -> Placed:
    """The same tensor with its axes in another order; no element moves."""
    axes = tuple(placed.axis(name) for name in names)
    grid = np.arange(len(placed.values)).reshape(placed.layout.grid)
    numbers = grid.transpose([placed.names.index(name) for name in names]).ravel()
    return Placed(
        tuple(placed.values[number] for number in numbers), replace(placed.layout, axes=axes)
    )


def summed_labels(builder: Builder, placed: Placed, names: Collection[str]) -> Placed:
    """The tensor summed along axes: ciphertexts first, then slots by rotations.

    The last tile of an axis must hold zeros where it has no elements; `masked` sees to it.
    """
    gone = [axis for axis in placed.layout.axes if axis.name in names]
    if not gone:
        return placed
    builder.stage = _stage(f"sum over {' '.join(axis.name for axis in gone)}")
    kept = tuple(axis for axis in placed.layout.axes if axis.name not in names)
    front = ordered(placed, "".join(axis.name for axis in (*kept, *gone)))
    rows = math.prod(axis.tiles for axis in kept)
    grid = np.asarray(front.values).reshape(rows, -1)
    values = [total_of_tensors(builder, [int(value) for value in row]) for row in grid]
    inside = merge([axis.in_tile for axis in gone])
    around = _around(placed, kept, inside)
    if around is not None:
        values = [summed_along(builder, value, around) for value in values]
        return Placed(tuple(values), replace(placed.layout, axes=kept, replicas=(around,)))
    for axis in inside:
        values = [summed_along(builder, value, axis) for value in values]
    layout = replace(placed.layout, axes=kept, garbage=placed.layout.garbage or bool(inside))
    return Placed(tuple(values), layout)


def _around(placed: Placed, kept: Sequence[Axis], inside: Sequence[Axis]) -> Axis | None:
    """The axis along which a sum goes once around all slots, and is in every place of it.

    Slots behind its elements, up to a power of two, are empty; None where it is no such sum.
    """
    if len(inside) != 1 or placed.has_garbage or placed.layout.offset:
        return None
    (axis,) = inside
    whole = Axis(power_of_two(axis.size), axis.stride)
    span = sum((each.extent - 1) * each.stride for each in kept)
    is_around = whole.size * whole.stride == placed.layout.slots and span < whole.stride
    return whole if is_around else None


def summed_along(builder: Builder, value: int, axis: Axis) -> int:
    """Slot s holds the sum of slots s + k * stride, for every k below the axis's size."""
    first = value
    for step in sum_steps(axis):
        turned = rotated(builder, value, step.rotation)
        value = builder.append(Add(first if step.onto_first else value, turned))
    return value


def copied(builder: Builder, placed: Placed, axes: Sequence[Axis]) -> Placed:
    """The tensor repeated along axes; the slots that the copies go to must hold zero."""
    if not axes:
        return placed
    joined = merge(axes)
    along = " ".join(f"{axis.name}:{axis.size}@{axis.stride}" for axis in joined)
    builder.stage = _stage(f"copy {placed.names} along {along}")
    values = list(placed.values)
    for axis in joined:
        away = Axis(axis.size, -axis.stride)
        values = [summed_along(builder, value, away) for value in values]
    layout = replace(placed.layout, replicas=placed.layout.replicas + joined)
    return Placed(tuple(values), layout)


def shifted(builder: Builder, placed: Placed, offset: int) -> Placed:
    """The tensor with its first element in another slot."""
    steps = placed.layout.offset - offset
    if steps == 0:
        return placed
    builder.stage = _stage(f"shift {placed.names} to slot {offset}")
    values = tuple(rotated(builder, value, steps) for value in placed.values)
    return Placed(values, replace(placed.layout, offset=offset))


def masked(builder: Builder, placed: Placed) -> Placed:
    """The tensor with zero in every slot that holds no element. Takes a level."""
    bare = replace(placed.layout, replicas=(), garbage=False)
    return moved(builder, placed, bare)


def moved(
    builder: Builder,
    placed: Placed,
    target: Layout,
    weights: Weights | None = None,
    stages: int = 1,
) -> Placed:
    """The tensor in another layout, other slots zero.

    With weights every element is multiplied on the way, and elements that go to one slot
    sum: the result has the labels of the target.
    """
    require_levels(builder, placed, 1)
    action = f"move {placed.names}" if weights is None else f"multiply {placed.names} by constants"
    builder.stage = _stage(f"{action} into {target}")
    values: list[int] = []
    for parts in movements(placed.layout, target, weights):
        if stages > 1 and len(parts) == 1:
            ((source, diagonals),) = parts.items()
            values.append(_in_stages(builder, placed.values[source], diagonals, stages))
            continue
        values.append(_collected(builder, placed, parts))
    return Placed(at_one_level(builder, values), target)


def _collected(builder: Builder, placed: Placed, parts: Mapping[int, SparseDiagonals]) -> int:
    """One ciphertext made of what each of the tensor's gives to it."""
    products = [
        transformed_tensor(builder, placed.values[source], diagonals)
        for source, diagonals in parts.items()
    ]
    if not products:
        zero = builder.constant(np.zeros(builder.slots))
        products = [builder.append(Mul(placed.values[0], zero))]
    return builder.append(Rescale(total_of_tensors(builder, products)))


def _in_stages(builder: Builder, value: int, diagonals: SparseDiagonals, stages: int) -> int:
    for factor in product_of_sparser(diagonals, min(stages, builder.level(value))):
        value = builder.append(Rescale(transformed_tensor(builder, value, factor)))
    return value


def at_one_level(builder: Builder, values: Sequence[int]) -> tuple[int, ...]:
    """Values at the lowest of their levels."""
    level = min(builder.level(value) for value in values)
    return tuple(
        value if builder.level(value) == level else builder.append(DropLevel(value, level))
        for value in values
    )


def moved_freely(
    builder: Builder,
    placed: Placed,
    tiles: NDArray[np.int64],
    slots: NDArray[np.int64],
    target: Layout,
    factors: NDArray[np.float64] | None = None,
) -> Placed:
    """The tensor whose elements lie in these ciphertexts and slots, moved to a layout.

    Each is multiplied by a factor, if there are any. Takes a level.
    """
    require_levels(builder, placed, 1)
    builder.stage = _stage(f"rearrange into {target}")
    target_tiles, target_slots = (each.ravel() for each in target.tile_places())
    values: list[int] = []
    for number in range(target.ciphertexts):
        arriving = target_tiles == number
        origins, there = tiles.ravel()[arriving], target_slots[arriving]
        by = None if factors is None else factors.ravel()[arriving]
        parts = by_source(placed.layout, origins, slots.ravel()[arriving], there, by)
        values.append(_collected(builder, placed, parts))
    return Placed(tuple(values), target)


def transformed_tensor(builder: Builder, value: int, diagonals: SparseDiagonals) -> int:
    """A linear transform of a value in as little time as is found, not rescaled."""
    if len(diagonals) == 1:
        (number,) = diagonals
        turned = rotated(builder, value, number)
        return builder.append(Mul(turned, builder.constant(diagonals[number])))
    split = cheapest_split(diagonals.numbers, builder.slots)
    counted = diagonals.counted(np.asarray(split.numbers))
    return builder.append(Linear(value, counted, split.baby_steps))


def gathered(builder: Builder, placed: Placed, axes: Sequence[Axis], stages: int = 1) -> Placed:
    """Bring an operand into the arrangement, copied along the labels that it lacks."""
    own = tuple(axis for axis in axes if axis.name in placed.names)
    missing = merge([axis.in_tile for axis in axes if axis.name not in placed.names])
    copying = bool(missing) and not _has_copies(placed, missing)
    if not _lies_as(placed, own) or (copying and placed.has_garbage):
        placed = moved(builder, placed, Layout(builder.slots, own), stages=stages)
    else:
        placed = shifted(builder, placed, 0)
    if _has_copies(placed, missing):
        return placed
    return copied(builder, placed, missing)


def _has_copies(placed: Placed, missing: Sequence[Axis]) -> bool:
    """Whether every element is repeated along axes, as often as they are long or more."""
    longest = {axis.stride: axis.size for axis in placed.layout.replicas}
    return all(axis.size <= longest.get(axis.stride, 0) for axis in missing)


def _lies_as(placed: Placed, axes: Sequence[Axis]) -> bool:
    for axis in axes:
        known = placed.axis(axis.name)
        if known.extent != axis.extent or (axis.extent > 1 and known.stride != axis.stride):
            return False
    return True


def multiplied_tensors(
    builder: Builder,
    left: Placed,
    right: Placed,
    axes: Sequence[Axis],
    shown: str,
) -> Placed:
    """The product of two tensors placed alike, summed over the ciphertexts of other labels."""
    level = min(level_of(builder, left), level_of(builder, right))
    left, right = dropped(builder, left, level), dropped(builder, right, level)
    require_levels(builder, left, 1)
    outer = [axis for axis in axes if axis.name in shown]
    inner = [axis for axis in axes if axis.name not in shown]
    tiled = "".join(axis.name for axis in inner if axis.tiles > 1)
    summing = f", sum over tiles of {tiled}" if tiled else ""
    builder.stage = _stage(f"multiply {left.names} by {right.names}{summing}")
    pick_left, pick_right = (ciphertext_of(each) for each in (left, right))
    values: list[int] = []
    for place in np.ndindex(*(axis.tiles for axis in outer)):
        at = {axis.name: tile for axis, tile in zip(outer, place, strict=True)}
        products = []
        for rest in np.ndindex(*(axis.tiles for axis in inner)):
            at |= {axis.name: tile for axis, tile in zip(inner, rest, strict=True)}
            products.append(builder.append(Mul(pick_left(at), pick_right(at))))
        values.append(builder.append(Rescale(total_of_tensors(builder, products))))
    within = tuple(axis.in_tile for axis in inner)
    garbage = left.has_garbage and right.has_garbage
    return Placed(tuple(values), Layout(builder.slots, (*outer, *within), garbage=garbage))


def ciphertext_of(placed: Placed) -> Callable[[Mapping[str, int]], int]:
    """What finds the value for given tiles of labels, whichever of them the tensor has."""
    grid: NDArray[np.int64] = np.asarray(placed.values).reshape(placed.layout.grid)
    names = placed.names

    def pick(at: Mapping[str, int]) -> int:
        return int(grid[tuple(at[name] for name in names)])

    return pick


@dataclass(frozen=True, slots=True)
class SumStep:
    """total = base + rotate(total, rotation), where base is the total or the first value."""

    rotation: int
    onto_first: bool


def sum_steps(axis: Axis) -> tuple[SumStep, ...]:
    """Steps after which slot s holds the sum of slots s + k * stride for all k below size.

    Reads no other slot, so what lies beside the axis may be garbage. Takes
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
