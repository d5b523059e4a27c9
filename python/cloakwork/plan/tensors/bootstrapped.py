"""Plans of several steps that are deeper than their chain: bootstraps stand where they cost least.

The ring decides on the chain, and all that a program varies is where it is refreshed; see
`plan.passes.bootstraps`. The bound of what is refreshed follows from the places.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import InvalidParametersError
from cloakwork.plan.analysis.least_needs import least_needs
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.parameters.bootstrapping import least_level, refreshing_for
from cloakwork.plan.passes.bootstrap_pairs import with_pairs
from cloakwork.plan.passes.bootstraps import with_bootstraps, within_key_budget_beside
from cloakwork.plan.passes.simplify import simplified
from cloakwork.plan.passes.splits import split_by_cost
from cloakwork.plan.tensors.lower import Lowered, lower
from cloakwork.plan.tensors.search import (
    ADVICE_ON_ERRORS,
    Plan,
    Task,
    cheapest_of_ways,
    power_of_two_above,
)
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Bootstrap, SlotProgram
from cloakwork.runtime.costs import Costs, total_seconds
from cloakwork.schemes.ckks_noise import noise_of

# Above every depth that is planned in reasonable time; ways are tried some levels above it.
_TOP = 1 << 19
# Variations that are tried: placing bootstraps takes longer than the rest of a plan.
_PLANS = 6


def cheapest_bootstrapped_plan(task: Task, rings: Sequence[int]) -> Plan:
    """The cheapest plan found that may bootstrap.

    Args:
        task: What is to be planned.
        rings: Base-2 logarithms of the ring degrees that may be taken.

    Raises:
        InvalidParametersError: No ring has a bootstrapping, or none has the precision.

    Example:
        >>> from cloakwork.programs.ir.tensors import Contract, Source
        >>> x = Source("x", (4,))
        >>> square = Contract((x, x), ("i", "i"), "i", (4,))
        >>> task = Task("square", [square], {x: 1.0}, 16, insecure=True)
        >>> cheapest_bootstrapped_plan(task, [8]).refreshing.output_level
        13
    """
    plans: list[Plan] = []
    refusals: list[InvalidParametersError] = []
    for log_n in rings:
        try:
            plans.append(_in_ring(task, log_n))
        except InvalidParametersError as refusal:
            # A traceback would hold what was tried, and itself, after it is of no use.
            refusals.append(refusal.with_traceback(None))
    if not plans:
        raise refusals[-1]
    return min(plans, key=lambda plan: plan.cost)


def _in_ring(task: Task, log_n: int) -> Plan:
    _require_possible(task, log_n)

    def attempt(choices: Mapping[int, int], level_price: float) -> Plan:
        return _planned(task, log_n, choices, level_price)

    return cheapest_of_ways(task, attempt, _PLANS)


def _planned(task: Task, log_n: int, choices: Mapping[int, int], level_price: float) -> Plan:
    lowered = lower(
        task.title,
        task.results,
        1 << (log_n - 1),
        top=_TOP,
        choices=choices,
        level_price=level_price,
    )
    together = [layout.ciphertexts for _, layout in lowered.inputs]
    lowered = lowered.changed(simplified)
    largest = _largest(lowered.value_bounds(task.bounds))
    # Neither levels nor costs depend on the bound.
    refreshing = refreshing_for(log_n, bound=1.0, insecure=task.insecure)
    costs = task.costs(refreshing.chain).with_bootstrap(refreshing)
    floor = least_level(refreshing, largest)

    def placed(program: SlotProgram) -> SlotProgram:
        found = with_bootstraps(program, refreshing, costs, floor=floor, together=together)
        return split_by_cost(found, costs)

    lowered = lowered.changed(placed)
    largest = _largest(_refreshed(lowered.program, lowered.value_bounds(task.bounds)))
    bounded = refreshing_for(log_n, bound=largest, insecure=task.insecure)
    lowered = _precise(lowered, bounded, costs, task)
    return Plan(lowered, bounded.chain, total_seconds(lowered.program, costs), bounded)


def _precise(lowered: Lowered, refreshing: Refreshing, costs: Costs, task: Task) -> Lowered:
    """With bootstraps two at a time, if that leaves enough of the results right.

    Raises:
        InvalidParametersError: One by one they do not, either.
    """
    paired = lowered.changed(lambda each: with_pairs(each, refreshing, costs))
    if paired.program is not lowered.program:
        with suppress(InvalidParametersError):
            _require_precise(paired, refreshing, task)
            return paired
    _require_precise(lowered, refreshing, task)
    return lowered


def within_budget(plan: Plan, task: Task, key_budget: int | None) -> Plan:
    """The plan that may bootstrap, with few enough keys.

    Args:
        plan: The plan.
        task: What was planned.
        key_budget: Bytes for all evaluation keys; None for any.

    Raises:
        KeyBudgetError: The fewest keys that will do take more.
        InvalidParametersError: Rotations made of others take too much of the precision.
    """
    planned, refreshing = plan.lowered, plan.refreshing
    assert refreshing is not None
    lowered = planned.changed(lambda each: within_key_budget_beside(each, refreshing, key_budget))
    if lowered.program is planned.program:
        return plan
    _require_precise(lowered, refreshing, task)
    return replace(plan, lowered=lowered)


def _require_possible(task: Task, log_n: int) -> None:
    """Refuse numbers that leave no plan its precision in a ring, before ways are compared.

    Raises:
        InvalidParametersError: They do.
    """
    needs = least_needs(task.results, task.bounds)
    if needs is None:
        return
    refreshing = refreshing_for(log_n, bound=1.0, insecure=task.insecure)
    least_level(refreshing, power_of_two_above(needs.largest))
    chain = refreshing.chain
    noise = noise_of(chain, public_inputs=task.public_inputs)
    fresh = min(map(noise.encryption, range(refreshing.output_level + 1)))
    if fresh * needs.gain > 0:
        _require_reached(-math.log2(fresh * needs.gain), chain.n, task, "leaves at most")


def _require_precise(lowered: Lowered, refreshing: Refreshing, task: Task) -> None:
    """Refuse a program whose results are less precise than was asked."""
    noise = noise_of(refreshing.chain, refreshing=refreshing, public_inputs=task.public_inputs)
    bounds = lowered.value_bounds(task.bounds)
    reached = predicted_precision(lowered.program, bounds, noise)
    _require_reached(reached, refreshing.chain.n, task, "leaves")


def _require_reached(reached: float, degree: int, task: Task, leaves: str) -> None:
    if reached < max(task.precision, MIN_RIGHT_BITS):
        less = math.floor(reached) - task.spare
        advice = (
            f"ask for precision={less} or less, or note that {ADVICE_ON_ERRORS}"
            if reached >= MIN_RIGHT_BITS and less >= task.least
            else f"{max(MIN_RIGHT_BITS, task.least)} or more are expected at any precision; "
            f"{ADVICE_ON_ERRORS}"
        )
        right = f"{leaves} {reached:.1f} bits" if reached > 0 else "leaves no bit"
        raise InvalidParametersError(
            f"cannot compile {task.title} at a precision of {task.asked} bits: bootstrapping "
            f"in a ring of degree {degree} {right} of its results right; {advice}"
        )


def _refreshed(program: SlotProgram, bounds: Sequence[float | None]) -> list[float | None]:
    """The bounds of what is refreshed."""
    return [
        bounds[operation.operand]
        for operation in program.operations
        if isinstance(operation, Bootstrap)
    ]


def _largest(bounds: Sequence[float | None]) -> float:
    return power_of_two_above(max([1.0, *(bound for bound in bounds if bound is not None)]))
