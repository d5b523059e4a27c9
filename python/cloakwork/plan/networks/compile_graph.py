"""From a graph of layers and sample inputs to a program that runs on encrypted inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from cloakwork.base.progress import no_announcement
from cloakwork.errors import InvalidParametersError, KeyBudgetError, LevelExhaustedError
from cloakwork.plan.networks.bootstrapped import (
    bootstrapped,
    goes_by_distance,
    has_bootstrapping,
)
from cloakwork.plan.networks.calibration import (
    Calibration,
    bounded,
    calibrate,
    with_ranges_of_factors,
)
from cloakwork.plan.networks.centred_sums import with_sums_centred
from cloakwork.plan.networks.depth import (
    Depth,
    activation_depths,
    least_depths,
    require_levels_of_layers,
)
from cloakwork.plan.networks.errors.fitted import largest_difference
from cloakwork.plan.networks.errors.likely import likely_difference
from cloakwork.plan.networks.errors.worst_case_inputs import WorstCaseInputs, worst_case_inputs
from cloakwork.plan.networks.following import InputResult, following_network
from cloakwork.plan.networks.lower import NetworkPlan
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.outlying_features import with_outliers_divided
from cloakwork.plan.networks.pipeline import planned, require_small_results
from cloakwork.plan.networks.refit import refitted
from cloakwork.plan.networks.repeated_sums import with_sums_made_once
from cloakwork.plan.networks.samples import Samples
from cloakwork.plan.networks.states import StateErrors, with_states_carried_on
from cloakwork.plan.networks.wide_softmaxes import with_narrower_softmaxes
from cloakwork.programs.ir import layers as g
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Output
from cloakwork.runtime.program import Program
from cloakwork.runtime.state import Kept
from cloakwork.schemes.ckks import Ckks

# Inputs that the depth is estimated from before all are run through the network.
_FIRST_SAMPLES = 4
# Bytes of evaluation keys beyond which a plan with bootstraps is looked for.
_MOST_KEY_BYTES = 8 << 30
# The largest values of activations among all inputs are at most 2 to this power times as large as
# among the first ones, or as among the calibration's.
_FIRST_GROWTH_BITS = 2
_GROWTH_BITS = 1
# Inputs of either kind that the errors of polynomials are followed along, and how many numbers
# layers may make of them; some are followed even so.
_FOLLOWED, _FEWEST_FOLLOWED = 32, 3
_NUMBERS_FOLLOWED = 1 << 27
# Steps of the work that are announced beside one for each ring.
STEPS = 6


def compile_graph(
    graph: g.Graph,
    given: Any,
    options: NetworkOptions | None = None,
    announce: Callable[[str], None] = no_announcement,
    after: Mapping[str, InputResult] = MappingProxyType({}),
    kept: Sequence[Kept] = (),
) -> Program:
    """Make a program of a network that is a graph of layers; see `cloakwork.nn.compile`.

    Args:
        graph: The network.
        given: Inputs such as it is to be run on.
        options: What is asked.
        announce: Is told what is done.
        after: The results of other programs that inputs are, by the names of these.
        kept: The inputs that are results of the step before.

    Example:
        >>> import numpy as np
        >>> nodes = [g.node("x", g.InputLayer((4,)), (), [])]
        >>> for name, layer in [("dense", g.LinearLayer(np.ones((2, 4)), np.zeros(2))),
        ...                     ("square", g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -9, 9)),
        ...                     ("y", g.OutputLayer())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> network = compile_graph(g.build(nodes), np.ones((1, 4)))
        >>> client, evaluator = network.keygen()
        >>> client.decrypt(evaluator.run(client.encrypt([0.5, 0.25, 0.0, 0.25]))).round(3).tolist()
        [1.0, 1.0]
    """
    options = options or NetworkOptions()
    announce("estimating the depth")
    graph = with_sums_centred(graph)
    samples = Samples(graph, given)
    first = samples.first(_FIRST_SAMPLES)
    bootstraps = bool(options.bootstrap)
    if len(first):
        seen = calibrate(graph, [first])
        require_small_results(graph, seen, options)
        narrower, seen = with_narrower_softmaxes(graph, seen, [first], options)
        depths = activation_depths(narrower, seen, options, _FIRST_GROWTH_BITS)
        bootstraps = bootstraps or _is_too_deep(least_depths(narrower, depths), options)
    announce("calibrating")
    calibration = calibrate(graph, samples)
    require_small_results(graph, calibration, options)
    batches = samples.again(calibration.retained)
    graph, calibration = with_narrower_softmaxes(graph, calibration, batches, options)
    graph, calibration = with_outliers_divided(graph, calibration, batches)
    depths = activation_depths(graph, calibration, options, _GROWTH_BITS)
    bootstraps = bootstraps or _is_too_deep(least_depths(graph, depths), options)
    if bootstraps:
        # Levels are bought for each ciphertext.
        graph, calibration = with_sums_made_once(graph, calibration, _slots_of_an_input(options))
    inputs = range(len(graph.inputs))
    ranges = [calibration.widened(number, options.margin) for number in inputs]
    graph = bounded(
        graph,
        [
            max(after[node.name].bound if node.name in after else 0.0, *map(abs, ends))
            for node, ends in zip(graph.inputs, ranges, strict=True)
        ],
    )
    if bootstraps:
        # A bootstrap is as precise as what it refreshes is small, and bounds of sums are not.
        graph = with_ranges_of_factors(graph)
    announce("fitting activations")
    fitted, calibration = refitted(
        graph, samples, calibration, options.precision, options.margin, options.degrees
    )
    bootstraps = bootstraps or _is_too_deep(least_depths(fitted.graph, {}), options)
    announce("searching for worst-case inputs")
    searched = worst_case_inputs(fitted.graph, calibration)
    plan_by = bootstrapped if bootstraps else _planned
    plan = plan_by(fitted.graph, calibration, searched, options, announce)
    if kept:
        plan = with_states_carried_on(plan, graph, kept)
    announce("following errors")
    followed = _followed(graph, calibration)
    program = Program(
        Ckks(plan.parameters, plan.refreshing, public_inputs=options.public_inputs),
        plan.lowered.program,
        _packing(graph, plan, kept),
        ranges=plan.lowered.ranges,
    )
    program, errors = following_network(program, after, options.precision)
    deviations: Mapping[str, float] = {}
    if kept:
        states = StateErrors.of(graph, fitted, followed, kept, plan.error)
        errors, deviations = dict(states.largest), states.deviations
    likely = likely_difference(graph, fitted, followed, errors, deviations)
    largest = largest_difference(graph, fitted, errors)
    error = plan.error + min(likely, largest)
    if not math.isfinite(error):
        raise InvalidParametersError(
            f"cannot compile {options.title}: at a precision of {options.precision} bits errors of "
            "its layers may grow beyond every number on their way to the results; ask for "
            f"precision={options.precision + 2} or more, or scale weights down"
        )
    return replace(
        program,
        error=error,
        error_bound=plan.error + largest if math.isfinite(largest) else None,
        kept=tuple(kept),
    )


def _followed(graph: g.Graph, calibration: Calibration) -> g.Array:
    """Some of the calibration's inputs that errors of polynomials are followed along."""
    numbers = sum(math.prod(node.shape) for node in graph.nodes)
    count = max(_FEWEST_FOLLOWED, min(_FOLLOWED, _NUMBERS_FOLLOWED // numbers))
    kinds = calibration.outermost, calibration.spread
    return np.concatenate([each[:: -(-len(each) // count)] for each in kinds])


def _slots_of_an_input(options: NetworkOptions) -> int:
    """The slots that an input of a batch has in the largest ring that may be taken."""
    batch = options.batch if isinstance(options.batch, int) else 1
    return (1 << (options.refreshing_rings[-1] - 1)) // batch


def _is_too_deep(depths: Sequence[Depth], options: NetworkOptions) -> bool:
    """Whether a network takes more levels than a chain has, and may bootstrap."""
    try:
        require_levels_of_layers(depths, options, exact=False)
    except LevelExhaustedError:
        if options.bootstrap is False or not has_bootstrapping(options):
            raise
        return True
    return False


def _planned(
    graph: g.Graph,
    calibration: Calibration,
    searched: WorstCaseInputs,
    options: NetworkOptions,
    announce: Callable[[str], None],
) -> NetworkPlan:
    """The cheapest plan without bootstraps, or one with bootstraps if none without them exists.

    A chain that leaves little of the modulus to key switching has keys of many digits, and a
    program without bootstraps many rotations. Where keys take too much, bootstraps take less. So
    they do where attentions go by distance.
    """
    may_bootstrap = options.bootstrap is not False and has_bootstrapping(options)
    if may_bootstrap and goes_by_distance(graph, options):
        # Without bootstraps every pair of tokens has elements of its own.
        return bootstrapped(graph, calibration, searched, options, announce)
    try:
        plan = planned(graph, calibration, searched, options, announce)
    except (InvalidParametersError, LevelExhaustedError) as refusal:
        if not may_bootstrap:
            raise
        try:
            return bootstrapped(graph, calibration, searched, options, announce)
        except (InvalidParametersError, KeyBudgetError, LevelExhaustedError) as other:
            refusal.add_note(f"nor can it be bootstrapped: {other}")
            raise refusal from other
    if plan.key_bytes > _MOST_KEY_BYTES and may_bootstrap and options.key_budget is None:
        with suppress(InvalidParametersError, LevelExhaustedError):
            refreshed = bootstrapped(graph, calibration, searched, options, announce)
            return min(plan, refreshed, key=lambda each: each.key_bytes)
    return plan


def _packing(graph: g.Graph, plan: NetworkPlan, kept: Sequence[Kept]) -> BatchPacking:
    """How inputs and results lie in ciphertexts, with the ranges of their numbers."""
    inputs = tuple(
        Port(node.name, "real", 0, node.shape, -bound, bound)
        for node, bound in zip(graph.inputs, graph.bounds, strict=True)
    )
    bounds = iter(
        bound or 0.0
        for operation, bound in zip(plan.lowered.program.operations, plan.bounds, strict=True)
        if isinstance(operation, Output)
    )
    outputs: list[Port] = []
    for node, places in zip(graph.outputs, plan.lowered.outputs, strict=True):
        largest = max(next(bounds) for _ in range(places.ciphertexts))
        outputs.append(Port(node.name, "real", 0, node.shape, -largest, largest))
    return BatchPacking(
        inputs,
        tuple(outputs),
        plan.lowered.inputs,
        plan.lowered.outputs,
        graph.form,
        plan.width,
        plan.batch,
        plan.lowered.pairs,
        tuple(each.result for each in kept),
    )
