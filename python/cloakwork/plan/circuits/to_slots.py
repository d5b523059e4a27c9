"""From a lane program to a slot program over integers, all of it at one level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.ir.vectors import (
    Clear,
    LaneProgram,
    MaskedLanes,
    Multiple,
    Offset,
    PackedLanes,
)
from cloakwork.programs.packing.scalar import ResultPlace, ScalarPlaces
from cloakwork.programs.slots import (
    MAX_INTEGER,
    Add,
    Builder,
    Input,
    Integers,
    Mul,
    Output,
    Rotate,
    SlotProgram,
    Sub,
)

_DIGIT_BITS = 62


@dataclass(frozen=True, slots=True, eq=False)
class SlotPlan:
    """A program over integers, and where its scalars lie."""

    program: SlotProgram
    places: ScalarPlaces


def slot_plan(lanes: LaneProgram, slots: int) -> SlotPlan:
    """The slot program of a lane program: everything at level 0, and nothing rescaled.

    Clear vectors are repeated for every evaluation that a row holds. Clear integers of more
    than 63 bits are split into digits, for constants are int64.
    """
    if lanes.width > slots:
        raise InvalidProgramError(
            f"cannot place {lanes.title}: it takes {lanes.width} slots, a row has {slots}"
        )
    starts = [number * lanes.width for number in range(slots // lanes.width)]
    builder = Builder(lanes.title, slots, "integer")
    values: list[int] = []
    for operation in lanes.operations:
        match operation:
            case PackedLanes(scalars=scalars):
                names = dict.fromkeys(scalar.input for scalar in scalars)
                made = builder.append(Input(", ".join(names), 0))
            case Rotate(operand=operand, steps=steps):
                value, steps = values[operand], steps % slots
                made = builder.append(Rotate(value, steps)) if steps else value
            case Multiple(operand=operand, factor=factor):
                digits = [np.full(slots, digit, np.int64) for digit in _digits(factor)]
                made = _times(builder, values[operand], digits)
            case MaskedLanes(operand=operand, integers=pairs):
                made = _times(builder, values[operand], _repeated(pairs, slots, starts))
            case Offset(operand=operand, integers=pairs):
                made = _plus(builder, values[operand], _repeated(pairs, slots, starts))
            case _:
                operands = [values[each] for each in operation.operands]
                made = builder.append(operation.with_operands(operands))
        values.append(made)
    results: list[ResultPlace | Clear] = []
    outputs: dict[int, int] = {}
    for place in chain.from_iterable(lanes.places):
        if isinstance(place, Clear):
            results.append(place)
        else:
            output = outputs.setdefault(values[place.vector], len(outputs))
            results.append(ResultPlace(output, place.slot))
    for vector in outputs:
        builder.append(Output(vector))
    packed = tuple(each.scalars for each in lanes.operations if isinstance(each, PackedLanes))
    places = ScalarPlaces(slots, lanes.width, packed, tuple(results))
    return SlotPlan(builder.finish(), places)


def _times(builder: Builder, value: int, digits: Sequence[Integers]) -> int:
    """A value times a clear vector in digits, the lowest first."""
    *lower, highest = digits
    made = builder.append(Mul(value, builder.constant(highest)))
    for digit in reversed(lower):
        made = _shifted(builder, made)
        if digit.any():
            product = builder.append(Mul(value, builder.constant(digit)))
            made = builder.append(Add(made, product))
    return made


def _plus(builder: Builder, value: int, digits: Sequence[Integers]) -> int:
    """A value plus a clear vector in digits, the lowest first."""
    lowest, *higher = digits
    if higher:
        # The higher ones grow in a ciphertext of zeros, which only a value can give.
        made = builder.append(Sub(value, value))
        for digit in reversed(higher):
            made = builder.append(Add(made, builder.constant(digit)))
            made = _shifted(builder, made)
        value = builder.append(Add(value, made))
    return builder.append(Add(value, builder.constant(lowest)))


def _shifted(builder: Builder, value: int) -> int:
    base = np.full(builder.slots, 1 << _DIGIT_BITS, np.int64)
    return builder.append(Mul(value, builder.constant(base)))


def _repeated(
    pairs: Sequence[tuple[int, int]], slots: int, starts: Sequence[int]
) -> list[Integers]:
    """The digits of a clear vector, repeated from every start."""
    split = [(slot, _digits(integer)) for slot, integer in pairs]
    count = max((len(digits) for _, digits in split), default=1)
    vectors = [np.zeros(slots, dtype=np.int64) for _ in range(count)]
    for slot, digits in split:
        for vector, digit in zip(vectors, digits, strict=False):
            vector[(np.array(starts) + slot) % slots] = digit
    return vectors


def _digits(integer: int) -> list[int]:
    """The integer in digits to the base 2^62, the lowest first; the highest is any int64."""
    if abs(integer) <= MAX_INTEGER:
        return [integer]
    rest, digit = divmod(integer, 1 << _DIGIT_BITS)
    return [digit, *_digits(rest)]
