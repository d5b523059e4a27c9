"""Softmaxes whose scores are halved, and which are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from cloakwork.plan.networks.calibration import calibrate
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.wide_softmaxes import with_narrower_softmaxes
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate

SIZE = 5


def softmax(mask: np.ndarray | None = None, *, shows_powers: bool = False) -> g.Graph:
    """A softmax of five scores; `shows_powers` makes the powers a result, too."""
    nodes = [g.node("x", g.InputLayer((SIZE,)), (), [])]

    def append(operation: g.Operation, *inputs: int) -> int:
        nodes.append(g.node("softmax", operation, inputs, nodes))
        return len(nodes) - 1

    powers = append(g.Activation("exp", unit=1.0), 0)
    counted = powers if mask is None else append(g.Affine(mask, np.zeros(1)), powers)
    sums = append(g.LinearLayer(np.ones((SIZE, SIZE)), np.zeros(SIZE)), counted)
    parts = append(g.Activation("reciprocal"), sums)
    found = append(g.Multiply(), counted, parts)
    nodes.append(g.node("y", g.OutputLayer(), (found,), nodes))
    if shows_powers:
        nodes.append(g.node("powers", g.OutputLayer(), (powers,), nodes))
    return g.build(nodes)


def narrowed(graph: g.Graph, rows: np.ndarray, degrees: Mapping[str, int] | None = None) -> g.Graph:
    options = NetworkOptions(precision=8, degrees=degrees)
    return with_narrower_softmaxes(graph, calibrate(graph, [rows]), [rows], options)[0]


def halvings(graph: g.Graph, spread: float) -> int:
    rows = np.array([[0.0] * SIZE, [spread] + [-spread / 4] * 4])
    return (len(narrowed(graph, rows).nodes) - len(graph.nodes)) // 4


def test_scores_are_halved_the_more_often_the_farther_they_lie_apart() -> None:
    counts = [halvings(softmax(), spread) for spread in (1.0, 5.0, 10.0, 20.0, 60.0)]
    assert counts == [0, 0, 1, 2, 4]


@pytest.mark.parametrize("mask", [None, np.array([1.0, 1.0, 0.0, 1.0, 0.0])])
def test_results_stay_the_same(mask: np.ndarray | None) -> None:
    graph, rows = softmax(mask), np.random.default_rng(0).normal(0, 9, (40, SIZE))
    narrower = narrowed(graph, rows)
    assert len(narrower.nodes) > len(graph.nodes)
    np.testing.assert_allclose(evaluate(narrower, rows), evaluate(graph, rows), atol=1e-12)


def test_what_else_takes_the_powers_keeps_them_as_they_are() -> None:
    graph, rows = softmax(shows_powers=True), np.random.default_rng(0).normal(0, 9, (40, SIZE))
    assert narrowed(graph, rows) is graph


def test_a_reciprocal_of_given_degree_is_left_alone() -> None:
    graph, rows = softmax(), np.random.default_rng(0).normal(0, 9, (40, SIZE))
    assert narrowed(graph, rows, {"reciprocal": 200}) is graph
    assert narrowed(graph, rows, {"softmax": 200}) is graph
    assert narrowed(graph, rows, {"exp": 200}) is not graph


def test_ranges_of_all_samples_stay() -> None:
    graph, rows = softmax(), np.random.default_rng(0).normal(0, 9, (40, SIZE))
    seen, options = calibrate(graph, [rows]), NetworkOptions(precision=8)
    _, found = with_narrower_softmaxes(graph, seen, [rows[:4]], options)
    assert found.samples == 40
    assert (found.lows[0], found.highs[0]) == (seen.lows[0], seen.highs[0])
    # Powers are of halved scores.
    assert found.highs.max() < seen.highs.max()
