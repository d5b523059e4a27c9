"""A network's program as a table: each layer's packing, rotations, levels, keys and time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cloakwork._native import Parameters
from cloakwork.explain.quantities import duration, size
from cloakwork.plan.analysis.memory import ProcessMemory
from cloakwork.plan.cost.table import Costs, seconds_of
from cloakwork.plan.tensors.sums import split
from cloakwork.programs.keys import KeyDemand, demand_of
from cloakwork.programs.slots import Input, Linear, Output, Program, Rotate, operands

_HEAD = ("layer", "packing", "rotations", "diagonals", "levels", "keys", "time")


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer, or several that are one product, takes.

    Args:
        name: Its names.
        packing: How its result is packed.
        rotations: Rotations that are done.
        diagonals: Diagonals of its matrices.
        start: The level that it starts at.
        end: The level that its result stands at.
        keys: Evaluation keys that it needs.
        seconds: What it takes, by the costs.
    """

    name: str
    packing: str
    rotations: int
    diagonals: int
    start: int
    end: int
    keys: KeyDemand
    seconds: float


def layers_of(program: Program, costs: Costs) -> list[Layer]:
    """The layers of a network's program, in order.

    Args:
        program: A program whose stages name layers and packings.
        costs: What operations cost.
    """
    numbers: dict[str, list[int]] = {}
    for number, operation in enumerate(program.operations):
        if not isinstance(operation, Input | Output):
            numbers.setdefault(program.stages[number], []).append(number)
    seconds = seconds_of(program, costs)
    return [_layer(program, stage, of_it, seconds) for stage, of_it in numbers.items()]


def _layer(program: Program, stage: str, numbers: Sequence[int], seconds: Sequence[float]) -> Layer:
    name, _, packing = stage.partition(" | ")
    rotations = diagonals = 0
    for number in numbers:
        operation = program.operations[number]
        if isinstance(operation, Linear):
            diagonals += len(operation.diagonals)
            rotations += split(operation.diagonals, program.slots, operation.baby_steps).rotations
        rotations += isinstance(operation, Rotate)
    results = [program.states[number].level for number in numbers]
    sources = [
        program.states[operand].level
        for number in numbers
        for operand in operands(program.operations[number])
    ]
    ends = [level for level in results if level is not None]
    return Layer(
        name,
        packing,
        rotations,
        diagonals,
        max((level for level in sources if level is not None), default=0),
        ends[-1] if ends else 0,
        demand_of(program, numbers),
        sum(seconds[number] for number in numbers),
    )


def summary(
    title: str,
    program: Program,
    parameters: Parameters,
    costs: Costs,
    batch: int,
    memory: ProcessMemory,
    error: float,
) -> str:
    """The table of a network and its totals, as text.

    Args:
        title: The network.
        program: Its program.
        parameters: What it runs under.
        costs: What operations cost, in CPU seconds.
        batch: Inputs of a run.
        memory: What an evaluator's process takes.
        error: The largest error to expect.
    """
    layers = layers_of(program, costs)
    key_bytes = parameters.evaluation_key_bytes
    rows = [
        (
            layer.name,
            layer.packing,
            str(layer.rotations),
            str(layer.diagonals),
            f"{layer.start} to {layer.end}",
            f"{len(layer.keys)}, {size(layer.keys.nbytes(key_bytes))}",
            duration(layer.seconds),
        )
        for layer in layers
    ]
    seconds = sum(layer.seconds for layer in layers) + costs.run
    inputs = sum(isinstance(each, Input) for each in program.operations)
    lines = [
        f"{title} on {parameters}",
        *_table([_HEAD, *rows]),
        f"rotations   {sum(layer.rotations for layer in layers)}, "
        f"diagonals {sum(layer.diagonals for layer in layers)}, levels {parameters.levels}, "
        f"input ciphertexts {inputs}",
        f"keys        {len(demand_of(program))}, {size(memory.keys)}",
        f"memory      {size(memory.total)} at the peak of an evaluator's process: keys "
        f"{size(memory.keys)}, layers encoded {size(memory.layers)}, as numbers "
        f"{size(memory.numbers)}, work {size(memory.workspace)}, the rest "
        f"{size(memory.interpreter)}",
        f"time        {duration(seconds)} of CPU by the model for {batch} input(s), "
        f"{batch / seconds if seconds else math.inf:.3g} inputs a second",
        f"error       up to {error:.2g}",
    ]
    return "\n".join(lines)


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
