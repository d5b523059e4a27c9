"""The ring, the scale and the packings with which a network costs least."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from cloakwork._native import Parameters
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    KeyBudgetError,
)
from cloakwork.plan.analysis.headroom import require_headroom
from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.cheapest_packings import chosen_packings
from cloakwork.plan.networks.depth import (
    MIN_HEADROOM,
    Depth,
    parameters_of,
    refusal_kind,
    require_levels,
)
from cloakwork.plan.networks.expected_errors import ROUGH, Run, SimulatedInputs, expected_error
from cloakwork.plan.networks.lower import LoweredNetwork, activation_ranges, lowered
from cloakwork.plan.networks.network_plan import NetworkPlan
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import stages_of
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.passes.key_budget import within_key_budget
from cloakwork.programs.ir import layers as g
from cloakwork.programs.places import Places
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.costs import Costs, total_seconds

# Headroom above the bounds of values, within which a result beyond its bound is still recognised.
_RECOGNISED_BITS = 14
# The least part of it, where numbers are very large.
_LEAST_RECOGNISED_BITS = 3
# What the engine has.
_MAX_HEADROOM = 60
_ATTEMPTS = 4


def planned(
    graph: g.Graph,
    calibration: Calibration,
    worst: g.Array,
    options: NetworkOptions,
    announce: Callable[[str], None],
) -> NetworkPlan:
    """The cheapest program of a network among several rings.

    Args:
        graph: A network whose activations are polynomials.
        calibration: Inputs such as it is to be run on.
        worst: Other inputs that are accepted, the ones that errors grow most by first.
        options: What is asked of it.
        announce: Is called with each step of the work, in words.

    Raises:
        LevelExhaustedError: No ring has as many levels; the message names the layer.
        InvalidParametersError: No ring has the precision, or the headroom for numbers as large.
        BoundOverflowError: Powers of a layer's numbers outgrow the moduli.
        KeyBudgetError: In no ring the fewest keys fit the budget.
        InvalidArgumentError: A batch does not fit a ciphertext.
    """
    announce("merging layers")
    stages = stages_of(graph)
    network = StagedNetwork(graph, stages.all, stages.outputs)
    require_levels(_depths(network), options, exact=True)
    inputs = SimulatedInputs.of(calibration, worst, options.width)
    best: NetworkPlan | None = None
    refusals: list[InvalidParametersError | KeyBudgetError] = []
    for log_n in options.rings:
        if not _slots(log_n, options):
            continue
        announce(f"planning for rings of degree 2^{log_n}")
        try:
            found = _in_ring(network, inputs, options, log_n, best.price if best else math.inf)
        except (InvalidParametersError, KeyBudgetError) as error:
            refusals.append(error)
            continue
        if found is None:
            break
        best = found
    if best is not None:
        return best
    raise _refusal(refusals, options)


def _depths(network: StagedNetwork) -> list[Depth]:
    """The levels below the inputs at which stages stand."""
    pairs = zip(network.stages, network.levels, strict=True)
    return [Depth(stage.name, network.depth - level) for stage, level in pairs]


def _refusal(
    refusals: Sequence[InvalidParametersError | KeyBudgetError], options: NetworkOptions
) -> Exception:
    """Why there is no plan in any ring."""
    for refusal in refusals:
        if isinstance(refusal, KeyBudgetError):
            return refusal
    of_parameters = [each for each in refusals if isinstance(each, InvalidParametersError)]
    if not of_parameters:
        return batch_refusal(options)
    return refusal_kind(of_parameters[-1], options)(
        f"cannot compile {options.title} at a precision of {options.precision} bits: "
        f"{of_parameters[-1]}; ask for less precision, or scale weights or inputs down"
    )


def batch_refusal(options: NetworkOptions) -> InvalidArgumentError:
    """What a batch is refused with that no ring has the slots for."""
    return InvalidArgumentError(
        f"cannot compile {options.title}: a batch of {options.batch} has more inputs than the "
        f"largest ring has slots; ask for fewer"
    )


def _slots(log_n: int, options: NetworkOptions) -> int:
    """Slots of a ciphertext for each input of a batch."""
    return (1 << (log_n - 1)) // options.width


def _in_ring(
    network: StagedNetwork,
    inputs: SimulatedInputs,
    options: NetworkOptions,
    log_n: int,
    limit: float,
) -> NetworkPlan | None:
    """The plan for one ring; None where its price is no lower than a limit."""
    least = _parameters(network, options.scale_bits, MIN_HEADROOM, log_n, options)
    costs = options.costs_of(least)
    packings, price = chosen_packings(network, _slots(log_n, options), costs)
    if price >= limit:
        return None
    whole = lowered(options.title, network, packings, 1 << (log_n - 1), costs)
    runs = inputs.usual_runs(whole)
    found, parameters, error = _precise(whole, network, packings, runs, options, log_n)
    bounds = found.value_bounds(network.graph, options.width)
    require_headroom(found.program, bounds, parameters)
    noise = options.noise(parameters)
    error = max(error, expected_error(found, inputs.worst_runs(found), noise))
    price += _added_price(whole.program, found.program, costs)
    if price >= limit:
        return None
    return NetworkPlan(found, parameters, bounds, ROUGH * error, price)


def _precise(
    whole: LoweredNetwork,
    network: StagedNetwork,
    packings: Sequence[Places],
    runs: Sequence[Run],
    options: NetworkOptions,
    log_n: int,
) -> tuple[LoweredNetwork, Parameters, float]:
    """The program within the key budget, under the least scale that has the precision.

    Returns:
        The program, its parameters, and the largest error to expect on the runs.

    Raises:
        InvalidParametersError: No scale has it; the message names the layer of largest numbers.
        KeyBudgetError: The fewest keys take more than the budget.
    """
    bounds = whole.value_bounds(network.graph, options.width)
    headroom = _headroom(bounds)
    largest = _largest(whole.program, bounds)
    scale_bits = options.scale_bits
    for _ in range(_ATTEMPTS):
        try:
            parameters = _parameters(network, scale_bits, headroom, log_n, options)
        except InvalidParametersError as refusal:
            raise refusal_kind(refusal, options)(f"{largest}: {refusal}") from refusal
        found = _within_key_budget(whole, network, packings, parameters, options)
        error = expected_error(found, runs, options.noise(parameters))
        if not math.isfinite(error):
            raise InvalidParametersError(f"{largest}, and noise outgrows them")
        lacking = math.ceil(math.log2(error) + options.precision)
        if lacking <= 0:
            return found, parameters, error
        scale_bits += lacking
    raise InvalidParametersError(
        f"{largest}, and errors stay {lacking} bits above the precision, however large the scale"
    )


def _within_key_budget(
    whole: LoweredNetwork,
    network: StagedNetwork,
    packings: Sequence[Places],
    parameters: Parameters,
    options: NetworkOptions,
) -> LoweredNetwork:
    """A network's program with few enough keys under parameters.

    Raises:
        KeyBudgetError: The fewest keys take more than the budget.
    """
    key_bytes_at = parameters.evaluation_key_bytes
    program = within_key_budget(whole.program, key_bytes_at, options.key_budget)
    if program is whole.program:
        return whole
    return replace(whole, program=program, ranges=activation_ranges(program, network, packings))


def _added_price(whole: SlotProgram, found: SlotProgram, costs: Costs) -> float:
    """What a program of fewer keys costs more."""
    if found is whole:
        return 0.0
    return total_seconds(found, costs) - total_seconds(whole, costs)


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


def _parameters(
    network: StagedNetwork, scale_bits: int, headroom: int, log_n: int, options: NetworkOptions
) -> Parameters:
    if scale_bits not in SCALE_BITS:
        raise InvalidParametersError(
            f"a scale of {scale_bits} bits is needed, at most {SCALE_BITS[-1]} work"
        )
    if headroom > _MAX_HEADROOM:
        raise InvalidParametersError(
            f"{headroom} bits of headroom above the scale are needed, at most {_MAX_HEADROOM} work"
        )
    return parameters_of(network.depth, scale_bits, headroom, log_n, options.insecure)
