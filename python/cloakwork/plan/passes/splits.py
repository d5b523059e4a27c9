"""Splitting the linear transforms of a program by what rotations cost on a machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.slots import Linear, SlotProgram
from cloakwork.runtime.costs import Costs


def split_by_cost(program: SlotProgram, costs: Costs) -> SlotProgram:
    """The same program, each transform split where its baby and giant steps cost least.

    A baby step is a further hoisted rotation, a giant step a whole one; what the one costs
    in terms of the other differs between machines and between levels.

    Example:
        >>> from cloakwork.runtime.costs import modelled
        >>> from cloakwork.programs.slots import Input, Output, Rescale
        >>> ones = {d: np.ones(64) for d in range(16)}
        >>> operations = (Input("x", 1), Linear(0, ones, 16), Rescale(1), Output(2))
        >>> program = SlotProgram("", 64, operations, (None,) * 4)
        >>> split_by_cost(program, modelled([1, 2], 1)).operations[1].baby_steps
        4
    """
    operations = [
        _split(operation, program.slots, costs, state.level or 0)
        if isinstance(operation, Linear)
        else operation
        for operation, state in zip(program.operations, program.states, strict=True)
    ]
    return replace(program, operations=tuple(operations))


def _split(linear: Linear, slots: int, costs: Costs, level: int) -> Linear:
    numbers = list(linear.diagonals)
    order = np.argsort(np.asarray(numbers) % slots)
    best = cheapest_split(numbers, slots, costs.hoisted_share(level))
    counted = dict(zip((numbers[place] for place in order), best.numbers, strict=True))
    if isinstance(linear.diagonals, SparseDiagonals):
        diagonals = linear.diagonals.counted(np.asarray([counted[each] for each in numbers]))
        return replace(linear, diagonals=diagonals, baby_steps=best.baby_steps)
    dense = {counted[number]: vector for number, vector in linear.diagonals.items()}
    return replace(linear, diagonals=dense, baby_steps=best.baby_steps)
