"""Operands of large matrices as turned copies: the same products of fewer diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.diagonals import diagonals_between
from cloakwork.plan.networks.matrix import Matrix
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.packings.convolution import plain
from cloakwork.plan.networks.packings.product_prices import ProductDiagonals, ProductPrices
from cloakwork.plan.networks.spread_operands import with_operands_spread
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import DistanceProduct, stages_within_one
from cloakwork.plan.networks.turned_copies import TurnedCopies
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.distances import Distances
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Linear, SlotProgram
from cloakwork.runtime.costs import modelled
from tests.thoroughness import part


def drawn_sizes(seed: int) -> tuple[int, list[int], int]:
    """Elements of a vector, those of some results, and slots for several copies of them."""
    rng = np.random.default_rng(seed)
    size, *results = rng.integers(100, 600, size=1 + rng.integers(1, 4)).tolist()
    return size, results, 1 << int(rng.integers(12, 15))


@pytest.mark.parametrize("seed", range(part(30)))
def test_products_of_copies_are_those_of_the_vector(seed: int) -> None:
    size, results, slots = drawn_sizes(seed)
    copies = TurnedCopies.of(size, results, slots)
    assert copies is not None
    rng = np.random.default_rng(seed)
    x = rng.normal(size=size)
    turned, operand = Places(slots, copies.places), plain(size, slots)
    whole = copies.matrix
    np.testing.assert_array_equal(whole.applied(x).reshape(-1, size), [x] * copies.count)
    (found,) = diagonals_between(whole, operand, turned).values()
    turns = len(found)
    for rows in results:
        matrix = Matrix.of(rng.normal(size=(rows, size)))
        spread = copies.spread(matrix)
        assert spread.nnz == matrix.nnz
        np.testing.assert_allclose(spread.applied(whole.applied(x)), matrix.applied(x), atol=1e-9)
        (found,) = diagonals_between(spread, turned, plain(rows, slots)).values()
        assert len(found) == copies.step
    shorter = [min(operand.period, plain(rows, slots).period) for rows in results]
    assert turns == max(shorter) // copies.step
    # Products over full slots take as many as they have elements for each slot.
    if len(results) == 1:
        assert copies.step == operand.period * plain(results[0], slots).period // slots


@pytest.mark.parametrize(("size", "results", "slots"), [(512, [512], 512), (300, [9000], 8192)])
def test_copies_that_do_not_fit_are_not_made(size: int, results: list[int], slots: int) -> None:
    assert TurnedCopies.of(size, results, slots) is None


def prices() -> ProductPrices:
    return ProductPrices(modelled([1, 2], 1), ProductDiagonals())


def dense(size: int, seed: int) -> g.Graph:
    """Two layers that share an operand, and one of their product."""
    rng = np.random.default_rng(seed)
    nodes = [g.node("x", g.InputLayer((size,), 1.0), (), [])]
    layers: list[Any] = [
        g.LinearLayer(rng.normal(size=(size, size)) / size, np.zeros(size)) for _ in range(3)
    ]
    for layer, operands in [
        (g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -2.0, 2.0), (0,)),
        (layers[0], (1,)),
        (layers[1], (1,)),
        (g.Multiply(), (2, 3)),
        (layers[2], (4,)),
        (g.OutputLayer(), (5,)),
    ]:
        nodes.append(g.node(f"layer {len(nodes)}", layer, operands, nodes))
    return g.build(nodes)


def test_all_matrices_of_one_operand_share_its_copies() -> None:
    network = StagedNetwork.of(dense(128, 0), stages_within_one, pairs=False)
    spread = with_operands_spread(network, 2048, prices(), 0.0)
    assert len(spread.stages) == len(network.stages) + 2
    assert with_operands_spread(network, 128, prices(), 0.0) is network


def test_what_does_not_pay_stays() -> None:
    small = StagedNetwork.of(dense(4, 0), stages_within_one, pairs=False)
    assert with_operands_spread(small, 2048, prices(), 0.0) is small
    network = StagedNetwork.of(dense(128, 0), stages_within_one, pairs=False)
    expensive = modelled([1, 2], 1).at(1).rotation * 1000
    assert with_operands_spread(network, 2048, prices(), expensive) is network


def test_products_by_distance_behind_copies_keep_their_operands() -> None:
    nodes = [g.node("x", g.InputLayer((128,), 1.0), (), [])]
    nodes += [g.node(name, g.InputLayer((16, 128), 1.0), (), []) for name in "qk"]
    matrix = g.LinearLayer(np.random.default_rng(3).normal(size=(128, 128)), np.zeros(128))
    distances = Distances(tokens=16, heads=8, features=16, row=128)
    square = g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -2.0, 2.0)
    layers: list[tuple[g.Operation, tuple[int, ...]]] = [
        (matrix, (0,)),
        (square, (3,)),
        (square, (1,)),
        (g.ProductsByDistance(distances), (5, 2)),
        (g.OutputLayer(), (4,)),
        (g.OutputLayer(), (6,)),
    ]
    for layer, operands in layers:
        nodes.append(g.node(f"layer {len(nodes)}", layer, operands, nodes))
    network = StagedNetwork.of(g.build(nodes), stages_within_one, pairs=False)
    spread = with_operands_spread(network, 2048, prices(), 0.0)
    assert len(spread.stages) > len(network.stages)
    for each in (network, spread):
        [product] = [stage for stage in each.stages if isinstance(stage, DistanceProduct)]
        factors = each.stages[product.left], each.stages[product.right]
        assert [stage.name for stage in factors] == ["layer 5", "k"]


def test_programs_take_fewer_diagonals_and_compute_the_same() -> None:
    graph = dense(256, 1)
    x = np.random.default_rng(2).uniform(-1, 1, (50, 256))
    options = NetworkOptions(precision=10, bootstrap=True, log_n=12, insecure=True)
    program = compile_graph(graph, x, options)
    expected = evaluate(graph, x[:1])[0]
    assert np.abs(program.run(x[0]) - expected).max() < program.error
    assert isinstance(program.body, SlotProgram)
    diagonals = sum(
        len(each.diagonals) for each in program.body.operations if isinstance(each, Linear)
    )
    # Of 3 * 256: two operands of 8 copies, and three matrices of 32 diagonals.
    assert diagonals <= 2 * 8 + 3 * 32 + 3
