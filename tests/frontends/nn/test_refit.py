"""Ranges and precision of fitted activations hold for the network that they make up."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork import nn
from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.calibration import bounded, calibrate
from cloakwork.frontends.nn.evaluate import evaluate
from cloakwork.frontends.nn.fitted_errors import largest_difference
from cloakwork.frontends.nn.refit import refitted


def dense(width: int, functions: tuple[str, ...], scale: float) -> g.Graph:
    """Layers of random weights with activations between them."""
    random = np.random.default_rng(1)
    nodes = [g.node("input", g.Input((width,)), (), [])]

    def append(name: str, operation: g.Operation) -> None:
        nodes.append(g.node(name, operation, (len(nodes) - 1,), nodes))

    for number, function in enumerate(functions):
        weight = random.normal(size=(width, width)) * scale / np.sqrt(width)
        append(f"linear{number}", g.Linear(weight, random.normal(size=width)))
        append(f"{function}{number}", g.Activation(function))
    append("last", g.Linear(random.normal(size=(3, width)), np.zeros(3)))
    append("output", g.Output())
    return g.build(nodes)


def uniform(count: int, width: int) -> g.Array:
    return np.random.default_rng(2).uniform(-1, 1, (count, width))


@pytest.mark.parametrize("precision", [2, 4, 8])
@pytest.mark.parametrize("degrees", [None, {"silu": 2, "tanh": 3}], ids=["", "of low degree"])
def test_calibration_inputs_are_accepted_however_coarse(
    precision: int, degrees: dict[str, int] | None
) -> None:
    graph, samples = dense(8, ("silu", "tanh", "silu"), 2.0), uniform(300, 8)
    made = nn.compile_graph(
        graph,
        samples,
        precision=precision,
        margin=0.01,
        degrees=degrees,
        log_n=8,
        insecure=True,
    )
    assert made.unfit(samples) == []
    assert np.abs(made.run_clear(samples) - evaluate(graph, samples)).max() < made.error


@pytest.mark.parametrize("precision", [6, 14])
def test_results_are_as_precise_as_asked(precision: int) -> None:
    samples = uniform(200, 8)
    graph = bounded(dense(8, ("silu", "silu"), 4.0), 1.25)
    fitted, _ = refitted(graph, samples, calibrate(graph, samples), precision, 0.25, None)
    error = np.abs(evaluate(fitted.graph, samples) - evaluate(graph, samples)).max()
    assert error <= 2.0**-precision
    assert min(each.precision for each in fitted.fits) > precision + 1


def test_given_degrees_stay() -> None:
    samples = uniform(200, 8)
    graph = bounded(dense(8, ("silu", "silu"), 4.0), 1.25)
    fitted, _ = refitted(graph, samples, calibrate(graph, samples), 16, 0.25, {"silu0": 3})
    assert fitted.fits[0].degrees == (3,)


def test_where_no_polynomial_is_as_close_activations_are_as_precise_as_asked() -> None:
    samples = uniform(200, 8)
    graph = bounded(dense(8, ("relu",), 1e6), 1.25)
    fitted, _ = refitted(graph, samples, calibrate(graph, samples), 12, 0.25, None)
    assert 12 <= fitted.fits[0].precision < 14


def test_samples_that_can_be_read_once_do() -> None:
    samples = uniform(300, 8)
    made = nn.compile_graph(
        dense(8, ("silu", "tanh"), 2.0),
        iter(samples[:, None]),
        precision=4,
        log_n=8,
        insecure=True,
    )
    assert made.unfit(samples[:16]) == []


@pytest.mark.parametrize("function", ["silu", "tanh", "relu"])
def test_errors_that_add_up_on_purpose_are_told(function: str) -> None:
    width, samples = 32, uniform(200, 32)
    random = np.random.default_rng(3)
    turn = 2 * np.linalg.qr(random.normal(size=(width, width)))[0]
    last = random.normal(size=(1, width))
    nodes = [g.node("input", g.Input((width,), 2.0), (), [])]
    layers: list[tuple[str, g.Operation]] = [
        ("turn", g.Linear(turn, np.zeros(width))),
        ("act", g.Activation(function)),
        ("last", g.Linear(last, np.zeros(1))),
        ("output", g.Output()),
    ]
    for name, layer in layers:
        nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
    graph = g.build(nodes)
    fitted, _ = refitted(graph, samples, calibrate(graph, samples), 8, 0.25, None)
    # Of every element the number where its polynomial errs most in the direction of its weight.
    t = np.linspace(-1.0, 1.0, 4001)
    alike = np.linalg.solve(turn, np.tile(t, (width, 1))).T
    errors = (evaluate(fitted.graph, alike) - evaluate(graph, alike))[:, 0] / last.sum()
    operand = np.where(last[0] > 0, t[errors.argmax()], t[errors.argmin()])
    made_up = np.linalg.solve(turn, operand)[None]
    assert np.abs(made_up).max() <= 2.0
    error = np.abs(evaluate(fitted.graph, made_up) - evaluate(graph, made_up)).max()
    on_samples = np.abs(evaluate(fitted.graph, samples) - evaluate(graph, samples)).max()
    assert on_samples < error <= largest_difference(graph, fitted, samples)
