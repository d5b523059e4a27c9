"""The ring, the scale and the packings with which a network costs least."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

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
from cloakwork.plan.networks.expected_errors import Run, exact_runs, expected_error
from cloakwork.plan.networks.lower import LoweredNetwork, activation_ranges, lowered
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import stages_of
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.passes.key_budget import within_key_budget
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import element_bounds
from cloakwork.programs.places import Places
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.costs import Costs, total_seconds
from cloakwork.runtime.program import bounds_of_values

# Headroom above the bounds of values, within which a result beyond its bound is still recognised.
_RECOGNISED_BITS = 14
# The least part of it, where numbers are very large.
_LEAST_RECOGNISED_BITS = 3
# What the engine has.
_MAX_HEADROOM = 60
# Modelled noise of single operations is rough: errors were 1.4 times as large in some hundred
# networks.
_ROUGH = 2.0
_ATTEMPTS = 4
# Batches of inputs whose errors are simulated.
_RUNS = 2

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """A network's program and its parameters.

    Args:
        lowered: The program.
        parameters: The parameters.
        bounds: For each operation the largest absolute value of its result, None for constants.
        error: The largest error to expect of an accepted input, simulated in the clear with
            modelled noise.
    """

    lowered: LoweredNetwork
    parameters: Parameters
    bounds: tuple[float | None, ...]
    error: float


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
    runs = (_usual(calibration, options.width), _batches(worst, options.width)[:_RUNS])
    best: _Priced | None = None
    refusals: list[InvalidParametersError | KeyBudgetError] = []
    for log_n in options.rings:
        if not _slots(log_n, options):
            continue
        announce(f"planning for rings of degree 2^{log_n}")
        try:
            found = _in_ring(network, *runs, options, log_n, best.price if best else math.inf)
        except (InvalidParametersError, KeyBudgetError) as error:
            refusals.append(error)
            continue
        if found is None:
            break
        best = found
    if best is not None:
        return best.plan
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
        return InvalidArgumentError(
            f"cannot compile {options.title}: a batch of {options.batch} has more inputs than the "
            f"largest ring has slots; ask for fewer"
        )
    return refusal_kind(of_parameters[-1], options)(
        f"cannot compile {options.title} at a precision of {options.precision} bits: "
        f"{of_parameters[-1]}; ask for less precision, or scale weights or inputs down"
    )


def _slots(log_n: int, options: NetworkOptions) -> int:
    """Slots of a ciphertext for each input of a batch."""
    return (1 << (log_n - 1)) // options.width


def _usual(calibration: Calibration, width: int) -> list[_Array]:
    """Batches of a ciphertext's width: of the outermost inputs, and of some of all kinds."""
    runs = min(_RUNS, -(-len(calibration.spread) // width))
    kinds = np.linspace(0, len(calibration.spread) - 1, runs * width).round().astype(np.int64)
    return _batches(calibration.outermost, width) + _batches(calibration.spread[kinds], width)


def _batches(inputs: _Array, width: int) -> list[_Array]:
    """Inputs, one a row, in batches of a ciphertext's width."""
    numbers = np.arange(-(-len(inputs) // width) * width) % len(inputs)
    return list(inputs[numbers].reshape(-1, width, inputs.shape[1]))


@dataclass(frozen=True, slots=True)
class _Priced:
    """A plan and its price."""

    price: float
    plan: NetworkPlan


def _in_ring(
    network: StagedNetwork,
    usual: Sequence[_Array],
    worst: Sequence[_Array],
    options: NetworkOptions,
    log_n: int,
    limit: float,
) -> _Priced | None:
    """The plan for one ring and its price; None where the price is no lower than a limit."""
    least = _parameters(network, options.scale_bits, MIN_HEADROOM, log_n, options)
    costs = options.costs_of(least)
    packings, price = chosen_packings(network, _slots(log_n, options), costs)
    if price >= limit:
        return None
    whole = lowered(options.title, network, packings, 1 << (log_n - 1), costs)
    # Errors are largest where numbers are, more often than not.
    runs = sorted(exact_runs(whole, usual), key=lambda run: np.abs(run.results).max())[-_RUNS:]
    plan = _precise(whole, network, packings, runs, options, log_n)
    program, parameters = plan.lowered.program, plan.parameters
    require_headroom(program, plan.bounds, parameters)
    extreme = expected_error(
        plan.lowered, exact_runs(plan.lowered, worst), options.noise(parameters)
    )
    price += _added_price(whole.program, program, costs)
    if price >= limit:
        return None
    return _Priced(price, replace(plan, error=_ROUGH * max(plan.error, extreme)))


def _precise(
    whole: LoweredNetwork,
    network: StagedNetwork,
    packings: Sequence[Places],
    runs: Sequence[Run],
    options: NetworkOptions,
    log_n: int,
) -> NetworkPlan:
    """The program within the key budget, under the least scale that has the precision.

    Raises:
        InvalidParametersError: No scale has it; the message names the layer of largest numbers.
        KeyBudgetError: The fewest keys take more than the budget.
    """
    bounds = _value_bounds(network, whole, options)
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
            return NetworkPlan(found, parameters, _value_bounds(network, found, options), error)
        scale_bits += lacking
    raise InvalidParametersError(
        f"{largest}, and errors stay {lacking} bits above the precision, however large the scale"
    )


def _value_bounds(
    network: StagedNetwork, found: LoweredNetwork, options: NetworkOptions
) -> tuple[float | None, ...]:
    """For each operation of a network's program a bound on its values."""
    rows = np.tile(element_bounds(network.graph), (options.width, 1))
    return bounds_of_values(found.program, found.pack(rows), found.ranges)


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
