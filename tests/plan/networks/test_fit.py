"""Polynomials are as near to activations as is said, and not of more degree than they need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import ActivationFitError, InvalidArgumentError, NotFiniteError
from cloakwork.plan.fitting.minimax import minimax
from cloakwork.plan.fitting.sign import (
    composed_value,
    error_of,
    sign_stages,
    steep_error,
    steep_stages,
)
from cloakwork.plan.networks.calibration import calibrate
from cloakwork.plan.networks.fit import fit
from cloakwork.plan.networks.samples import Samples
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate
from tests.thoroughness import part


def activation(function: str, *parameters: float) -> g.Graph:
    nodes = [g.node("x", g.InputLayer((1,)), (), [])]
    nodes.append(g.node("act", g.Activation(function, parameters), (0,), nodes))
    nodes.append(g.node("y", g.OutputLayer(), (1,), nodes))
    return g.build(nodes)


@pytest.mark.parametrize(
    "graph",
    [
        activation("silu"),
        activation("gelu"),
        activation("gelu_tanh"),
        activation("sigmoid"),
        activation("tanh"),
        activation("softplus", 2.0),
        activation("relu"),
        activation("leaky_relu", 0.1),
        activation("leaky_relu", 1.0),
    ],
    ids=lambda graph: graph.nodes[1].operation.function,
)
@settings(max_examples=part(5), deadline=None)
@given(
    ends=st.tuples(st.floats(-8, 8), st.floats(-8, 8)).filter(lambda e: e[0] + 0.5 < e[1]),
    precision=st.integers(4, 12),
)
def test_the_error_over_the_range_is_the_one_told(
    graph: g.Graph, ends: tuple[float, float], precision: int
) -> None:
    fitted = fit(graph, calibrate(graph, Samples(graph, np.array(ends)[:, None])), precision)
    [made] = fitted.fits
    assert made.precision >= precision
    assert made.low < ends[0] < ends[1] < made.high
    x = np.linspace(made.low, made.high, 20001)[:, None]
    error = np.abs(evaluate(fitted.graph, x) - evaluate(graph, x)).max()
    assert error <= made.error * 1.01 + 1e-12


@pytest.mark.parametrize("function", ["tanh", "sigmoid", "gelu"])
@pytest.mark.parametrize("reach", [3e2, 1e4, 1e6])
def test_errors_beside_a_steep_jump_are_seen(function: str, reach: float) -> None:
    graph = activation(function)
    ends = np.array([[-reach], [reach]])
    fitted = fit(graph, calibrate(graph, Samples(graph, ends)), degrees={function: 5})
    x = np.geomspace(1e-3, reach, 100001)
    x = np.concatenate([-x, x])[:, None]
    error = np.abs(evaluate(fitted.graph, x) - evaluate(graph, x)).max()
    assert error <= 1.001 * fitted.fits[0].error


def test_more_precision_than_any_degree_has_is_refused_by_name() -> None:
    graph = activation("tanh")
    with pytest.raises(ActivationFitError, match=r"'act'.*expected 30 bits"):
        fit(graph, calibrate(graph, Samples(graph, np.array([[-1000.0], [1000.0]]))), 30)


def test_errors_of_factors_count_beside_each_value() -> None:
    """Over [1, 1000] the polynomial of 63 terms and the least such error is known."""
    plain = activation("reciprocal")
    factor = replace(plain.nodes[1], operation=g.Activation("reciprocal", is_factor=True))
    graph = g.build([plain.nodes[0], factor, plain.nodes[2]])
    least = 1.0 / np.cosh(64 * np.arccosh(1001 / 999))
    calibration = calibrate(graph, [np.array([[1.0], [1000.0]])])
    made = fit(graph, calibration, margin=0.0, degrees={"reciprocal": 63})
    x = np.linspace(1.0, 1000.0, 100001)[:, np.newaxis]
    wrong = np.abs(evaluate(made.graph, x) * x - 1.0).max()
    assert made.fits[0].error == pytest.approx(least, rel=1e-3)
    assert wrong == pytest.approx(least, rel=1e-3)
    # Errors that are small beside the largest value are not beside the least.
    of_largest = fit(plain, calibration, margin=0.0, degrees={"reciprocal": 63})
    assert np.abs(evaluate(of_largest.graph, x) * x - 1.0).max() > 10 * least


def test_the_best_line_and_parabola_are_found() -> None:
    # The best quadratic to |t| is t^2 + 1/8.
    best = minimax(np.abs, (0, 2), 0.0, 1.0)
    assert best is not None
    assert best.error == pytest.approx(1 / 8, abs=1e-4)


@pytest.mark.parametrize(("bits", "depth"), [(6, 7), (8, 9), (12, 13)])
def test_signs_have_the_depth_that_lee_et_al_find(bits: int, depth: int) -> None:
    stages = sign_stages(2.0**-bits)
    assert stages is not None
    assert error_of(stages) <= 2.0**-bits
    assert sum((len(stage) - 1).bit_length() for stage in stages) == depth


@pytest.mark.parametrize("bits", [3, 6, 8, 11, 14])
def test_signs_are_told_of_numbers_beyond_the_range_by_noise(bits: int) -> None:
    noise = np.linspace(0.0, 2.0**-8, 1001)
    stages = sign_stages(2.0**-bits)
    assert stages is not None
    assert np.abs(1.0 - composed_value(stages, 1.0 + noise)).max() <= 2.0**-bits
    # Every stage is given the noise of the one before.
    for number in range(1, len(stages)):
        off = np.abs(1.0 - composed_value(stages[number:], 1.0 + noise))
        assert off.max() <= 2.0 ** -(bits - 1)
    steep = steep_stages(2.0**-5, 2.0**-bits)
    assert steep is not None
    assert steep_error(steep, 2.0**-5) <= 2.0**-bits
    assert np.abs(1.0 - composed_value(steep, 1.0 + noise)).max() <= 2.0 ** -(bits - 1)


def test_no_samples_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="got none"):
        calibrate(activation("silu"), Samples(activation("silu"), []))


def test_samples_that_are_not_finite_are_refused() -> None:
    with pytest.raises(NotFiniteError, match=r"element \(0, 0\) is nan"):
        calibrate(activation("silu"), Samples(activation("silu"), np.array([[np.nan]])))


def test_degrees_are_given_by_the_numbers_of_nodes_where_names_are_one() -> None:
    nodes = [g.node("x", g.InputLayer((1,)), (), [])]
    nodes.append(g.node("act", g.Activation("exp"), (0,), nodes))
    nodes.append(g.node("act", g.Activation("reciprocal"), (1,), nodes))
    nodes.append(g.node("y", g.OutputLayer(), (2,), nodes))
    graph = g.build(nodes)
    seen = calibrate(graph, [np.array([[-1.0], [1.0]])])
    found = fit(graph, seen, precision=8, of_nodes={1: 3, 2: 7})
    assert [each.degrees for each in found.fits] == [(3,), (7,)]
