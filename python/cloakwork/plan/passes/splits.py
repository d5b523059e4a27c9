"""Splitting the linear transforms of a program by what rotations cost on a machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from cloakwork.programs.bsgs import Split, cheapest_common_split
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.slots import Linear, SlotProgram
from cloakwork.runtime.costs import Costs
from cloakwork.runtime.transform_groups import TransformSum, transform_sums


def split_by_cost(
    program: SlotProgram, costs: Costs, baby_step: float | None = None
) -> SlotProgram:
    """The same program, transforms of reals split where their baby and giant steps cost least.

    A baby step is a further hoisted rotation, a giant step a whole one; what the one costs
    in terms of the other differs between machines and between levels. Transforms that are summed
    share giant steps, and have the same split.

    Args:
        program: The program.
        costs: What operations cost at each level.
        baby_step: What a baby step costs, in giant steps; None takes it from the costs.

    Example:
        >>> from cloakwork.runtime.costs import modelled
        >>> from cloakwork.programs.slots import Input, Output, Rescale
        >>> ones = {d: np.ones(64) for d in range(16)}
        >>> operations = (Input("x", 1), Linear(0, ones, 16), Rescale(1), Output(2))
        >>> program = SlotProgram("", 64, operations, (None,) * 4)
        >>> split_by_cost(program, modelled([1, 2], 1)).operations[1].baby_steps
        4
    """
    chosen = _splits(program, costs, baby_step)
    operations = [
        _resplit(operation, chosen[number], program.slots)
        if isinstance(operation, Linear) and number in chosen
        else operation
        for number, operation in enumerate(program.operations)
    ]
    return replace(program, operations=tuple(operations))


def _splits(program: SlotProgram, costs: Costs, baby_step: float | None) -> dict[int, Split]:
    """For each transform the split of it, or of all that are summed or have the same operands."""
    by_operands: dict[tuple[int, ...], list[TransformSum]] = {}
    for each in transform_sums(program):
        operands = {_linear(program, number).operand for number in each.transforms}
        by_operands.setdefault(tuple(sorted(operands)), []).append(each)
    chosen: dict[int, Split] = {}
    for sums in by_operands.values():
        apart = [_common(program, [each], costs, baby_step) for each in sums]
        together, cost = _common(program, sums, costs, baby_step)
        same = cost < sum(each for _, each in apart)
        for each, (split, _) in zip(sums, apart, strict=True):
            chosen.update(dict.fromkeys(each.transforms, together if same else split))
    return chosen


def _common(
    program: SlotProgram, sums: Sequence[TransformSum], costs: Costs, baby_step: float | None
) -> tuple[Split, float]:
    """The split of least cost for some sums of the same operands, and the cost."""
    blocks: dict[tuple[int, int], list[int]] = {}
    for each in sums:
        for number in each.transforms:
            linear = _linear(program, number)
            blocks.setdefault((linear.operand, each.result), []).extend(linear.diagonals)
    level = program.states[sums[0].result].level or 0
    share = costs.hoisted_share(level) if baby_step is None else baby_step
    return cheapest_common_split(blocks, program.slots, share)


def _linear(program: SlotProgram, number: int) -> Linear:
    linear = program.operations[number]
    assert isinstance(linear, Linear)
    return linear


def _resplit(linear: Linear, split: Split, slots: int) -> Linear:
    """A transform whose diagonals are counted as the split of these and others counts them."""
    counts = {number % slots: number for number in split.numbers}
    counted = [counts[number % slots] for number in linear.diagonals]
    if isinstance(linear.diagonals, SparseDiagonals):
        diagonals = linear.diagonals.counted(np.asarray(counted))
        return replace(linear, diagonals=diagonals, baby_steps=split.baby_steps)
    dense = dict(zip(counted, linear.diagonals.values(), strict=True))
    return replace(linear, diagonals=dense, baby_steps=split.baby_steps)
