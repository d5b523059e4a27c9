"""Plans of several steps that are deeper than their chain; see `plan.reals.refreshed`."""

from __future__ import annotations

import math
from functools import partial

from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import ImpreciseError
from cloakwork.plan.analysis.least_needs import least_needs
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.parameters.bootstrapping import least_level
from cloakwork.plan.parameters.rings import cheapest_of
from cloakwork.plan.passes.simplify import simplified
from cloakwork.plan.reals.refreshed import Bounds, Candidate, RefreshingChain, on_first_chain
from cloakwork.plan.tensors.lower import Lowered
from cloakwork.plan.tensors.search import ADVICE_ON_ERRORS, Plan, Task, Ways
from cloakwork.schemes.ckks_noise import NoiseModel

# Above every depth that is planned in reasonable time; ways are tried some levels above it.
_TOP = 1 << 19
# Variations that are tried: placing bootstraps takes longer than the rest of a plan.
_PLANS = 6


def cheapest_bootstrapped_plan(task: Task) -> Plan:
    """The cheapest plan found that may bootstrap.

    Example:
        >>> from cloakwork.plan.reals.options import RealOptions
        >>> from cloakwork.programs.ir.tensors import Contract, Source
        >>> x = Source("x", (4,))
        >>> square = Contract((x, x), ("i", "i"), "i", (4,))
        >>> options = RealOptions(precision=16, log_n=8, insecure=True)
        >>> cheapest_bootstrapped_plan(Task(options, [square], {x: 1.0})).refreshing.output_level
        13
    """

    def in_ring(log_n: int) -> Plan:
        return on_first_chain(task.options, log_n, partial(_on_chain, task))

    return cheapest_of(task.options.refreshing_rings, in_ring, lambda plan: plan.cost)


def _on_chain(task: Task, chain: RefreshingChain) -> Plan:
    _require_possible(task, chain)

    ways = Ways(
        task,
        chain.refreshing.chain.slots,
        _TOP,
        lambda lowered: _planned(task, chain, lowered),
    )
    return ways.cheapest(_PLANS)


def _planned(task: Task, chain: RefreshingChain, lowered: Lowered) -> Plan:
    def precise_error(program: Lowered, bounds: Bounds, noise: NoiseModel) -> float:
        reached = predicted_precision(program.program, bounds, noise) + task.gained
        _require_reached(reached, chain.refreshing.chain.n, task, "leaves")
        return float(2.0**-reached)

    found = chain.refreshed(
        Candidate(
            lowered.changed(simplified),
            together=[place.ciphertexts for _, place in lowered.inputs],
            among=[None],
            bounds=lambda program: program.value_bounds(task.bounds),
            precise_error=precise_error,
            is_carried_on=bool(task.places),
        )
    )
    return Plan(found.lowered, found.refreshing.chain, found.price, found.refreshing)


def _require_possible(task: Task, chain: RefreshingChain) -> None:
    """Refuse numbers that leave no plan its precision in a ring, before ways are compared."""
    needs = least_needs(task.results, task.bounds)
    if needs is None:
        return
    refreshing = chain.refreshing
    least_level(refreshing, needs.largest)
    noise = task.options.noise(refreshing.chain)
    fresh = min(map(noise.encryption, range(refreshing.output_level + 1)))
    if fresh * needs.gain > 0 and not task.samples:
        reached = -math.log2(fresh * needs.gain)
        _require_reached(reached, refreshing.chain.n, task, "leaves at most")


def _require_reached(reached: float, degree: int, task: Task, leaves: str) -> None:
    needed = max(task.precision, MIN_RIGHT_BITS)
    if reached < needed:
        less = math.floor(reached) - task.spare
        advice = (
            f"ask for precision={less} or less, or note that {ADVICE_ON_ERRORS}"
            if reached >= MIN_RIGHT_BITS and less >= task.least
            else f"{max(MIN_RIGHT_BITS, task.least)} or more are expected at any precision; "
            f"{ADVICE_ON_ERRORS}"
        )
        right = f"{leaves} {reached:.1f} bits" if reached > 0 else "leaves no bit"
        raise ImpreciseError(
            f"cannot compile {task.title} at a precision of {task.options.precision} bits: "
            f"bootstrapping in a ring of degree {degree} {right} of its results right; {advice}",
            needed - reached,
        )
