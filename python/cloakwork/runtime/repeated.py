"""Runs a program as often as it is repeated, each time on its own results."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cloakwork.base.progress import in_turn
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.repeated import Step, cycle_of
from cloakwork.programs.slots import SlotProgram, Vector
from cloakwork.runtime.after import After
from cloakwork.runtime.executor import run_in_order
from cloakwork.runtime.simulate import results
from cloakwork.schemes.base import levels_of

if TYPE_CHECKING:
    from cloakwork.runtime.program import Program


def carried_links(program: Program) -> list[After]:
    """The inputs that are results of the step before, as results of the program itself."""
    if program.repeated is None:
        return []
    return [After(each.input, program, each.result) for each in program.repeated.carried]


def carried_pairs(program: Program) -> list[tuple[int, int]]:
    """The numbers of these inputs, each with that of the result that it is in the next step."""
    return [pair for link in carried_links(program) for pair in link.pairs(program)]


def cycle(program: Program) -> list[Step]:
    """The steps of a program that follow one another, again and again; see `cycle_of`."""
    body = program.body
    assert isinstance(body, SlotProgram)
    if program.repeated is None:
        return [Step(body, range(len(body.operations)))]
    return cycle_of(body, carried_pairs(program), program.repeated.times)


def steps(program: Program) -> Iterator[Step]:
    """All steps of a program, in order: one where it is not repeated."""
    found = program.cycle
    times = 1 if program.repeated is None else program.repeated.times
    for number in range(times):
        yield found[number % len(found)]


def misfit(program: Program) -> str:
    """Why a program cannot be repeated; empty where it can."""
    body, repeated = program.body, program.repeated
    if repeated is None:
        return ""
    if not isinstance(body, SlotProgram) or body.numbers != "real":
        return "it is not over reals, and repeated"
    if program.kept or not repeated.carried:
        return "it is repeated and keeps a state, or carries nothing on"
    for link in carried_links(program):
        reason = link.misfit(program)
        if reason:
            return reason
    pairs = carried_pairs(program)
    if len({own for own, _ in pairs}) < len(pairs):
        return "an input is carried on twice"
    try:
        found = program.cycle
    except InvalidProgramError as refusal:
        return f"its steps do not follow one another: {refusal.reason}"
    several = [*found, found[0]] if repeated.times > len(found) else found
    for one, following in pairwise(several):
        made, taken = levels_of(one.body, "outputs"), levels_of(following.body, "inputs")
        lacking = max(taken[own] - made[result] for own, result in pairs)
        if lacking > 0:
            return (
                f"a step leaves what it carries on {lacking} levels below where the next takes it"
            )
    return ""


def run_steps(
    program: Program,
    backend: Any,
    inputs: Sequence[Any],
    run: Callable[[Step, Sequence[Any]], Sequence[Any]],
    of: Iterable[Step] | None = None,
) -> Sequence[Any]:
    """The results of the last step.

    Args:
        program: The program.
        backend: What brings values to lower levels.
        inputs: The inputs of the first step.
        run: Gives the results of a step, of its inputs.
        of: The steps; by default all.
    """
    pairs, bounds = carried_pairs(program), program.input_bounds
    given: list[Any] = list(inputs)
    made: Sequence[Any] = ()
    for number, step in enumerate(in_turn([*(steps(program) if of is None else of)])):
        for own, result in pairs if number else ():
            value = made[result]
            given[own] = value if bounds is None else backend.bounded(value, bounds[own])
        levels = levels_of(step.body, "inputs")
        taken = [
            backend.drop_level(value, level) if number and value.level > level else value
            for value, level in zip(given, levels, strict=True)
        ]
        made = run(step, taken)
    return made


def results_of(program: Program, backend: Any, inputs: Sequence[Any]) -> list[Any]:
    """The estimate of every result, of those of inputs."""
    ends: list[list[float]] = []

    def run(step: Step, taken: Sequence[Any]) -> Sequence[Any]:
        made = run_in_order(step.body, backend, taken, bounds_of_step(program, step))
        if program.repeated is None:
            return made
        # What is said of errors that exceed the numbers themselves would outgrow doubles.
        made = [_limited(each) for each in made]
        ends.append([each.deviation for each in made])
        return made

    return [*run_steps(program, backend, inputs, run, _until_settled(program, ends))]


def _until_settled(program: Program, ends: Sequence[Sequence[float]]) -> Iterator[Step]:
    """The steps of a program, but for cycles that end with the same errors as the one before.

    Args:
        program: The program.
        ends: The errors of the results of all steps so far.
    """
    cycle, length = program.cycle, len(program.cycle)
    left = 1 if program.repeated is None else program.repeated.times
    while left > 0:
        yield from cycle[:left]
        left -= length
        if len(ends) > length and ends[-1] == ends[-1 - length] and left > 0:
            # As many steps of one more cycle lead to the same results.
            left = (left - 1) % length + 1


def _limited(estimate: Any) -> Any:
    return estimate.with_deviation(min(estimate.deviation, estimate.bound))


def bounds_of_step(program: Program, step: Step) -> Sequence[float | None] | None:
    """For each operation of a step what its values do not exceed."""
    bounds = program.value_bounds
    if bounds is None or len(step.numbers) == len(bounds):
        return bounds
    return [bounds[number] for number in step.numbers]


def inputs_of_steps(program: Program, inputs: Sequence[Vector]) -> Iterator[Sequence[Vector]]:
    """The inputs of every step in the clear, of those of the first."""
    body, pairs = program.body, carried_pairs(program)
    assert isinstance(body, SlotProgram)
    taken = list(inputs)
    for number, _ in enumerate(steps(program)):
        if number:
            made = results(body, taken)
            for own, result in pairs:
                taken[own] = made[result]
        yield list(taken)


def refreshed_steps(program: Program) -> int:
    """How many steps have bootstraps, each of which may fail; 1 where none has."""
    if program.repeated is None:
        return 1
    return max(1, sum(bool(refreshes(step.body)) for step in steps(program)))
