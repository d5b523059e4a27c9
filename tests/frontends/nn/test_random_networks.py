"""Networks drawn at random, read and evaluated as torch evaluates them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

pytest.importorskip("torch")

import torch

from cloakwork.frontends.nn.capture import capture
from cloakwork.frontends.nn.evaluate import evaluate
from tests.frontends.nn.random_networks import RandomNetwork, random_networks


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks())
def test_equals_torch(network: RandomNetwork) -> None:
    with torch.no_grad():
        expected = network.module(network.sample).numpy()
    graph = capture(network.module, network.sample)
    got = evaluate(graph, network.sample.numpy())
    largest = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * largest)
