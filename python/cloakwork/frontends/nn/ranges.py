"""Whether a network's activations stay within the ranges that they were fitted to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cloakwork.errors import ActivationRangeError
from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.evaluate import values

# What rounding may add at the end of a range.
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Excess:
    """An activation that met numbers outside its range.

    Args:
        layer: Its name in the module.
        low: Lower end of its range.
        high: Upper end of its range.
        smallest: The smallest number that it met.
        largest: The largest number that it met.
        inputs: Which inputs of the batch did that.
    """

    layer: str
    low: float
    high: float
    smallest: float
    largest: float
    inputs: tuple[int, ...]

    def __str__(self) -> str:
        """The layer, its range, and what came."""
        return (
            f"{self.layer!r} is fitted to [{self.low:.4g}, {self.high:.4g}] and met "
            f"[{self.smallest:.4g}, {self.largest:.4g}] for inputs {[*self.inputs[:8]]}"
        )


def excesses(graph: g.Graph, batch: g.Array) -> tuple[Excess, ...]:
    """Every activation of a fitted network that a batch drives out of its range.

    Raises:
        ShapeMismatchError: The batch is not one of inputs of the network's shape.

    >>> import numpy as np
    >>> from cloakwork.frontends.nn import graph as g
    >>> nodes = [g.node("x", g.Input((1,)), (), [])]
    >>> nodes.append(g.node("square", g.Polynomial((0, 0, 1), "monomial", -1, 1), (0,), nodes))
    >>> nodes.append(g.node("y", g.Output(), (1,), nodes))
    >>> print(*excesses(g.build(nodes), np.array([[0.5], [2.0]])))
    'square' is fitted to [-1, 1] and met [0.5, 2] for inputs [1]
    """
    found: list[Excess] = []
    kept: dict[int, g.Array] = {}
    fitted = {node.inputs[0] for node in graph.nodes if isinstance(node.operation, g.Polynomial)}
    for number, result in enumerate(values(graph, batch)):
        node = graph.nodes[number]
        if number in fitted:
            kept[number] = result
        if isinstance(node.operation, g.Polynomial):
            excess = _excess(node.name, node.operation, kept[node.inputs[0]])
            found += [] if excess is None else [excess]
    return tuple(found)


def require_within_ranges(graph: g.Graph, batch: g.Array) -> None:
    """Refuse a batch that drives an activation of a fitted network out of its range.

    Raises:
        ActivationRangeError: It does; the message names each such layer.
        ShapeMismatchError: The batch is not one of inputs of the network's shape.
    """
    found = excesses(graph, batch)
    if found:
        raise ActivationRangeError(
            "cannot evaluate the network: expected activations within the ranges that they were "
            f"fitted to, but {'; '.join(map(str, found))}; calibrate on such inputs, or with a "
            "wider margin"
        )


def _excess(layer: str, polynomial: g.Polynomial, x: g.Array) -> Excess | None:
    low, high = polynomial.low, polynomial.high
    slack = _TOLERANCE * max(abs(low), abs(high))
    outside = (x < low - slack) | (x > high + slack)
    if not outside.any():
        return None
    inputs = np.flatnonzero(outside.reshape(len(x), -1).any(axis=1))
    return Excess(layer, low, high, float(x.min()), float(x.max()), tuple(map(int, inputs)))
