"""Norms some of whose features are far larger than the others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cloakwork.plan.networks.calibration import Calibration, calibrate
from cloakwork.plan.networks.outlying_features import with_outliers_divided
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate

FEATURES = 32


def norm(*, shows_squares: bool = False) -> g.Graph:
    """A norm of rows of features; `shows_squares` makes their squares a result, too."""
    nodes = [g.node("x", g.InputLayer((3, FEATURES)), (), [])]

    def append(operation: g.Operation, *inputs: int) -> int:
        nodes.append(g.node("norm", operation, inputs, nodes))
        return len(nodes) - 1

    centre = np.eye(FEATURES) - 1.0 / FEATURES
    value = append(g.LinearLayer(centre, np.zeros(FEATURES)), 0)
    squares = append(g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -np.inf, np.inf), value)
    mean = np.full((FEATURES, FEATURES), 1.0 / FEATURES)
    root = append(g.Activation("rsqrt"), append(g.LinearLayer(mean, np.ones(FEATURES)), squares))
    found = append(g.Multiply(), value, root)
    nodes.append(g.node("y", g.OutputLayer(), (found,), nodes))
    if shows_squares:
        nodes.append(g.node("squares", g.OutputLayer(), (squares,), nodes))
    return g.build(nodes)


def rows(outlier: float) -> np.ndarray:
    made = np.random.default_rng(0).normal(size=(50, 3, FEATURES))
    made[:, 1, 7] *= outlier
    return made.reshape(50, -1)


def _largest_square(graph: g.Graph, seen: Calibration) -> float:
    [number] = [
        number
        for number, each in enumerate(graph.nodes)
        if isinstance(each.operation, g.PolynomialLayer)
    ]
    return float(seen.highs[number])


def test_results_and_all_ranges_but_those_of_squares_stay_the_same() -> None:
    graph, seen = norm(), calibrate(norm(), [rows(80.0)])
    divided, found = with_outliers_divided(graph, seen, [rows(80.0)])
    shaped = rows(80.0).reshape(-1, 3, FEATURES)
    np.testing.assert_allclose(evaluate(divided, shaped), evaluate(graph, shaped), atol=1e-12)
    assert len(divided.nodes) == len(graph.nodes) + 2
    assert _largest_square(graph, seen) > 1e4
    assert _largest_square(divided, found) < 300
    kinds = [type(each.operation) for each in divided.nodes]
    mean = len(kinds) - 1 - kinds[::-1].index(g.LinearLayer)
    assert found.highs[mean] == pytest.approx(seen.highs[3])


@pytest.mark.parametrize("graph", [norm(), norm(shows_squares=True)])
def test_features_of_one_size_and_squares_that_others_take_stay_as_they_are(graph: g.Graph) -> None:
    given = rows(80.0 if len(graph.outputs) > 1 else 1.0)
    seen = calibrate(graph, [given])
    assert with_outliers_divided(graph, seen, [given]) == (graph, seen)


def test_norms_that_share_their_squares_are_divided_alike() -> None:
    graph = norm()
    # The product is made anew, as where a norm is written down twice.
    nodes = [*graph.nodes[:-1], replace(graph.nodes[-2], name="again")]
    for name, number in (("y", 5), ("z", 6)):
        nodes.append(g.node(name, g.OutputLayer(), (number,), nodes))
    graph = g.build(nodes)
    given = rows(80.0)
    divided, _ = with_outliers_divided(graph, calibrate(graph, [given]), [given])
    shaped = given.reshape(-1, 3, FEATURES)
    for own, wanted in zip(evaluate(divided, shaped), evaluate(graph, shaped), strict=True):
        np.testing.assert_allclose(own, wanted, atol=1e-12)
    assert len(divided.nodes) == len(graph.nodes) + 3
