"""Compiled networks: what they take, what they compute, what they refuse."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import ref

import numpy as np
import pytest

import cloakwork as cw
from benchmarks.nn.evaluate import encoded_bytes
from benchmarks.nn.networks import SQUARE, Weights, flatten, lenet, lola, mlp, network
from cloakwork._native import Parameters
from cloakwork.errors import (
    InvalidParametersError,
    LevelExhaustedError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.explain.layers import layers_of
from cloakwork.plan.networks import bootstrapped as bootstrapped_module
from cloakwork.plan.networks import compile_graph as compile_graph_module
from cloakwork.plan.networks import pipeline
from cloakwork.plan.networks.bootstrapped import bootstrapped
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.depth import parameters_of_levels
from cloakwork.plan.networks.errors.simulated_inputs import SimulatedInputs
from cloakwork.plan.networks.lower import LoweredNetwork, NetworkPlan, _operands_of_nonlinear
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.reals.expected import ClearRun
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import SlotProgram
from cloakwork.schemes.ckks_noise import NoiseModel
from tests.plan.networks.refused import one_refused, without_collector
from tests.thoroughness import slow

PRECISION = 16


def images(graph: g.Graph, count: int = 4) -> np.ndarray:
    return np.random.default_rng(7).uniform(0, 1, (count, *graph.inputs[0].shape))


def small() -> g.Graph:
    w = Weights()
    return network((2, 6, 6), w.convolution(3, 2, 3, 2, 1), SQUARE, flatten(27), w.linear(4, 27))


@pytest.fixture(scope="module")
def compiled() -> cw.Program:
    return compile_graph(small(), images(small()), NetworkOptions(insecure=True, log_n=10))


@pytest.mark.parametrize(
    ("make", "rotations", "diagonals", "keys", "key_bytes", "levels"),
    [
        (mlp, [25, 0, 22, 0, 9], [128, 0, 128, 0, 16], 26, 95_420_416, 5),
        (lola, [2, 0, 26, 0, 9], [4, 0, 128, 0, 16], 27, 92_274_688, 5),
        *slow((lenet, [11, 0, 51, 0, 49, 0, 11], [36, 0, 576, 0, 512, 0, 16], 83, 416_677_888, 7)),
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
    made = compile_graph(graph, images(graph), NetworkOptions(precision=18))
    body, parameters = made.body, made.scheme.parameters
    assert isinstance(body, SlotProgram)
    layers = layers_of(body, [0.0] * len(body.operations))
    assert [layer.rotations for layer in layers] == rotations
    assert [layer.diagonals for layer in layers] == diagonals
    assert len(required_keys(body)) == keys
    assert made.key_bytes == key_bytes
    assert parameters.levels == levels
    assert parameters.log_n == 14
    assert not parameters.insecure
    x = images(graph)
    np.testing.assert_allclose(made.run_clear(x), evaluate(graph, x), atol=1e-9)


def test_computes_on_ciphertexts_what_the_layers_compute(compiled: cw.Program) -> None:
    client, evaluator = compiled.keygen()
    x = images(small(), 1)[0]
    result = evaluator.run(client.encrypt(x))
    expected = evaluate(small(), x[np.newaxis])[0]
    assert np.abs(client.decrypt(result) - expected).max() < 2**-PRECISION
    again = client.decrypt(evaluator.run(client.encrypt(x)))
    assert np.abs(again - expected).max() < 2**-PRECISION


def test_inputs_of_a_public_key_take_a_larger_scale() -> None:
    graph = network((256,), g.LinearLayer(np.full((1, 256), 5.5), np.zeros(1)))
    scales = [
        compile_graph(
            graph, images(graph), NetworkOptions(public_inputs=each, insecure=True, log_n=10)
        ).scheme.parameters.scale_bits
        for each in (False, True)
    ]
    assert scales == [32, 33]


@pytest.mark.parametrize(
    ("bits", "scale"),
    [
        ({32: 16.0}, 32),
        ({32: 20.0}, 32),
        ({32: 15.1, 33: 16.1}, 33),
        # Two bits are lacking by a little, and one would have done.
        ({32: 14.7, 34: 17.3, 33: 16.2}, 33),
        ({32: 14.7, 34: 17.3, 33: 15.6}, 34),
        ({32: 14.7, 34: 16.7}, 34),
        ({32: 12.9, 35: 18.0, 33: 16.0}, 33),
        ({32: 12.9, 35: 18.9, 33: 15.0, 34: 16.0}, 34),
        ({32: 12.9, 35: 18.9, 33: 15.0, 34: 15.6}, 35),
        # Errors above 1 tell that numbers leave a polynomial's range, not how many bits lack.
        ({32: -40.0, 48: 31.0, 33: 14.0, 34: 15.5, 35: 20.0}, 35),
    ],
)
def test_takes_the_least_scale_that_has_the_precision(
    monkeypatch: pytest.MonkeyPatch, bits: dict[int, float], scale: int
) -> None:
    tried: list[int] = []

    def expected_error(_network: object, _runs: object, noise: NoiseModel) -> float:
        tried.append(round(math.log2(noise.scales[-1])))
        return math.exp2(-bits[tried[-1]])

    monkeypatch.setattr(pipeline, "expected_error", expected_error)
    made = compile_graph(small(), images(small()), NetworkOptions(insecure=True, log_n=10))
    assert made.scheme.parameters.scale_bits == scale
    # That of other inputs is told of the scale that was taken.
    assert tried == [*bits, scale]


def test_keeps_a_scale_where_a_smaller_one_has_no_parameters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    refused: list[int] = []

    def some_parameters(levels: int, scale_bits: int, *others: Any) -> Parameters:
        if scale_bits == 33:
            refused.append(scale_bits)
            raise InvalidParametersError("no scale of 33 bits")
        return parameters_of_levels(levels, scale_bits, *others)

    errors = {32: 2.0**-14.7, 34: 2.0**-17.3}
    monkeypatch.setattr(pipeline, "parameters_of_levels", some_parameters)
    monkeypatch.setattr(
        pipeline, "expected_error", lambda _, __, noise: errors[round(math.log2(noise.scales[-1]))]
    )
    made = compile_graph(small(), images(small()), NetworkOptions(insecure=True, log_n=10))
    assert (made.scheme.parameters.scale_bits, refused) == (34, [33])


@pytest.mark.parametrize("plan", [pipeline, bootstrapped_module])
def test_noise_that_outgrows_accepted_inputs_is_refused(
    monkeypatch: pytest.MonkeyPatch, plan: ModuleType
) -> None:
    def expected_error(
        _network: object, runs: list[ClearRun], _noise: NoiseModel, **_: float
    ) -> float:
        return 2.0**-20 if runs else math.inf

    monkeypatch.setattr(plan, "expected_error", expected_error)
    monkeypatch.setattr(SimulatedInputs, "worst_runs", lambda *_: [])
    log_n, bootstrap = (10, False) if plan is pipeline else (12, True)
    options = NetworkOptions(insecure=True, log_n=log_n, bootstrap=bootstrap, precision=10)
    with pytest.raises(InvalidParametersError, match="inputs that a client accepts; "):
        compile_graph(small(), images(small()), options)


def test_errors_of_fits_beyond_every_number_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("likely_difference", "largest_difference"):
        monkeypatch.setattr(compile_graph_module, name, lambda *_: math.inf)
    options = NetworkOptions(insecure=True, log_n=10, precision=12)
    with pytest.raises(InvalidParametersError, match="ask for precision=14 or more"):
        compile_graph(small(), images(small()), options)


def test_computes_the_same_whatever_stays_encoded(compiled: cw.Program) -> None:
    x = images(small(), 1)
    body = compiled.body
    assert isinstance(body, SlotProgram)
    encoded = encoded_bytes(body, compiled.scheme.parameters)
    client, evaluator = compiled.keygen()
    for cache_bytes in (0, encoded // 2, encoded):
        evaluator.cache_bytes = cache_bytes
        for _ in range(2):
            got = client.decrypt(evaluator.run(client.encrypt(x)))
            assert np.abs(got - evaluate(small(), x)).max() < 2**-PRECISION


def test_computes_a_batch_at_once() -> None:
    made = compile_graph(small(), images(small()), NetworkOptions(batch=3, insecure=True, log_n=11))
    client, evaluator = made.keygen()
    x = images(small(), 3)
    assert made.batch == 3
    for count in (1, 3):
        encrypted = client.encrypt(x[:count])
        assert (encrypted.count, encrypted.runs) == (count, 1)
        got = client.decrypt(evaluator.run(encrypted))
        assert np.abs(got - evaluate(small(), x[:count])).max() < 2**-PRECISION
    many = images(small(), 7)
    encrypted = client.encrypt(many)
    assert (encrypted.count, encrypted.runs) == (7, 3)
    got = client.decrypt(evaluator.run(encrypted))
    assert np.abs(got - evaluate(small(), many)).max() < 2**-PRECISION


def test_evaluates_chebyshev_polynomials_and_residual_sums() -> None:
    w = Weights()
    smooth = g.PolynomialLayer((0.1, 0.5, 0.2, 0.1, 0.05), "chebyshev", -4.0, 2.0)
    nodes = [g.node("x", g.InputLayer((12,), 1.0), (), [])]
    for name, layer, inputs in (
        ("first", w.linear(12, 12), (0,)),
        ("smooth", smooth, (1,)),
        ("second", w.linear(12, 12), (2,)),
        ("add", g.AddLayer(), (3, 1)),
        ("multiply", g.Multiply(), (4, 0)),
        ("join", g.Concatenate(0), (5, 2)),
        ("output", g.OutputLayer(), (6,)),
    ):
        nodes.append(g.node(name, layer, inputs, nodes))
    graph = g.build(nodes)
    made = compile_graph(graph, images(graph), NetworkOptions(insecure=True, log_n=10))
    client, evaluator = made.keygen()
    x = images(graph, 1)
    np.testing.assert_allclose(made.run_clear(x), evaluate(graph, x), atol=1e-9)
    got = client.decrypt(evaluator.run(client.encrypt(x)))
    assert np.abs(got - evaluate(graph, x)).max() < 2**-PRECISION


@pytest.mark.parametrize("signs", [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)])
def test_sums_and_differences_of_stages_take_no_level(signs: tuple[float, float]) -> None:
    nodes = [g.node("x", g.InputLayer((3,), 1.0), (), [])]
    for name, layer, inputs in (
        ("square", SQUARE, (0,)),
        ("left", g.Affine(np.full(1, signs[0]), np.zeros(1)), (1,)),
        ("right", g.Affine(np.full(1, signs[1]), np.zeros(1)), (0,)),
        ("sum", g.AddLayer(), (2, 3)),
        ("squared", SQUARE, (4,)),
        ("output", g.OutputLayer(), (5,)),
    ):
        nodes.append(g.node(name, layer, inputs, nodes))
    graph = g.build(nodes)
    made = compile_graph(graph, images(graph), NetworkOptions(insecure=True, log_n=6))
    assert made.scheme.parameters.levels == 2
    np.testing.assert_allclose(
        made.run_clear(images(graph)), evaluate(graph, images(graph)), atol=1e-12
    )


def test_simulates_with_the_errors_of_encryption(compiled: cw.Program) -> None:
    x = images(small(), 2)
    simulation = compiled.simulate(x)
    seen = np.abs(simulation.outputs - evaluate(small(), x)).max()
    assert 0 < seen <= simulation.error <= 2**-PRECISION
    assert simulation.outside == ()


def test_simulation_names_layers_that_numbers_are_not_meant_for() -> None:
    narrow = g.PolynomialLayer((0.0, 1.0, 0.0, 1.0), "chebyshev", -0.5, 0.5)
    graph = network((3,), narrow, Weights().linear(2, 3))
    made = compile_graph(graph, np.full((1, 3), 0.25), NetworkOptions(insecure=True, log_n=9))
    assert made.simulate(np.full(3, 0.25)).outside == ()
    [report] = made.simulate(np.full(3, 0.75)).outside
    assert report == "layer '0' expects numbers from -0.5 to 0.5, and got 0.75 to 0.75"


def test_refuses_inputs_that_it_was_not_compiled_for(compiled: cw.Program) -> None:
    client, _ = compiled.keygen()
    with pytest.raises(ShapeMismatchError, match=r"'input' of shape \(2, 6, 6\)"):
        client.encrypt(np.zeros((2, 6, 5)))
    with pytest.raises(ValueOutOfRangeError, match="input 'input'"):
        client.encrypt(np.full((2, 6, 6), 1.5))


def test_a_client_from_files_refuses_what_leaves_a_layers_range(tmp_path: Path) -> None:
    narrow = g.PolynomialLayer((0.0, 1.0, 0.0, 1.0), "chebyshev", -0.4, 0.4)
    made = compile_graph(
        network((3,), g.Affine(np.full(1, 0.5), np.zeros(1)), narrow, Weights().linear(2, 3)),
        np.full((1, 3), 0.5),
        NetworkOptions(insecure=True, log_n=9),
    )
    made.keygen()[0].save(tmp_path / "client")
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    client.encrypt([0.5, -0.5, 0.0])
    with pytest.raises(ValueOutOfRangeError, match=r"layer '1' .* to 0\.4, and got 0\.45 to 0\.5"):
        client.encrypt([0.9, 1.0, 0.9])


@pytest.mark.parametrize("degree", [8, 15])
def test_the_error_to_expect_is_not_exceeded_by_powers(degree: int) -> None:
    power = g.PolynomialLayer((0.0,) * degree + (1.0,), "monomial", -2.0, 2.0)
    nodes = [g.node("x", g.InputLayer((6,)), (), [])]
    nodes.append(g.node("power", power, (0,), nodes))
    graph = g.build([*nodes, g.node("y", g.OutputLayer(), (1,), nodes)])
    x = np.random.default_rng(3).uniform(-1.3, 1.3, (32, 6))
    made = compile_graph(graph, x, NetworkOptions(batch=32, insecure=True, log_n=11))
    client, evaluator = made.keygen()
    for _ in range(3):
        got = client.decrypt(evaluator.run(client.encrypt(x)))
        assert made.error is not None
        assert np.abs(got - evaluate(graph, x)).max() < made.error


def test_names_the_layer_at_which_levels_end() -> None:
    graph = network((4,), *[SQUARE] * 12)
    with pytest.raises(LevelExhaustedError, match=r"layer '\d+' .* the network takes 12"):
        compile_graph(graph, images(graph), NetworkOptions(log_n=13))


def test_explanation_tells_packings_rotations_levels_keys_and_totals(compiled: cw.Program) -> None:
    text = cw.explain(compiled)
    assert [line.split()[0] for line in text.splitlines() if line] == [
        *(
            "network",
            "INSECURE",
            "layer",
            "0",
            "1",
            "2,",
            "rotations",
            "keys",
            "memory",
            "time",
            "error",
        ),
    ]


@pytest.mark.parametrize(
    ("options", "is_looked_for"),
    [({}, True), ({"bootstrap": False}, False), ({"key_budget": 10**9}, False)],
)
def test_where_keys_take_too_much_bootstraps_are_looked_for(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], is_looked_for: bool
) -> None:
    found: list[NetworkPlan] = []

    def recorded(*arguments: Any) -> NetworkPlan:
        found.append(bootstrapped(*arguments))
        return found[-1]

    def compiled_with(most: int) -> cw.Program:
        monkeypatch.setattr(compile_graph_module, "_MOST_KEY_BYTES", most)
        asked = NetworkOptions(insecure=True, log_n=10, precision=8, **options)
        return compile_graph(small(), images(small()), asked)

    monkeypatch.setattr(compile_graph_module, "bootstrapped", recorded)
    enough = compiled_with(1 << 30)
    assert not found
    fewest = compiled_with(0)
    assert len(found) == is_looked_for
    assert fewest.key_bytes == min([enough.key_bytes, *(each.key_bytes for each in found)])


def test_what_was_planned_for_refused_rings_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    staged = one_refused(pipeline, monkeypatch)
    graph, options = small(), NetworkOptions(insecure=True, log_n=10, batch=2)
    with without_collector():
        compile_graph(graph, images(graph), options)
        # The cheapest by itself, and the other once it is refused.
        assert [each() for each in staged] == [None, None]


def test_finding_what_is_not_linear_keeps_no_program(compiled: cw.Program) -> None:
    body = compiled.body
    assert isinstance(body, SlotProgram)
    layouts = (None,) * len(body.operations)
    program = SlotProgram(body.title, body.slots, body.operations, layouts)
    found, kept = [*_operands_of_nonlinear(program)], ref(program)
    with without_collector():
        del program
        assert found
        assert kept() is None


def test_the_scale_is_searched_for_in_the_cheapest_ring_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched: list[int] = []
    precise = pipeline._precise

    def counted(whole: LoweredNetwork, *rest: Any) -> Any:
        searched.append(whole.program.slots)
        return precise(whole, *rest)

    monkeypatch.setattr(pipeline, "_precise", counted)
    graph = small()
    made = compile_graph(graph, images(graph), NetworkOptions(insecure=True))
    assert isinstance(made.body, SlotProgram)
    assert searched == [made.body.slots]
