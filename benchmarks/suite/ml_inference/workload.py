"""Which size of ml-inference the stages run, and how many images a run takes."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from benchmarks.suite.stages import SIZES, Stages

# Images of a run; those of a size are a multiple. More take fewer runs and more encoded layers.
_IMAGES = dict(zip(SIZES, (1, 15, 125, 125), strict=True))
# Pixels beside those that are blank in every training image: they fill six ciphertexts of 125
# images, where all would take a seventh.
DRAWN = slice(12, 780)
# How often each pixel of a single image is repeated: once for each result of the first layer. It
# takes 12 ciphertexts, where the rotations of one would take 127 and their keys.
_COPIES = 128


@dataclass(frozen=True)
class Workload(Stages):
    """One size of the workload."""

    @property
    def images_of_run(self) -> int:
        """How many images go in at once."""
        return _IMAGES[self.name]

    @property
    def copies(self) -> int:
        """How often each pixel is repeated before it is encrypted."""
        return _COPIES if self.images_of_run == 1 else 1


def asked() -> Workload:
    """The workload that the harness's arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(SIZES)))
    known, _ = parser.parse_known_args()
    return Workload(SIZES[known.size])
