"""Attentions by the distance of tokens: in the clear, as programs, and where there are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from cloakwork.plan.networks.by_distance.attentions import attentions
from cloakwork.plan.networks.by_distance.rewritten import with_attentions_by_distance
from cloakwork.plan.networks.lower import LoweredNetwork, lowered
from cloakwork.plan.networks.packings.cheapest import chosen_packings
from cloakwork.plan.networks.staged import StagedNetwork
from cloakwork.plan.networks.stages import DistanceProduct, stages_within_one
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.distances import Distances
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.slots import Input, Linear, Mul, Rotate
from cloakwork.runtime.costs import modelled
from cloakwork.runtime.executor import run_in_order
from cloakwork.schemes.clear_real import ClearBackend, ClearVector


def attention(heads: int, tokens: int, features: int, *behind: g.Operation) -> g.Graph:
    """Queries, keys and values of heads, and what is done with the products of the first two."""
    shape = (heads, tokens, features)
    nodes = [g.node(name, g.InputLayer(shape, 4.0), (), []) for name in "qkv"]
    made = g.appended(nodes, "products", g.Contraction("hif", "hjf", "hij"), 0, 1)
    for operation in behind:
        made = g.appended(nodes, "behind", operation, made)
    made = g.appended(nodes, "sums", g.Contraction("hij", "hjf", "hif"), made, 2)
    g.appended(nodes, "y", g.OutputLayer(), made)
    return g.build(nodes)


def like_softmax(heads: int, tokens: int, features: int) -> g.Graph:
    """An attention with numbers that differ by head and token, and sums that are made once."""
    random = np.random.default_rng(1)
    nodes = list(attention(heads, tokens, features).nodes[:4])

    def append(operation: g.Operation, *inputs: int) -> int:
        return g.appended(nodes, "n", operation, *inputs)

    centred = append(g.LinearLayer(np.eye(tokens) - 1 / tokens, np.zeros(tokens)), 3)
    scale, shift = random.normal(size=(heads, 1, 1)), random.normal(size=(heads, tokens, tokens))
    known = append(g.Affine(scale, shift), centred)
    powers = append(g.PolynomialLayer((0.0, 1.0, 0.5), "monomial", -90, 90), known)
    total = append(g.LinearLayer(np.ones((1, tokens)), np.zeros(1)), powers)
    line = append(g.PolynomialLayer((0.3, 0.1), "monomial", -9e9, 9e9), total)
    every = append(g.LinearLayer(np.ones((tokens, 1)), np.zeros(tokens)), line)
    product = append(g.Multiply(), powers, every)
    sums = append(g.Contraction("hij", "hjf", "hif"), product, 2)
    append(g.OutputLayer(), sums)
    return g.build(nodes)


def like_masked(heads: int, tokens: int, features: int) -> g.Graph:
    """An attention with encrypted factors and terms beside, and sums that are repeated later."""
    nodes = list(attention(heads, tokens, features).nodes[:3])
    for name in "mn":
        g.appended(nodes, name, g.InputLayer((heads, tokens, tokens), 1.0))

    def append(operation: g.Operation, *inputs: int) -> int:
        return g.appended(nodes, "n", operation, *inputs)

    products = append(g.Contraction("hif", "hjf", "hij"), 0, 1)
    shifted = append(g.AddLayer(), 4, append(g.Multiply(), products, 3))
    same = np.arange(heads * tokens * tokens)
    lined = append(g.Rearrange(same, (heads, tokens, tokens)), shifted)
    total = append(g.LinearLayer(np.ones((1, tokens)), np.zeros(1)), lined)
    line = append(g.PolynomialLayer((0.3, 0.1), "monomial", -9e9, 9e9), total)
    every = append(
        g.Rearrange(np.repeat(np.arange(heads * tokens), tokens), (heads, tokens, tokens)), line
    )
    product = append(g.Multiply(), lined, every)
    sums = append(g.Contraction("hij", "hjf", "hif"), product, 2)
    append(g.OutputLayer(), sums)
    return g.build(nodes)


def planned(graph: g.Graph, slots: int) -> LoweredNetwork:
    network = StagedNetwork.of(
        with_attentions_by_distance(graph, slots), stages_within_one, pairs=False
    )
    assert sum(isinstance(stage, DistanceProduct) for stage in network.stages) == 2
    costs = modelled([1] * (network.depth + 2), 1)
    packings, _ = chosen_packings(network, slots, costs, 0.1)
    made, _ = lowered("attention", network, packings, slots, costs)
    return made


@pytest.mark.parametrize(
    ("heads", "tokens", "features", "slots"),
    [(1, 8, 2, 16), (3, 8, 4, 64), (4, 8, 2, 64), (6, 16, 4, 256), (2, 4, 4, 16)],
)
@pytest.mark.parametrize("made", [like_softmax, like_masked])
def test_attentions_by_distance_are_the_same(
    made: Callable[[int, int, int], g.Graph], heads: int, tokens: int, features: int, slots: int
) -> None:
    graph = made(heads, tokens, features)
    program = planned(graph, slots)
    random = np.random.default_rng(2)
    inputs = [random.normal(size=(1, *each.shape)) for each in graph.inputs]
    expected = evaluate(graph, *inputs)
    table = np.concatenate([each.reshape(1, -1) for each in inputs], axis=1)
    levels = [each.level for each in program.program.operations if isinstance(each, Input)]
    packed = zip(program.pack(table), levels, strict=True)
    results = run_in_order(
        program.program, ClearBackend(), [ClearVector(vector, level) for vector, level in packed]
    )
    found = program.unpack([each.slots for each in results], 1)
    np.testing.assert_allclose(found, expected.reshape(1, -1), rtol=1e-9, atol=1e-9)
    polynomials = [node for node in graph.nodes if isinstance(node.operation, g.PolynomialLayer)]
    assert len(program.ranges) == len(polynomials)


def test_the_counts_of_an_attention_by_distance() -> None:
    """One product a distance and block; turns share what they can, and keys are few."""
    program = planned(attention(4, 8, 4), 64).program
    counts = Counter(type(each) for each in program.operations)
    assert counts[Mul] == 2 * 8
    turned = {each.steps for each in program.operations if isinstance(each, Rotate)}
    # To the next distance, whole tokens on, and by one slot both ways.
    assert turned == {7, 16, 32, 48, 63, 1}
    diagonals = [len(each.diagonals) for each in program.operations if isinstance(each, Linear)]
    assert diagonals.count(2) == 2 * 8


@pytest.mark.parametrize(
    "behind",
    [
        g.LinearLayer(np.arange(16.0).reshape(4, 4), np.zeros(4)),
        g.LinearLayer(np.ones((4, 4)), np.arange(4.0)),
        g.Rearrange(np.arange(32)[::-1], (2, 4, 4)),
    ],
)
def test_where_the_order_of_tokens_counts_there_is_none(behind: g.Operation) -> None:
    assert not [*attentions(attention(2, 4, 4, behind), 16)]


@pytest.mark.parametrize(
    ("heads", "tokens", "features", "slots"),
    [(2, 6, 4, 48), (2, 8, 3, 32), (3, 8, 2, 64), (2, 4, 8, 64), (2, 4, 4, 64)],
)
def test_where_sizes_do_not_fit_there_is_none(
    heads: int, tokens: int, features: int, slots: int
) -> None:
    assert not [*attentions(attention(heads, tokens, features), slots)]


def test_products_that_are_results_stay() -> None:
    nodes = list(attention(2, 4, 4).nodes[:-1])
    for name, made in (("y", 4), ("products", 3)):
        g.appended(nodes, name, g.OutputLayer(), made)
    assert not [*attentions(g.build(nodes), 16)]


def test_every_head_and_distance_has_a_place() -> None:
    for sizes in ((8, 3, 4, 4), (128, 12, 32, 256), (128, 12, 64, 256), (8, 7, 4, 8)):
        distances = Distances(*sizes)
        assert distances.is_possible
        assert sorted(distances.table().ravel()) == [*range(distances.results)]
    assert not replace(distances, row=16).is_possible
