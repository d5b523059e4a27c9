"""Networks drawn at random, compiled and run as torch runs them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from cloakwork.errors import ActivationFitError, InvalidParametersError, LevelExhaustedError
from cloakwork.frontends.nn.capture import capture
from cloakwork.plan.networks.calibration import bounded, calibrate
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.errors.fitted import largest_difference
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.refit import refitted
from cloakwork.plan.networks.samples import Samples
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate, table_of_inputs, values
from cloakwork.runtime.program import Program
from tests.frontends.nn.random_networks import RandomNetwork, random_networks
from tests.thoroughness import part

# Torch tells once how it pads for kernels of even length.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")

PRECISION = 8
MARGIN = 0.25
# Of the largest number in a network, what float64 may lose on the way.
ROUNDING = 1e-9

# Base-2 logarithms of ring degrees and inputs at once: one ciphertext, or several.
RINGS = st.sampled_from([(7, 1), (8, 1), (9, 3), (11, 2)])


def compiled(graph: g.Graph, inputs: np.ndarray, ring: tuple[int, int]) -> Program:
    log_n, batch = ring
    try:
        return compile_graph(
            graph,
            inputs,
            NetworkOptions(
                precision=PRECISION, margin=MARGIN, batch=batch, log_n=log_n, insecure=True
            ),
        )
    except (ActivationFitError, InvalidParametersError, LevelExhaustedError):
        # Some are too deep, or their numbers too large: that is refused, not computed.
        assume(False)
        raise


def fitted_network(graph: g.Graph, inputs: np.ndarray) -> tuple[g.Graph, float]:
    """The network with polynomials that is compiled, and what its results may differ by."""
    calibration = calibrate(graph, Samples(graph, inputs))
    within = bounded(graph, [max(map(abs, calibration.widened(0, MARGIN)))])
    fitted, _ = refitted(within, Samples(within, inputs), calibration, PRECISION, MARGIN, None)
    return fitted.graph, largest_difference(within, fitted)


def rounding(graph: g.Graph, inputs: np.ndarray) -> float:
    largest = max(
        float(np.abs(each).max(initial=0))
        for each in values(graph, table_of_inputs(graph, [inputs]))
    )
    return ROUNDING * max(1.0, largest)


def expected(network: RandomNetwork) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(network.module(network.sample).numpy())


@settings(max_examples=part(30), deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks(), RINGS)
def test_equals_torch_in_the_clear(network: RandomNetwork, ring: tuple[int, int]) -> None:
    graph, inputs = capture(network.module, network.sample), network.sample.numpy()
    made = compiled(graph, inputs, ring)
    fitted, difference = fitted_network(graph, inputs)
    tolerance = difference + rounding(graph, inputs)
    wanted, results = expected(network), made.run_clear(inputs)
    np.testing.assert_allclose(results, wanted, rtol=0, atol=tolerance)
    exact = evaluate(fitted, inputs.astype(np.float64))
    np.testing.assert_allclose(results, exact, rtol=0, atol=rounding(fitted, inputs))
    simulation = made.simulate(inputs, seed=1)
    noise = 2.0**-PRECISION
    np.testing.assert_allclose(simulation.outputs, wanted, rtol=0, atol=tolerance + noise)
    assert simulation.outside == ()


@settings(max_examples=part(12), deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks(), st.sampled_from([(8, 1), (10, 3)]))
def test_equals_torch_on_ciphertexts(network: RandomNetwork, ring: tuple[int, int]) -> None:
    graph, inputs = capture(network.module, network.sample), network.sample.numpy()
    made = compiled(graph, inputs, ring)
    _, difference = fitted_network(graph, inputs)
    tolerance = difference + rounding(graph, inputs) + 2.0**-PRECISION
    client, evaluator = made.keygen()
    some = inputs[: made.batch]
    got = client.decrypt(evaluator.run(client.encrypt(some)))
    np.testing.assert_allclose(got, expected(network)[: made.batch], rtol=0, atol=tolerance)
