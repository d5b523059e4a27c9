"""From a lane program to a slot program over integers, all of it at one level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.ir.vectors import (
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
from cloakwork.programs.packing.scalar import ResultPlace, ScalarPlaces
from cloakwork.programs.slots import (
    MAX_INTEGER,
    Add,
    Builder,
    Input,
    Integers,
    Mul,
    Neg,
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

    Args:
        lanes: The lane program.
        slots: Slots of a row.

    Raises:
        InvalidProgramError: The program is wider than a row.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitInput, CircuitOutput
        >>> from cloakwork.programs.ir.vectors import Place
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
                vectors = [np.full(slots, digit, np.int64) for digit in _digits(factor)]
                made = _times(builder, values[operand], vectors)
            case Masked(operand=operand, factors=factors):
                vectors = _repeated(factors, slots, starts)
                made = _times(builder, values[operand], vectors)
            case Offset(operand=operand, addends=addends):
                vectors = _repeated(addends, slots, starts)
                made = _plus(builder, values[operand], vectors)
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
    places_of = ScalarPlaces(slots, lanes.width, tuple(packed), tuple(results))
    return SlotPlan(builder.finish(), places_of)


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
    """The integer in digits to the base 2^62, the lowest first; one where an int64 holds it."""
    if abs(integer) <= MAX_INTEGER:
        return [integer]
    sign, rest = (-1 if integer < 0 else 1), abs(integer)
    digits: list[int] = []
    while rest:
        digits.append(sign * (rest & ((1 << _DIGIT_BITS) - 1)))
        rest >>= _DIGIT_BITS
    return digits
