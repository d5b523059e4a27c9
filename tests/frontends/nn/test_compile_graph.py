"""Compiled networks: what they take, what they compute, what they refuse."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from cloakwork.explain.networks import layers_of

from benchmarks.nn.networks import SQUARE, Weights, flatten, lenet, lola, mlp, network
from cloakwork import nn
from cloakwork.errors import (
    InvalidArgumentError,
    LevelExhaustedError,
    ParametersMismatchError,
    ProgramMismatchError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.nn.evaluate import evaluate
from cloakwork.plan.cost.measure import modelled_for
from cloakwork.plan.cost.table import modelled
from cloakwork.programs.ir import layers as g
from cloakwork.programs.keys import required_keys

PRECISION = 16


def images(graph: g.Graph, count: int = 4) -> np.ndarray:
    return np.random.default_rng(7).uniform(0, 1, (count, *graph.input.shape))


def small() -> g.Graph:
    w = Weights()
    return network((2, 6, 6), w.convolution(3, 2, 3, 2, 1), SQUARE, flatten(27), w.linear(4, 27))


@pytest.fixture(scope="module")
def compiled() -> nn.Network:
    return nn.compile_graph(small(), images(small()), insecure=True, log_n=10)


@pytest.mark.parametrize(
    ("make", "rotations", "diagonals", "keys", "key_bytes", "levels"),
    [
        (mlp, [25, 0, 22, 0, 9], [128, 0, 128, 0, 16], 26, 95_420_416, 5),
        (lola, [2, 0, 26, 0, 9], [4, 0, 128, 0, 16], 27, 92_274_688, 5),
        (lenet, [11, 0, 51, 0, 49, 0, 11], [36, 0, 576, 0, 512, 0, 16], 83, 573_177_856, 7),
    ],
)
def test_takes_so_many_rotations_diagonals_keys_and_levels(
    make: Callable[[], g.Graph],
    rotations: list[int],
    diagonals: list[int],
    keys: int,
    key_bytes: int,
    levels: int,
) -> None:
    graph = make()
    made = nn.compile_graph(graph, images(graph), precision=18)
    layers = layers_of(made.program, modelled_for(made.parameters))
    assert [layer.rotations for layer in layers] == rotations
    assert [layer.diagonals for layer in layers] == diagonals
    assert len(required_keys(made.program)) == keys
    assert made.key_bytes == key_bytes
    assert made.parameters.levels == levels
    assert made.parameters.log_n == 14
    assert not made.parameters.insecure
    x = images(graph)
    np.testing.assert_allclose(made.run_clear(x), evaluate(graph, x), atol=1e-9)


def test_computes_on_ciphertexts_what_the_layers_compute(compiled: nn.Network) -> None:
    client, evaluator = compiled.keygen()
    x = images(small(), 1)[0]
    result = evaluator.run(client.encrypt(x))
    expected = evaluate(small(), x[np.newaxis])[0]
    assert np.abs(client.decrypt(result) - expected).max() < 2**-PRECISION
    again = client.decrypt(evaluator.run(client.encrypt(x)))
    assert np.abs(again - expected).max() < 2**-PRECISION


def test_computes_the_same_whatever_is_kept_encoded(compiled: nn.Network) -> None:
    x = images(small(), 1)
    for memory in (0, compiled.encoded_bytes // 2, compiled.encoded_bytes):
        client, evaluator = compiled.keygen(memory=memory)
        for _ in range(2):
            got = client.decrypt(evaluator.run(client.encrypt(x)))
            assert np.abs(got - evaluate(small(), x)).max() < 2**-PRECISION


def test_computes_a_batch_at_once() -> None:
    made = nn.compile_graph(small(), images(small()), batch=3, insecure=True, log_n=11)
    client, evaluator = made.keygen()
    x = images(small(), 3)
    for count in (1, 3):
        got = client.decrypt(evaluator.run(client.encrypt(x[:count])))
        assert np.abs(got - evaluate(small(), x[:count])).max() < 2**-PRECISION
    with pytest.raises(ShapeMismatchError, match="up to 3 inputs at once, got 4"):
        client.encrypt(images(small(), 4))


def test_evaluates_chebyshev_polynomials_and_residual_sums() -> None:
    w = Weights()
    smooth = g.Polynomial((0.1, 0.5, 0.2, 0.1, 0.05), "chebyshev", -4.0, 2.0)
    nodes = [g.node("x", g.Input((12,), 1.0), (), [])]
    for name, layer, inputs in (
        ("first", w.linear(12, 12), (0,)),
        ("smooth", smooth, (1,)),
        ("second", w.linear(12, 12), (2,)),
        ("add", g.Add(), (3, 1)),
        ("multiply", g.Multiply(), (4, 0)),
        ("join", g.Concatenate(0), (5, 2)),
        ("output", g.Output(), (6,)),
    ):
        nodes.append(g.node(name, layer, inputs, nodes))
    graph = g.build(nodes)
    made = nn.compile_graph(graph, images(graph), insecure=True, log_n=10)
    client, evaluator = made.keygen()
    x = images(graph, 1)
    np.testing.assert_allclose(made.run_clear(x), evaluate(graph, x), atol=1e-9)
    got = client.decrypt(evaluator.run(client.encrypt(x)))
    assert np.abs(got - evaluate(graph, x)).max() < 2**-PRECISION


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
def test_sums_and_differences_of_stages_take_no_level(signs: tuple[float, float]) -> None:
    nodes = [g.node("x", g.Input((3,), 1.0), (), [])]
    for name, layer, inputs in (
        ("square", SQUARE, (0,)),
        ("left", g.Affine(np.full(1, signs[0]), np.zeros(1)), (1,)),
        ("right", g.Affine(np.full(1, signs[1]), np.zeros(1)), (0,)),
        ("sum", g.Add(), (2, 3)),
        ("squared", SQUARE, (4,)),
        ("output", g.Output(), (5,)),
    ):
        nodes.append(g.node(name, layer, inputs, nodes))
    graph = g.build(nodes)
    made = nn.compile_graph(graph, images(graph), insecure=True, log_n=6)
    assert made.parameters.levels == 2
    np.testing.assert_allclose(
        made.run_clear(images(graph)), evaluate(graph, images(graph)), atol=1e-12
    )


def test_simulates_with_the_errors_of_encryption(compiled: nn.Network) -> None:
    x = images(small(), 2)
    simulation = compiled.simulate(x)
    seen = np.abs(simulation.outputs - evaluate(small(), x)).max()
    assert 0 < seen <= simulation.error <= 2**-PRECISION
    assert simulation.outside == ()


def test_simulation_names_layers_that_numbers_are_not_meant_for() -> None:
    narrow = g.Polynomial((0.0, 1.0, 0.0, 1.0), "chebyshev", -0.5, 0.5)
    graph = network((3,), narrow, Weights().linear(2, 3))
    made = nn.compile_graph(graph, np.full((1, 3), 0.25), insecure=True, log_n=9)
    assert made.simulate(np.full(3, 0.25)).outside == ()
    [report] = made.simulate(np.full(3, 0.75)).outside
    assert report == "layer '0' expects numbers from -0.5 to 0.5, and got 0.75 to 0.75"


def test_refuses_inputs_that_it_was_not_compiled_for(compiled: nn.Network) -> None:
    client, evaluator = compiled.keygen()
    with pytest.raises(ShapeMismatchError, match=r"an input of shape \(2, 6, 6\)"):
        client.encrypt(np.zeros((2, 6, 5)))
    with pytest.raises(ValueOutOfRangeError, match="layer 'input'"):
        client.encrypt(np.full((2, 6, 6), 1.5))
    with pytest.raises(InvalidArgumentError, match="expected what encrypt or run"):
        evaluator.run([np.zeros(4)])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="expected encrypted results, got inputs"):
        client.decrypt(client.encrypt(images(small(), 1)))
    with pytest.raises(InvalidArgumentError, match="expected encrypted inputs, got results"):
        evaluator.run(evaluator.run(client.encrypt(images(small(), 1))))
    other = nn.compile_graph(small(), images(small()), insecure=True, log_n=11)
    stranger, _ = other.keygen()
    with pytest.raises(ProgramMismatchError, match="of another network"):
        evaluator.run(stranger.encrypt(images(small(), 1)))
    with pytest.raises(ParametersMismatchError, match="was compiled for"):
        compiled.client(stranger.party)
    with pytest.raises(InvalidArgumentError, match="expected its evaluator"):
        compiled.evaluator(client.party)  # type: ignore[arg-type]


@pytest.mark.parametrize("degree", [8, 15])
def test_the_error_to_expect_is_not_exceeded_by_powers(degree: int) -> None:
    power = g.Polynomial((0.0,) * degree + (1.0,), "monomial", -2.0, 2.0)
    nodes = [g.node("x", g.Input((6,)), (), [])]
    nodes.append(g.node("power", power, (0,), nodes))
    graph = g.build([*nodes, g.node("y", g.Output(), (1,), nodes)])
    x = np.random.default_rng(3).uniform(-1.3, 1.3, (32, 6))
    made = nn.compile_graph(graph, x, batch=32, insecure=True, log_n=11)
    client, evaluator = made.keygen()
    for _ in range(3):
        got = client.decrypt(evaluator.run(client.encrypt(x)))
        assert np.abs(got - evaluate(graph, x)).max() < made.error


def test_names_the_layer_at_which_levels_end() -> None:
    graph = network((4,), *[SQUARE] * 12)
    with pytest.raises(LevelExhaustedError, match=r"layer '\d+' .* the network takes 12"):
        nn.compile_graph(graph, images(graph), log_n=13)


def test_summary_tells_packings_rotations_levels_keys_and_totals(compiled: nn.Network) -> None:
    costs = modelled([1, 2, 3, 4], 1).scaled(1e-5)
    text = compiled.summary(costs)
    assert [line.split()[0] for line in text.splitlines()] == [
        *("network", "layer", "0", "1", "2,", "rotations", "keys", "memory", "time", "error")
    ]
