"""The inputs of a network that its errors are simulated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.errors.worst_case_inputs import WorstCaseInputs
from cloakwork.plan.networks.lower import LoweredNetwork
from cloakwork.plan.reals.expected import ClearRun
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import results as layer_results

# Batches of inputs whose errors are simulated, and where a batch has so many results.
_RUNS, _RUNS_OF_MANY = 2, 1
_MANY_RESULTS = 1 << 13

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ExactBatch:
    """A batch of a ciphertext's width, and what the network makes of it.

    Args:
        rows: The inputs, one a row.
        results: The results of each in a row, which are those of all its programs without noise.
    """

    rows: _Array
    results: _Array

    @classmethod
    def of(cls, graph: g.Graph, inputs: _Array, width: int) -> list[ExactBatch]:
        """Inputs, one a row, in batches of a width."""
        numbers = np.arange(-(-len(inputs) // width) * width) % len(inputs)
        batches = inputs[numbers].reshape(-1, width, inputs.shape[1])
        return [cls(rows, layer_results(graph, rows)) for rows in batches]

    @property
    def largest(self) -> float:
        """The largest absolute value of any result."""
        return float(np.abs(self.results).max())


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedInputs:
    """The inputs that errors are simulated on, in batches of a ciphertext's width.

    Args:
        usual: Inputs such as a network is to be run on, those that lead to the largest numbers and
            those that errors grow most by.
        worst: Other inputs that are accepted, the ones that errors grow most by.
        copies: How often a batch stands in the slots, where each slot has an error of its own.
    """

    usual: Sequence[ExactBatch]
    worst: Sequence[ExactBatch]
    copies: int = 1

    @classmethod
    def of(
        cls, graph: g.Graph, calibration: Calibration, searched: WorstCaseInputs, width: int
    ) -> SimulatedInputs:
        """Of a calibration's outermost inputs, some of all kinds, and the first of the worst."""
        results = width * sum(prod(each.shape) for each in graph.outputs)
        most = _RUNS if results < _MANY_RESULTS else _RUNS_OF_MANY
        runs = min(most, -(-len(calibration.spread) // width))
        kinds = np.linspace(0, len(calibration.spread) - 1, runs * width).round().astype(np.int64)
        spread = ExactBatch.of(graph, calibration.spread[kinds], width)
        usual = ExactBatch.of(graph, calibration.outermost, width) + spread
        # Errors are largest where numbers are, more often than not; those of a softmax are not.
        usual = sorted(usual, key=lambda each: each.largest)
        growing = ExactBatch.of(graph, searched.usual[:width], width)
        worst = ExactBatch.of(graph, searched.worst[: most * width], width)
        return cls(usual[-most:] + growing, worst)

    def usual_runs(self, network: LoweredNetwork) -> list[ClearRun]:
        """Runs of a network on the usual inputs."""
        return [self._run(network, batch) for batch in self.usual]

    def worst_runs(self, network: LoweredNetwork) -> list[ClearRun]:
        """Runs of a network on the worst inputs."""
        return [self._run(network, batch) for batch in self.worst]

    def _run(self, network: LoweredNetwork, batch: ExactBatch) -> ClearRun:
        inputs = network.pack(np.tile(batch.rows, (self.copies, 1)))
        return ClearRun(inputs, batch.results, self.copies)
