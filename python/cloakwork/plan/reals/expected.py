"""The errors to expect of a program's results, from runs in the clear with modelled noise."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.simulate import results
from cloakwork.schemes.ckks_noise import NoiseModel

# How likely any result of a run may have an error that exceeds the largest to expect.
_EXCESS = 2.0**-20
# Errors that are drawn for each result, if nothing else is asked for.
_DRAWS = 4
# Errors that a deviation is estimated from: of a few, all may be small by chance.
_NOISY_RESULTS = 16
# So many results say as much in two draws, of which one finds the largest errors.
_MANY_RESULTS, _FEWEST = 1 << 10, 2
# So are they for a program that makes so many numbers: each draw takes seconds, and the few results
# of several runs are looked at together.
_MANY_NUMBERS = 1 << 28
# How far off the deviation of so many numbers is itself, in bits.
DRAWN_BITS = math.log2(1 + 1 / math.sqrt(2 * _NOISY_RESULTS))
# Modelled noise of single operations is rough: errors were 1.4 times as large in some hundred
# networks.
ROUGH = 2.0
# Errors from which on no scale would help, whatever it is: polynomials are far beyond their ranges.
OUTGROWN = 2.0**100

_Array: TypeAlias = NDArray[np.float64]


class Readable(Protocol):
    """A program whose results can be read."""

    @property
    def program(self) -> SlotProgram:
        """The program."""
        ...

    def unpack(self, vectors: Sequence[_Array], width: int) -> _Array:
        """The elements of all results, those of an entry of a batch in a row."""
        ...


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


def expected_error(
    readable: Readable,
    runs: Sequence[ClearRun],
    noise: NoiseModel,
    draws: int = _DRAWS,
    enough: float = math.inf,
) -> float:
    """The largest error to expect of any of some runs under noise.

    Errors grow with noise evenly, but not those of numbers that it takes beyond a polynomial's
    range. Rounding meets the secret, and the noise of a slot is its deviation times the secret's
    size there: both are Gaussian, and their product is above t deviations with probability
    exp(-sqrt(2) t). So errors are drawn under noise of both sizes, the usual one and that of the
    noisiest slot. Of many results, or of a long program, it is the run with the largest usual
    errors whose noisiest are drawn. Of many, each slot has a size of its own, as no secret is as
    large as that everywhere.

    Args:
        readable: The program.
        runs: Runs in the clear.
        noise: The noise.
        draws: Errors that are drawn for each result, two at least.
        enough: An error from which on no further runs are looked at: the first that is as large is
            returned.
    """
    size = runs[0].results.size
    is_long = len(readable.program.operations) * readable.program.slots >= _MANY_NUMBERS
    if is_long or size >= _MANY_RESULTS:
        draws = _FEWEST
    else:
        draws = max(draws, _FEWEST, -(-_NOISY_RESULTS // size))
    # The tail of a Gaussian is below exp(-x^2 / 2) on either side.
    tail = math.sqrt(2 * math.log(2 * size / _EXCESS))
    drawn: list[_Array] = []
    deviations: list[float] = []
    for run in runs:
        drawn.append(_drawn(readable, run, noise, draws))
        deviations.append(_deviation(drawn[-1]))
        if not deviations[-1] * tail < enough:
            return deviations[-1] * tail
    usual = _deviation(np.concatenate(drawn, axis=1))
    if size < _MANY_RESULTS:
        times = math.log(size / _EXCESS) / math.sqrt(2)
        noisier = replace(noise, times=times)
        again = [runs[int(np.argmax(deviations))]] if is_long else runs
        most = np.concatenate([_drawn(readable, run, noisier, draws) for run in again], axis=1)
        return _largest(usual, _deviation(most) / times, tail)
    worst = int(np.argmax(deviations))
    sizes = _sizes_of_secret(readable.program.slots)
    noisier = replace(noise, times=sizes)
    seen = max(_mean_size(drawn[worst]) * _mean_size(sizes), 2.0**-52)
    growth = _mean_size(_drawn(readable, runs[worst], noisier, draws)) / seen
    return _largest(usual, usual * growth, tail)


def larger_error(one: float, other: float) -> float:
    """The larger of two errors; no number where either is none.

    Example:
        >>> larger_error(0.25, math.nan), larger_error(0.25, 0.5)
        (nan, 0.5)
    """
    return float(np.maximum(one, other))


def _largest(usual: float, noisiest: float, tail: float) -> float:
    """So many of the larger deviation."""
    return larger_error(larger_error(usual, noisiest) * tail, 2.0**-52)


def _mean_size(numbers: _Array) -> float:
    """The root of the mean of squares."""
    with np.errstate(over="ignore", invalid="ignore"):
        return math.sqrt(np.mean(numbers**2))


def _sizes_of_secret(slots: int) -> _Array:
    """How large a secret is at each slot, whose largest is one that none exceeds but for a chance.

    Squares of complex Gaussian numbers fall off as exp(-x). All are larger than usual by as much as
    the largest of them is.
    """
    squares = np.random.default_rng(slots).exponential(size=slots)
    return np.asarray(np.sqrt(squares * math.log(slots / _EXCESS) / squares.max()))


def _drawn(readable: Readable, run: ClearRun, noise: NoiseModel, draws: int) -> _Array:
    """Errors of the results of a run, one draw in a row."""
    # Runs of one seed have the same noise, and where nothing multiplies values the same errors.
    copies = run.copies
    repeats = -(-draws // copies)

    def errors(seed: int) -> _Array:
        made = results(readable.program, run.inputs, replace(noise, seed=seed))
        found = readable.unpack(made, copies * len(run.results))
        return (found.reshape(copies, *run.results.shape) - run.results).reshape(copies, -1)

    with ThreadPoolExecutor(min(repeats, os.cpu_count() or 1)) as threads:
        return np.concatenate([*threads.map(errors, range(repeats))])


def _deviation(drawn: _Array) -> float:
    """The deviation of the results that have the largest errors."""
    # Some numbers have larger errors than others. One half of the draws finds these numbers, the
    # other half, which they were not chosen by, gives their deviation.
    found, fresh = drawn[::2], drawn[1::2]
    few = -(-_NOISY_RESULTS // len(fresh))
    # Numbers beyond a double have an infinite deviation, which the caller refuses.
    with np.errstate(over="ignore", invalid="ignore"):
        largest = fresh[:, np.argsort(np.mean(found**2, axis=0))[-few:]]
        return max(_mean_size(drawn), _mean_size(largest))
