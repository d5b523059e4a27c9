"""Which size of bert the stages run."""

from __future__ import annotations

import argparse

from benchmarks.suite.stages import SIZES, Stages


def asked() -> Stages:
    """The size that the harness's arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(SIZES)))
    known, _ = parser.parse_known_args()
    return Stages(SIZES[known.size])
