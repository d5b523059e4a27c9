"""Networks that are deeper than every chain: values are refreshed where that costs least.

The ring decides on the chain. Packings are chosen as if every stage stood in its middle, as only
placing bootstraps tells where each stands (`plan.passes.bootstraps`), with the part of a bootstrap
that each level takes as a price of levels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

from cloakwork.errors import ImpreciseError, InvalidParametersError, LevelExhaustedError
from cloakwork.plan.analysis.headroom import require_headroom
from cloakwork.plan.networks.by_distance.rewritten import with_attentions_by_distance
from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.errors.simulated_inputs import SimulatedInputs
from cloakwork.plan.networks.errors.worst_case_inputs import WorstCaseInputs
from cloakwork.plan.networks.lower import LoweredNetwork, NetworkPlan, lowered
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.packings.cheapest import chosen_packings
from cloakwork.plan.networks.packings.product_prices import ProductDiagonals, ProductPrices
from cloakwork.plan.networks.pipeline import batch_refusal, price_of_one
from cloakwork.plan.networks.spread_operands import with_operands_spread
from cloakwork.plan.networks.staged import StagedNetwork, depth_of_stage
from cloakwork.plan.networks.stages import stages_within_one
from cloakwork.plan.parameters.bootstrapping import refreshing_for
from cloakwork.plan.parameters.rings import REFUSALS, cheapest_of
from cloakwork.plan.reals.expected import OUTGROWN, ROUGH, expected_error, larger_error
from cloakwork.plan.reals.refreshed import (
    Bounds,
    Candidate,
    RefreshingChain,
    RoughChainError,
    chains_of_ring,
    most_levels,
    on_first_chain,
)
from cloakwork.programs.ir import layers as g
from cloakwork.programs.places import Places
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import polynomial_depth
from cloakwork.runtime.costs import Costs, total_seconds
from cloakwork.schemes.ckks_noise import NoiseModel

# Errors of one run so many times as large as what was asked need no others beside them.
_BEYOND = 2.0
# What is within 1, but for double rounding.
_UNIT = 1.0 + 2.0**-30


def bootstrapped(
    graph: g.Graph,
    calibration: Calibration,
    searched: WorstCaseInputs,
    options: NetworkOptions,
    announce: Callable[[str], None],
) -> NetworkPlan:
    """The cheapest program of a network that may bootstrap."""
    announce("merging layers")
    staged = cache(partial(StagedNetwork.of, stages_of=stages_within_one))
    inputs_of = cache(partial(SimulatedInputs.of, graph, calibration, searched))
    diagonals = ProductDiagonals()
    rings = [
        _Ring(log_n, network, inputs_of, options, batch, diagonals)
        for log_n in _deep_enough(graph, options)
        for pairs in options.pairings
        for network in [staged(_of_ring(graph, options, log_n), pairs=pairs)]
        for batch in options.batches(log_n, _largest(network), network.width(1))[-1:]
        if network.lanes(batch) <= 1 << (log_n - 1)
    ]
    if not rings:
        raise batch_refusal(options)
    if len(rings) > 1:
        announce("choosing packings")
        rings.sort(key=_estimated_price)
    found: list[NetworkPlan] = []

    def attempt(ring: _Ring) -> NetworkPlan:
        announce(f"placing bootstraps in a ring of degree 2^{ring.log_n}")
        least = min(map(price_of_one, found), default=math.inf)
        try:
            plan = on_first_chain(options, ring.log_n, lambda chain: _in_ring(ring, chain, least))
        except _DearerPlanError as refusal:
            raise InvalidParametersError(str(refusal)) from None
        found.append(plan)
        return plan

    return cheapest_of(rings, attempt, price_of_one)


def _deep_enough(graph: g.Graph, options: NetworkOptions) -> Sequence[int]:
    """The rings whose bootstraps leave levels for every polynomial; all if none does."""
    deepest = max(
        (
            polynomial_depth(node.operation.coefficients)
            for node in graph.nodes
            if isinstance(node.operation, g.PolynomialLayer)
        ),
        default=0,
    )
    rings = options.refreshing_rings
    return [each for each in rings if most_levels(options, each) >= deepest] or rings


def goes_by_distance(graph: g.Graph, options: NetworkOptions) -> bool:
    """Whether attentions of a network go by distance in the largest ring that may be taken."""
    return _of_ring(graph, options, max(options.refreshing_rings)) is not graph


def _of_ring(graph: g.Graph, options: NetworkOptions, log_n: int) -> g.Graph:
    """The network as it is planned in a ring: one input has all slots for its attentions."""
    return graph if options.batch != 1 else with_attentions_by_distance(graph, 1 << (log_n - 1))


def _largest(network: StagedNetwork) -> int:
    """Elements of the largest stage."""
    return max(math.prod(stage.shape) for stage in network.stages)


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


class _DearerPlanError(Exception):
    """A plan costs more than one of another ring: thicker levels would cost more still."""


@dataclass(frozen=True, slots=True)
class _Packed:
    """A network and its packings.

    Args:
        network: The network, operands that are to be spread put down.
        packings: The packing of each stage.
        typical: What operations cost at every level alike.
        price: What a run costs, levels included.
    """

    network: StagedNetwork
    packings: tuple[Places, ...]
    typical: Costs
    price: float


@dataclass(frozen=True, slots=True)
class _Ring:
    """What is planned in a ring, on one chain after another.

    Args:
        log_n: Base-2 logarithm of the ring degree.
        network: The network.
        inputs_of: For each width of a ciphertext the inputs that errors are simulated on.
        options: What is asked.
        batch: Inputs of a run.
        diagonals: Those of products that are known.
    """

    log_n: int
    network: StagedNetwork
    inputs_of: Callable[[int], SimulatedInputs]
    options: NetworkOptions
    batch: int
    diagonals: ProductDiagonals

    def packed(self, chain: RefreshingChain) -> _Packed:
        """The network packed as is cheapest where every level costs what the middle one does."""
        costs, refreshing = chain.costs, chain.refreshing
        own = refreshing.chain.slots // self.network.lanes(self.batch)
        middle = costs.at(_middle(refreshing))
        level_price = costs.bootstrap / (refreshing.output_level - refreshing.input_level)
        prices = ProductPrices(replace(costs, levels=(middle, middle)), self.diagonals)
        network = with_operands_spread(self.network, own, prices, level_price)
        typical = replace(costs, levels=(middle,) * (network.depth + 1))
        _require_shallow(network, refreshing, self.options)
        packings, price = chosen_packings(network, own, typical, level_price, self.diagonals)
        return _Packed(network, packings, typical, price)


def _middle(refreshing: Refreshing) -> int:
    return (refreshing.input_level + refreshing.output_level) // 2


def _estimated_price(ring: _Ring) -> float:
    """What an input costs about, before bootstraps are placed; infinite where there is no plan."""
    try:
        chain = next(chains_of_ring(ring.options, ring.log_n))
        return ring.packed(chain).price / ring.batch
    except REFUSALS:
        return math.inf


def _in_ring(ring: _Ring, chain: RefreshingChain, least: float) -> NetworkPlan:
    """The plan for one ring, of some levels, if an input costs no more than the least elsewhere."""
    options, refreshing = ring.options, chain.refreshing
    packed = ring.packed(chain)
    network, slots = packed.network, refreshing.chain.slots
    width = network.width(ring.network.lanes(ring.batch))
    inputs = ring.inputs_of(width)
    whole, refreshable = lowered(options.title, network, packed.packings, slots, packed.typical)
    bounds = whole.value_bounds(network.graph, width)

    def bounds_of(program: LoweredNetwork) -> Bounds:
        return bounds if program is whole else program.value_bounds(network.graph, width)

    def precise_error(program: LoweredNetwork, _: Bounds, noise: NoiseModel) -> float:
        if total_seconds(program.program, chain.costs) > least * ring.batch:
            raise _DearerPlanError(f"a ring of degree {refreshing.chain.n} costs more than another")
        allowed = _BEYOND * 2.0**-options.precision
        error = expected_error(program, inputs.usual_runs(program), noise, enough=allowed)
        _require_precise(error, refreshing, options)
        return error

    # Where another ring has a plan, what this one costs mostly tells sooner that it is let go.
    if chain.thin and math.isinf(least):
        # Rounding alone shows without bootstraps, which take long to place, about how far results
        # will be off.
        like = _middle(refreshing)
        rounding = options.noise(refreshing.chain).of_levels(network.depth, like)
        first = expected_error(whole, inputs.usual_runs(whole)[:1], rounding, enough=0.0)
        if not first <= _BEYOND * 2.0**-options.precision:
            refusal = _imprecise(first, refreshing, options)
            raise RoughChainError(str(refusal), refusal.missing)
    found = chain.refreshed(
        Candidate(
            whole,
            together=[places.ciphertexts for places in whole.inputs],
            among=[[each for each in refreshable if (bounds[each] or 0.0) <= _UNIT], refreshable],
            bounds=bounds_of,
            precise_error=precise_error,
        )
    )
    require_headroom(found.lowered.program, found.bounds, found.refreshing.chain)
    noise = options.noise(found.refreshing.chain, found.refreshing)
    worst = expected_error(found.lowered, inputs.worst_runs(found.lowered), noise)
    error = larger_error(found.error, worst)
    if not error < OUTGROWN:
        raise InvalidParametersError(
            f"cannot compile {options.title}: noise outgrows the numbers of inputs that a client "
            "accepts; use activations of lower degree, or scale weights down"
        )
    return NetworkPlan(
        found.lowered,
        found.refreshing.chain,
        tuple(found.bounds),
        ROUGH * error,
        found.price,
        ring.batch,
        width,
        found.refreshing,
    )


def _require_shallow(
    network: StagedNetwork, refreshing: Refreshing, options: NetworkOptions
) -> None:
    """Refuse a network with a layer that is deeper than what a bootstrap leaves."""
    left = refreshing.output_level - refreshing.input_level
    deepest = max(network.stages, key=depth_of_stage)
    if depth_of_stage(deepest) > left:
        raise LevelExhaustedError(
            f"cannot compile {options.title}: layer {deepest.name!r} takes "
            f"{depth_of_stage(deepest)} levels, and a bootstrap in a ring of degree "
            f"{refreshing.chain.n} leaves {left}; use activations of lower degree, less "
            "precision, or a larger ring"
        )


def _require_precise(error: float, refreshing: Refreshing, options: NetworkOptions) -> None:
    """Refuse a network whose results are less precise than was asked."""
    if not error <= 2.0**-options.precision:
        raise _imprecise(error, refreshing, options)


def _imprecise(error: float, refreshing: Refreshing, options: NetworkOptions) -> ImpreciseError:
    bits = -math.log2(error)
    reached = math.floor(bits) if math.isfinite(error) else 0
    advice = (
        f"ask for precision={reached} or less, or scale weights down"
        if reached >= 1
        else "no precision would do, as noise outgrows numbers of some layers: see to it by norms, "
        "trained on such data, that those of no layer are tiny or huge beside others"
    )
    return ImpreciseError(
        f"cannot compile {options.title} at a precision of {options.precision} bits: bootstrapping "
        f"in a ring of degree {refreshing.chain.n} leaves errors of {error:.2g} in its results; "
        f"{advice}",
        options.precision - bits,
    )
