"""Where bootstraps stand: at the least modelled time of the whole program.

A program that is deeper than its chain is cut by bootstraps of values. Which uses of which values
are served by a bootstrap decides everything else: each operation then stands at the lowest level
that works (`plan.passes.levels`), and what it costs there is known.

Where so many values are alive that the frontiers are too many, steps that do the same to values
made alike, as to the ciphertexts of one tensor, are decided on together; and if there are still too
many, the most promising are kept. Then the result may be dearer than the least.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cloakwork.errors import KeyBudgetError
from cloakwork.plan.passes.key_budget import within_key_budget
from cloakwork.plan.passes.levels import Refreshed, lowest_levels, sources_of
from cloakwork.plan.passes.placement import Placement, TooManyError, all_ways
from cloakwork.plan.passes.steps import StepGraph, graph_of, joined
from cloakwork.programs.keys import required_keys
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.costs import Costs


def with_bootstraps(
    program: SlotProgram,
    refreshing: Refreshing,
    costs: Costs,
    *,
    floor: int = 0,
    together: Sequence[int] = (),
    among: Collection[int] | None = None,
    price_of_keys: float = 0.0,
) -> SlotProgram:
    """The same computation on a chain of few levels, with bootstraps where they cost least.

    Args:
        program: The computation, of any depth.
        refreshing: What bootstraps do.
        costs: What operations and bootstraps cost.
        floor: The level of the results.
        together: How many inputs in a row stand at one level.
        among: The values that may be refreshed; None is all.
        price_of_keys: The part of its time that a transform is dearer for each level that it
            stands at, as its keys are longer.
    """
    graph = graph_of(program)
    sources = sources_of(program)
    allowed = frozenset(sources if among is None else (sources[value] for value in among))

    def placement(steps: StepGraph) -> Placement:
        return Placement(program, steps, refreshing, costs, floor, allowed, price_of_keys)

    try:
        uses = placement(graph).cheapest_uses(all_ways)
    except TooManyError:
        of_many = placement(joined(graph, program))
        uses = of_many.cheapest_uses(of_many.most_promising)
    refreshed = Refreshed(uses, refreshing.input_level, refreshing.output_level)
    return lowest_levels(program, floor=floor, together=together, refreshed=refreshed)


def within_key_budget_beside(
    program: SlotProgram, refreshing: Refreshing, budget: int | None
) -> SlotProgram:
    """A program of the same outputs whose evaluation keys fit the budget, those of bootstraps too.

    Example:
        >>> from cloakwork._native import BootstrappingParameters
        >>> from cloakwork.programs.slots import Input, Output, Rotate
        >>> made = Refreshing(BootstrappingParameters(8, insecure=True))
        >>> turn = SlotProgram("turn", 128, (Input("x", 0), Rotate(0, 3), Output(1)), (None,) * 3)
        >>> within_key_budget_beside(turn, made, None) is turn
        True
    """
    key_bytes_at = refreshing.chain.evaluation_key_bytes
    if budget is None or not refreshes(program):
        return within_key_budget(program, key_bytes_at, budget)
    own, least = refreshing.key_bytes, key_bytes_beside(program, refreshing)
    if least <= budget:
        return program
    # Some of the keys serve both, which is not counted on.
    try:
        found = within_key_budget(program, key_bytes_at, max(0, budget - own))
    except KeyBudgetError as refusal:
        least = min(least, own + refusal.least)
    else:
        if own <= budget:
            return found
    raise KeyBudgetError(
        f"cannot plan {program.title} within {budget} bytes of evaluation keys: with those of a "
        f"bootstrap, {own}, it takes {least} at least; allow {least} bytes or more, or make it "
        "shallower",
        least,
    )


def key_bytes_beside(program: SlotProgram, refreshing: Refreshing) -> int:
    """Bytes of a program's evaluation keys and of those of bootstraps."""
    added = required_keys(program).beyond(refreshing.keys)
    return refreshing.key_bytes + added.nbytes(refreshing.chain.evaluation_key_bytes)
