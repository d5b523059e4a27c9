"""What attention takes of diagonals, and what residuals of many blocks do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from cloakwork.frontends.nn.capture import capture
from cloakwork.plan.networks.calibration import bounded, calibrate
from cloakwork.plan.networks.diagonals import diagonals_between
from cloakwork.plan.networks.fit import fit
from cloakwork.plan.networks.packings import cheapest
from cloakwork.plan.networks.packings.cheapest import chosen_packings
from cloakwork.plan.networks.samples import Samples
from cloakwork.plan.networks.spread import with_products_spread
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import MatrixProduct, stages_of, stages_within_one
from cloakwork.programs.ir import layers as g
from cloakwork.programs.places import Places
from cloakwork.runtime.costs import modelled

TOKENS, WIDTH, HEADS = 8, 8, 2
SLOTS = 1 << 12


def encoder(blocks: int) -> nn.Sequential:
    """Encoder blocks of small weights."""
    torch.manual_seed(0)
    layers = [
        nn.TransformerEncoderLayer(
            WIDTH, HEADS, 2 * WIDTH, 0.0, "gelu", batch_first=True, norm_first=True
        )
        for _ in range(blocks)
    ]
    return nn.Sequential(*layers).eval()


def fitted(module: nn.Module, rows: torch.Tensor) -> g.Graph:
    """A module as a graph whose activations are polynomials."""
    graph = capture(module, rows[:1])
    calibration = calibrate(graph, Samples(graph, rows))
    return with_products_spread(fit(bounded(graph, [1.0]), calibration, precision=6).graph)


def diagonals(network: StagedNetwork, packings: Sequence[Places]) -> int:
    """Those of all products with matrices."""
    return sum(
        len(each)
        for number, operand in network.products
        for each in diagonals_between(
            network.matrix(number, operand), packings[operand], packings[number]
        ).values()
    )


def test_attention_takes_few_diagonals_as_its_packings_follow_from_one_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = fitted(encoder(1), torch.rand(16, TOKENS, WIDTH))
    stages = stages_within_one(graph)
    network = StagedNetwork(graph, stages.all, stages.outputs)
    costs = modelled([1] * (network.depth + 1), 1)
    packings, _ = chosen_packings(network, SLOTS, costs)
    found = diagonals(network, packings)
    monkeypatch.setattr(cheapest, "derived_packings", lambda network, packings: {})
    packings, _ = chosen_packings(network, SLOTS, costs)
    assert found < diagonals(network, packings) / 2


def test_scores_of_attention_fill_their_ciphertexts() -> None:
    torch.manual_seed(0)
    tokens, width, heads = 8, 64, 4
    module = nn.TransformerEncoderLayer(width, heads, width, 0.0, "gelu", batch_first=True).eval()
    graph = fitted(module, torch.rand(8, tokens, width))
    stages = stages_within_one(graph)
    network = StagedNetwork(graph, stages.all, stages.outputs)
    costs = modelled([1] * (network.depth + 1), 1)
    # Levels are dear, as they are where values are refreshed.
    packings, _ = chosen_packings(network, 1 << 10, costs, level_price=1e3)
    scores = {
        places.ciphertexts
        for stage, places in zip(network.stages, packings, strict=True)
        if stage.shape == (heads, tokens, tokens)
    }
    assert scores == {1}
    assert diagonals(network, packings) == 1505


@pytest.mark.parametrize("stages_by", [stages_of, stages_within_one])
def test_residuals_are_summed_once(stages_by: type) -> None:
    rows = torch.rand(16, TOKENS, WIDTH)

    def most_terms(blocks: int) -> int:
        stages = stages_by(fitted(encoder(blocks), rows)).all
        return max(len(each.terms) for each in stages if isinstance(each, MatrixProduct))

    assert most_terms(2) == 3


SQUARE = g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -1.0, 1.0)


def counts_of_places(nodes: list[g.Node]) -> list[int]:
    """How many places the packing of each stage has."""
    graph = g.build(nodes)
    stages = stages_of(graph)
    network = StagedNetwork(graph, stages.all, stages.outputs)
    costs = modelled([1] * (network.depth + 1), 1)
    packings, _ = chosen_packings(network, SLOTS, costs)
    return [len(each.places) for each in packings]


def test_elements_that_are_always_zero_have_places() -> None:
    nodes = [g.node("x", g.InputLayer((2,), 1.0), (), [])]
    repeat = g.Rearrange(np.array([-1, -1, 0, 0, 1, 1]), (6,))
    nodes.append(g.node("repeat", repeat, (0,), nodes))
    nodes.append(g.node("square", SQUARE, (1,), nodes))
    nodes.append(g.node("y", g.OutputLayer(), (2,), nodes))
    assert counts_of_places(nodes) == [2, 6, 6]


def test_sums_of_which_some_are_always_zero_have_places() -> None:
    nodes = [g.node("x", g.InputLayer((3,), 1.0), (), [])]
    repeat = g.Rearrange(np.array([0, 0, 1, 1, 2, 2]), (6,))
    weights = np.zeros((5, 6))
    weights[0, :3] = weights[4, 3:] = 1
    nodes.append(g.node("repeat", repeat, (0,), nodes))
    nodes.append(g.node("square", SQUARE, (1,), nodes))
    nodes.append(g.node("sums", g.LinearLayer(weights, np.zeros(5)), (2,), nodes))
    nodes.append(g.node("square_1", SQUARE, (3,), nodes))
    nodes.append(g.node("y", g.OutputLayer(), (4,), nodes))
    assert counts_of_places(nodes) == [3, 6, 6, 5, 5]
