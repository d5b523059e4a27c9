"""Fits of a network tried on inputs: the numbers that layers receive, and how far off results are.

A run of a deep network takes seconds. So both are found in one, and a fit that a few inputs refuse
is run on no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.calibration import Extremes, calibrate
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import by_parts, computed_layers, results

# Inputs that are tried before all.
_FEW = 4


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """A run of a network on inputs, the operands of its layers clipped to their ranges.

    Args:
        lows: The smallest number of every node's results, not clipped.
        highs: The largest.
        error: How far any result is from that of the exact network.
    """

    lows: g.Array
    highs: g.Array
    error: float

    def is_within(self, graph: g.Graph) -> bool:
        """Whether no layer received numbers outside its range."""
        lows, highs = np.array(g.operand_ranges(graph)).T
        return bool((lows <= self.lows).all() and (self.highs <= highs).all())


@dataclass(frozen=True, slots=True, eq=False)
class TriedInputs:
    """Inputs that fits are tried on.

    Args:
        rows: Inputs whose results are compared, one a row.
        exact: The results of the exact network.
        others: Batches of inputs that are to stay in range as well.
    """

    rows: g.Array
    exact: g.Array
    others: Iterable[g.Array] = ()

    @classmethod
    def of(cls, graph: g.Graph, rows: g.Array, others: Iterable[g.Array] = ()) -> TriedInputs:
        """Inputs of an exact network.

        Example:
            >>> nodes = [g.node("x", g.InputLayer((1,)), (), [])]
            >>> graph = g.build([*nodes, g.node("y", g.OutputLayer(), (0,), nodes)])
            >>> TriedInputs.of(graph, np.array([[2.0], [3.0]])).trial(graph).highs.tolist()
            [3.0, 3.0]
        """
        return cls(rows, results(graph, rows), others)

    def few(self) -> TriedInputs:
        """Some of them, spread evenly."""
        step = -(-len(self.rows) // _FEW)
        return TriedInputs(self.rows[::step], self.exact[::step])

    def trial(self, graph: g.Graph) -> Trial:
        """A run of a network of fits; of others only where the first ones stay in range."""
        seen, error = Extremes.of_nothing(graph), 0.0
        numbers = np.arange(len(self.rows))
        for part, off in by_parts(graph, lambda part: self._part(graph, part), numbers):
            seen.take_in(part)
            error = max(error, off)
        tried = Trial(seen.lows, seen.highs, error)
        if not self.others or not tried.is_within(graph):
            return tried
        more = calibrate(graph, self.others, within_range)
        return Trial(np.minimum(seen.lows, more.lows), np.maximum(seen.highs, more.highs), error)

    def _part(self, graph: g.Graph, numbers: NDArray[Any]) -> tuple[Extremes, float]:
        """Of some rows, by their numbers."""
        made: list[g.Array] = []

        def compute(node: g.Node, operands: Sequence[g.Array]) -> g.Array:
            value = within_range(node, operands)
            if isinstance(node.operation, g.OutputLayer):
                made.append(value.reshape(len(numbers), -1))
            return value

        seen = Extremes.of(graph, self.rows[numbers], compute)
        wrong = np.abs(np.concatenate(made, axis=1) - self.exact[numbers])
        return seen, float(wrong.max(initial=0.0))


def within_range(node: g.Node, operands: Sequence[g.Array]) -> g.Array:
    """The operation of a node, its operands clipped to the ranges that it expects."""
    ranges = g.expected_ranges(node.operation)
    if ranges:
        operands = [np.clip(each, *ends) for each, ends in zip(operands, ranges, strict=True)]
    return computed_layers(node, operands)
