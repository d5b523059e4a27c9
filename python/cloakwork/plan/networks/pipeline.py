"""The ring, the scale and the packings with which a network costs least."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from cloakwork._native import Parameters
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    KeyBudgetError,
)
from cloakwork.plan.analysis.headroom import require_headroom
from cloakwork.plan.networks.by_element import lowered_by_element
from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.depth import (
    MIN_HEADROOM,
    Depth,
    parameters_of_levels,
    refusal_kind,
    require_levels_of_layers,
)
from cloakwork.plan.networks.errors.simulated_inputs import SimulatedInputs
from cloakwork.plan.networks.errors.worst_case_inputs import WorstCaseInputs
from cloakwork.plan.networks.lower import LoweredNetwork, NetworkPlan, activation_ranges, lowered
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.packings.cheapest import chosen_packings
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import stages_of
from cloakwork.plan.parameters.ckks import LONGEST_WORD_BITS, SCALE_BITS
from cloakwork.plan.parameters.rings import REFUSALS, cheapest_of
from cloakwork.plan.parameters.scales import Scaled, raised_scale, without_spare_bits
from cloakwork.plan.passes.key_budget import within_key_budget
from cloakwork.plan.reals.expected import (
    DRAWN_BITS,
    OUTGROWN,
    ROUGH,
    ClearRun,
    expected_error,
    larger_error,
)
from cloakwork.programs.ir import layers as g
from cloakwork.programs.places import Places
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.costs import DOUBLE_WORD_BITS, Costs, total_seconds
from cloakwork.schemes.ckks_noise import NoiseModel

# Headroom above the bounds of values, within which a result beyond its bound is still recognised.
_RECOGNISED_BITS = 14
# The least part of it, where numbers are very large.
_LEAST_RECOGNISED_BITS = 3
# What the engine has.
_MAX_HEADROOM = 60
_ATTEMPTS = 4
# Slots of an input up to which every element takes a ciphertext of its own: with few more, matrices
# between that many ciphertexts would take longer to plan than to run.
_FEW_SLOTS = 4
# Inputs in the slots of the programs in which errors of such networks are simulated, and how often
# each: as many operations are run for all of them as for one.
_SIMULATED_INPUTS = 16
_SIMULATED_COPIES = 4


def planned(
    graph: g.Graph,
    calibration: Calibration,
    searched: WorstCaseInputs,
    options: NetworkOptions,
    announce: Callable[[str], None],
) -> NetworkPlan:
    """The cheapest program of a network among several rings."""
    announce("merging layers")
    networks = [StagedNetwork.of(graph, stages_of, pairs=pairs) for pairs in options.pairings]
    first = networks[0]
    levels = zip(first.stages, first.levels, strict=True)
    depths = [Depth(stage.name, first.depth - level) for stage, level in levels]
    require_levels_of_layers(depths, options, exact=True)
    inputs_of = cache(partial(SimulatedInputs.of, graph, calibration, searched))
    # The same for every ring.
    slots = _SIMULATED_INPUTS * _SIMULATED_COPIES
    few_of = cache(lambda network: lowered_by_element(options.title, network, slots))
    priced = cache(partial(_priced, options=options, few_of=few_of))
    by_element = partial(_by_element, few_of=few_of)
    tried = {
        log_n: [
            _Way(network, log_n, batch)
            for network in networks
            for batch in _batches(network, options, log_n)
        ]
        for log_n in options.rings
    }
    rings = [log_n for log_n, found in tried.items() if found]
    if not rings:
        raise batch_refusal(options)
    best: list[NetworkPlan] = []
    refused: dict[_Way, Exception] = {}

    def plan(way: _Way, limit: float) -> NetworkPlan | None:
        if way in refused:
            raise refused[way]
        plan_by = by_element if way.is_by_element else _in_ring
        try:
            return plan_by(way, priced(way), inputs_of, options, limit)
        except REFUSALS as error:
            # It is tried once: what refuses it is not its price.
            refused[way] = error
            raise

    announce("choosing packings")
    promising = _cheapest_if_all_serve([tried[log_n] for log_n in rings], priced)
    if promising is not None:
        announce(f"planning for a ring of degree 2^{promising.log_n}")
        found = _planned_at(priced(promising).price, partial(plan, promising, math.inf))
        if found is not None:
            return found

    def attempt(log_n: int) -> NetworkPlan:
        """The cheapest plan so far, in this ring or a smaller one."""
        announce(f"planning for a ring of degree 2^{log_n}")
        cheaper, refusal = len(best), None
        for way in tried[log_n]:
            limit = way.batch * price_of_one(best[-1]) if best else math.inf
            try:
                found = plan(way, limit)
            except REFUSALS as error:
                refusal = error.with_traceback(None)
                continue
            if found is not None:
                best.append(found)
        if refusal is not None and len(best) == cheaper:
            raise refusal
        return best[-1]

    try:
        return cheapest_of(rings, attempt, price_of_one, _is_unchanged)
    except InvalidParametersError as refusal:
        raise refusal_kind(refusal, options)(
            f"cannot compile {options.title} at a precision of {options.precision} bits: "
            f"{refusal}; ask for less precision, or scale weights or inputs down"
        ) from refusal


@dataclass(frozen=True, slots=True)
class _Way:
    """A network that so many inputs share a run of in a ring."""

    network: StagedNetwork
    log_n: int
    batch: int

    @property
    def is_by_element(self) -> bool:
        return _is_by_element(self.network, self.log_n, self.batch)


@dataclass(frozen=True, slots=True, eq=False)
class _Priced:
    """The packings of all stages, none where every element has a ciphertext, and the price."""

    packings: tuple[Places, ...]
    price: float


def _priced(
    way: _Way, *, options: NetworkOptions, few_of: Callable[[StagedNetwork], LoweredNetwork]
) -> _Priced:
    ring = _Ring.of(way, options)
    costs = ring.costs()
    if way.is_by_element:
        return _Priced((), total_seconds(few_of(way.network).program, costs))
    lanes = way.network.lanes(way.batch)
    return _Priced(*chosen_packings(way.network, ring.slots // lanes, costs))


def _cheapest_if_all_serve(
    rings: Sequence[Sequence[_Way]], priced: Callable[[_Way], _Priced]
) -> _Way | None:
    """What the search over rings ends with if none of them is refused for its precision.

    To know the price of a plan takes a small part of the time that its scale takes.
    """
    cheapest, least = None, math.inf
    for ways in rings:
        before, is_refused = cheapest, False
        for way in ways:
            try:
                price = priced(way).price / way.batch
            except REFUSALS:
                is_refused = True
                continue
            if price < least:
                cheapest, least = way, price
        if cheapest is before is not None and not is_refused:
            break
    return cheapest


def _planned_at(price: float, plan: Callable[[], NetworkPlan | None]) -> NetworkPlan | None:
    """A plan of a price; None where it is refused, or costs more as its keys must be fewer."""
    try:
        found = plan()
    except REFUSALS as refusal:
        # It is kept, and its traceback would keep all that was tried.
        refusal.with_traceback(None)
        return None
    return found if found is not None and found.price == price else None


def price_of_one(plan: NetworkPlan) -> float:
    """What a run costs for each input."""
    return plan.price / plan.batch


def _is_unchanged(plans: Sequence[NetworkPlan]) -> bool:
    """Whether no plan of the last ring is cheaper than those of the rings before."""
    return len(plans) > 1 and plans[-1] is plans[-2]


def require_small_results(
    graph: g.Graph, calibration: Calibration, options: NetworkOptions
) -> None:
    """Refuse a network some of whose results are larger than every ring has the headroom for.

    Numbers on the way may be: the matrices beside them scale them down, and up again.

    Example:
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> nodes = [g.node("x", g.InputLayer((1,)), (), [])]
        >>> cube = g.PolynomialLayer((0.0, 0.0, 0.0, 1.0), "monomial", -9e9, 9e9)
        >>> for name, layer in [("cube", cube), ("y", g.OutputLayer())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> graph = g.build(nodes)
        >>> require_small_results(graph, calibrate(graph, [np.array([[9.0]])]), NetworkOptions())
    """
    largest = np.maximum(np.abs(calibration.lows), np.abs(calibration.highs))
    limit = 2.0 ** (_MAX_HEADROOM - _LEAST_RECOGNISED_BITS)
    results = [
        number
        for number, node in enumerate(graph.nodes)
        if isinstance(node.operation, g.OutputLayer)
    ]
    if largest[results].max() > limit:
        first = int((largest > limit).argmax())
        raise InvalidParametersError(
            f"cannot compile {options.title}: of the calibration's inputs layer "
            f"{graph.nodes[first].name!r} makes numbers up to {largest[first]:.2g}, and results "
            f"are up to {largest[results].max():.2g}: no ring has the headroom for more than "
            f"{limit:.2g}; scale weights or inputs down"
        )


def _batches(network: StagedNetwork, options: NetworkOptions, log_n: int) -> list[int]:
    """The inputs of a run that are tried in a ring; none where it has too few slots."""
    largest = max(math.prod(stage.shape) for stage in network.stages)
    slots = 1 << (log_n - 1)
    batches = options.batches(log_n, largest, network.width(1))
    return [
        batch
        for batch in batches
        # With a ciphertext for every element what is not linear takes most, and pairs save nothing.
        if network.lanes(batch) <= slots
        and not (network.pairs and _is_by_element(network, log_n, batch))
    ]


def _is_by_element(network: StagedNetwork, log_n: int, batch: int) -> bool:
    """Whether inputs have so few slots of a ciphertext that every element takes one of its own."""
    return (1 << (log_n - 1)) // network.lanes(batch) <= _FEW_SLOTS


def batch_refusal(options: NetworkOptions) -> InvalidArgumentError:
    """What a batch is refused with that no ring has the slots for."""
    asked = options.log_n is not None
    ring, advice = ("ring of log_n", " or a larger ring") if asked else ("largest ring", "")
    return InvalidArgumentError(
        f"cannot compile {options.title}: a batch of {options.batch} has more inputs than the "
        f"{ring} has slots; ask for fewer{advice}"
    )


@dataclass(frozen=True, slots=True)
class _Ring:
    """A ring that a network may run in.

    Args:
        network: The network.
        options: What is asked of its program.
        log_n: Base-2 logarithm of the ring degree.
        word_bits: Of the primes.
    """

    network: StagedNetwork
    options: NetworkOptions
    log_n: int
    word_bits: int = LONGEST_WORD_BITS

    @classmethod
    def of(cls, way: _Way, options: NetworkOptions) -> _Ring:
        """The ring of a way: of words of which one product of doubles makes one, if all are alike.

        Of shorter ones transforms take more.
        """
        word_bits = DOUBLE_WORD_BITS if way.is_by_element else LONGEST_WORD_BITS
        return cls(way.network, options, way.log_n, word_bits)

    @property
    def slots(self) -> int:
        """Slots of a ciphertext."""
        return 1 << (self.log_n - 1)

    def parameters(self, scale_bits: int, headroom: int) -> Parameters:
        """Parameters of as many levels as the network takes."""
        if scale_bits not in SCALE_BITS:
            raise InvalidParametersError(
                f"a scale of {scale_bits} bits is needed, at most {SCALE_BITS[-1]} work"
            )
        if headroom > _MAX_HEADROOM:
            raise InvalidParametersError(
                f"{headroom} bits of headroom above the scale are needed, at most {_MAX_HEADROOM} "
                "work"
            )
        insecure = self.options.insecure
        depth = self.network.depth
        return parameters_of_levels(
            depth, scale_bits, headroom, self.log_n, insecure, self.word_bits
        )

    def costs(self) -> Costs:
        """What operations cost under the smallest parameters that may do."""
        return self.options.costs_of(self.parameters(self.options.scale_bits, MIN_HEADROOM))


def _in_ring(
    way: _Way,
    priced: _Priced,
    inputs_of: Callable[[int], SimulatedInputs],
    options: NetworkOptions,
    limit: float,
) -> NetworkPlan | None:
    """The plan for one ring; None where its price is no lower than a limit."""
    network, packings, price = way.network, priced.packings, priced.price
    if price >= limit:
        return None
    ring, width = _Ring.of(way, options), network.width(network.lanes(way.batch))
    costs = ring.costs()
    whole, _ = lowered(options.title, network, packings, ring.slots, costs)
    precise = _precise(whole, packings, inputs_of(width), ring, width)
    found = precise.lowered
    if found.program is not whole.program:
        # A program of fewer keys costs more.
        price += total_seconds(found.program, costs) - total_seconds(whole.program, costs)
    if price >= limit:
        return None
    return NetworkPlan(
        found, precise.parameters, precise.bounds, precise.error, price, way.batch, width
    )


def _by_element(
    way: _Way,
    priced: _Priced,
    inputs_of: Callable[[int], SimulatedInputs],
    options: NetworkOptions,
    limit: float,
    few_of: Callable[[StagedNetwork], LoweredNetwork],
) -> NetworkPlan | None:
    """The plan for one ring whose slots are an input each; None as of `_in_ring`.

    Every slot computes alike, so that a few tell the errors of all.
    """
    if priced.price >= limit:
        return None
    ring, few = _Ring.of(way, options), few_of(way.network)
    inputs = replace(inputs_of(_SIMULATED_INPUTS), copies=_SIMULATED_COPIES)
    precise = _precise(few, (), inputs, ring, few.program.slots)
    whole = lowered_by_element(options.title, way.network, ring.slots)
    return NetworkPlan(
        whole,
        precise.parameters,
        precise.bounds,
        precise.error,
        priced.price,
        way.batch,
        ring.slots,
    )


@dataclass(frozen=True, slots=True)
class _Precise:
    """A program with the least parameters that have the precision.

    Args:
        lowered: The program, within the key budget.
        parameters: Its parameters.
        bounds: The largest absolute values of its values.
        error: The largest error to expect of an accepted input.
    """

    lowered: LoweredNetwork
    parameters: Parameters
    bounds: tuple[float | None, ...]
    error: float


def _precise(
    whole: LoweredNetwork,
    packings: Sequence[Places],
    inputs: SimulatedInputs,
    ring: _Ring,
    width: int,
) -> _Precise:
    """The program within the key budget, under the least scale that has the precision."""
    bounds = whole.value_bounds(ring.network.graph, width)
    largest = _largest(whole.program, bounds)
    runs = inputs.usual_runs(whole)
    scales = _Scales(whole, packings, runs, ring, _headroom(bounds), largest)
    best = scales.least()
    found = best.lowered
    bounds = found.value_bounds(ring.network.graph, width)
    require_headroom(found.program, bounds, best.parameters)
    worst = expected_error(found, inputs.worst_runs(found), best.noise)
    error = larger_error(best.error, worst)
    if not error < OUTGROWN:
        raise InvalidParametersError(
            f"{largest}, and noise outgrows them on inputs that a client accepts"
        )
    return _Precise(found, best.parameters, bounds, ROUGH * error)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A program under parameters of one scale.

    Args:
        lowered: The program, within the key budget.
        parameters: The parameters.
        noise: The noise under them.
        error: The largest error to expect of a usual input.
    """

    lowered: LoweredNetwork
    parameters: Parameters
    noise: NoiseModel
    error: float


@dataclass(frozen=True, slots=True)
class _Scales:
    """The scales that a program may run under.

    Args:
        whole: The program with all keys.
        packings: How the result of each stage is packed.
        runs: On which errors are simulated.
        ring: Where it runs.
        headroom: Bits above the scale.
        largest: The layer that makes the largest numbers, in words.
    """

    whole: LoweredNetwork
    packings: Sequence[Places]
    runs: Sequence[ClearRun]
    ring: _Ring
    headroom: int
    largest: str

    def least(self) -> _Tried:
        """The program under the least scale that has the precision."""
        first = self.ring.options.scale_bits
        least, found = raised_scale(self._tried, first, attempts=_ATTEMPTS)
        if found.lacking > 0:
            raise InvalidParametersError(
                f"{self.largest}, and errors stay {found.lacking} bits above the precision, "
                "however large the scale"
            )
        refusals = InvalidParametersError, KeyBudgetError
        return without_spare_bits(self._tried, least, found, refusals).made

    def _tried(self, scale_bits: int) -> Scaled[_Tried]:
        options = self.ring.options
        try:
            parameters = self.ring.parameters(scale_bits, self.headroom)
        except InvalidParametersError as refusal:
            raise refusal_kind(refusal, options)(f"{self.largest}: {refusal}") from refusal
        network = self.ring.network
        found = _within_key_budget(self.whole, network, self.packings, parameters, options)
        noise = options.noise(parameters)
        error = expected_error(found, self.runs, noise)
        if not error < OUTGROWN:
            raise InvalidParametersError(f"{self.largest}, and noise outgrows them")
        # A scale is not raised for what may be the draw's. Errors above 1 tell that numbers left
        # their ranges, and not by how many bits noise is too large.
        lacking = math.ceil(math.log2(min(error, 1.0)) + options.precision - DRAWN_BITS)
        return Scaled(scale_bits, _Tried(found, parameters, noise, error), lacking)


def _within_key_budget(
    whole: LoweredNetwork,
    network: StagedNetwork,
    packings: Sequence[Places],
    parameters: Parameters,
    options: NetworkOptions,
) -> LoweredNetwork:
    """A network's program with few enough keys under parameters."""
    key_bytes_at = parameters.evaluation_key_bytes
    program = within_key_budget(whole.program, key_bytes_at, options.key_budget)
    if program is whole.program:
        return whole
    return replace(whole, program=program, ranges=activation_ranges(program, network, packings))


def _headroom(bounds: Sequence[float | None]) -> int:
    """Bits above the scale for all values."""
    largest = max(bound for bound in bounds if bound is not None)
    bits = math.ceil(math.log2(max(largest, 1.0)))
    recognised = min(max(bits + _RECOGNISED_BITS, MIN_HEADROOM), _MAX_HEADROOM)
    return max(bits + _LEAST_RECOGNISED_BITS, recognised)


def _largest(program: SlotProgram, bounds: Sequence[float | None]) -> str:
    """The layer that makes the largest numbers, in words."""
    largest, stage = max(
        (bound, stage)
        for bound, stage in zip(bounds, program.stages, strict=True)
        if bound is not None
    )
    return f"layer {stage.partition(' | ')[0]!r} makes numbers up to {largest:.2g}"
