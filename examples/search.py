"""Search an encrypted table of handwritten digits by an encrypted digit.

The owner encrypts 1,700 pictures and their labels for a server. The server finds the pictures that
are like an encrypted one, and sees no picture, no label, and not which were found. Run:
python -m examples.search
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.datasets import load_digits

import cloakwork as cw

TABLE, QUERIES, THRESHOLD, GAP = 1700, 3, 0.93, 1 / 32


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step takes."""
    start = time.monotonic()
    yield
    print(f"{name:<20} {time.monotonic() - start:6.2f} s")


def main() -> None:
    """Run the whole job and print what it found."""
    pixels, labels = load_digits(return_X_y=True)
    table, queries = pixels[:TABLE], pixels[TABLE : TABLE + QUERIES]
    with step("plan"):
        index = cw.index(
            table, labels[:TABLE, None], threshold=THRESHOLD, gap=GAP, rows_in_block=2048
        )
    with step("keys"):
        client, evaluator = index.keygen()
    with tempfile.TemporaryDirectory() as folder:
        with step("encrypt the table"):
            database = index.encrypt(client, folder)
        for number, pixels_of_one in enumerate(queries):
            query = index.query(client, pixels_of_one)
            with step("search"):
                answers = list(database.search(evaluator, query))
            found = index.found(client, answers)
            assert found.payloads is not None
            near, label = found.payloads.round().astype(int).ravel(), labels[TABLE + number]
            print(
                f"  a {label}: {found.count:g} nearby, {np.bincount(near, minlength=10)[label]} "
                "of them of its kind"
            )


if __name__ == "__main__":
    main()
