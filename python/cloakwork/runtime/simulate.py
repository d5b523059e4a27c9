"""What slot programs compute in the clear, with modelled errors or without."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.slots import Constant, Input, Linear, Output, SlotProgram, Vector
from cloakwork.runtime.executor import applied
from cloakwork.runtime.schedule import sharing_transforms
from cloakwork.schemes.ckks_noise import NoiseModel
from cloakwork.schemes.clear_real import ClearBackend, ClearKey, ClearVector


def results(
    program: SlotProgram,
    inputs: Sequence[Vector],
    noise: NoiseModel | None = None,
) -> list[Vector]:
    """The results of a program over reals in the clear.

    Args:
        program: The program.
        inputs: One vector for each input, in order.
        noise: The errors to add; None for none.

    Example:
        >>> from cloakwork.programs.slots import Add
        >>> program = SlotProgram("x+x", 2, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> results(program, [np.array([1.0, -2.0])])[0].tolist()
        [2.0, -4.0]
    """
    outputs = {n for n, each in enumerate(program.operations) if isinstance(each, Output)}
    values = _values(program, ClearBackend(noise), ClearKey(noise), inputs, outputs)
    return [values[number].slots for number in sorted(outputs)]


def extremes(
    program: SlotProgram,
    runs: Sequence[Sequence[Vector]],
    ranges: Sequence[ActivationRange],
    width: int,
) -> NDArray[np.float64]:
    """The least and the greatest number that comes to each layer, and the least absolute value.

    Of all runs in the clear.

    Args:
        program: The program.
        runs: For each run one vector for each input, in order.
        ranges: The layers, by what they are meant for.
        width: Inputs that a ciphertext has slots for.

    Example:
        >>> from cloakwork.programs.places import Places
        >>> program = SlotProgram("x", 2, (Input("x", 0), Output(0)), (None,) * 2)
        >>> silu = ActivationRange("silu", (0,), Places(2, np.array([0, 1])), -1.0, 1.0)
        >>> extremes(program, [[np.array([0.5, -2.0])]], [silu], 1).tolist()
        [[-2.0, 0.5, 0.5]]
    """
    found = np.empty((len(runs), len(ranges), 3))
    kept = {value for each in ranges for value in each.values}
    for inputs, rows in zip(runs, found, strict=True):
        values = _values(program, ClearBackend(), ClearKey(), inputs, kept)
        for each, row in zip(ranges, rows, strict=True):
            row[:] = each.received([values[value].slots for value in each.values], width)
    least, greatest, nearest = np.moveaxis(found, -1, 0)
    return np.column_stack([least.min(axis=0), greatest.max(axis=0), nearest.min(axis=0)])


def _values(
    program: SlotProgram,
    backend: ClearBackend,
    key: ClearKey,
    inputs: Sequence[Vector],
    kept: Set[int],
) -> dict[int, ClearVector]:
    """The values that are kept; others are as long as operations use them."""
    uses = Counter(operand for each in program.operations for operand in {*each.operands})
    waiting, sharing = iter(inputs), sharing_transforms(program)
    values: dict[int, ClearVector] = {}
    for number, operation in enumerate(program.operations):
        match operation:
            case Input(level=level):
                values[number] = key.encrypt(next(waiting), level=level)
            case Constant():
                pass
            case Output(operand=operand):
                values[number] = values[operand]
            case Linear(operand=operand, diagonals=diagonals, baby_steps=steps):
                shared_by = sharing[number]
                values[number] = backend.shared_linear(values[operand], diagonals, steps, shared_by)
            case _:
                values[number] = applied(operation, program, backend, values)
        uses.subtract({*operation.operands})
        for done in {number, *operation.operands} - kept:
            if not uses[done]:
                values.pop(done, None)
    return values
