"""Plans whose errors are those along samples of the arguments.

By the bounds of values errors are as large as the largest numbers make them, and all of one sign,
which is far from what occurs in sums of many numbers and in iterations. Where bounds do not show
what is wanted, noise is simulated along samples, and plans are made by what that gains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import InvalidParametersError
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.functions.along_samples import UNSEEN
from cloakwork.plan.reals.expected import OUTGROWN, ROUGH, ClearRun, expected_error
from cloakwork.plan.tensors.lower import Lowered
from cloakwork.plan.tensors.search import ADVICE_ON_ERRORS, Plan, Task
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import Source
from cloakwork.runtime.simulate import results

# More than errors grow by in any plan.
_ALL_BITS = 1000.0
# By how much scales are longer where noise along samples outgrows all numbers.
_LONGER_BITS = 8
_ATTEMPTS = 5
# Errors that are drawn for each result; results are many, or drawn more often.
_DRAWS = 2


def planned_along_samples(task: Task, plan: Callable[[Task], Plan]) -> Plan:
    """The plan of a task that is precise along its samples; of one without, by all bounds.

    Args:
        task: The task.
        plan: Makes a plan.

    Raises:
        InvalidParametersError: There is none as precise.
    """
    if not task.samples:
        return plan(task)
    wanted = max(task.precision, MIN_RIGHT_BITS)
    tried = replace(task, gained=_ALL_BITS)
    found = plan(tried)
    for _ in range(_ATTEMPTS):
        by_bounds = _by_bounds(found, task)
        reached = by_bounds if by_bounds >= wanted else _along_samples(found, task)
        if reached >= wanted:
            return found
        if reached > by_bounds and tried.spare == task.spare:
            tried = replace(tried, gained=min(reached - by_bounds, tried.gained - 1))
        else:
            tried = replace(tried, spare=tried.spare + _LONGER_BITS)
        try:
            found = plan(tried)
        except InvalidParametersError as refusal:
            raise _refusal(task, reached) from refusal
    raise _refusal(task, reached)


def _refusal(task: Task, reached: float) -> InvalidParametersError:
    return InvalidParametersError(
        f"cannot compile {task.title} at a precision of {task.options.precision} bits: noise "
        f"leaves {max(reached, 0.0):.1f} bits right along the samples, and there is no scale that "
        f"is long enough for more; ask for less precision, or note that {ADVICE_ON_ERRORS}"
    )


def _by_bounds(plan: Plan, task: Task) -> float:
    bounds = plan.lowered.value_bounds(task.bounds)
    noise = task.options.noise(plan.parameters, plan.refreshing)
    return predicted_precision(plan.lowered.program, bounds, noise)


def _along_samples(plan: Plan, task: Task) -> float:
    """Bits after the binary point that noise leaves right along samples, and others like them."""
    runs = [_clear_run(plan.lowered, each) for each in task.samples]
    noise = task.options.noise(plan.parameters, plan.refreshing)
    error = expected_error(plan.lowered, runs, noise, _DRAWS)
    return -math.log2(UNSEEN * ROUGH * error) if error < OUTGROWN else -math.inf


def _clear_run(lowered: Lowered, sample: Mapping[Source, Array]) -> ClearRun:
    """What a program gives of a sample without noise."""
    inputs = lowered.pack(sample)
    return ClearRun(inputs, lowered.unpack(results(lowered.program, inputs), 1), 1)
