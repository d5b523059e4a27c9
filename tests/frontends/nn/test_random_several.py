"""Networks of several inputs and results, drawn at random, run as their layers compute."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cloakwork.errors import ActivationFitError, InvalidParametersError, LevelExhaustedError
from cloakwork.plan.networks.calibration import bounded, calibrate
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.errors.fitted import largest_difference
from cloakwork.plan.networks.errors.worst_case_inputs import worst_case_inputs
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.refit import refitted
from cloakwork.plan.networks.samples import Samples
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.runtime.program import Program
from tests.thoroughness import part

PRECISION = 8
MARGIN = 0.25
# What float64 may lose in networks of these sizes.
ROUNDING = 1e-8
OPTIONS: dict[str, Any] = {"precision": PRECISION, "margin": MARGIN, "insecure": True}

RINGS = st.sampled_from([(7, 1), (8, 2), (10, 3)])
ACTIVATIONS: list[g.Operation] = [
    g.Activation("silu"),
    g.Activation("tanh"),
    g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -np.inf, np.inf),
    g.PolynomialLayer((0.5, -1.0, 0.25, 0.125), "monomial", -np.inf, np.inf),
]
JOINS: list[g.Operation] = [g.AddLayer(), g.Multiply(), g.Concatenate(0)]


@st.composite
def networks(draw: st.DrawFn) -> tuple[g.Graph, list[np.ndarray]]:
    """Up to three inputs of any size and scale, joined at random, with up to three results."""
    generator = np.random.default_rng(draw(st.integers(0, 2**31)))
    shapes = draw(
        st.lists(st.sampled_from([(3,), (4,), (1, 2, 2), (2, 3)]), min_size=2, max_size=3)
    )
    scales = [draw(st.sampled_from([0.1, 1.0, 8.0])) for _ in shapes]
    nodes: list[g.Node] = []
    for number, shape in enumerate(shapes):
        nodes.append(g.node(f"input {number}", g.InputLayer(shape), (), nodes))
    for _ in range(draw(st.integers(1, 7))):
        operand = draw(st.integers(0, len(nodes) - 1))
        shape = nodes[operand].shape
        kind = draw(st.sampled_from(["linear", "activation", "join", "flatten"]))
        same = [number for number, node in enumerate(nodes) if node.shape == shape]
        layer: g.Operation
        inputs = [operand]
        match kind:
            case "linear":
                outer = draw(st.integers(1, 4))
                layer = g.LinearLayer(
                    generator.normal(size=(outer, shape[-1])), generator.normal(size=outer)
                )
            case "activation":
                layer = draw(st.sampled_from(ACTIVATIONS))
            case "join":
                inputs.append(draw(st.sampled_from(same)))
                layer = draw(st.sampled_from(JOINS))
            case _:
                layer = g.Rearrange(np.arange(prod(shape)), (prod(shape),))
        nodes.append(g.node(f"layer {len(nodes)}", layer, inputs, nodes))
    results = draw(st.lists(st.integers(0, len(nodes) - 1), min_size=1, max_size=3))
    last = [*results[1:], len(nodes) - 1]
    for number, operand in enumerate(last):
        nodes.append(g.node(f"result {number}", g.OutputLayer(), (operand,), nodes))
    samples = [
        scale * generator.normal(size=(5, *shape))
        for scale, shape in zip(scales, shapes, strict=True)
    ]
    return g.build(nodes), samples


def compiled(graph: g.Graph, samples: list[np.ndarray], ring: tuple[int, int]) -> Program:
    log_n, batch = ring
    try:
        return compile_graph(
            graph, tuple(samples), NetworkOptions(log_n=log_n, batch=batch, **OPTIONS)
        )
    except (ActivationFitError, InvalidParametersError, LevelExhaustedError):
        # Some are too deep, or their numbers too large: they are refused.
        assume(False)
        raise


def difference(graph: g.Graph, given_samples: list[np.ndarray]) -> float:
    """What polynomials in place of activations may change."""
    samples = Samples(graph, tuple(given_samples))
    calibration = calibrate(graph, samples)
    ends = [calibration.widened(number, MARGIN) for number in range(len(graph.inputs))]
    within = bounded(graph, [max(map(abs, each)) for each in ends])
    fitted, _ = refitted(within, samples, calibration, PRECISION, MARGIN, None)
    return largest_difference(within, fitted)


def arrays(results: Any) -> list[np.ndarray]:
    return list(results) if isinstance(results, tuple) else [results]


@settings(max_examples=part(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(networks(), RINGS)
def test_equals_the_layers_in_the_clear(
    network: tuple[g.Graph, list[np.ndarray]], ring: tuple[int, int]
) -> None:
    graph, samples = network
    made = compiled(graph, samples, ring)
    expected = arrays(evaluate(graph, *samples))
    largest = max(1.0, *(float(np.abs(each).max()) for each in expected))
    tolerance = difference(graph, samples) + ROUNDING * largest
    for found, wanted in zip(arrays(made.run_clear(*samples)), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance)
    simulation = made.simulate(*samples)
    assert simulation.outside == ()
    for found, wanted in zip(arrays(simulation.outputs), expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance + 2.0**-PRECISION)


@settings(max_examples=part(15), deadline=None, suppress_health_check=list(HealthCheck))
@given(networks(), st.sampled_from([(8, 1), (9, 3)]))
def test_equals_the_layers_on_ciphertexts(
    network: tuple[g.Graph, list[np.ndarray]], ring: tuple[int, int]
) -> None:
    graph, samples = network
    made = compiled(graph, samples, ring)
    some = [each[: made.batch] for each in samples]
    for found, wanted in zip(arrays(made.run(*some)), arrays(evaluate(graph, *some)), strict=True):
        assert np.abs(found - wanted).max() < made.error


def test_worst_cases_reach_the_bound_of_each_input() -> None:
    nodes = [
        g.node("x", g.InputLayer((4,), 1.0), (), []),
        g.node("y", g.InputLayer((2,), 100.0), (), []),
    ]
    for name, layer, inputs in (
        ("both", g.Concatenate(0), (0, 1)),
        ("square", ACTIVATIONS[2], (2,)),
        ("result", g.OutputLayer(), (3,)),
    ):
        nodes.append(g.node(name, layer, inputs, nodes))
    graph = g.build(nodes)
    rows = np.concatenate(
        [
            np.random.default_rng(0).uniform(-0.5, 0.5, (20, 4)),
            np.random.default_rng(1).uniform(-50, 50, (20, 2)),
        ],
        axis=1,
    )
    found = worst_case_inputs(graph, calibrate(graph, [rows]))
    assert np.abs(found.worst[:, :4]).max() <= 1.0
    assert np.abs(found.worst[:, 4:]).max() <= 100.0
    assert np.abs(found.worst[:, 4:]).max() > 99.0
    assert np.abs(found.worst[:, :4]).max() > 0.99
