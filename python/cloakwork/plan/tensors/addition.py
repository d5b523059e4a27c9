"""Sums of tensors, axes of size 1 stretching as numpy's do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.cost.price import price
from cloakwork.plan.tensors.placed import (
    Placed,
    ciphertext_of,
    dropped,
    gathered,
    level_of,
    merge,
)
from cloakwork.programs.layout import Axis, Layout, default_layout
from cloakwork.programs.slots import Add, Builder, Input, Neg, Sub


def added(
    builder: Builder,
    terms: Sequence[Placed],
    signs: Sequence[int],
    constant: NDArray[np.float64] | None,
    shape: tuple[int, ...],
) -> Placed:
    """Append the sum of tensors, each with a sign, and of a clear array.

    Terms that lie alike stay where they are. Others meet where one of them lies, which
    costs least; one that lacks an axis is copied along it.
    """
    named = [_named(term, len(shape)) for term in terms]
    if _alike(named, shape):
        lying = named[0].layout
        return _added_at(builder, named, signs, constant, lying.axes, shape, lying.offset)
    choices = list(dict.fromkeys(_meeting_places(named, shape, builder.slots)))
    best = min(choices, key=lambda axes: _price(builder, named, axes))
    there = [gathered(builder, each, best) for each in named]
    return _added_at(builder, there, signs, constant, best, shape)


def _named(term: Placed, ndim: int) -> Placed:
    """The term with its axes named by their place from the left, those of size 1 dropped."""
    skipped = ndim - len(term.layout.axes)
    axes = tuple(
        replace(axis, name=chr(0xE000 + skipped + number))
        for number, axis in enumerate(term.layout.axes)
        if axis.size > 1
    )
    return replace(term, layout=replace(term.layout, axes=axes))


def _varying(shape: tuple[int, ...]) -> str:
    return "".join(chr(0xE000 + number) for number, size in enumerate(shape) if size > 1)


def _alike(named: Sequence[Placed], shape: tuple[int, ...]) -> bool:
    """Whether the terms lie in the same slots, and none lacks an axis."""
    first = named[0].layout
    return all(
        each.names == _varying(shape)
        and (each.layout.axes, each.layout.offset) == (first.axes, first.offset)
        for each in named
    )


def _meeting_places(
    named: Sequence[Placed], shape: tuple[int, ...], slots: int
) -> list[tuple[Axis, ...]]:
    varying = _varying(shape)
    whole = [
        tuple(each.axis(name) for name in varying)
        for each in named
        if set(each.names) == set(varying)
    ]
    fitting = [axes for axes in whole if all(axis.stride >= 0 for axis in axes)]
    default = default_layout(shape, slots).axes
    return fitting or [
        tuple(
            replace(axis, name=chr(0xE000 + number))
            for number, axis in enumerate(default)
            if axis.size > 1
        )
    ]


def _price(builder: Builder, named: Sequence[Placed], axes: tuple[Axis, ...]) -> float:
    scratch = Builder("", builder.slots)
    stand_ins = [
        Placed(tuple(scratch.append(Input("", 2)) for _ in each.values), each.layout)
        for each in named
    ]
    before = len(scratch.operations)
    moves = sum(level_of(scratch, gathered(scratch, each, axes)) < 2 for each in stand_ins)
    return price(scratch.operations, scratch.slots, before) + 6.0 * moves


def _added_at(
    builder: Builder,
    there: Sequence[Placed],
    signs: Sequence[int],
    constant: NDArray[np.float64] | None,
    axes: tuple[Axis, ...],
    shape: tuple[int, ...],
    offset: int = 0,
) -> Placed:
    level = min(level_of(builder, each) for each in there)
    there = [dropped(builder, each, level) for each in there]
    ragged = any(axis.ragged for axis in axes)
    replicas = _common_copies(there, axes)
    garbage = not replicas and any(
        each.layout.garbage
        or (bool(each.layout.replicas) and (ragged or each.layout.replicas != _lacking(each, axes)))
        for each in there
    )
    by_name = {axis.name: axis for axis in axes}
    result = tuple(
        by_name.get(chr(0xE000 + number), Axis(size, 0)) for number, size in enumerate(shape)
    )
    bare = tuple(replace(axis, name="") for axis in result)
    layout = Layout(builder.slots, bare, replicas, garbage=garbage, offset=offset)
    packed = None if constant is None else layout.pack(np.broadcast_to(constant, shape))
    picks = [ciphertext_of(each) for each in there]
    builder.stage = "add" if len(there) > 1 or constant is not None else "change sign"
    values: list[int] = []
    for number, place in enumerate(np.ndindex(*(axis.tiles for axis in axes))):
        at = {axis.name: tile for axis, tile in zip(axes, place, strict=True)}
        value = _signed_sum(builder, [pick(at) for pick in picks], signs)
        if packed is not None:
            value = builder.append(Add(value, builder.constant(packed[number])))
        values.append(value)
    return Placed(tuple(values), layout)


def _common_copies(there: Sequence[Placed], axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """The axes along which all terms are repeated alike, so that their sum is; or none."""
    first = there[0].layout
    is_common = all(
        each.layout.replicas == first.replicas
        and not each.layout.garbage
        and len(each.layout.axes) == len(axes)
        for each in there
    )
    return first.replicas if is_common and not first.ragged else ()


def _lacking(placed: Placed, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    return merge([axis.in_tile for axis in axes if axis.name not in placed.names])


def _signed_sum(builder: Builder, values: Sequence[int], signs: Sequence[int]) -> int:
    plus = [value for value, sign in zip(values, signs, strict=True) if sign > 0]
    minus = [value for value, sign in zip(values, signs, strict=True) if sign < 0]
    value = plus[0] if plus else builder.append(Neg(minus.pop(0)))
    for each in plus[1:]:
        value = builder.append(Add(value, each))
    for each in minus:
        value = builder.append(Sub(value, each))
    return value
