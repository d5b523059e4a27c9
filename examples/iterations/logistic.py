"""Logistic regression by eight steps of gradient descent, with the sigmoid itself.

Data and labels are encrypted; bootstraps refresh the weights.
Run: python -m examples.iterations.logistic
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

import cloakwork as cw
from examples.iterations.shown import shown

PATIENTS, FEATURES, STEPS, RATE = 128, 8, 8, 0.5


def train(x: Any, y: Any, w: Any) -> Any:
    """The weights after all steps; labels are 0 and 1."""

    def step(w: Any) -> Any:
        return w + RATE * (x.T @ (y - cw.sigmoid(x @ w))) / PATIENTS

    return cw.repeat(step, w, STEPS)


def inputs() -> tuple[Any, Any, Any]:
    """Measurements from -1 to 1, labels, and weights to start from."""
    measurements, labels = load_breast_cancer(return_X_y=True)
    chosen = measurements[:PATIENTS, :FEATURES]
    standard = (chosen - chosen.mean(axis=0)) / chosen.std(axis=0)
    return np.clip(standard, -2, 2) / 2, labels[:PATIENTS] * 1.0, np.full(FEATURES, 0.01)


def compiled() -> cw.Program:
    """The program."""
    return cw.compile(train, *inputs(), precision=10)


def main() -> None:
    """Run it and print what it did."""
    x, y, w = inputs()
    weights = shown(compiled(), train, x, y, w)
    print(f"right             {np.mean((x @ weights > 0) == (y > 0.5)):.3f} of the patients")


if __name__ == "__main__":
    main()
