"""Each operation at the lowest level that works, so that inputs are encrypted no higher.

Levels follow from what a value is used for, from the outputs back. A value that
is ready can be dropped to the level of each consumer. A product that
is not rescaled cannot: all that is computed before the rescale stands at one level,
the highest that any of it is needed at.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from cloakwork.base.arguments import integer
from cloakwork.programs.slots import (
    MAX_LEVEL,
    Bootstrap,
    Builder,
    Constant,
    DropLevel,
    Input,
    Operation,
    Output,
    Rescale,
    SlotProgram,
    TakeSum,
)


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Which uses of values are served by a bootstrap of them.

    Args:
        uses: The operation that uses a value, and the value, drops of levels left out.
        least: The level of a value that is refreshed, at least.
        level: The level that it has then.
    """

    uses: Collection[tuple[int, int]]
    least: int
    level: int


_NOTHING: Refreshed = Refreshed(frozenset(), 0, 0)


def depth_of(program: SlotProgram) -> int:
    """Levels that the deepest path from an input to an output takes.

    Example:
        >>> from cloakwork.programs.slots import Mul
        >>> operations = (Input("x", 5), Mul(0, 0), Rescale(1), DropLevel(2, 1), Output(3))
        >>> depth_of(SlotProgram("square", 4, operations, (None,) * 5))
        1
    """
    depths: list[int] = []
    deepest = 0
    for operation in program.operations:
        depth = max((depths[operand] for operand in operation.operands), default=0)
        depths.append(depth + operation.depth)
        if isinstance(operation, Output):
            deepest = max(deepest, depth)
    return deepest


def lowest_levels(
    program: SlotProgram,
    *,
    floor: int = 0,
    together: Sequence[int] = (),
    refreshed: Refreshed = _NOTHING,
) -> SlotProgram:
    """The same computation with every operation and input at the lowest level that works.

    Drops stand only where a value serves consumers at different levels, one for each
    value and level. Operations that no output uses count too; `plan.passes.simplify`
    removes them.

    Example:
        >>> from cloakwork.programs.slots import Mul
        >>> operations = (Input("x", 5), Mul(0, 0), Rescale(1), DropLevel(2, 1), Output(3))
        >>> print(lowest_levels(SlotProgram("square", 4, operations, (None,) * 5)))
        square, 4 slots
          %0 = input x        level 1
          %1 = mul %0 %0      level 1, not rescaled
          %2 = rescale %1     level 0
          %3 = output %2      level 0
    """
    floor = integer(floor, "floor", "lower a program's levels", least=0, most=MAX_LEVEL)
    sources = sources_of(program)
    wanted = _wanted_levels(program, sources, floor, refreshed)
    wanted |= _common_levels(program, wanted, together)
    builder = Builder(program.title, program.slots, program.numbers)
    new_of: dict[int, int] = {}
    dropped: dict[tuple[int, int], int] = {}
    higher: dict[int, int] = {}

    def at_level(made: int, source: int, level: int) -> int:
        """A new value that stands for an old one, at the level asked for."""
        if builder.state(made).level in (level, None):
            return made
        if (made, level) not in dropped:
            builder.origin, builder.stage = program.origins[source], program.stages[source]
            dropped[made, level] = builder.append(DropLevel(made, level), program.layouts[source])
        return dropped[made, level]

    def served(user: int, source: int, level: int) -> int:
        """What an operation uses at a level of an old value: itself, or itself refreshed."""
        if (user, source) not in refreshed.uses:
            return at_level(new_of[source], source, level)
        if source not in higher:
            builder.origin, builder.stage = program.origins[source], program.stages[source]
            higher[source] = builder.append(
                Bootstrap(new_of[source], refreshed.least, refreshed.level),
                program.layouts[source],
            )
        return at_level(higher[source], source, level)

    for number, operation in enumerate(program.operations):
        if isinstance(operation, DropLevel):
            continue
        match operation:
            case Input(name=name):
                moved: Operation = Input(name, wanted[number])
            case Constant():
                moved = operation
            case _:
                level = _operand_level(program, number, wanted)
                moved = operation.with_operands(
                    [served(number, sources[operand], level) for operand in operation.operands]
                )
        builder.origin, builder.stage = program.origins[number], program.stages[number]
        new_of[number] = builder.append(moved, program.layouts[number])
    return builder.finish()


def sources_of(program: SlotProgram) -> list[int]:
    """For every value the one that it is, drops taken away."""
    sources: list[int] = []
    for number, operation in enumerate(program.operations):
        if isinstance(operation, DropLevel):
            sources.append(sources[operation.operand])
        else:
            sources.append(number)
    return sources


def _wanted_levels(
    program: SlotProgram, sources: Sequence[int], floor: int, refreshed: Refreshed
) -> dict[int, int]:
    """The level of every encrypted value that is no drop.

    Values go by their present level, upwards, and later ones first. So a value comes
    after all that uses it, and a value that waits comes after all rescales of the
    values that it must stand level with.
    """
    groups = groups_of(program)
    needs = [0] * len(program.operations)
    wanted: dict[int, int] = {}

    def order(number: int) -> tuple[int, int]:
        return (program.states[number].level or 0, -number)

    for number in sorted(range(len(program.operations)), key=order):
        operation, state = program.operations[number], program.states[number]
        if state.level is None or isinstance(operation, DropLevel):
            continue
        if state.waiting:
            wanted[number] = max(needs[groups[number]], 1)
        else:
            wanted[number] = floor if isinstance(operation, Output) else needs[number]
        level = _operand_level(program, number, wanted)
        for operand in operation.operands:
            need = groups[operand] if program.states[operand].waiting else sources[operand]
            is_refreshed = (number, sources[operand]) in refreshed.uses
            needs[need] = max(needs[need], refreshed.least if is_refreshed else level)
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Rescale):
            wanted[number] = wanted[operation.operand] - 1
        elif isinstance(operation, TakeSum):
            # Sums do not drop: each that is taken does.
            wanted[number] = wanted[operation.operand]
    return wanted


def _common_levels(
    program: SlotProgram, wanted: Mapping[int, int], together: Sequence[int]
) -> dict[int, int]:
    """The levels of inputs that stand together: the highest that any of them is wanted at."""
    inputs = iter(
        n for n, operation in enumerate(program.operations) if isinstance(operation, Input)
    )
    common: dict[int, int] = {}
    for count in together:
        group = list(islice(inputs, count))
        common |= dict.fromkeys(group, max(wanted[number] for number in group))
    return common


def groups_of(program: SlotProgram) -> list[int]:
    """For every value that waits one number for all that must stand at its level."""
    groups = list(range(len(program.operations)))

    def group_of(number: int) -> int:
        while groups[number] != number:
            groups[number] = groups[groups[number]]
            number = groups[number]
        return number

    for number, operation in enumerate(program.operations):
        if program.states[number].waiting:
            for operand in operation.operands:
                if program.states[operand].waiting:
                    groups[group_of(operand)] = group_of(number)
    return [group_of(number) for number in groups]


def _operand_level(program: SlotProgram, number: int, wanted: Mapping[int, int]) -> int:
    """The level that an operation wants its encrypted operands at."""
    return wanted[number] + program.operations[number].depth
