"""Inputs at the ends of what is accepted: they are, and errors grow by them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.nn.networks import SQUARE, Weights, lola, network
from cloakwork.plan.networks.calibration import calibrate
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.errors.worst_case_inputs import WorstCaseInputs, worst_case_inputs
from cloakwork.plan.networks.fit import fit
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.samples import Samples
from cloakwork.programs.ir import layers as g
from tests.frontends.nn.acceptance import unfit
from tests.thoroughness import slow

SILU = g.Activation("silu")


def smooth() -> g.Graph:
    w = Weights()
    return network((6,), w.linear(6, 6), SILU, w.linear(6, 6), SILU, w.linear(2, 6))


def reached(graph: g.Graph, samples: np.ndarray) -> WorstCaseInputs:
    calibration = calibrate(graph, Samples(graph, samples))
    return worst_case_inputs(fit(graph, calibration).graph, calibration)


@pytest.mark.parametrize("make", [smooth, *slow(lola)])
def test_the_worst_are_accepted_by_a_client(make: Callable[[], g.Graph]) -> None:
    graph = make()
    samples = np.random.default_rng(2).uniform(0, 1, (40, *graph.inputs[0].shape))
    found = reached(graph, samples)
    made = compile_graph(graph, samples, NetworkOptions(log_n=14, insecure=True))
    bound = made.inputs[0].bound
    assert np.abs(found.worst).max() <= bound * (1 + 1e-12)
    assert unfit(made, np.clip(found.worst, -bound, bound)) == []
    # All but a few have moved on from the samples.
    is_sample = (found.worst[:, np.newaxis] == samples.reshape(1, len(samples), -1)).all(axis=2)
    assert np.count_nonzero(is_sample.any(axis=1)) < len(found.worst) / 2


@pytest.mark.parametrize("samples", [[[0.5]], [[-1.0], [2.0]], [[3.0], [3.5]]])
def test_a_power_is_led_to_the_ends_of_its_range(samples: list[list[float]]) -> None:
    nodes = [g.node("x", g.InputLayer((1,), 4.0), (), [])]
    for name, layer in ("square", SQUARE), ("output", g.OutputLayer()):
        nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
    graph = g.build(nodes)
    low, high = calibrate(graph, Samples(graph, np.array(samples))).widened(0, 0.25)
    found = reached(graph, np.array(samples)).worst[0, 0]
    assert low <= found <= high
    assert abs(found) == pytest.approx(max(-low, high), rel=0.02)


def test_the_operands_of_products_are_led_to_their_largest() -> None:
    signs = np.random.default_rng(3).choice([-1.0, 1.0], (2, 256))
    nodes = [g.node("x", g.InputLayer((256,), 1.0), (), [])]
    for name, row in ("left", signs[:1]), ("right", signs[1:]):
        nodes.append(g.node(name, g.LinearLayer(row, np.zeros(1)), (0,), nodes))
    nodes.append(g.node("product", g.Multiply(), (1, 2), nodes))
    nodes.append(g.node("output", g.OutputLayer(), (3,), nodes))
    samples = np.random.default_rng(4).choice([-1.0, 1.0], (50, 256))
    found = reached(g.build(nodes), samples).worst
    assert np.abs(found @ signs.T).max() > 250


def test_inputs_that_none_is_accepted_of_are_taken_as_they_are() -> None:
    narrow = g.PolynomialLayer((0.0, 1.0, 0.0, 1.0), "chebyshev", -0.1, 0.1)
    found = reached(network((3,), narrow), np.full((2, 3), 0.5))
    assert found.worst.tolist() == [[0.5] * 3]
