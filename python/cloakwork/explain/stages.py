"""The stages of a plan: operations in a row that the planner wanted for one thing."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from cloakwork.programs.slots import Constant, Input, Output, Program, operands


@dataclass(frozen=True, slots=True)
class Stage:
    """Operations in a row that serve one thing.

    Args:
        name: What they are for; empty where nobody has said.
        origin: The line of the user's program that they come from; empty where unknown.
        numbers: Their numbers, in order.
    """

    name: str
    origin: str
    numbers: tuple[int, ...]


def stages_of(program: Program) -> list[Stage]:
    """The stages of a program; inputs, constants and outputs are no work and in none.

    Example:
        >>> from cloakwork.programs.slots import Neg, Rotate
        >>> operations = (Input("x", 1), Rotate(0, 1), Neg(1), Neg(2))
        >>> program = Program("", 4, operations, (None,) * 4, (), ("", "turn", "flip", "flip"))
        >>> [(stage.name, stage.numbers) for stage in stages_of(program)]
        [('turn', (1,)), ('flip', (2, 3))]
    """
    work = [
        number
        for number, operation in enumerate(program.operations)
        if not isinstance(operation, Input | Constant | Output)
    ]
    marked = itertools.groupby(
        work, lambda number: (program.stages[number], program.origins[number])
    )
    return [Stage(name, origin, tuple(numbers)) for (name, origin), numbers in marked]


def strands_of(program: Program, stage: Stage) -> list[tuple[int, ...]]:
    """The operations of a stage, those that work on one another's values together.

    A stage does the same to every ciphertext of a tensor; each of these is a strand.

    Example:
        >>> from cloakwork.programs.slots import Add, Rotate
        >>> operations = (Input("x", 1), Input("y", 1), Rotate(0, 1), Rotate(1, 1), Add(0, 2))
        >>> program = Program("", 4, operations, (None,) * 5)
        >>> strands_of(program, stages_of(program)[0])
        [(2, 4), (3,)]
    """
    leaders = {number: number for number in stage.numbers}

    def leader(number: int) -> int:
        while leaders[number] != number:
            leaders[number] = leaders[leaders[number]]
            number = leaders[number]
        return number

    for number in stage.numbers:
        for operand in operands(program.operations[number]):
            if operand in leaders:
                first, second = sorted((leader(operand), leader(number)))
                leaders[second] = first
    strands: dict[int, list[int]] = {}
    for number in stage.numbers:
        strands.setdefault(leader(number), []).append(number)
    return [tuple(strand) for strand in strands.values()]
