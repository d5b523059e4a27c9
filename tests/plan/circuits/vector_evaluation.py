"""Lane programs run on Python integers, over rows that hold other things beside them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.ir.circuits import ScalarCircuit, evaluate
from cloakwork.programs.ir.vectors import (
    Clear,
    LaneProgram,
    MaskedLanes,
    Multiple,
    Offset,
    PackedLanes,
)
from cloakwork.programs.operations import Add, Mul, Neg, Rotate, Sub


def random_inputs(circuit: ScalarCircuit, generator: random.Random) -> dict[str, list[int]]:
    return {
        each.name: [generator.randrange(-99, 100) for _ in range(each.count)]
        for each in circuit.inputs
    }


def vectors_in_clear(
    program: LaneProgram, rows: Mapping[int, Sequence[int]], slots: int, starts: Sequence[int]
) -> list[list[int]]:
    """The vectors of a program on integers of any size, with rotations over whole rows.

    Args:
        program: The program.
        rows: For the number of every `PackedLanes`, the row that the client sends.
        slots: Slots of a row.
        starts: The slot at which each evaluation starts.
    """
    values: list[NDArray[Any]] = []
    for number, operation in enumerate(program.operations):
        match operation:
            case PackedLanes():
                row = np.array(rows[number], dtype=object)
            case Add(left=left, right=right):
                row = values[left] + values[right]
            case Sub(left=left, right=right):
                row = values[left] - values[right]
            case Mul(left=left, right=right):
                row = values[left] * values[right]
            case Neg(operand=operand):
                row = -values[operand]
            case Rotate(operand=operand, steps=steps):
                row = np.roll(values[operand], -steps)
            case Multiple(operand=operand, factor=factor):
                row = values[operand] * factor
            case MaskedLanes(operand=operand, integers=pairs):
                row = values[operand] * _repeated(pairs, slots, starts)
            case Offset(operand=operand, integers=pairs):
                row = values[operand] + _repeated(pairs, slots, starts)
            case _:
                raise AssertionError(operation)
        values.append(row)
    return [row.tolist() for row in values]


def _repeated(pairs: Sequence[tuple[int, int]], slots: int, starts: Sequence[int]) -> NDArray[Any]:
    row = np.zeros(slots, dtype=object)
    for start in starts:
        for slot, integer in pairs:
            row[(slot + start) % slots] = integer
    return row


def results(
    program: LaneProgram,
    evaluations: Mapping[int, Mapping[str, Sequence[int]]],
    slots: int,
    dirt: Mapping[int, Mapping[int, int]] | None = None,
) -> dict[int, dict[str, list[int]]]:
    """The outputs of evaluations, each from its slot on, on rows with dirt in some slots.

    Args:
        program: The program.
        evaluations: The inputs of each evaluation, by the slot at which it starts.
        slots: Slots of a row.
        dirt: For every ciphertext, numbers in slots.
    """
    rows: dict[int, list[int]] = {}
    for number, operation in enumerate(program.operations):
        if isinstance(operation, PackedLanes):
            row = [0] * slots
            for slot, value in (dirt or {}).get(number, {}).items():
                row[slot] = value
            for start, inputs in evaluations.items():
                for scalar in operation.scalars:
                    row[(scalar.slot + start) % slots] = inputs[scalar.input][scalar.index]
            rows[number] = row
    vectors = vectors_in_clear(program, rows, slots, list(evaluations))
    return {
        start: {
            output.name: [
                place.value
                if isinstance(place, Clear)
                else vectors[place.vector][(place.slot + start) % slots]
                for place in places
            ]
            for output, places in zip(program.outputs, program.places, strict=True)
        }
        for start in evaluations
    }


def assert_right(circuit: ScalarCircuit, program: LaneProgram, generator: random.Random) -> None:
    """One evaluation on the shortest row; several, back to back; one amid numbers of others."""
    width = program.width
    spare = generator.choice((0, 1, 5))
    for count in (1, 3):
        slots = count * width + spare * (count > 1)
        inputs = {number * width: random_inputs(circuit, generator) for number in range(count)}
        assert results(program, inputs, slots) == {
            start: evaluate(circuit, each) for start, each in inputs.items()
        }
    _assert_right_amid_dirt(circuit, program, generator)


def _assert_right_amid_dirt(
    circuit: ScalarCircuit, program: LaneProgram, generator: random.Random
) -> None:
    """No slot that an evaluation depends on receives what is as far off as another may be."""
    width, start = program.width, program.width
    slots = 3 * width
    held = program.supports
    dirt: dict[int, dict[int, int]] = {}
    for number, operation in enumerate(program.operations):
        if isinstance(operation, PackedLanes):
            # Wherever another evaluation, any distance of a width or more away, has numbers.
            reach = {
                (slot + distance + start) % slots
                for slot in held[number]
                for distance in range(width, slots - width + 1)
            }
            dirt[number] = {slot: generator.randrange(1, 1000) for slot in reach}
    inputs = random_inputs(circuit, generator)
    assert results(program, {start: inputs}, slots, dirt)[start] == evaluate(circuit, inputs)
