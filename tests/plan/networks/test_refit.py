"""Ranges and precision of fitted activations hold for the network that they make up."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import pytest

from benchmarks.nn.networks import network
from cloakwork.errors import ActivationFitError
from cloakwork.plan.networks.calibration import bounded, calibrate
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.errors.fitted import largest_difference
from cloakwork.plan.networks.fit import Fitted
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.refit import refitted
from cloakwork.plan.networks.samples import Samples
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate
from tests.frontends.nn.acceptance import unfit
from tests.thoroughness import slow


def dense(width: int, functions: tuple[str, ...], scale: float) -> g.Graph:
    """Layers of random weights with activations between them."""
    random = np.random.default_rng(1)
    layers: list[g.Operation] = []
    for function in functions:
        weight = random.normal(size=(width, width)) * scale / np.sqrt(width)
        layers += [g.LinearLayer(weight, random.normal(size=width)), g.Activation(function)]
    layers.append(g.LinearLayer(random.normal(size=(3, width)), np.zeros(3)))
    return bounded(network((width,), *layers), [1.25])


def uniform(count: int, width: int) -> g.Array:
    return np.random.default_rng(2).uniform(-1, 1, (count, width))


LOW = {"silu": 2, "tanh": 3}


def refit(
    graph: g.Graph, given: g.Array, precision: int, degrees: dict[str, int] | None = None
) -> Fitted:
    samples = Samples(graph, given)
    fitted, _ = refitted(graph, samples, calibrate(graph, samples), precision, 0.25, degrees)
    return fitted


@pytest.mark.parametrize(
    ("precision", "degrees"),
    [(2, None), (8, LOW), *slow((4, None), (8, None), (2, LOW), (4, LOW))],
)
def test_calibration_inputs_are_accepted_however_coarse(
    precision: int, degrees: dict[str, int] | None
) -> None:
    graph, samples = dense(8, ("silu", "tanh", "silu"), 2.0), uniform(300, 8)
    made = compile_graph(
        graph,
        samples,
        NetworkOptions(precision=precision, margin=0.01, degrees=degrees, log_n=8, insecure=True),
    )
    assert unfit(made, samples) == []
    assert np.abs(made.run_clear(samples) - evaluate(graph, samples)).max() < (made.error or 0.0)


@pytest.mark.parametrize("precision", [6, 14])
def test_results_are_as_precise_as_asked(precision: int) -> None:
    samples = uniform(200, 8)
    graph = dense(8, ("silu", "silu"), 4.0)
    fitted = refit(graph, samples, precision)
    error = np.abs(evaluate(fitted.graph, samples) - evaluate(graph, samples)).max()
    assert error <= 2.0**-precision
    assert min(each.precision for each in fitted.fits) > precision + 1


def test_where_results_are_as_precise_polynomials_take_a_level_less() -> None:
    samples = uniform(200, 8)
    graph = dense(8, ("silu", "silu", "silu"), 4.0)
    fitted = refit(graph, samples, 6)
    # The least degrees for bits that are the same for all are 31, 57 and 137.
    assert [each.degrees for each in fitted.fits] == [(31,), (63,), (127,)]
    assert [each.depth for each in fitted.fits] == [5, 6, 7]
    error = np.abs(evaluate(fitted.graph, samples) - evaluate(graph, samples)).max()
    assert error <= 2.0**-6
    assert min(each.precision for each in fitted.fits) >= 6


def test_an_activation_without_a_bend_stays_as_it_is() -> None:
    nodes = [g.node("input", g.InputLayer((4,), 1.0), (), [])]
    nodes.append(g.node("below", g.LinearLayer(np.eye(4), np.full(4, -9.0)), (0,), nodes))
    nodes.append(g.node("relu", g.Activation("relu"), (1,), nodes))
    nodes.append(g.node("wide", g.LinearLayer(9 * np.eye(4), np.zeros(4)), (0,), nodes))
    nodes.append(g.node("silu", g.Activation("silu"), (3,), nodes))
    nodes.append(g.node("both", g.Concatenate(0), (2, 4), nodes))
    nodes.append(g.node("output", g.OutputLayer(), (5,), nodes))
    graph, samples = g.build(nodes), uniform(200, 4)
    relu, silu = refit(graph, samples, 8).fits
    assert (relu.depth, relu.error) == (0, 0.0)
    assert silu.precision >= 8


@pytest.mark.parametrize(("scale", "precisions"), [(8.0, (2, 4, 8)), *slow((64.0, (4, 8, 16)))])
def test_a_finer_fit_is_no_worse_than_a_coarser_one(
    scale: float, precisions: tuple[int, ...]
) -> None:
    samples = uniform(200, 8)
    graph = dense(8, ("relu",), scale)
    found = [largest_difference(graph, refit(graph, samples, bits)) for bits in precisions]
    assert found == sorted(found, reverse=True)


def test_ranges_that_do_not_settle_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cloakwork.plan.networks.refit._ROUNDS", 1)
    graph, samples = dense(8, ("silu", "silu", "silu", "silu"), 16.0), uniform(300, 8)
    with pytest.raises(ActivationFitError, match="a larger margin"):
        compile_graph(
            graph, samples, NetworkOptions(precision=4, margin=1e-12, log_n=8, insecure=True)
        )


def test_sums_of_powers_stay_above_zero() -> None:
    """The sums of a softmax reach from 6 to 200, so that coarse powers outweigh the least."""
    samples = uniform(300, 8)
    matrix = np.random.default_rng(1).normal(size=(8, 8))
    ones = g.LinearLayer(np.ones((8, 8)), np.zeros(8))
    layers = (
        g.LinearLayer(matrix, np.zeros(8)),
        g.Activation("exp"),
        ones,
        g.Activation("reciprocal"),
    )
    graph = bounded(network((8,), *layers), [1.25])
    fitted = refit(graph, samples, 4)
    assert np.abs(evaluate(fitted.graph, samples) - evaluate(graph, samples)).max() <= 2.0**-4


def test_given_degrees_stay() -> None:
    samples = uniform(200, 8)
    graph = dense(8, ("silu", "silu"), 4.0)
    fitted = refit(graph, samples, 16, {"1": 3})
    assert fitted.fits[0].degrees == (3,)


@pytest.mark.slow
def test_where_none_is_as_close_polynomials_are_as_close_as_they_come() -> None:
    samples = uniform(200, 8)
    graph = dense(8, ("relu",), 1e6)
    fitted = refit(graph, samples, 12)
    assert 29 <= fitted.fits[0].precision < 31


class Once:
    """An iterable that gives the same iterator every time."""

    def __init__(self, samples: g.Array) -> None:
        self.iterator = iter(samples)

    def __iter__(self) -> Iterator[g.Array]:
        return self.iterator


class Sized(Once):
    """The same with a length, as a DataLoader's iterator has."""

    def __next__(self) -> g.Array:
        return next(self.iterator)

    def __len__(self) -> int:
        return 300


@pytest.mark.parametrize("once", [iter, Once, Sized])
def test_samples_that_can_be_read_once_do(once: Callable[[g.Array], Iterable[g.Array]]) -> None:
    samples = uniform(300, 8)
    made = compile_graph(
        dense(8, ("silu", "tanh"), 2.0),
        once(samples[:, None]),
        NetworkOptions(precision=4, log_n=8, insecure=True),
    )
    assert unfit(made, samples[:16]) == []


@pytest.mark.parametrize("slope", [-3.0, 0.5, 20.0])
def test_errors_grow_by_no_more_than_is_told_of_steep_activations(slope: float) -> None:
    random = np.random.default_rng(4)
    graph = network((4,), g.Activation("tanh"), g.Activation("leaky_relu", (slope,)))
    graph, inputs = bounded(graph, [2.0]), random.uniform(-2, 2, (500, 4))
    fitted = refit(graph, inputs, 8, {"tanh": 3})
    error = np.abs(evaluate(fitted.graph, inputs) - evaluate(graph, inputs)).max()
    assert error <= largest_difference(graph, fitted)


def test_products_are_taken_to_be_as_large_as_they_may_be() -> None:
    # (the sum of 64 elements) * tanh(the first)
    first = np.eye(1, 64)
    nodes = [g.node("input", g.InputLayer((64,), 1.0), (), [])]
    nodes.append(g.node("sum", g.LinearLayer(np.ones((1, 64)), np.zeros(1)), (0,), nodes))
    nodes.append(g.node("first", g.LinearLayer(first, np.zeros(1)), (0,), nodes))
    nodes.append(g.node("tanh", g.Activation("tanh"), (2,), nodes))
    nodes.append(g.node("product", g.Multiply(), (1, 3), nodes))
    nodes.append(g.node("output", g.OutputLayer(), (4,), nodes))
    graph = g.build(nodes)
    samples = np.random.default_rng(5).choice([-1.0, 1.0], (200, 64))
    fitted = refit(graph, samples, 8, {"tanh": 3})
    aligned = np.ones((101, 64))
    aligned[:, 0] = np.linspace(-1, 1, 101)
    error = np.abs(evaluate(fitted.graph, aligned) - evaluate(graph, aligned)).max()
    told = largest_difference(graph, fitted)
    assert told / 4 < error <= told


@pytest.mark.parametrize("function", ["silu", "tanh", "relu"])
def test_errors_that_add_up_on_purpose_are_told(function: str) -> None:
    width, samples = 32, uniform(200, 32)
    random = np.random.default_rng(3)
    turn = 2 * np.linalg.qr(random.normal(size=(width, width)))[0]
    last = random.normal(size=(1, width))
    layers = (
        g.LinearLayer(turn, np.zeros(width)),
        g.Activation(function),
        g.LinearLayer(last, np.zeros(1)),
    )
    graph = bounded(network((width,), *layers), [2.0])
    fitted = refit(graph, samples, 8)
    # Of every element the number where its polynomial errs most in the direction of its weight.
    t = np.linspace(-1.0, 1.0, 4001)
    alike = np.linalg.solve(turn, np.tile(t, (width, 1))).T
    errors = (evaluate(fitted.graph, alike) - evaluate(graph, alike))[:, 0] / last.sum()
    operand = np.where(last[0] > 0, t[errors.argmax()], t[errors.argmin()])
    made_up = np.linalg.solve(turn, operand)[None]
    assert np.abs(made_up).max() <= 2.0
    error = np.abs(evaluate(fitted.graph, made_up) - evaluate(graph, made_up)).max()
    on_samples = np.abs(evaluate(fitted.graph, samples) - evaluate(graph, samples)).max()
    assert on_samples < error <= largest_difference(graph, fitted)
