"""Tell iris species apart without seeing the flowers.

The four measurements of each flower, in whole millimetres, are private; the mean flower of each
species is public. The client encrypts a batch of flowers, the evaluator computes the squared
distance of every flower to every mean, exactly, and the client takes the nearest.
Run: python examples/circuit/nearest.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.model_selection import train_test_split

import cloakwork as cw

LARGEST = 100


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step took."""
    start = time.perf_counter()
    yield
    print(f"  {name:<42} {time.perf_counter() - start:7.2f} s")


def main() -> None:
    """Run the whole job and print what it did."""
    centimetres, species = load_iris(return_X_y=True)
    flowers = np.rint(10 * centimetres).astype(int)
    train, test, train_species, test_species = train_test_split(
        flowers, species, test_size=0.5, random_state=7, stratify=species
    )
    means = [
        [int(value) for value in np.rint(train[train_species == each].mean(axis=0))]
        for each in range(3)
    ]

    @cw.circuit(flower=cw.vector(4, bounds=(0, LARGEST)))
    def distances(flower: Any) -> Any:
        return [sum((x - y) ** 2 for x, y in zip(flower, mean, strict=True)) for mean in means]

    print("Time per step")
    with step("compile"):
        program = distances.compile(bits=18, batch=len(test))
    with step("make keys"):
        client, evaluator = program.keygen()
    with step(f"encrypt {len(test)} flowers"):
        encrypted = client.encrypt(flower=test)
    with step("compute all distances"):
        results = evaluator.run(encrypted)
    with step("decrypt"):
        found = np.array(client.decrypt(results))

    expected = np.array([distances(flower.tolist()) for flower in test])
    nearest = found.argmin(axis=1)
    print(f"\nThe plan\n{cw.explain(program)}")
    print("\nThe result")
    print(f"  distances as in the clear   {int((found == expected).sum())} of {found.size}")
    print(f"  flowers told right          {int((nearest == test_species).sum())} of {len(test)}")


if __name__ == "__main__":
    main()
