"""Twenty steps of gradient descent on encrypted data, planned as one.

128 measurements of 11 features are fitted by least squares. A bootstrap refreshes the weights
before every step.
Run: python -m examples.iterations.gradient_descent
"""

from __future__ import annotations

from typing import Any

import numpy as np

import cloakwork as cw
from examples.iterations.shown import shown

ROWS, FEATURES, STEPS = 128, 11, 20


def descend(x: Any, y: Any, w: Any) -> Any:
    """The weights after all steps."""

    def step(w: Any) -> Any:
        return w - 0.1 * (x.T @ (x @ w - y)) / ROWS

    return cw.repeat(step, w, STEPS, bound=4)


def inputs() -> tuple[Any, Any, Any]:
    """Measurements, what they were of, and weights to start from."""
    rng = np.random.default_rng(0)
    x, weights = rng.uniform(-1, 1, (ROWS, FEATURES)), rng.uniform(-1, 1, FEATURES) / FEATURES
    return x, x @ weights, np.zeros(FEATURES)


def compiled() -> cw.Program:
    """The program."""
    return cw.compile(descend, (ROWS, FEATURES), (ROWS,), (FEATURES,), precision=10)


def main() -> None:
    """Run it and print what it did."""
    shown(compiled(), descend, *inputs())


if __name__ == "__main__":
    main()
