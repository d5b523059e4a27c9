"""Operands of convolutions as copies that are turned by channels: the same with fewer diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.diagonals import diagonals_between
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.packings.convolution import image_grids
from cloakwork.plan.networks.packings.product_prices import ProductDiagonals, ProductPrices
from cloakwork.plan.networks.spread_operands import with_operands_spread
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import stages_within_one
from cloakwork.plan.networks.turned_images import ImageProduct, TurnedImages, best_grid
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.places import Places
from cloakwork.programs.slots import Linear, SlotProgram
from cloakwork.runtime.costs import modelled
from tests.thoroughness import part

SQUARE = g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -2.0, 2.0)


def convolutions(channels: int, side: int, stride: int, count: int, seed: int) -> g.Graph:
    """One with a stride, and then some of one size, each after a square."""
    rng = np.random.default_rng(seed)
    nodes = [g.node("x", g.InputLayer((2, side * stride, side * stride), 1.0), (), [])]
    before = 2
    for number in range(count + 1):
        step = stride if number == 0 else 1
        kernel = rng.normal(size=(channels, before, 3, 3)) / (9 * before)
        layer: Any = g.ConvolutionLayer(kernel, np.zeros(channels), (step, step), ((1, 1), (1, 1)))
        for operation in (layer, SQUARE):
            nodes.append(g.node(f"layer {len(nodes)}", operation, (len(nodes) - 1,), nodes))
        before = channels
    nodes.append(g.node("y", g.OutputLayer(), (len(nodes) - 1,), nodes))
    return g.build(nodes)


def products(network: StagedNetwork) -> list[ImageProduct]:
    return [
        ImageProduct(
            network.matrix(number, operand), network.images[operand], network.images[number]
        )
        for number, operand in network.products
    ]


@pytest.mark.parametrize("seed", range(part(12)))
def test_products_of_copies_are_those_of_the_image(seed: int) -> None:
    rng = np.random.default_rng(seed)
    channels, side, stride = (int(rng.choice(each)) for each in ((16, 32), (2, 4), (1, 2)))
    graph = convolutions(channels, side, stride, 1, seed)
    network = StagedNetwork.of(graph, stages_within_one, pairs=False)
    slots = 8 * channels * side * side
    large = [each for each in products(network) if each.is_large][-1]
    x = rng.normal(size=large.matrix.shape[1])
    checked = 0
    for grid in image_grids(network.images):
        copies = TurnedImages.of([large], grid, slots)
        result = grid.packing(large.result, slots)
        if copies is None or result is None:
            continue
        checked += 1
        spread, turned = copies.spread(large.matrix), Places(slots, copies.places)
        copied = copies.matrix.applied(x)
        np.testing.assert_allclose(spread.applied(copied), large.matrix.applied(x), atol=1e-9)
        assert spread.nonzeros == large.matrix.nonzeros
        taken = sum(map(len, diagonals_between(spread, turned, result).values()))
        single = ProductDiagonals().count(large.matrix, copies.packing, result)
        assert taken <= 2 * single / copies.turns
        made = diagonals_between(copies.matrix, copies.packing, turned).values()
        assert sum(map(len, made)) == copies.turns
    assert checked


def test_few_diagonals_and_other_products_stay() -> None:
    network = StagedNetwork.of(convolutions(16, 4, 2, 2, 0), stages_within_one, pairs=False)
    strided, *others = products(network)
    grids = image_grids(network.images)
    assert not strided.is_large
    assert [each.is_large for each in others] == [True, True]
    assert best_grid(products(network), grids, 4096, ProductDiagonals()).block >= 4
    prices = ProductPrices(modelled([1, 2], 1), ProductDiagonals())
    # As many slots as an image has hold no copies.
    assert with_operands_spread(network, 256, prices, 0.0) is network


def test_programs_take_fewer_diagonals_and_compute_the_same() -> None:
    graph = convolutions(32, 4, 1, 2, 1)
    x = np.random.default_rng(2).uniform(-1, 1, (50, 2, 4, 4))
    options = NetworkOptions(precision=10, bootstrap=True, log_n=13, insecure=True)
    program = compile_graph(graph, x, options)
    expected = evaluate(graph, x[:1])[0]
    assert np.abs(program.run(x[0]) - expected).max() < program.error
    assert isinstance(program.body, SlotProgram)
    diagonals = sum(
        len(each.diagonals) for each in program.body.operations if isinstance(each, Linear)
    )
    # Two convolutions take 288 each of one copy; of eight that go round, 36 and eight turns.
    assert diagonals <= 18 + 2 * (8 + 36)
