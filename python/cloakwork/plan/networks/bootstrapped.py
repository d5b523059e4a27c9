"""Networks that are deeper than every chain: values are refreshed where that costs least.

The ring decides on the chain. Packings are chosen as if every stage stood in its middle, as only
placing bootstraps tells where each stands (`plan.passes.bootstraps`), with the part of a bootstrap
that each level takes as a price of levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from cloakwork.errors import InvalidParametersError, KeyBudgetError, LevelExhaustedError
from cloakwork.plan.analysis.headroom import require_headroom
from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.errors.expected import (
    OUTGROWN,
    ROUGH,
    SimulatedInputs,
    expected_error,
)
from cloakwork.plan.networks.errors.worst_case_inputs import WorstCaseInputs
from cloakwork.plan.networks.lower import activation_ranges, lowered_stages
from cloakwork.plan.networks.network_plan import NetworkPlan
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.packings.cheapest import chosen_packings
from cloakwork.plan.networks.pipeline import batch_refusal
from cloakwork.plan.networks.staged import StagedNetwork, depth_of
from cloakwork.plan.networks.stages import stages_within_one
from cloakwork.plan.parameters.bootstrapping import least_level, refreshing_for
from cloakwork.plan.passes.bootstrap_pairs import with_pairs
from cloakwork.plan.passes.bootstraps import with_bootstraps, within_key_budget_beside
from cloakwork.plan.passes.followed import followed_ranges
from cloakwork.programs.ir import layers as g
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Bootstrap, SlotProgram
from cloakwork.runtime.costs import Costs, total_seconds

# What is within 1, but for double rounding.
_UNIT = 1.0 + 2.0**-30


def bootstrapped(
    graph: g.Graph,
    calibration: Calibration,
    searched: WorstCaseInputs,
    options: NetworkOptions,
    announce: Callable[[str], None],
) -> NetworkPlan:
    """The cheapest program of a network that may bootstrap.

    Args:
        graph: A network whose activations are polynomials.
        calibration: Inputs such as it is to be run on.
        searched: Inputs that are accepted, the ones that errors grow most by first.
        options: What is asked of it.
        announce: Is called with each step of the work, in words.

    Raises:
        LevelExhaustedError: A layer takes more levels than any bootstrap leaves.
        InvalidParametersError: No ring has a bootstrapping, or none leaves the precision.
        BoundOverflowError: Powers of a layer's numbers outgrow the moduli.
        KeyBudgetError: In no ring the fewest keys fit the budget.
        InvalidArgumentError: A batch does not fit a ciphertext.
    """
    announce("merging layers")
    networks = [
        StagedNetwork.of(graph, stages_within_one, pairs=pairs) for pairs in options.pairings
    ]
    inputs_of = partial(SimulatedInputs.of, graph, calibration, searched)
    largest = max(math.prod(stage.shape) for stage in networks[0].stages)
    plans: list[NetworkPlan] = []
    refusals: list[InvalidParametersError | KeyBudgetError | LevelExhaustedError] = []
    for log_n in options.refreshing_rings:
        tried = [
            (network, batch)
            for network in networks
            for batch in options.batches(log_n, largest, network.width(1))[-1:]
            if network.lanes(batch) <= 1 << (log_n - 1)
        ]
        if tried:
            announce(f"placing bootstraps in rings of degree 2^{log_n}")
        for network, batch in tried:
            try:
                plans.append(_in_ring(network, inputs_of, options, log_n, batch))
            except (InvalidParametersError, KeyBudgetError, LevelExhaustedError) as refusal:
                # A traceback would hold the networks, and itself, after they are of no use.
                refusals.append(refusal.with_traceback(None))
    if not plans:
        raise refusals[-1] if refusals else batch_refusal(options)
    return min(plans, key=lambda plan: plan.price / plan.batch)


def has_bootstrapping(options: NetworkOptions) -> bool:
    """Whether any ring that may be taken has a bootstrapping.

    Example:
        >>> has_bootstrapping(NetworkOptions(log_n=13)), has_bootstrapping(NetworkOptions())
        (False, True)
    """
    for log_n in options.refreshing_rings:
        try:
            refreshing_for(log_n, bound=1.0, insecure=options.insecure)
        except InvalidParametersError:
            continue
        return True
    return False


def _in_ring(
    network: StagedNetwork,
    inputs_of: Callable[[int], SimulatedInputs],
    options: NetworkOptions,
    log_n: int,
    batch: int,
) -> NetworkPlan:
    """The plan for one ring."""
    lanes = network.lanes(batch)
    width = network.width(lanes)
    inputs = inputs_of(width)
    # Neither levels nor costs depend on the bound.
    refreshing = refreshing_for(log_n, bound=1.0, insecure=options.insecure)
    _require_shallow(network, refreshing, options)
    costs = options.costs_of(refreshing.chain).with_bootstrap(refreshing)
    typical = _typical(costs, refreshing, network.depth)
    slots = 1 << (log_n - 1)
    level_price = costs.bootstrap / (refreshing.output_level - refreshing.input_level)
    packings, _ = chosen_packings(network, slots // lanes, typical, level_price)
    whole, refreshable = lowered_stages(options.title, network, packings, slots, typical)
    bounds = whole.value_bounds(network.graph, width)
    place = partial(
        with_bootstraps,
        whole.program,
        refreshing,
        costs,
        floor=least_level(refreshing, _largest(bounds)),
        together=[places.ciphertexts for places in whole.inputs],
    )
    try:
        program = place(among=[each for each in refreshable if (bounds[each] or 0.0) <= _UNIT])
    except InvalidParametersError:
        program = place(among=refreshable)
    program = within_key_budget_beside(program, refreshing, options.key_budget)
    ranges = activation_ranges(program, network, packings)
    program, ranges = followed_ranges(
        program, ranges, lambda each: with_pairs(each, refreshing, costs)
    )
    found = replace(whole, program=program, ranges=ranges)
    bounds = found.value_bounds(network.graph, width)
    refreshing = refreshing_for(
        log_n, bound=_largest(_refreshed(program, bounds)), insecure=options.insecure
    )
    noise = options.noise(refreshing.chain, refreshing)
    error = expected_error(found, inputs.usual_runs(found), noise)
    _require_precise(error, refreshing, options)
    require_headroom(program, bounds, refreshing.chain)
    error = max(error, expected_error(found, inputs.worst_runs(found), noise))
    if not error < OUTGROWN:
        raise InvalidParametersError(
            f"cannot compile {options.title}: noise outgrows the numbers of inputs that a client "
            "accepts; use activations of lower degree, or scale weights down"
        )
    price = total_seconds(program, costs)
    return NetworkPlan(
        found, refreshing.chain, bounds, ROUGH * error, price, batch, width, refreshing
    )


def _require_shallow(
    network: StagedNetwork, refreshing: Refreshing, options: NetworkOptions
) -> None:
    """Refuse a network with a layer that is deeper than what a bootstrap leaves."""
    left = refreshing.output_level - refreshing.input_level
    deepest = max(network.stages, key=depth_of)
    if depth_of(deepest) > left:
        raise LevelExhaustedError(
            f"cannot compile {options.title}: layer {deepest.name!r} takes {depth_of(deepest)} "
            f"levels, and a bootstrap in a ring of degree {refreshing.chain.n} leaves {left}; use "
            "activations of lower degree, less precision, or a larger ring"
        )


def _typical(costs: Costs, refreshing: Refreshing, depth: int) -> Costs:
    """Costs for a program of any depth: every level costs what the one in the middle does."""
    middle = costs.at((refreshing.input_level + refreshing.output_level) // 2)
    return replace(costs, levels=(middle,) * (depth + 1))


def _require_precise(error: float, refreshing: Refreshing, options: NetworkOptions) -> None:
    """Refuse a network whose results are less precise than was asked."""
    if error <= 2.0**-options.precision:
        return
    reached = math.floor(-math.log2(error)) if math.isfinite(error) else 0
    raise InvalidParametersError(
        f"cannot compile {options.title} at a precision of {options.precision} bits: bootstrapping "
        f"in a ring of degree {refreshing.chain.n} leaves errors of {error:.2g} in its results; "
        f"ask for precision={max(0, reached)} or less, or scale weights down"
    )


def _refreshed(program: SlotProgram, bounds: Sequence[float | None]) -> list[float | None]:
    """The bounds of what is refreshed."""
    return [
        bounds[operation.operand]
        for operation in program.operations
        if isinstance(operation, Bootstrap)
    ]


def _largest(bounds: Sequence[float | None]) -> float:
    return max([1.0, *(bound for bound in bounds if bound is not None)])
