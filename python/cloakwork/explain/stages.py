"""The stages of a plan: operations in a row that the planner uses for one thing."""

from __future__ import annotations

from dataclasses import dataclass

from cloakwork.programs.slots import Constant, DropLevel, Input, Output, SlotProgram

_ALIGNING = "align levels"


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


def stages_of_program(program: SlotProgram) -> list[Stage]:
    """The stages of a program; inputs, constants and outputs take no work and are not in any.

    Drops of a level stand before the stage that they fall in, as a stage of their own.

    Example:
        >>> from cloakwork.programs.slots import Neg, Rotate
        >>> operations = (Input("x", 1), Rotate(0, 1), Neg(1), Neg(2))
        >>> program = SlotProgram("", 4, operations, (None,) * 4, (), ("", "turn", "flip", "flip"))
        >>> [(stage.name, stage.numbers) for stage in stages_of_program(program)]
        [('turn', (1,)), ('flip', (2, 3))]
    """
    stages: list[Stage] = []
    drops: list[int] = []
    made: list[int] = []

    def close(after: int) -> None:
        if drops:
            stages.append(Stage(_ALIGNING, program.origins[after], tuple(drops)))
        if made:
            stages.append(Stage(program.stages[made[0]], program.origins[made[0]], tuple(made)))
        drops.clear()
        made.clear()

    for number, operation in enumerate(program.operations):
        match operation:
            case Input() | Constant() | Output():
                continue
            case DropLevel(operand=operand):
                if operand in made:
                    close(made[0])
                drops.append(number)
            case _:
                if made and _mark(program, made[0]) != _mark(program, number):
                    kept = [drop for drop in drops if drop > made[-1]]
                    del drops[len(drops) - len(kept) :]
                    close(made[0])
                    drops.extend(kept)
                made.append(number)
    if made or drops:
        close((made or drops)[0])
    return stages


def _mark(program: SlotProgram, number: int) -> tuple[str, str]:
    return program.stages[number], program.origins[number]


def strands_of(program: SlotProgram, stage: Stage) -> list[tuple[int, ...]]:
    """The operations of a stage, those that work on one another's values together.

    A stage does the same to every ciphertext of a tensor; each of these is a strand.

    Example:
        >>> from cloakwork.programs.slots import Add, Rotate
        >>> operations = (Input("x", 1), Input("y", 1), Rotate(0, 1), Rotate(1, 1), Add(0, 2))
        >>> program = SlotProgram("", 4, operations, (None,) * 5)
        >>> strands_of(program, stages_of_program(program)[0])
        [(2, 4), (3,)]
    """
    leaders = {number: number for number in stage.numbers}

    def leader(number: int) -> int:
        while leaders[number] != number:
            leaders[number] = leaders[leaders[number]]
            number = leaders[number]
        return number

    for number in stage.numbers:
        for operand in program.operations[number].operands:
            if operand in leaders:
                first, second = sorted((leader(operand), leader(number)))
                leaders[second] = first
    strands: dict[int, list[int]] = {}
    for number in stage.numbers:
        strands.setdefault(leader(number), []).append(number)
    return [tuple(strand) for strand in strands.values()]
