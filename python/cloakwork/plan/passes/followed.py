"""Where values of a program stand in the program that passes make of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.slots import DropLevel, Output, SlotProgram


def followed(
    program: SlotProgram, values: Sequence[int], change: Callable[[SlotProgram], SlotProgram]
) -> tuple[SlotProgram, tuple[int, ...]]:
    """A program changed, and the values in it that stand for some of before.

    Example:
        >>> from cloakwork.plan.passes.simplify import simplified
        >>> from cloakwork.programs.slots import Add, Input, Neg
        >>> made = Input("x", 0), Neg(0), Neg(1), Add(2, 0), Output(3)
        >>> program, values = followed(SlotProgram("t", 4, made, (None,) * 5), [3], simplified)
        >>> program.operations[values[0]]
        Add(left=0, right=0)
    """
    if not values:
        return change(program), ()
    # They are followed as further outputs, behind all others.
    marked = change(_with_outputs(program, values))
    outputs = [n for n, each in enumerate(marked.operations) if isinstance(each, Output)]
    end = outputs[-len(values) - 1] + 1
    return _first(marked, end), tuple(
        _undropped(marked, number) for number in outputs[-len(values) :]
    )


def followed_ranges(
    program: SlotProgram,
    ranges: Sequence[ActivationRange],
    change: Callable[[SlotProgram], SlotProgram],
) -> tuple[SlotProgram, tuple[ActivationRange, ...]]:
    """A program changed, and ranges of the values in it that stand for theirs; see `followed`."""
    values = [value for each in ranges for value in each.values]
    changed, found = followed(program, values, change)
    waiting = iter(found)
    return changed, tuple(
        replace(each, values=tuple(next(waiting) for _ in each.values)) for each in ranges
    )


def _with_outputs(program: SlotProgram, values: Sequence[int]) -> SlotProgram:
    count = len(values)
    return SlotProgram(
        program.title,
        program.slots,
        program.operations + tuple(map(Output, values)),
        program.layouts + (None,) * count,
        program.origins + ("",) * count,
        program.stages + ("",) * count,
        program.numbers,
    )


def _first(program: SlotProgram, count: int) -> SlotProgram:
    """The first operations of a program."""
    return SlotProgram(
        program.title,
        program.slots,
        program.operations[:count],
        program.layouts[:count],
        program.origins[:count],
        program.stages[:count],
        program.numbers,
    )


def _undropped(program: SlotProgram, output: int) -> int:
    """The value that an output is of, levels that it drops left out."""
    (value,) = program.operations[output].operands
    while isinstance(operation := program.operations[value], DropLevel):
        value = operation.operand
    return value
