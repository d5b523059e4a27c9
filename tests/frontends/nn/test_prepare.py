"""A network prepared for encryption computes what torch does, up to its activations' errors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

pytest.importorskip("torch")

import torch
from torch import nn

from cloakwork.errors import ActivationRangeError
from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.evaluate import evaluate
from cloakwork.frontends.nn.prepare import prepare
from cloakwork.frontends.nn.ranges import excesses, require_within_ranges
from tests.frontends.nn.random_networks import POLYNOMIALS, RandomNetwork, random_networks


@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks(POLYNOMIALS))
def test_polynomial_networks_are_prepared_without_error(network: RandomNetwork) -> None:
    with torch.no_grad():
        expected = network.module(network.sample).numpy()
    prepared = prepare(network.module, network.sample, network.sample)
    largest = max(1.0, float(np.abs(expected).max()))
    got = evaluate(prepared.graph, network.sample.numpy())
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-9 * largest)


def lenet_like() -> nn.Sequential:
    torch.manual_seed(1)
    module = nn.Sequential(
        nn.Conv2d(1, 4, 3, stride=2, padding=1),
        nn.BatchNorm2d(4),
        nn.SiLU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.BatchNorm1d(16),
        nn.Linear(16, 5),
        nn.BatchNorm1d(5),
    )
    module(torch.randn(64, 1, 8, 8))
    return module.eval()


def test_batch_norm_is_folded_away() -> None:
    prepared = prepare(lenet_like(), torch.zeros(1, 1, 8, 8), torch.randn(64, 1, 8, 8))
    kinds = [type(node.operation).__name__ for node in prepared.graph.nodes]
    assert kinds == [
        "Input",
        "Convolution",
        "Polynomial",
        "AveragePool",
        "Rearrange",
        "Linear",
        "Output",
    ]


def test_the_fitted_network_is_as_near_as_its_fits_say() -> None:
    module, images = lenet_like(), torch.randn(64, 1, 8, 8)
    prepared = prepare(module, images, [(images, torch.zeros(64))], precision=12)
    [fit] = prepared.fits
    assert fit.layer == "2"
    assert fit.precision >= 12
    clear = evaluate(prepared.clear, images.numpy())
    assert np.abs(evaluate(prepared.graph, images.numpy()) - clear).max() < 2.0**-8
    assert excesses(prepared.graph, images.numpy()) == ()


def test_an_input_beyond_calibration_is_reported() -> None:
    module, images = lenet_like(), torch.randn(64, 1, 8, 8)
    prepared = prepare(module, images, images)
    assert prepared.graph.input.bound == pytest.approx(1.25 * float(images.abs().max()))
    with pytest.raises(ActivationRangeError, match=r"'2' is fitted to .* inputs \[1\]"):
        require_within_ranges(prepared.graph, np.stack([images[0].numpy(), 50 * images[1].numpy()]))


def test_relu_becomes_a_composition_times_its_operand() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval()
    samples = torch.randn(100, 4)
    prepared = prepare(module, samples, samples, precision=12)
    [fit] = prepared.fits
    assert len(fit.degrees) > 1
    assert isinstance(prepared.graph.nodes[-2].operation, g.Multiply)
    clear = evaluate(prepared.clear, samples.numpy())
    assert np.abs(evaluate(prepared.graph, samples.numpy()) - clear).max() <= fit.error


def test_a_given_degree_is_taken() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.SiLU(), nn.Linear(4, 4), nn.Tanh()).eval()
    samples = torch.randn(100, 4)
    prepared = prepare(module, samples, samples, degrees={"1": 7, "tanh": 5})
    assert [fit.degrees for fit in prepared.fits] == [(7,), (5,)]
