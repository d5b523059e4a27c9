"""Slopes of layers are what small moves of the input change them by."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from cloakwork.plan.networks.errors.gradients import Gradients
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import values

_STEP = 1e-5


def images(generator: np.random.Generator) -> list[g.Node]:
    nodes = [g.node("x", g.InputLayer((4, 6, 5), 1.0), (), [])]
    kernel = generator.normal(size=(6, 2, 3, 2))
    whole = g.ConvolutionLayer(
        kernel, np.zeros(6), stride=(2, 1), padding=((1, 0), (2, 1)), dilation=(1, 2), groups=2
    )
    pool = g.AveragePool((2, 3), (1, 2), ((1, 0), (1, 1)), padding_counts=False)
    layers: list[g.Operation] = [whole, g.Activation("silu"), pool]
    for name, layer in zip(("convolution", "silu", "pool"), layers, strict=True):
        nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
    return nodes


def vectors(generator: np.random.Generator) -> list[g.Node]:
    nodes = [g.node(name, g.InputLayer((2, 3), 1.0), (), []) for name in "xy"]
    weight, twice = generator.normal(size=(4, 3)), np.array([0, 3, 3, -1, 7, 2, 5, 5, 1, 0, -1, 6])
    scale = generator.normal(size=(2, 1))
    layers: list[tuple[str, g.Operation, tuple[int, ...]]] = [
        ("linear", g.LinearLayer(weight, np.ones(4)), (0,)),
        ("taken", g.Rearrange(twice, (3, 4)), (2,)),
        ("beside", g.Concatenate(1), (0, 1)),
        ("affine", g.Affine(scale, scale), (4,)),
        ("reshaped", g.Rearrange(np.arange(12), (3, 4)), (5,)),
        ("product", g.Multiply(), (3, 6)),
        ("cube", g.PolynomialLayer((0.5, 1.0, 0.0, 2.0), "monomial", -9.0, 9.0), (7,)),
        ("sum", g.AddLayer(), (8, 6)),
        ("scores", g.Contraction("ij", "kj", "ki"), (9, 6)),
        ("mixed", g.Contraction("ki", "ij", "kij"), (10, 9)),
    ]
    for name, layer, inputs in layers:
        nodes.append(g.node(name, layer, inputs, nodes))
    return nodes


@pytest.mark.parametrize("make", [images, vectors])
@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_those_of_small_moves(
    make: Callable[[np.random.Generator], list[g.Node]], seed: int
) -> None:
    generator = np.random.default_rng(seed)
    nodes = make(generator)
    nodes.append(g.node("y", g.OutputLayer(), (len(nodes) - 1,), nodes))
    graph = g.build(nodes)
    size = sum(int(np.prod(each.shape)) for each in graph.inputs)
    start = generator.normal(size=size)
    moved = start + _STEP * np.concatenate([np.eye(size), -np.eye(size)])
    gradients = Gradients(graph, start)
    for number, made in enumerate(values(graph, moved)):
        above, below = np.split(made.reshape(len(moved), -1), 2)
        elements = generator.integers(above.shape[1], size=3).tolist()
        expected = ((above - below) / (2 * _STEP)).T[elements]
        assert np.allclose(gradients.of(number, elements), expected, atol=1e-6)
