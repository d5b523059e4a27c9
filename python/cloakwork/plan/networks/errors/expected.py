"""The errors to expect of a network's results, from runs in the clear with modelled noise."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.errors.worst_case_inputs import WorstCaseInputs
from cloakwork.plan.networks.lower import LoweredNetwork
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import results as layer_results
from cloakwork.runtime.simulate import results
from cloakwork.schemes.ckks_noise import NoiseModel

# How likely any result of a run may have an error that exceeds the largest to expect.
_EXCESS = 2.0**-20
# Errors that are drawn for each result.
_DRAWS = 4
# Errors that a deviation is estimated from: of a few, all may be small by chance.
_NOISY_RESULTS = 16
# How far off the deviation of so many numbers is itself, in bits.
DRAWN_BITS = math.log2(1 + 1 / math.sqrt(2 * _NOISY_RESULTS))
# Batches of inputs whose errors are simulated.
_RUNS = 2
# Modelled noise of single operations is rough: errors were 1.4 times as large in some hundred
# networks.
ROUGH = 2.0
# Errors from which on no scale would help, whatever it is: polynomials are far beyond their ranges.
OUTGROWN = 2.0**100

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class ClearRun:
    """A run in the clear.

    Args:
        inputs: Packed inputs, all of them several times one after the other.
        results: The exact results of each input in a row.
        copies: How often.
    """

    inputs: list[_Array]
    results: _Array
    copies: int


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


def expected_error(network: LoweredNetwork, runs: Sequence[ClearRun], noise: NoiseModel) -> float:
    """The largest error to expect of any of some runs under noise.

    Errors grow with noise evenly, but not those of numbers that it takes beyond a polynomial's
    range. Rounding meets the secret, and the noise of a slot is its deviation times the secret's
    size there: both are Gaussian, and their product is above t deviations with probability
    exp(-sqrt(2) t). So errors are drawn under noise of both sizes, the usual one and that of the
    noisiest slot.
    """
    results = runs[0].results.size
    times = math.log(results / _EXCESS) / math.sqrt(2)
    usual = _deviation(_drawn(network, runs, noise))
    noisiest = _deviation(_drawn(network, runs, replace(noise, times=times))) / times
    # The tail of a Gaussian is below exp(-x^2 / 2) on either side.
    return max(max(usual, noisiest) * math.sqrt(2 * math.log(2 * results / _EXCESS)), 2.0**-52)


def _drawn(network: LoweredNetwork, runs: Sequence[ClearRun], noise: NoiseModel) -> _Array:
    """Errors of the results of some runs, one draw of each run in a row."""
    # Runs of one seed have the same noise, and where nothing multiplies values the same errors.
    draws, copies = max(_DRAWS, -(-_NOISY_RESULTS // runs[0].results.size)), runs[0].copies
    repeats = -(-draws // copies)

    def errors(seed: int, run: ClearRun) -> _Array:
        made = results(network.program, run.inputs, replace(noise, seed=seed))
        found = network.unpack(made, copies * len(run.results))
        return found.reshape(copies, *run.results.shape) - run.results

    seeds = [seed for seed in range(repeats) for _ in runs]
    with ThreadPoolExecutor(min(len(seeds), os.cpu_count() or 1)) as threads:
        drawn = list(threads.map(errors, seeds, [*runs] * repeats))
    by_draw = np.reshape(drawn, (repeats, len(runs), copies, -1)).swapaxes(1, 2)
    return by_draw.reshape(repeats * copies, -1)


def _deviation(drawn: _Array) -> float:
    """The deviation of the results that have the largest errors."""
    # Some numbers have larger errors than others. One half of the draws finds these numbers, the
    # other half, which they were not chosen by, gives their deviation.
    found, fresh = drawn[::2], drawn[1::2]
    few = -(-_NOISY_RESULTS // len(fresh))
    # Numbers beyond a double have an infinite deviation, which the caller refuses.
    with np.errstate(over="ignore", invalid="ignore"):
        largest = fresh[:, np.argsort(np.mean(found**2, axis=0))[-few:]]
        return math.sqrt(max(np.mean(drawn**2), np.mean(largest**2)))
