"""The errors to expect of a network's results, from runs in the clear with modelled noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.lower import LoweredNetwork
from cloakwork.runtime.simulate import results
from cloakwork.schemes.ckks_noise import NoiseModel

# How likely any result of a run may have an error that exceeds the largest to expect.
_EXCESS = 2.0**-20
# Errors that are drawn for each result.
_DRAWS = 4
# Errors that a deviation is estimated from: of a few, all may be small by chance.
_NOISY_RESULTS = 16

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Run:
    """A run in the clear: packed inputs, and the exact results of each input in a row."""

    inputs: list[_Array]
    results: _Array


def exact_runs(network: LoweredNetwork, batches: Sequence[_Array]) -> list[Run]:
    """Runs of a network without noise, one for each batch of a ciphertext's width."""
    packed = [(network.pack(rows), len(rows)) for rows in batches]
    return [
        Run(inputs, network.unpack(results(network.program, inputs), width))
        for inputs, width in packed
    ]


def expected_error(network: LoweredNetwork, runs: Sequence[Run], noise: NoiseModel) -> float:
    """The largest error to expect of any of some runs under noise."""
    repeats = max(_DRAWS, -(-_NOISY_RESULTS // sum(run.results.size for run in runs)))
    drawn = [
        [
            network.unpack(
                results(network.program, run.inputs, replace(noise, seed=seed)), len(run.results)
            )
            - run.results
            for run in runs
        ]
        for seed in range(repeats)
    ]
    # Numbers beyond a double have an infinite deviation, which the caller refuses.
    with np.errstate(over="ignore", invalid="ignore"):
        found = _largest_error(np.reshape(drawn, (repeats, -1)), runs[0].results.size)
    return max(found, 2.0**-52)


def _largest_error(drawn: _Array, results: int) -> float:
    """A bound that an error of a run exceeds with negligible probability.

    Args:
        drawn: Errors, those of one number in a column.
        results: Numbers that a run results in.
    """
    # Some numbers have larger errors than others. One half of the draws finds these numbers, the
    # other half, which they were not chosen by, gives their deviation.
    found, fresh = drawn[::2], drawn[1::2]
    few = -(-_NOISY_RESULTS // len(fresh))
    largest = fresh[:, np.argsort(np.mean(found**2, axis=0))[-few:]]
    deviation = math.sqrt(max(np.mean(drawn**2), np.mean(largest**2)))
    # The tail of a Gaussian is below exp(-x^2 / 2) on either side.
    return deviation * math.sqrt(2 * math.log(2 * results / _EXCESS))
