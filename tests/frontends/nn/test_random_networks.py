"""Networks drawn at random, read and evaluated as torch evaluates them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

pytest.importorskip("torch")

import torch

from cloakwork.frontends.nn.capture import capture
from cloakwork.frontends.nn.evaluate import evaluate
from cloakwork.frontends.nn.fold import fold
from tests.frontends.nn.random_networks import RandomNetwork, random_networks


def check(network: RandomNetwork) -> None:
    with torch.no_grad():
        expected = network.module(network.sample).numpy()
    graph = capture(network.module, network.sample)
    largest = max(1.0, float(np.abs(expected).max()))
    for each in (graph, fold(graph)):
        got = evaluate(each, network.sample.numpy())
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * largest)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks())
def test_read_and_folded_networks_equal_torch(network: RandomNetwork) -> None:
    check(network)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks())
def test_many_read_and_folded_networks_equal_torch(network: RandomNetwork) -> None:
    check(network)
