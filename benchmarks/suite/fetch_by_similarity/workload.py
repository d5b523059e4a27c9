"""What the stages of fetch-by-similarity share: sizes, files, and how the table is searched."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw
from benchmarks.suite.stages import Stages

# The rule: rows with a cosine above this, and how many of them are compared with payloads.
THRESHOLD, MOST, PAYLOAD = 0.8, 32, 7
_NAMES = "toy", "small", "medium", "large"
_DIMENSIONS = dict(zip(_NAMES, (128, 128, 256, 512), strict=True))
# The bytes that the encrypted table of a size may take on disk, where they are limited.
_BUDGETS = {"medium": 4_000_000_000}
# How far from the threshold rows are to be told apart for certain: those near a centre of which the
# query is near, too, have cosines of 1 / 1.09 and little else, the less the longer vectors are.
_GAPS = dict(zip(_NAMES, (1 / 16, 1 / 16, 0.08, 0.08), strict=True))


@dataclass(frozen=True)
class Workload(Stages):
    """One size of the workload.

    Args:
        name: The name of the size.
        count_only: Whether rows are counted, and give no payloads.
    """

    count_only: bool

    @property
    def table(self) -> Path:
        """The folder of the encrypted table."""
        return self.file("ciphertexts_upload", "table")

    def rows(self) -> tuple[NDArray[np.float32], NDArray[np.int16] | None]:
        """The vectors, and their payloads unless rows are only counted."""
        numbers = np.memmap(self.data("db.bin"), np.float32, mode="r")
        vectors = numbers.reshape(-1, _DIMENSIONS[self.name])
        if self.count_only:
            return vectors, None
        return vectors, np.fromfile(self.data("payloads.bin"), np.int16).reshape(-1, PAYLOAD)

    def planned(self) -> cw.Index:
        """How the table is searched."""
        vectors, payloads = self.rows()
        return cw.index(
            vectors,
            payloads,
            threshold=THRESHOLD,
            gap=_GAPS[self.name],
            count_only=self.count_only,
            at_most=None if self.count_only else MOST,
            table_budget=_BUDGETS.get(self.name),
        )

    def index(self) -> cw.Index:
        """How the table is searched, as it was planned when keys were made."""
        return cw.load(self.file("keys", "index"), cw.Index)


def asked() -> Workload:
    """The workload that the harness's arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(_NAMES)))
    parser.add_argument("--count_only", action="store_true")
    known, _ = parser.parse_known_args()
    return Workload(_NAMES[known.size], known.count_only)
