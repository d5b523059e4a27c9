"""Three clusters of encrypted flowers, by eight steps of k-means.

A step gives each flower of scikit-learn's iris to the clusters by how near they are, mostly to the
nearest (a softmax of distances), and moves each cluster to the mean of what it was given.
Run: python -m examples.iterations.clusters
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_iris

import cloakwork as cw
from examples.iterations.shown import shown

STEPS = 8
# How sharply a flower is the nearest cluster's: at infinity it is so alone.
SHARPNESS = 12.0


def clusters(x: Any, centres: Any) -> Any:
    """Where the centres of the clusters are after all steps."""

    def step(centres: Any) -> Any:
        distances = ((x[:, None, :] - centres[None]) ** 2).sum(axis=-1)
        shares = cw.softmax(-SHARPNESS * distances)
        return (shares.T @ x) / shares.sum(axis=0)[:, None]

    return cw.repeat(step, centres, STEPS)


def inputs() -> tuple[Any, Any]:
    """The flowers, each measure from 0 to 1, and three of them to begin with."""
    flowers = load_iris().data
    least, greatest = flowers.min(axis=0), flowers.max(axis=0)
    scaled = (flowers - least) / (greatest - least)
    return scaled, scaled[[7, 70, 120]]


def compiled() -> cw.Program:
    """The program."""
    return cw.compile(clusters, *inputs(), precision=8)


def main() -> None:
    """Run it and print what it did."""
    x, first = inputs()
    centres = shown(compiled(), clusters, x, first)
    nearest = np.argmin(((x[:, None] - centres) ** 2).sum(axis=-1), axis=1)
    alike = sum(np.bincount(nearest[kind : kind + 50]).max() for kind in (0, 50, 100))
    print(f"with their kind   {alike} of {len(x)} flowers")


if __name__ == "__main__":
    main()
