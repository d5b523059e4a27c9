"""Networks drawn at random, compiled and run as torch runs them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch

from cloakwork import nn
from cloakwork.errors import ActivationFitError, InvalidParametersError, LevelExhaustedError
from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.calibration import calibrate
from cloakwork.frontends.nn.capture import capture
from cloakwork.frontends.nn.evaluate import values
from cloakwork.frontends.nn.fitted_errors import largest_difference
from cloakwork.frontends.nn.refit import refitted
from tests.frontends.nn.random_networks import RandomNetwork, random_networks

# Torch tells once how it pads for kernels of even length.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")

PRECISION = 8
MARGIN = 0.25
# Of the largest number in a network, what float64 may lose on the way.
ROUNDING = 1e-9

# Base-2 logarithms of ring degrees and inputs at once: one ciphertext, or several.
RINGS = st.sampled_from([(7, 1), (8, 1), (9, 3), (11, 2)])


def compiled(graph: g.Graph, inputs: np.ndarray, ring: tuple[int, int]) -> nn.Network:
    log_n, batch = ring
    try:
        return nn.compile_graph(
            graph,
            inputs,
            precision=PRECISION,
            margin=MARGIN,
            batch=batch,
            log_n=log_n,
            insecure=True,
        )
    except (ActivationFitError, InvalidParametersError, LevelExhaustedError):
        # Some are too deep, or their numbers too large: that is refused, not computed.
        assume(False)
        raise


def tolerated(graph: g.Graph, inputs: np.ndarray) -> float:
    """What the fits of activations may differ, and what rounding may."""
    fitted, _ = refitted(graph, inputs, calibrate(graph, inputs), PRECISION, MARGIN, None)
    difference = largest_difference(graph, fitted, inputs)
    largest = max(float(np.abs(each).max(initial=0)) for each in values(graph, inputs))
    return difference + ROUNDING * max(1.0, largest)


def expected(network: RandomNetwork) -> np.ndarray:
    with torch.no_grad():
        return np.asarray(network.module(network.sample).numpy())


@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks(), RINGS)
def test_equals_torch_in_the_clear(network: RandomNetwork, ring: tuple[int, int]) -> None:
    graph, inputs = capture(network.module, network.sample), network.sample.numpy()
    made = compiled(graph, inputs, ring)
    tolerance = tolerated(graph, inputs)
    wanted = expected(network)
    np.testing.assert_allclose(made.run_clear(inputs), wanted, rtol=0, atol=tolerance)
    simulation = made.simulate(inputs, seed=1)
    noise = 2.0**-PRECISION
    np.testing.assert_allclose(simulation.outputs, wanted, rtol=0, atol=tolerance + noise)
    assert simulation.outside == ()


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks(), st.sampled_from([(8, 1), (10, 3)]))
def test_equals_torch_on_ciphertexts(network: RandomNetwork, ring: tuple[int, int]) -> None:
    graph, inputs = capture(network.module, network.sample), network.sample.numpy()
    made = compiled(graph, inputs, ring)
    tolerance = tolerated(graph, inputs) + 2.0**-PRECISION
    client, evaluator = made.keygen()
    some = inputs[: made.batch]
    got = client.decrypt(evaluator.run(client.encrypt(some)))
    np.testing.assert_allclose(got, expected(network)[: made.batch], rtol=0, atol=tolerance)
