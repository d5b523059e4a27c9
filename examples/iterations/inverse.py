"""The inverse of an encrypted matrix by six steps of Newton's method, on one chain.

A step is X (2 I - A X), of Schulz, "Iterative Berechnung der reziproken Matrix", 1933. The range of
X and the errors are those of a sample.
Run: python -m examples.iterations.inverse
"""

from __future__ import annotations

from typing import Any

import numpy as np

import cloakwork as cw
from examples.iterations.shown import shown

SIZE, STEPS = 8, 6


def inverse(a: Any, x: Any) -> Any:
    """The inverse of a matrix, from a first guess of it."""
    return cw.repeat(lambda x: 2 * x - x @ (a @ x), x, STEPS)


def inputs(seed: int = 0) -> tuple[Any, Any]:
    """A symmetric matrix with eigenvalues from 1/3 or so to 1, and a first guess."""
    draw = np.random.default_rng(seed).uniform(-1, 1, (SIZE, SIZE))
    a = draw @ draw.T / 2 + 2 * np.eye(SIZE)
    a /= np.abs(np.linalg.eigvalsh(a)).max()
    return a, np.eye(SIZE)


def compiled() -> cw.Program:
    """The program."""
    samples = [inputs(seed) for seed in (1, 2)]
    return cw.compile(inverse, *map(list, zip(*samples, strict=True)), precision=8, log_n=16)


def main() -> None:
    """Run it and print what it did."""
    matrix, first = inputs()
    found = shown(compiled(), inverse, matrix, first)
    print(f"from the inverse  {np.abs(found - np.linalg.inv(matrix)).max():.1e}")


if __name__ == "__main__":
    main()
