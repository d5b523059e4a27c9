"""A slot program that begins, and ends, some levels higher."""

from __future__ import annotations

from dataclasses import replace

from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.slots import DropLevel, Input, Operation, SlotProgram


def with_raised_levels(program: SlotProgram, levels: int) -> SlotProgram:
    """The same operations on values that stand so many levels higher.

    A program that bootstraps has no such: its parameters say where refreshed values stand.

    Example:
        >>> from cloakwork.programs.slots import Output
        >>> operations = (Input("x", 3), DropLevel(0, 1), Output(1))
        >>> raised = with_raised_levels(SlotProgram("", 8, operations, (None,) * 3), 2)
        >>> [state.level for state in raised.states]
        [5, 3, 3]
    """
    assert not levels or not refreshes(program)
    if not levels:
        return program
    raised = tuple(_raised(operation, levels) for operation in program.operations)
    return replace(program, operations=raised)


def _raised(operation: Operation, levels: int) -> Operation:
    match operation:
        case Input() | DropLevel():
            return replace(operation, level=operation.level + levels)
        case _:
            return operation
