"""The inputs of a network that its errors are simulated on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.errors.worst_case_inputs import WorstCaseInputs
from cloakwork.plan.networks.lower import LoweredNetwork
from cloakwork.plan.reals.expected import ClearRun
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import results as layer_results
from cloakwork.runtime.simulate import results

# Batches of inputs whose errors are simulated.
_RUNS = 2

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SimulatedInputs:
    """The inputs that errors are simulated on, in batches of a ciphertext's width.

    Args:
        usual: Inputs such as a network is to be run on, those that lead to the largest numbers and
            those that errors grow most by.
        worst: Other inputs that are accepted, the ones that errors grow most by.
        copies: How often a batch stands in the slots, where each slot has an error of its own.
    """

    usual: Sequence[_Array]
    worst: Sequence[_Array]
    copies: int = 1

    @classmethod
    def of(
        cls, graph: g.Graph, calibration: Calibration, searched: WorstCaseInputs, width: int
    ) -> SimulatedInputs:
        """Of a calibration's outermost inputs, some of all kinds, and the first of the worst."""
        runs = min(_RUNS, -(-len(calibration.spread) // width))
        kinds = np.linspace(0, len(calibration.spread) - 1, runs * width).round().astype(np.int64)
        spread = _batches(calibration.spread[kinds], width)
        usual = _batches(calibration.outermost, width) + spread
        # Errors are largest where numbers are, more often than not; those of a softmax are not.
        usual = sorted(usual, key=lambda rows: float(np.abs(layer_results(graph, rows)).max()))
        growing = _batches(searched.usual, width)[:1]
        return cls(usual[-_RUNS:] + growing, _batches(searched.worst, width)[:_RUNS])

    def usual_runs(self, network: LoweredNetwork) -> list[ClearRun]:
        """Runs of a network on the usual inputs."""
        return exact_runs(network, self.usual, self.copies)

    def worst_runs(self, network: LoweredNetwork) -> list[ClearRun]:
        """Runs of a network on the worst inputs."""
        return exact_runs(network, self.worst, self.copies)


def _batches(inputs: _Array, width: int) -> list[_Array]:
    """Inputs, one a row, in batches of a ciphertext's width."""
    numbers = np.arange(-(-len(inputs) // width) * width) % len(inputs)
    return list(inputs[numbers].reshape(-1, width, inputs.shape[1]))


def exact_runs(network: LoweredNetwork, batches: Sequence[_Array], copies: int) -> list[ClearRun]:
    """Runs of a network without noise, one for each batch of inputs."""
    made: list[ClearRun] = []
    for rows in batches:
        inputs = network.pack(np.tile(rows, (copies, 1)))
        found = network.unpack(results(network.program, inputs), copies * len(rows))
        made.append(ClearRun(inputs, found[: len(rows)], copies))
    return made
