"""The errors to expect of fitted networks: above what is seen, and near it however deep."""

from collections.abc import Sequence

import numpy as np
import pytest

from cloakwork.plan.networks.calibration import bounded, calibrate
from cloakwork.plan.networks.errors.fitted import largest_difference
from cloakwork.plan.networks.errors.likely import (
    likely_difference,
    likely_differences,
    seen_differences,
)
from cloakwork.plan.networks.fit import fit
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import results
from tests.thoroughness import slow

PRECISION = 14


def network(shape: tuple[int, ...], operations: Sequence[g.Operation]) -> g.Graph:
    nodes = [g.node("x", g.InputLayer(shape), (), [])]
    for number, operation in enumerate([*operations, g.OutputLayer()]):
        nodes.append(g.node(str(number), operation, (len(nodes) - 1,), nodes))
    return g.build(nodes)


def dense(layers: int, function: str, rng: np.random.Generator, width: int = 24) -> g.Graph:
    """Layers that keep numbers about as large as they are."""
    operations: list[g.Operation] = []
    for _ in range(layers):
        weight = rng.normal(size=(width, width)) * 1.5 / np.sqrt(width)
        operations += [g.LinearLayer(weight, 0.1 * rng.normal(size=width)), g.Activation(function)]
    return network((width,), operations)


def convolutions(layers: int, rng: np.random.Generator, channels: int = 4) -> g.Graph:
    operations: list[g.Operation] = []
    for _ in range(layers):
        weight = rng.normal(size=(channels, channels, 3, 3)) / np.sqrt(4 * channels)
        padding = ((1, 1), (1, 1))
        operations += [
            g.ConvolutionLayer(weight, np.zeros(channels), padding=padding),
            g.Activation("silu"),
        ]
    operations.append(g.AveragePool((4, 4), (4, 4)))
    return network((channels, 8, 8), operations)


def residual(blocks: int, rng: np.random.Generator, width: int = 24) -> g.Graph:
    """Sums of a value and what two layers make of it."""
    nodes = [g.node("x", g.InputLayer((width,)), (), [])]

    def append(operation: g.Operation, *operands: int) -> int:
        nodes.append(g.node(str(len(nodes)), operation, operands, nodes))
        return len(nodes) - 1

    value = 0
    for _ in range(blocks):
        weight = rng.normal(size=(width, width)) / np.sqrt(width)
        inner = append(g.Activation("tanh"), append(g.LinearLayer(weight, np.zeros(width)), value))
        half = g.Affine(np.full(width, 0.7), np.zeros(width))
        value = append(g.AddLayer(), append(half, value), inner)
    append(g.OutputLayer(), value)
    return g.build(nodes)


NETWORKS = {
    "one layer": lambda rng: dense(1, "silu", rng),
    "four layers": lambda rng: dense(4, "gelu", rng),
    "twenty layers": lambda rng: dense(20, "silu", rng),
    "twenty layers with a corner": lambda rng: dense(20, "relu", rng),
    "twelve convolutions": lambda rng: convolutions(12, rng),
    "ten sums with shortcuts": lambda rng: residual(10, rng),
}


# Of corners the fits take longest.
CORNER = "twenty layers with a corner"


@pytest.mark.parametrize("name", [*(name for name in NETWORKS if name != CORNER), *slow(CORNER)])
def test_it_is_above_what_other_inputs_show_and_at_most_a_hundred_times(name: str) -> None:
    rng = np.random.default_rng(list(NETWORKS).index(name))
    graph = NETWORKS[name](rng)
    size = int(np.prod(graph.inputs[0].shape))
    samples = rng.uniform(-1, 1, (400, *graph.inputs[0].shape))
    # Of all samples, as clients refuse inputs that leave its ranges.
    calibration = calibrate(graph, [samples])
    graph = bounded(graph, [2.0])
    fitted = fit(graph, calibration, PRECISION)
    likely = likely_difference(graph, fitted, calibration.spread[:64])
    others = samples[200:].reshape(200, size)
    seen = np.abs(results(fitted.graph, others) - results(graph, others)).max()
    assert seen < likely < 100 * seen


def test_a_bound_for_every_input_says_nothing_of_deep_networks() -> None:
    rng = np.random.default_rng(1)
    graph = dense(20, "silu", rng)
    calibration = calibrate(graph, [rng.uniform(-1, 1, (100, 24))])
    fitted = fit(bounded(graph, [2.0]), calibration, PRECISION)
    bound = largest_difference(bounded(graph, [2.0]), fitted)
    assert likely_difference(graph, fitted, calibration.spread[:8]) < 1e-4 * bound


def test_a_network_of_polynomials_has_no_such_error() -> None:
    graph = network((4,), [g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -2, 2)])
    rows = np.ones((1, 4))
    fitted = fit(bounded(graph, [2.0]), calibrate(graph, [rows]), PRECISION)
    assert likely_difference(graph, fitted, rows) == 0.0


def test_errors_of_equal_factors_add_up() -> None:
    """The square of a tanh of 1: twice its value, times its error and not times its root of two."""
    nodes = [g.node("x", g.InputLayer((1,)), (), [])]
    nodes.append(g.node("tanh", g.Activation("tanh"), (0,), nodes))
    nodes.append(g.node("square", g.Multiply(), (1, 1), nodes))
    graph = g.build([*nodes, g.node("y", g.OutputLayer(), (2,), nodes)])
    plain = g.build([*nodes[:2], g.node("y", g.OutputLayer(), (1,), nodes[:2])])
    rows = np.ones((1, 1))
    fits = [
        likely_difference(each, fit(bounded(each, [1.0]), calibrate(each, [rows]), 12), rows)
        for each in (graph, plain)
    ]
    assert fits[0] / fits[1] == pytest.approx(2 * np.tanh(1.0), rel=1e-2)


def test_errors_that_are_alike_count_as_they_are_seen() -> None:
    """All elements are the same number, so that all errors are one and the same."""
    count = 4096
    graph = network(
        (count,), [g.Activation("tanh"), g.LinearLayer(np.ones((1, count)), np.zeros(1))]
    )
    rows = np.full((1, count), 0.3)
    calibration = calibrate(graph, [np.linspace(-1, 1, count)[np.newaxis]])
    fitted = fit(bounded(graph, [2.0]), calibration, 8)
    seen = float(np.abs(results(fitted.graph, rows) - results(graph, rows)).max())
    assert likely_difference(graph, fitted, rows) >= 2 * seen


def test_the_error_of_one_fit_has_no_tail() -> None:
    graph = network((1,), [g.Activation("tanh")])
    rows = np.ones((1, 1))
    fitted = fit(bounded(graph, [1.0]), calibrate(graph, [rows]), 12)
    assert likely_difference(graph, fitted, rows) == pytest.approx(2 * fitted.fits[0].error)


@pytest.mark.parametrize("halvings", [0, 1, 2])
def test_errors_of_a_softmax_are_near_what_is_seen(halvings: int) -> None:
    """Also where it is made of squares that are divided by their sums."""
    rng = np.random.default_rng(2)
    nodes = [g.node("x", g.InputLayer((10,)), (), [])]

    def append(operation: g.Operation, *operands: int) -> int:
        nodes.append(g.node("softmax", operation, operands, nodes))
        return len(nodes) - 1

    shares = append(g.Activation("exp", unit=1.0), append(g.Activation("tanh"), 0))
    for divided in range(halvings + 1):
        if divided:
            shares = append(g.Multiply(), shares, shares)
        sums = append(g.LinearLayer(np.ones((10, 10)), np.zeros(10)), shares)
        parts = append(g.Activation("reciprocal", unit=0.01), sums)
        shares = append(g.Multiply(), shares, parts)
    append(g.OutputLayer(), shares)
    graph, samples = g.build(nodes), rng.uniform(-2, 2, (500, 10))
    calibration = calibrate(graph, [samples])
    fitted = fit(bounded(graph, [2.5]), calibration, 10)
    seen = np.abs(results(fitted.graph, samples) - results(graph, samples)).max()
    assert seen < likely_difference(graph, fitted, calibration.spread[:64]) < 20 * seen


@pytest.mark.parametrize("layers", [1, 3, 6])
def test_errors_of_norms_do_not_add_up_layer_after_layer(layers: int) -> None:
    """What a number is divided by grows with it, so that a norm makes an error no larger."""
    width, rng = 24, np.random.default_rng(layers)
    nodes = [g.node("x", g.InputLayer((width,)), (), [])]

    def append(operation: g.Operation, *operands: int) -> int:
        nodes.append(g.node("norm", operation, operands, nodes))
        return len(nodes) - 1

    value, means = 0, np.full((width, width), 1.0 / width)
    for _ in range(layers):
        weight = rng.normal(size=(width, width)) * 0.6 / np.sqrt(width)
        branch = append(g.LinearLayer(weight, np.zeros(width)), append(g.Activation("tanh"), value))
        value = append(g.AddLayer(), value, branch)
        squares = append(g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -np.inf, np.inf), value)
        sums = append(g.LinearLayer(means, np.full(width, 1e-3)), squares)
        value = append(g.Multiply(), value, append(g.Activation("rsqrt", unit=0.01), sums))
    append(g.OutputLayer(), value)
    graph, samples = g.build(nodes), rng.normal(size=(300, width))
    calibration = calibrate(graph, [samples])
    fitted = fit(bounded(graph, [5.0]), calibration, 10)
    seen = np.abs(results(fitted.graph, samples) - results(graph, samples)).max()
    assert 2 * seen < likely_difference(graph, fitted, calibration.spread[:64]) < 10 * seen


@pytest.mark.parametrize("function", ["log", "reciprocal", "rsqrt", "sqrt"])
def test_errors_that_reach_where_a_function_is_not_defined(function: str) -> None:
    """The worst case of sixteen errors goes below 0, which their deviation is far from."""
    low = 8 * np.tanh(1.0) + 0.02
    sums = g.LinearLayer(np.full((1, 16), 0.5), np.array([low]))
    graph = network((16,), [g.Activation("tanh"), sums, g.Activation(function)])
    samples = np.stack([np.full(16, -1.0), np.full(16, 1.0)])
    calibration = calibrate(graph, [samples])
    fitted = fit(bounded(graph, [1.0]), calibration, 8, margin=0.0)
    seen = np.abs(results(fitted.graph, samples) - results(graph, samples)).max()
    assert 2 * seen <= likely_difference(graph, fitted, samples) < np.inf


def test_the_error_of_a_square_is_not_none_where_it_is_flat() -> None:
    square = g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -2, 2)
    graph = network((1,), [g.Activation("tanh"), square])
    rows = np.zeros((1, 1))
    fitted = fit(bounded(graph, [1.0]), calibrate(graph, [np.array([[-1.0], [1.0]])]), 8)
    error = fitted.fits[0].error
    assert likely_difference(graph, fitted, rows) == pytest.approx(2 * error**2)


def test_errors_beyond_every_number_are_infinite() -> None:
    """And so is what they are multiplied by 0 to, of which nothing is known."""
    apart = np.array([[1.0, -1.0], [0.0, 1.0]])
    grown = [np.diag([1e200, 1.0]), np.diag([1e200, 1.0])]
    sums = [apart, *grown, np.array([[0.0, 1.0]])]
    layers = [g.LinearLayer(each, np.zeros(len(each))) for each in sums]
    graph = network((2,), [g.Activation("tanh"), *layers])
    rows = np.array([[-1.0, -1.0], [1.0, 1.0]])
    fitted = fit(bounded(graph, [1.0]), calibrate(graph, [rows]), PRECISION)
    assert likely_difference(graph, fitted, rows) == np.inf


def test_errors_that_are_followed_beyond_results_are_those_seen() -> None:
    """A layer multiplies errors by ten or so, and a tanh makes numbers up to 1 of any."""
    rng = np.random.default_rng(0)
    nodes = [g.node("x", g.InputLayer((8,), bound=1.0), (), [])]
    for _ in range(8):
        dense = g.LinearLayer(rng.normal(size=(8, 8)), np.zeros(8))
        for layer in (dense, g.Activation("tanh")):
            nodes.append(g.node("layer", layer, (len(nodes) - 1,), nodes))
    nodes.append(g.node("y", g.OutputLayer(), (len(nodes) - 1,), nodes))
    graph, rows = g.build(nodes), rng.uniform(-1, 1, (64, 8))
    fitted = fit(graph, calibrate(graph, [rows]), precision=8)
    seen = seen_differences(fitted, rows, results(graph, rows))
    followed = likely_differences(graph, fitted, rows, seen, {}, {})["y"][0]
    assert followed > 1.5 > np.abs(results(graph, rows)).max()
    assert likely_difference(graph, fitted, rows) == 4 * seen.max()
    assert likely_difference(graph, fitted, rows, {"x": 0.01}) >= 2 * followed
