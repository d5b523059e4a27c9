"""How far inputs are searched for, by what a run of the network takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from cloakwork.programs.ir import layers as g

# Products that a search may take, of which a core makes some 2^33 a second.
_MOST_PRODUCTS = 1 << 36
# What a number by itself takes, read and written, in numbers that are multiplied in matrices.
_ALONE = 8
# Directions along which factors grow most, for each start.
_ALIGNED = 4


@dataclass(frozen=True, slots=True)
class Effort:
    """How far inputs are searched for.

    Args:
        starts: Lines of each round, and inputs that the first ones start from.
        rounds: Rounds.
        halvings: Halvings of the distance to where the first layer leaves its range.
        draws: Errors that growth is estimated from.
    """

    starts: int
    rounds: int
    halvings: int
    draws: int

    @property
    def aligned(self) -> int:
        """Lines of the first round beside those of the starts."""
        return _ALIGNED * self.starts

    @property
    def runs(self) -> int:
        """Runs of the network, at most.

        Example:
            >>> Effort(starts=2, rounds=1, halvings=6, draws=2).runs
            98
        """
        growths = self.draws + 1
        lines = self.rounds * self.starts + self.aligned
        return self.starts * (1 + growths) + lines * (self.halvings + growths)


# Where one takes too much the next one does.
_EFFORTS = (
    Effort(32, 3, 10, 4),
    Effort(16, 2, 8, 3),
    Effort(8, 2, 8, 2),
    Effort(4, 1, 6, 2),
    Effort(2, 1, 6, 2),
)
_LEAST = Effort(1, 1, 4, 1)


def effort_for(graph: g.Graph) -> Effort:
    """What a search may take in a network.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((2,)), (), [])]
        >>> effort_for(g.build([*nodes, g.node("y", g.OutputLayer(), (0,), nodes)])).starts
        32
    """
    products = sum(_products(graph, node) for node in graph.nodes)
    within = (each for each in _EFFORTS if each.runs * products <= _MOST_PRODUCTS)
    return next(within, _LEAST)


def _products(graph: g.Graph, node: g.Node) -> int:
    """What a layer takes, in products of matrices' numbers."""
    numbers = prod(node.shape)
    match node.operation:
        case g.LinearLayer(weight=weight) | g.ConvolutionLayer(weight=weight):
            return numbers * (prod(weight.shape[1:]) + _ALONE)
        case g.Contraction(summed=summed):
            left, right = (graph.nodes[operand].shape for operand in node.inputs)
            sizes = node.operation.sizes(left, right)
            return numbers * (prod(sizes[letter] for letter in summed) + _ALONE)
        case g.PolynomialLayer(coefficients=coefficients):
            return numbers * len(coefficients) * _ALONE
        case g.AveragePool(kernel=kernel):
            return numbers * prod(kernel) * _ALONE
        case _:
            return numbers * _ALONE
