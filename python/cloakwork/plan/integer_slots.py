"""From a lane program to a slot program over integers, all of it at one level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.lanes import (
    Clear,
    LaneProgram,
    Masked,
    Multiple,
    Offset,
    Packed,
    PlacedScalar,
    Rotation,
    VectorDifference,
    VectorNegative,
    VectorProduct,
    VectorSum,
)
from cloakwork.programs.packing import Packing, ResultPlace
from cloakwork.programs.slots import (
    MAX_INTEGER,
    Add,
    Builder,
    Input,
    Integers,
    Mul,
    Neg,
    Output,
    Program,
    Rotate,
    Sub,
)


@dataclass(frozen=True, slots=True, eq=False)
class SlotPlan:
    """A program over integers, and where its scalars lie."""

    program: Program
    packing: Packing


def slot_plan(lanes: LaneProgram, slots: int) -> SlotPlan:
    """The slot program of a lane program: everything at level 0, and nothing rescaled.

    Clear vectors are repeated for every evaluation that a row has room for.

    Args:
        lanes: The lane program.
        slots: Slots of a row.

    Raises:
        InvalidProgramError: The program is wider than a row, or a clear integer has more than
            63 bits.

    Example:
        >>> from cloakwork.programs.circuits import CircuitInput, CircuitOutput
        >>> from cloakwork.programs.lanes import Place
        >>> x = Packed((PlacedScalar(0, "x", 0), PlacedScalar(1, "x", 1)))
        >>> lanes = LaneProgram(
        ...     "total",
        ...     (CircuitInput("x", (2,)),),
        ...     (x, Rotation(0, -1), VectorSum(0, 1)),
        ...     (CircuitOutput("y", (), (2,)),),
        ...     ((Place(2, 1),),),
        ... )
        >>> print(slot_plan(lanes, 8).program)
        total, 8 slots of integers
          %0 = input x             level 0
          %1 = rotate %0 by 7      level 0
          %2 = add %0 %1           level 0
          %3 = output %2           level 0
    """
    if lanes.width > slots:
        raise InvalidProgramError(
            f"cannot place {lanes.title}: it takes {lanes.width} slots, a row has {slots}"
        )
    starts = [number * lanes.width for number in range(slots // lanes.width)]
    builder = Builder(lanes.title, slots, "integer")
    values: list[int] = []
    packed: list[tuple[PlacedScalar, ...]] = []
    for operation in lanes.operations:
        match operation:
            case Packed(scalars=scalars):
                names = dict.fromkeys(scalar.input for scalar in scalars)
                made = builder.append(Input(", ".join(names), 0))
                packed.append(scalars)
            case VectorSum(left=left, right=right):
                made = builder.append(Add(values[left], values[right]))
            case VectorDifference(left=left, right=right):
                made = builder.append(Sub(values[left], values[right]))
            case VectorProduct(left=left, right=right):
                made = builder.append(Mul(values[left], values[right]))
            case VectorNegative(operand=operand):
                made = builder.append(Neg(values[operand]))
            case Rotation(operand=operand, steps=steps):
                steps %= slots
                value = values[operand]
                made = builder.append(Rotate(value, steps)) if steps else value
            case Multiple(operand=operand, factor=factor):
                constant = builder.constant(_uniform(factor, slots))
                made = builder.append(Mul(values[operand], constant))
            case Masked(operand=operand, factors=factors):
                constant = builder.constant(_repeated(factors, slots, starts))
                made = builder.append(Mul(values[operand], constant))
            case Offset(operand=operand, addends=addends):
                constant = builder.constant(_repeated(addends, slots, starts))
                made = builder.append(Add(values[operand], constant))
        values.append(made)
    results: list[ResultPlace | Clear] = []
    outputs: dict[int, int] = {}
    for place in (place for places in lanes.places for place in places):
        if isinstance(place, Clear):
            results.append(place)
            continue
        vector = values[place.vector]
        if vector not in outputs:
            builder.append(Output(vector))
            outputs[vector] = len(outputs)
        results.append(ResultPlace(outputs[vector], place.slot))
    packing = Packing(slots, lanes.width, tuple(packed), tuple(results))
    return SlotPlan(builder.finish(), packing)


def _uniform(integer: int, slots: int) -> Integers:
    return np.full(slots, _fitting(integer), dtype=np.int64)


def _repeated(pairs: Sequence[tuple[int, int]], slots: int, starts: Sequence[int]) -> Integers:
    vector = np.zeros(slots, dtype=np.int64)
    for slot, integer in pairs:
        vector[(np.array(starts) + slot) % slots] = _fitting(integer)
    return vector


def _fitting(integer: int) -> int:
    if abs(integer) > MAX_INTEGER:
        raise InvalidProgramError(
            f"cannot use a clear integer of {integer.bit_length()} bits: expected up to 63"
        )
    return integer
