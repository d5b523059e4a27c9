"""Networks in which every element has a ciphertext of its own, a slot for each input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw
from benchmarks.nn.networks import SQUARE, Weights, flatten, network
from cloakwork.errors import InvalidArgumentError, ValueOutOfRangeError
from cloakwork.plan.networks.by_element import sums_of
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.matrix import Matrix
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.keys import required_keys
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.slots import SlotProgram, WeightedSums
from cloakwork.runtime.memory import predicted_peak_bytes

PRECISION = 16
SLOTS = 64


def images(graph: g.Graph, count: int, seed: int = 7) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 1, (count, *graph.inputs[0].shape))


def small() -> g.Graph:
    w = Weights()
    return network((2, 6, 6), w.convolution(3, 2, 3, 2, 1), SQUARE, flatten(27), w.linear(4, 27))


def branched() -> g.Graph:
    """Of polynomials, products of values, sums without a matrix and joins."""
    w = Weights()
    smooth = g.PolynomialLayer((0.1, 0.5, 0.2, 0.1, 0.05), "chebyshev", -4.0, 2.0)
    nodes = [g.node("x", g.InputLayer((12,), 1.0), (), [])]
    for name, layer, inputs in (
        ("first", w.linear(12, 12), (0,)),
        ("smooth", smooth, (1,)),
        ("second", w.linear(12, 12), (2,)),
        ("add", g.AddLayer(), (3, 1)),
        ("multiply", g.Multiply(), (4, 0)),
        ("square", SQUARE, (0,)),
        ("difference", g.Affine(np.full(1, -1.0), np.full(1, 0.5)), (0,)),
        ("sum", g.AddLayer(), (6, 7)),
        ("squared", SQUARE, (8,)),
        ("join", g.Concatenate(0), (5, 2, 9)),
        ("output", g.OutputLayer(), (10,)),
    ):
        nodes.append(g.node(name, layer, inputs, nodes))
    return g.build(nodes)


def compiled(graph: g.Graph, batch: int = SLOTS) -> cw.Program:
    options = NetworkOptions(insecure=True, log_n=SLOTS.bit_length(), batch=batch)
    return compile_graph(graph, images(graph, 500), options)


@pytest.mark.parametrize("graph", [small(), branched()], ids=["small", "branched"])
@pytest.mark.parametrize("count", [1, SLOTS, SLOTS + 3])
def test_computes_on_ciphertexts_what_the_layers_compute(graph: g.Graph, count: int) -> None:
    program = compiled(graph)
    x = images(graph, count, seed=8)
    np.testing.assert_allclose(program.run_clear(x), evaluate(graph, x), atol=1e-9)
    client, evaluator = program.keygen()
    encrypted = client.encrypt(x)
    assert encrypted.runs == -(-count // SLOTS)
    found = client.decrypt(evaluator.run(encrypted))
    assert np.abs(found - evaluate(graph, x)).max() < program.error < 2**-PRECISION


def test_takes_no_rotation_and_one_key() -> None:
    program = compiled(small())
    body = program.body
    assert isinstance(body, SlotProgram)
    keys = required_keys(body)
    assert (keys.rotations, keys.relinearisation_level) == ({}, 2)
    counts = cw.estimate(program).operations
    # Of three positions along an axis the first sees two pixels, as the border is cut off.
    assert counts["weighted term"] == 3 * 2 * (2 + 3 + 3) ** 2 + 4 * 27
    assert counts["rescale"] == 27 + 27 + 4
    assert counts["ciphertext product"] == 27
    sums = [each for each in body.operations if isinstance(each, WeightedSums)]
    assert len(sums) == 9 + 1


def test_a_batch_of_fewer_inputs_than_slots_leaves_some_unused() -> None:
    program = compiled(small(), batch=20)
    packing = program.packing
    assert isinstance(packing, BatchPacking)
    assert (packing.batch, packing.width) == (20, SLOTS)
    x = images(small(), 20, seed=9)
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(x)))
    assert found.shape == (20, 4)
    assert np.abs(found - evaluate(small(), x)).max() < program.error


def test_throughput_takes_the_batch_that_costs_least_each() -> None:
    graph = small()
    options = NetworkOptions(insecure=True, log_n=7, batch="throughput")
    program = compile_graph(graph, images(graph, 500), options)
    assert program.batch == SLOTS
    for batch in ("fast", 0, 1 << 20):
        with pytest.raises(InvalidArgumentError, match="batch"):
            NetworkOptions(batch=batch)  # type: ignore[arg-type]


def test_a_client_from_a_file_refuses_what_leaves_a_layers_range(tmp_path: Path) -> None:
    client, evaluator = compiled(small()).keygen()
    client.save(tmp_path / "client")
    evaluator.save(tmp_path / "evaluator")
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    evaluator = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    x = images(small(), 3, seed=10)
    found = client.decrypt(evaluator.run(client.encrypt(x)))
    assert np.abs(found - evaluate(small(), x)).max() < 2**-PRECISION
    x[1, 0, 3, 3] = 1e3
    with pytest.raises(ValueOutOfRangeError):
        client.encrypt(x)


def test_a_convolution_is_held_row_by_row() -> None:
    w = Weights()
    first, second = w.convolution(2, 1, 3, 1, 1), w.convolution(2, 2, 3, 1, 1)
    last = flatten(2 * 256), w.linear(1, 2 * 256)
    graph = network((1, 16, 16), first, SQUARE, second, SQUARE, *last)
    body = compiled(graph).body
    assert isinstance(body, SlotProgram)
    peak = predicted_peak_bytes(body, lambda state: 1)
    # Beside 256 inputs and the 512 squares before the last layer only some rows of the first.
    assert peak < 256 + 512 + 7 * 16 * 2 + 256


def test_rows_alike_are_summed_together() -> None:
    matrix = Matrix.of(np.array([[0.0, 2.0], [0.0, 0.0], [0.0, 3.0]]))
    other = Matrix.of(np.array([[1.0], [0.0], [4.0]]))
    found = sums_of({2: matrix, 5: other})
    assert [each.rows.tolist() for each in found] == [[0, 2], [1]]
    assert [list(each.terms) for each in found] == [[(2, 1), (5, 0)], [(2, 0)]]
    assert [each.weights.tolist() for each in found] == [[[2.0, 1.0], [3.0, 4.0]], [[0.0]]]
