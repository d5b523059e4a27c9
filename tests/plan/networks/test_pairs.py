"""Two inputs of a batch in the parts of complex slots, against one a slot and against layers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import results
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.slots import Linear, PairedBootstrap, SlotProgram, TwiceReal
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.load import load
from cloakwork.runtime.program import Program
from tests.thoroughness import slow

SIZE = 16
PRECISION = 10
SQUARE = g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -4.0, 4.0)


def network(*layers: g.Operation) -> g.Graph:
    nodes = [g.node("x", g.InputLayer((SIZE,)), (), [])]
    for number, layer in enumerate((*layers, g.OutputLayer())):
        nodes.append(g.node(f"layer {number}", layer, (number,), nodes))
    return g.build(nodes)


def dense(seed: int) -> g.LinearLayer:
    chance = np.random.default_rng(seed)
    return g.LinearLayer(chance.normal(size=(SIZE, SIZE)) / 4, chance.normal(size=SIZE) / 4)


def residual() -> g.Graph:
    """A product of two branches and a sum around it, by one dense layer each."""
    nodes = [g.node("x", g.InputLayer((SIZE,)), (), [])]
    parts: list[tuple[str, g.Operation, tuple[int, ...]]] = [
        ("left", dense(1), (0,)),
        ("right", dense(2), (0,)),
        ("bend", g.Activation("tanh"), (1,)),
        ("product", g.Multiply(), (3, 2)),
        ("around", g.AddLayer(), (4, 0)),
        ("last", dense(3), (5,)),
        ("y", g.OutputLayer(), (6,)),
    ]
    for name, layer, operands in parts:
        nodes.append(g.node(name, layer, operands, nodes))
    return g.build(nodes)


NETWORKS = {
    "activation of the input": network(SQUARE, dense(1)),
    "layers": network(dense(1), g.Activation("tanh"), dense(2), SQUARE, dense(3)),
    "activations in sequence": network(g.Activation("tanh"), g.Activation("tanh")),
    "linear": network(dense(1), dense(2)),
    "branches": residual(),
}


def inputs(count: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    return np.random.default_rng(7).uniform(-1.0, 1.0, (count, SIZE))


def planned(graph: g.Graph, batch: int, **asked: object) -> Program:
    options = {"precision": PRECISION, "log_n": 10, "insecure": True, "batch": batch, **asked}
    return compile_graph(graph, inputs(64), NetworkOptions(**options))  # type: ignore[arg-type]


@pytest.fixture
def only_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan with pairs alone, however few inputs there are."""
    monkeypatch.setattr(NetworkOptions, "pairings", (True,))


@pytest.mark.usefixtures("only_pairs")
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("batch", [5, *slow(2)])
@pytest.mark.parametrize("bootstrap", [False, *slow(True)])
def test_a_network_over_pairs_is_the_network(name: str, batch: int, bootstrap: bool) -> None:
    graph, rows = NETWORKS[name], inputs(batch)
    program = planned(graph, batch, bootstrap=bootstrap)
    assert isinstance(program.packing, BatchPacking)
    assert program.packing.pairs
    assert np.abs(program.run_clear(rows) - results(graph, rows)).max() <= program.error


@pytest.mark.usefixtures("only_pairs")
@pytest.mark.parametrize("name", NETWORKS)
def test_pairs_are_right_on_ciphertexts(name: str, tmp_path: Path) -> None:
    graph, rows = NETWORKS[name], inputs(3)
    planned(graph, 3).save(tmp_path / "program")
    program = load(tmp_path / "program", Program, insecure=True)
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(rows)))
    assert np.abs(found - results(graph, rows)).max() <= program.error


def test_pairs_in_the_clear_go_through_files(tmp_path: Path) -> None:
    graph, rows = NETWORKS["layers"], inputs(64)
    program = planned(graph, 64).in_clear()
    client, evaluator = program.keygen()
    client.encrypt(rows).save(tmp_path / "sent")
    sent = load(tmp_path / "sent", Encrypted, insecure=True)
    assert np.abs(client.decrypt(evaluator.run(sent)) - results(graph, rows)).max() <= program.error


def test_pairs_are_refreshed_together_on_ciphertexts() -> None:
    tanh = g.Activation("tanh")
    graph = network(dense(1), tanh, dense(2), tanh, dense(3), tanh, dense(4), tanh, dense(5))
    rows = inputs(64)
    program = planned(graph, 64, bootstrap=True)
    assert any(isinstance(each, PairedBootstrap) for each in body(program).operations)
    assert isinstance(program.packing, BatchPacking)
    assert program.packing.pairs
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(rows)))
    assert np.abs(found - results(graph, rows)).max() <= program.error


def test_a_full_batch_takes_half_of_the_products_of_one_input_a_slot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = NETWORKS["layers"]
    in_pairs = planned(graph, 64)
    monkeypatch.setattr(NetworkOptions, "pairings", (False,))
    apart = planned(graph, 64)
    assert 2 * products(in_pairs) == products(apart)
    taken_apart = [each for each in body(in_pairs).operations if isinstance(each, TwiceReal)]
    assert len(taken_apart) == 2


def test_one_input_and_a_batch_that_leaves_slots_are_not_paired() -> None:
    for batch in 1, 2:
        packing = planned(NETWORKS["layers"], batch).packing
        assert isinstance(packing, BatchPacking)
        assert not packing.pairs


@pytest.mark.usefixtures("only_pairs")
def test_what_leaves_a_range_is_refused_in_either_part() -> None:
    program = planned(NETWORKS["layers"], 2)
    inside, outside = np.zeros(SIZE), np.sign(dense(1).weight[0])
    for rows in ([outside, inside], [inside, outside]):
        reports = program.simulate(np.stack(rows)).outside
        assert any("'layer 1' expects" in each for each in reports), reports


def body(program: Program) -> SlotProgram:
    assert isinstance(program.body, SlotProgram)
    return program.body


def products(program: Program) -> int:
    """Clear products: the diagonals of all transforms."""
    return sum(len(each.diagonals) for each in body(program).operations if isinstance(each, Linear))
