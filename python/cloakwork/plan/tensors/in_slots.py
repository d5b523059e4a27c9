"""The cheapest program of a function of tensors in slots.

Functions are first replaced by what comes near to them. A plan then has levels as low as they can
be, or bootstraps where no chain is as long; `plan.tensors.assemble` makes a program of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial

from cloakwork.errors import InvalidParametersError
from cloakwork.plan.analysis.memory import require_within_limit
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.functions.along_samples import approximated_along
from cloakwork.plan.functions.approximate import (
    Approximated,
    approximated,
    with_claims_cleared,
)
from cloakwork.plan.functions.intervals import of_spec
from cloakwork.plan.passes.key_budget import within_key_budget
from cloakwork.plan.tensors.along_samples import planned_along_samples
from cloakwork.plan.tensors.assemble import (
    Lowering,
    least_precision,
    program_in_slots,
    program_with_functions,
)
from cloakwork.plan.tensors.bootstrapped import cheapest_bootstrapped_plan
from cloakwork.plan.tensors.lower import in_order
from cloakwork.plan.tensors.search import Plan, Task, cheapest_plan
from cloakwork.programs.ir.tensors import Apply, TensorFunction, Within
from cloakwork.runtime.on_device import require_device


def lowered_in_slots(task: Task, function: TensorFunction, device: str) -> Lowering:
    """The cheapest program found."""
    in_slots, near = _without_functions(task, function)
    plan = _planned(in_slots)
    if near is None:
        program = program_in_slots(plan, function, task)
    else:
        program = program_with_functions(plan, near, function, in_slots)
    require_device(program, device)
    require_within_limit(plan.lowered.program, program.scheme, task.options)
    return Lowering(replace(program, device=device), plan.cost)


def _without_functions(task: Task, function: TensorFunction) -> tuple[Task, Approximated | None]:
    """The task of what comes near to functions; the task as it is where there are none."""
    if not any(isinstance(node, Apply | Within) for node in in_order(task.results)):
        return task, None
    # Half of the errors are the functions', half of them noise.
    ways = partial(approximated_along, function.samples) if function.samples else approximated
    near = ways(
        task.results,
        lambda source: of_spec(function.spec_of[source]),
        task.precision + 1,
        task.title,
    )
    reach = max(each.size for each in near.intervals)
    least = max(0, least_precision(reach)) if 0 < reach < math.inf else 0
    return replace(task, results=near.results, spare=1, least=least), near


def _planned(task: Task) -> Plan:
    """The cheapest plan in slots; it bootstraps where it has to, or is told to."""
    tasks = [task]
    nodes = in_order(task.results)
    if any(isinstance(node, Within) and node.claimed for node in nodes):
        tasks.append(replace(task, results=with_claims_cleared(task.results)))
    if task.options.bootstrap:
        return _first(tasks, cheapest_bootstrapped_plan)
    try:
        return _first(tasks, _within_key_budget)
    except InvalidParametersError as refusal:
        if task.options.bootstrap is False:
            raise
        try:
            return _first(tasks, cheapest_bootstrapped_plan)
        except InvalidParametersError as other:
            refusal.add_note(f"nor can it be bootstrapped: {other}")
            raise refusal from other


def _first(tasks: Sequence[Task], plan: Callable[[Task], Plan]) -> Plan:
    """The plan of the first task that has one."""
    *others, last = tasks
    for task in others:
        with suppress(InvalidParametersError):
            return planned_along_samples(task, plan)
    return planned_along_samples(last, plan)


def _within_key_budget(task: Task) -> Plan:
    """The cheapest plan with few enough keys."""
    extra = 0
    while True:
        plan = cheapest_plan(replace(task, spare=task.spare + extra))
        planned, parameters = plan.lowered, plan.parameters
        budgeted = partial(
            within_key_budget,
            key_bytes_at=parameters.evaluation_key_bytes,
            budget=task.options.key_budget,
        )
        lowered = planned.changed(budgeted)
        if lowered.program is planned.program:
            return plan
        # Rotations made of others, and transforms made of rotations, have larger errors.
        bounds = lowered.value_bounds(task.bounds)
        noise = task.options.noise(parameters)
        precise = predicted_precision(lowered.program, bounds, noise) + task.gained
        if precise >= task.precision:
            return replace(plan, lowered=lowered)
        extra += math.ceil(task.precision - precise)
