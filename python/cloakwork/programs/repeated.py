"""Programs whose results are their own next inputs: one step that is run several times.

A step takes levels, so its next inputs stand lower. The step is run lower then, by as many levels,
until a bootstrap at the beginning of a step lifts what it takes back to where the first step had
it. So the operations of all steps are those of one, and only their levels differ.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from cloakwork.base.record import Limits, Word
from cloakwork.programs.operations.bootstrapping import Bootstrap, PairedBootstrap, refreshes
from cloakwork.programs.raised_levels import with_raised_levels
from cloakwork.programs.slots import (
    Builder,
    DropLevel,
    Input,
    Operation,
    Output,
    SlotProgram,
)

MAX_TIMES = 1 << 12


@dataclass(frozen=True, slots=True)
class Carried:
    """An input that is, from the second step on, a result of the step before.

    Args:
        input: The name of the input.
        result: The name of the result.
    """

    input: Word
    result: Word


@dataclass(frozen=True, slots=True)
class Repeated:
    """How often a program is run, each time on its own results.

    Args:
        times: How often.
        carried: The inputs that are results of the step before. Others are the same each time.
    """

    times: Annotated[int, Limits(1, MAX_TIMES)]
    carried: tuple[Carried, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """What one step runs.

    Args:
        body: The operations.
        numbers: For each of them which one of the first step it is.
    """

    body: SlotProgram
    numbers: Sequence[int]


def lifted_inputs(body: SlotProgram, inputs: Collection[int]) -> dict[int, int]:
    """Of inputs that a bootstrap lifts before anything else, the operation that does.

    Args:
        body: The operations.
        inputs: The inputs, by their number among all.
    """
    values = [n for n, each in enumerate(body.operations) if isinstance(each, Input)]
    number_of = {values[number]: number for number in inputs}
    lifts = {
        number_of[each.operand]: n
        for n, each in enumerate(body.operations)
        if isinstance(each, Bootstrap)
        and not isinstance(each, PairedBootstrap)
        and each.operand in number_of
    }
    others = {
        number_of[operand]
        for n, each in enumerate(body.operations)
        if n not in lifts.values()
        for operand in each.operands
        if operand in number_of
    }
    return {number: n for number, n in lifts.items() if number not in others}


def cycle_of(body: SlotProgram, carried: Sequence[tuple[int, int]], times: int) -> list[Step]:
    """The steps that follow one another until a bootstrap lifts what they carry; then anew.

    Args:
        body: The operations of the first step.
        carried: The numbers of inputs, each with that of the result that it is in the next step.
        times: How many steps there are.

    Example:
        >>> from cloakwork.programs.slots import Mul, Rescale
        >>> operations = (Input("x", 3), Mul(0, 0), Rescale(1), Output(2))
        >>> square = SlotProgram("square", 4, operations, (None,) * 4)
        >>> [step.body.states[0].level for step in cycle_of(square, [(0, 0)], 3)]
        [3, 2, 1]
    """
    first = Step(body, range(len(body.operations)))
    taken, made = _levels(body, Input), _levels(body, Output)
    lifts = lifted_inputs(body, {number for number, _ in carried})
    if not lifts:
        spent = max(taken[own] - made[result] for own, result in carried)
        # Refreshed values stand where their parameters say.
        if spent <= 0 or refreshes(body):
            return [first]
        return [_lower(first, spent * each) for each in range(times)]
    bootstraps = [body.operations[n] for n in lifts.values()]
    tops = {each.level for each in bootstraps if isinstance(each, Bootstrap)}
    needed = max(taken[own] for own, _ in carried)
    (top, *others), least = tops, min(made[result] for _, result in carried)
    # Whatever else is lifted on the way stands where its parameters say.
    if others or len(lifts) < len(carried) or refreshes(body) > len(lifts):
        return [first]
    spent = top - least
    if spent <= 0:
        return [first]
    plain = _without_lifts(body, lifts, top)
    count = min(times, max(1, (top - needed) // spent))
    return [first, *(_lower(plain, spent * each) for each in range(1, count))]


def with_lifts(
    body: SlotProgram, inputs: Collection[int], needed: int, least: int, top: int
) -> Step:
    """The same operations, some inputs of which a bootstrap lifts before anything else.

    Args:
        body: The operations.
        inputs: The inputs, by their number among all.
        needed: The level that they come at.
        least: The level that bootstraps take at least.
        top: The level that they give.

    Returns:
        The operations, and for each of those before which one it is now.
    """
    builder = Builder(body.title, body.slots, body.numbers)
    values = [n for n, each in enumerate(body.operations) if isinstance(each, Input)]
    lifted = {values[number] for number in inputs}
    new: list[int] = []
    for n, operation in enumerate(body.operations):
        builder.origin, builder.stage, layout = body.origins[n], body.stages[n], body.layouts[n]
        if n in lifted and isinstance(operation, Input):
            low = builder.append(replace(operation, level=needed), layout)
            builder.stage = "bootstrap"
            made = builder.append(Bootstrap(low, least, top), layout)
            if operation.level < top:
                made = builder.append(DropLevel(made, operation.level), layout)
            new.append(made)
            continue
        operands = [new[each] for each in operation.operands]
        moved = operation.with_operands(operands) if operands else operation
        new.append(builder.append(moved, layout))
    return Step(builder.finish(), new)


def _lower(step: Step, levels: int) -> Step:
    return replace(step, body=with_raised_levels(step.body, -levels))


def _without_lifts(body: SlotProgram, lifts: dict[int, int], top: int) -> Step:
    """A step whose inputs stand where a bootstrap would lift them."""
    removed = set(lifts.values())
    numbers = [n for n in range(len(body.operations)) if n not in removed]
    new = {old: at for at, old in enumerate(numbers)}
    lifted: set[int] = set()
    for n in removed:
        (operand,) = body.operations[n].operands
        lifted.add(operand)
        new[n] = new[operand]
    operations: list[Operation] = []
    for n in numbers:
        operation = body.operations[n]
        if isinstance(operation, Input):
            operation = replace(operation, level=top) if n in lifted else operation
        elif operation.operands:
            operation = operation.with_operands([new[each] for each in operation.operands])
        operations.append(operation)
    plain = SlotProgram(
        body.title,
        body.slots,
        tuple(operations),
        tuple(body.layouts[n] for n in numbers),
        tuple(body.origins[n] for n in numbers),
        tuple(body.stages[n] for n in numbers),
        body.numbers,
    )
    return Step(plain, numbers)


def _levels(body: SlotProgram, kind: type[Input | Output]) -> list[int]:
    pairs = zip(body.operations, body.states, strict=True)
    return [state.level or 0 for operation, state in pairs if isinstance(operation, kind)]
