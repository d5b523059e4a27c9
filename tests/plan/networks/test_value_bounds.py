"""Every number that accepted inputs bring about has room, in networks drawn at random."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, event, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

from cloakwork.errors import ActivationFitError, InvalidParametersError, LevelExhaustedError
from cloakwork.frontends.nn.capture import capture
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.slots import Constant, Input, Output, SlotProgram
from cloakwork.runtime.executor import applied
from cloakwork.runtime.program import Program
from cloakwork.schemes.clear_real import ClearBackend, ClearVector
from tests.frontends.nn.acceptance import unfit
from tests.frontends.nn.random_networks import RandomNetwork, random_networks
from tests.thoroughness import part

# Torch tells once how it pads for kernels of even length.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")

ROUNDING = 1 + 1e-9


def largest(network: Program, inputs: np.ndarray) -> list[float | None]:
    """The largest absolute value of any slot of each operation's result; None for constants."""
    (run,) = network.packing.pack({"input": inputs}, "test").runs
    waiting = iter([run[number] for number in sorted(run)])
    assert isinstance(network.body, SlotProgram)
    values: dict[int, ClearVector] = {}
    for number, operation in enumerate(network.body.operations):
        match operation:
            case Input(level=level):
                values[number] = ClearVector(next(waiting), level)
            case Constant():
                pass
            case Output(operand=operand):
                values[number] = values[operand]
            case _:
                values[number] = applied(operation, network.body, ClearBackend(), values)
    return [
        float(np.abs(values[number].slots).max()) if number in values else None
        for number in range(len(network.body.operations))
    ]


@settings(max_examples=part(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks(), st.integers(0, 1000), st.sampled_from([0.01, 0.25, 2.0]))
def test_numbers_of_accepted_inputs_are_within_their_bounds(
    network: RandomNetwork, seed: int, margin: float
) -> None:
    graph, samples = capture(network.module, network.sample), network.sample.numpy()
    try:
        options = NetworkOptions(precision=8, margin=margin, log_n=9, insecure=True)
        made = compile_graph(graph, samples, options)
    except (ActivationFitError, InvalidParametersError, LevelExhaustedError):
        # Some are too deep, or their numbers too large: that is refused, not computed.
        assume(False)
        raise
    flat = samples.reshape(len(samples), -1).astype(np.float64)
    generator = np.random.default_rng(seed)
    signs = generator.choice([-1.0, 1.0], flat.shape)
    bound = made.inputs[0].bound
    assert unfit(made, flat) == []
    bounds = made.value_bounds
    assert bounds is not None
    for reach in (0.0, 0.01, 0.1, 1.0):
        for each in np.clip(flat + reach * bound * signs, -bound, bound)[:, np.newaxis]:
            if unfit(made, each):
                event("refused")
                continue
            event("accepted")
            for found, room in zip(
                largest(made, each.reshape(-1, *made.inputs[0].shape)), bounds, strict=True
            ):
                assert (found is None) == (room is None)
                assert (found or 0.0) <= (room or 0.0) * ROUNDING
