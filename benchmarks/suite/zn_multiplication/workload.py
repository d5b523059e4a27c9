"""What the stages of zn-multiplication share: sizes, files, and the digits of numbers."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.suite.stages import Stages

# Pairs of a run; those of a size are a multiple. The cheapest ring has a slot for each of 4096.
_PAIRS = {"single": 1, "small": 1000, "medium": 4000, "large": 4000}
# Of digits to the base 2^16 sums of four products are below 2^35, which takes two small primes.
DIGITS, LARGEST_DIGIT = 4, 2**16 - 1
_SHIFTS = np.arange(DIGITS, dtype=np.uint64) * np.uint64(16)


def digits(numbers: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Numbers as rows of digits, the lowest first."""
    return ((numbers[:, None] >> _SHIFTS) & np.uint64(LARGEST_DIGIT)).astype(np.int64)


def carried(rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The numbers modulo 2^64 whose digits, which may exceed the base, are given as rows."""
    numbers: NDArray[np.uint64] = (rows << _SHIFTS).sum(axis=1, dtype=np.uint64)
    return numbers


@dataclass(frozen=True)
class Workload(Stages):
    """One size of the workload."""

    secrets = "private_keys"

    @property
    def pairs_of_run(self) -> int:
        """How many pairs are multiplied at once."""
        return _PAIRS[self.name]

    def numbers(self, name: str) -> NDArray[np.int64]:
        """The digits of a file of the harness's data, the pairs of a run along the second axis."""
        numbers = np.loadtxt(self.data(name), dtype=np.uint64, ndmin=1)
        return digits(numbers).reshape(-1, self.pairs_of_run, DIGITS)


def asked() -> Workload:
    """The workload that the harness's arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("name", choices=_PAIRS)
    known, _ = parser.parse_known_args()
    return Workload(known.name)
