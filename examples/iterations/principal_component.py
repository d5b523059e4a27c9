"""The direction in which encrypted data vary most, by ten steps of a power iteration.

A step multiplies by the covariance matrix of the flowers of scikit-learn's iris and brings the
length of the vector nearer to 1 by a step of Newton's method, which takes no division.
Run: python -m examples.iterations.principal_component
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_iris

import cloakwork as cw
from examples.iterations.shown import shown

STEPS = 10


def component(c: Any, v: Any) -> Any:
    """The eigenvector of the largest eigenvalue, which is about 1."""

    def step(v: Any) -> Any:
        w = c @ v
        return w * (1.5 - 0.5 * (w @ w))

    return cw.repeat(step, v, STEPS)


def inputs() -> tuple[Any, Any]:
    """The covariances, and a vector of length 1."""
    flowers = load_iris().data
    centred = flowers - flowers.mean(axis=0)
    covariances = centred.T @ centred
    return covariances / np.linalg.eigvalsh(covariances).max(), np.full(4, 0.5)


def compiled() -> cw.Program:
    """The program."""
    return cw.compile(component, *inputs(), precision=8)


def main() -> None:
    """Run it and print what it did."""
    covariances, first = inputs()
    found = shown(compiled(), component, covariances, first)
    vector = np.linalg.eigh(covariances)[1][:, -1]
    print(f"from the vector   {1 - abs(vector @ found):.1e}")


if __name__ == "__main__":
    main()
