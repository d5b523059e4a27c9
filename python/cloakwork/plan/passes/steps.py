"""Steps of a program: operations that stand at one level, and what they make for one another.

A step is an operation, or all products that meet in a sum before they are rescaled. Steps that do
the same to values made alike, as to the ciphertexts of one tensor, can be joined to one.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from cloakwork.plan.passes.levels import groups_of, sources_of
from cloakwork.programs.slots import Constant, DropLevel, Input, Output, Rescale, SlotProgram


@dataclass(slots=True)
class Step:
    """Operations that stand at one level.

    Values are named by their numbers; where steps are joined, all that are treated alike by the
    number of the first.

    Args:
        depth: Levels that it takes.
        numbers: The numbers of its operations.
        operands: The values that it works on, drops left out.
        made: The values that it makes, all at one level.
    """

    depth: int
    numbers: list[int] = field(default_factory=list)
    operands: dict[int, None] = field(default_factory=dict)
    made: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StepGraph:
    """The steps of a program.

    Args:
        steps: By name.
        maker: For each value the name of the step that makes it; inputs have none.
        alike: For each value, and each input, all that it stands for.
    """

    steps: Mapping[int, Step]
    maker: Mapping[int, int]
    alike: Mapping[int, Sequence[int]]


def graph_of(program: SlotProgram) -> StepGraph:
    """The steps of a program, each value standing for itself."""
    sources, groups = sources_of(program), groups_of(program)
    steps: dict[int, Step] = {}
    maker: dict[int, int] = {}
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Input | Constant | DropLevel):
            continue
        waiting = program.states[number].waiting
        of_products = waiting or isinstance(operation, Rescale)
        name = groups[number if waiting else operation.operands[0]] if of_products else number
        step = steps.setdefault(name, Step(1 if of_products else operation.depth))
        step.numbers.append(number)
        for operand in operation.operands:
            state = program.states[operand]
            if state.level is not None and not state.waiting:
                step.operands[sources[operand]] = None
        if not waiting and not isinstance(operation, Output):
            step.made.append(number)
            maker[number] = name
    return StepGraph(steps, maker, {value: (value,) for value in sources})


def joined(graph: StepGraph, program: SlotProgram) -> StepGraph:
    """The graph with steps joined that do the same to values that are made alike."""
    # By value the first that is made alike; inputs of one level are.
    first: dict[int, int] = {}
    inputs: dict[int | None, int] = {}
    for number, operation in enumerate(program.operations):
        if isinstance(operation, Input):
            first[number] = inputs.setdefault(program.states[number].level, number)
    names: dict[Hashable, int] = {}
    steps: dict[int, Step] = {}
    maker: dict[int, int] = {}
    for step in reversed(users_first(graph)):
        operands = tuple(first[value] for value in step.operands)
        kinds = tuple(program.operations[number].kind for number in step.numbers)
        levels = tuple(program.states[number].level for number in step.numbers)
        name = names.setdefault((kinds, levels, operands), step.numbers[0])
        one = steps.setdefault(name, Step(step.depth))
        one.numbers += step.numbers
        one.operands |= dict.fromkeys(operands)
        one.made = one.made or step.made
        for value, representative in zip(step.made, one.made, strict=True):
            first[value] = representative
            maker[representative] = name
    alike: dict[int, list[int]] = {}
    for value, representative in first.items():
        alike.setdefault(representative, []).append(value)
    return StepGraph(steps, maker, alike)


def first_uses(graph: StepGraph, steps: Sequence[Step]) -> list[list[int]]:
    """For each step the inputs that no later one uses, where steps stand with users first."""
    spent: list[list[int]] = [[] for _ in steps]
    numbers = {
        value: number
        for number, step in enumerate(steps)
        for value in step.operands
        if value not in graph.maker
    }
    for value, number in numbers.items():
        spent[number].append(value)
    return spent


def users_first(graph: StepGraph) -> list[Step]:
    """The steps, those that come last in the program first as far as may be.

    A result comes as late as what it is of: until then it would be followed beside all others.
    """
    steps = graph.steps
    place = {name: _place(graph, step) for name, step in steps.items()}
    before = {
        name: {graph.maker[value] for value in step.operands if value in graph.maker}
        for name, step in steps.items()
    }
    users = dict.fromkeys(steps, 0)
    for names in before.values():
        for name in names:
            users[name] += 1
    free = [(-place[name], name) for name, count in users.items() if not count]
    heapq.heapify(free)
    ordered: list[Step] = []
    while free:
        _, name = heapq.heappop(free)
        ordered.append(steps[name])
        for each in before[name]:
            users[each] -= 1
            if not users[each]:
                heapq.heappush(free, (-place[each], each))
    return ordered


def _place(graph: StepGraph, step: Step) -> int:
    """Where a step stands in the program, a result where what it is of does."""
    if step.made:
        return step.numbers[-1]
    makers = (graph.maker[value] for value in step.operands if value in graph.maker)
    return max((graph.steps[name].numbers[-1] for name in makers), default=step.numbers[-1])
