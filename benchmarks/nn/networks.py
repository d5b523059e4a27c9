"""Networks of the literature with random weights, as graphs of layers."""

from __future__ import annotations

from math import prod

import numpy as np

from cloakwork.programs.ir import layers as g

SQUARE = g.PolynomialLayer((0.0, 0.0, 1.0), "monomial", -np.inf, np.inf)


def network(shape: g.Shape, *layers: g.Operation) -> g.Graph:
    """Layers one after another, numbered."""
    nodes = [g.node("input", g.InputLayer(shape, 1.0), (), [])]
    for number, layer in enumerate((*layers, g.OutputLayer())):
        nodes.append(g.node(str(number), layer, (len(nodes) - 1,), nodes))
    return g.build(nodes)


class Weights:
    """Random layers whose results are about as large as their operands."""

    def __init__(self, seed: int = 0) -> None:
        self._generator = np.random.default_rng(seed)

    def linear(self, outer: int, inner: int) -> g.LinearLayer:
        return g.LinearLayer(self._normal((outer, inner), inner), self._normal((outer,), 100))

    def convolution(
        self, outer: int, inner: int, kernel: int, stride: int = 1, padding: int = 0
    ) -> g.ConvolutionLayer:
        shape = (outer, inner, kernel, kernel)
        return g.ConvolutionLayer(
            self._normal(shape, prod(shape[1:])),
            self._normal((outer,), 100),
            (stride, stride),
            ((padding, padding), (padding, padding)),
        )

    def norm(self, channels: int, *others: int) -> g.Affine:
        shape = (channels, *others)
        return g.Affine(1 + self._normal(shape, 100), self._normal(shape, 100))

    def _normal(self, shape: g.Shape, variance: int) -> g.Array:
        return self._generator.normal(0, variance**-0.5, shape)


def flatten(size: int) -> g.Rearrange:
    return g.Rearrange(np.arange(size), (size,))


def mlp() -> g.Graph:
    """784-128-128-10."""
    w = Weights()
    return network(
        (784,),
        *(w.linear(128, 784), w.norm(128), SQUARE),
        *(w.linear(128, 128), w.norm(128), SQUARE),
        w.linear(10, 128),
    )


def lola() -> g.Graph:
    """LoLA (Brutzkus, Elisha, Gilad-Bachrach, 2019): a convolution and two dense layers."""
    w = Weights()
    return network(
        (1, 28, 28),
        *(w.convolution(5, 1, kernel=2, stride=2), w.norm(5, 1, 1), SQUARE, flatten(980)),
        *(w.linear(100, 980), w.norm(100), SQUARE),
        w.linear(10, 100),
    )


def lenet() -> g.Graph:
    """Two strided convolutions and two dense layers."""
    w = Weights()
    return network(
        (1, 28, 28),
        *(w.convolution(32, 1, kernel=5, stride=2, padding=2), w.norm(32, 1, 1), SQUARE),
        *(w.convolution(64, 32, kernel=5, stride=2, padding=2), w.norm(64, 1, 1), SQUARE),
        flatten(3136),
        *(w.linear(512, 3136), w.norm(512), SQUARE),
        w.linear(10, 512),
    )
