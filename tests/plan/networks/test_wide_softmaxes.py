"""Softmaxes whose scores are shifted and halved, and which are."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from cloakwork.plan.networks.calibration import calibrate, with_ranges_of_factors
from cloakwork.plan.networks.fit import fit
from cloakwork.plan.networks.normalisers import fewest_levels, least_part, normaliser
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.wide_softmaxes import with_narrower_softmaxes
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate, values

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
    nodes = narrowed(graph, rows).nodes
    return sum(isinstance(each.operation, g.PolynomialLayer) for each in nodes) // 2


def test_scores_are_halved_the_more_often_the_farther_they_lie_apart() -> None:
    counts = [halvings(softmax(), spread) for spread in (1.0, 5.0, 10.0, 20.0, 60.0)]
    assert counts == [0, 0, 1, 1, 2]


@pytest.mark.parametrize(
    ("spread", "halvings", "depth"), [(2.0**11, 1, 14), (2.0**11, 2, 18), (2.0**43, 0, np.inf)]
)
def test_rough_divisions_take_the_fewest_levels(spread: float, halvings: int, depth: float) -> None:
    found = fewest_levels(spread**0.5**halvings, 16, halvings, 9, 0.25)
    assert found.depth == depth
    assert sum(each.squarings for each in found.all) == halvings


@pytest.mark.parametrize(("low", "high", "levels"), [(0.5, 2.0, 1), (0.7, 90.0, 3), (1e-3, 1.0, 6)])
def test_what_is_divided_roughly_is_a_known_part(low: float, high: float, levels: int) -> None:
    made, sums = normaliser(low, high, levels), np.geomspace(low, high, 10**5)
    reached = np.polynomial.Chebyshev(made.coefficients, domain=[low, high])(sums) * sums
    assert len(made.coefficients) == 2**levels
    assert reached.min() == pytest.approx(least_part(high / low, levels))
    assert reached.max() <= 15 / 16 + 1e-9


def of_centred_scores(rows: int) -> g.Graph:
    """A softmax along the last axis of each of two heads, the mean of a row subtracted."""
    nodes = [g.node("x", g.InputLayer((2, rows, SIZE)), (), [])]

    def append(operation: g.Operation, *inputs: int) -> int:
        nodes.append(g.node("softmax", operation, inputs, nodes))
        return len(nodes) - 1

    centred = append(g.LinearLayer(np.eye(SIZE) - 1.0 / SIZE, np.zeros(SIZE)), 0)
    powers = append(g.Activation("exp", unit=1.0), centred)
    sums = append(g.LinearLayer(np.ones((SIZE, SIZE)), np.zeros(SIZE)), powers)
    found = append(g.Multiply(), powers, append(g.Activation("reciprocal"), sums))
    nodes.append(g.node("y", g.OutputLayer(), (found,), nodes))
    return g.build(nodes)


def test_one_number_for_each_head_brings_sums_together() -> None:
    """Scores of two heads that lie 40 apart: no mean is subtracted, which would take a level."""
    rng = np.random.default_rng(1)
    scores = (
        rng.normal(0, 0.3, (30, 2, 3, SIZE)) + np.array([-20.0, 20.0])[:, np.newaxis, np.newaxis]
    )
    rows, graph = scores.reshape(30, -1), of_centred_scores(3)
    narrower = narrowed(graph, rows)
    layers = [type(each.operation) for each in narrower.nodes]
    assert layers.count(g.LinearLayer) == 1
    assert g.PolynomialLayer not in layers
    [shifts] = [each.operation for each in narrower.nodes if isinstance(each.operation, g.Affine)]
    assert shifts.shift.shape == (2, 1, 1)
    np.testing.assert_allclose(evaluate(narrower, scores), evaluate(graph, scores), atol=1e-12)


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


@pytest.mark.parametrize("spread", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("margin", [0.25, 0.5])
def test_sums_may_be_as_far_beyond_those_seen_as_scores(spread: float, margin: float) -> None:
    """A number added to all scores of a row changes its sum, and by a factor."""
    rows = np.random.default_rng(0).normal(0, spread / 3, (200, SIZE))
    graph, options = softmax(), NetworkOptions(precision=8, margin=margin)
    narrower, seen = with_narrower_softmaxes(graph, calibrate(graph, [rows]), [rows], options)
    fitted = fit(with_ranges_of_factors(narrower), seen, 12, margin).graph
    logarithms = np.log(np.exp(rows).sum(axis=1))
    farthest = 0.49 * margin * np.ptp(logarithms)
    others = np.concatenate([rows, rows - farthest, rows + farthest])
    made = list(values(fitted, others))
    for node in fitted.nodes:
        for operand, (low, high) in zip(
            node.inputs, g.expected_ranges(node.operation) or (), strict=False
        ):
            assert low <= made[operand].min()
            assert made[operand].max() <= high
    np.testing.assert_allclose(evaluate(fitted, others), evaluate(graph, others), atol=2**-7)


@pytest.mark.parametrize(("terms", "is_raised"), [(16, False), (64, True), (128, True)])
def test_quotients_of_many_terms_are_raised(terms: int, is_raised: bool) -> None:
    """Sums of their squares and the reciprocals of these are of one size then."""
    nodes = [g.node("x", g.InputLayer((terms,)), (), [])]
    total = g.LinearLayer(np.ones((terms, terms)), np.zeros(terms))
    softmax_layers: list[tuple[g.Operation, tuple[int, ...]]] = [
        (g.Activation("exp", unit=1.0), (0,)),
        (total, (1,)),
        (g.Activation("reciprocal"), (2,)),
        (g.Multiply(), (1, 3)),
        (g.OutputLayer(), (4,)),
    ]
    for layer, operands in softmax_layers:
        nodes.append(g.node("softmax", layer, operands, nodes))
    graph = g.build(nodes)
    # Rows of which one number is far above the others, and of which all are alike.
    rows = np.zeros((2, terms))
    rows[0, 0] = 14.0
    narrower = narrowed(graph, rows)
    layers = [each.operation for each in narrower.nodes]
    squares = [
        each for each in layers if isinstance(each, g.PolynomialLayer) and each.basis == "monomial"
    ]
    assert squares
    assert all((each.high > 1.0) == is_raised for each in squares)
    [last] = [each for each in layers if isinstance(each, g.Activation) and each.unit != 1 / terms]
    assert (last.function, last.is_factor) == ("reciprocal", True)
    np.testing.assert_allclose(evaluate(narrower, rows), evaluate(graph, rows), atol=1e-12)
