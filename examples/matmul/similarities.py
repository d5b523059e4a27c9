"""Compare two private databases, row by row, without seeing either.

One hospital has 899 pictures of digits with labels, another has 898 without. The evaluator computes
all similarities on ciphertexts, and whoever holds the keys gives each picture of the second the
label of the most similar picture of the first. Run: python -m examples.matmul.similarities
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import cloakwork as cw
from examples.matmul.clients import answer, step


def unit_rows(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Pictures of length one, so that products are cosines."""
    return np.asarray(pixels / np.linalg.norm(pixels, axis=1, keepdims=True))


def main() -> None:
    """Run the whole job and print what it did."""
    pixels, digits = load_digits(return_X_y=True)
    known, unknown = unit_rows(pixels[::2]), unit_rows(pixels[1::2])
    labels, expected = digits[::2], digits[1::2]

    print("Time per step")
    with step("compile"):
        program = cw.compile(
            lambda a, b: a @ b, known.shape, unknown.T.shape, precision=12, public_inputs=True
        )
    found = answer(program, {"first": {"a": known}, "second": {"b": unknown.T}})

    clear = known @ unknown.T
    guesses, clear_guesses = labels[found.result.argmax(axis=0)], labels[clear.argmax(axis=0)]
    print(f"\nThe plan\n{cw.explain(program)}")
    print("\nThe result")
    found.report()
    print(f"  similarities                        {clear.shape[0]} x {clear.shape[1]}")
    print(f"  largest error                       {np.abs(found.result - clear).max():.1e}")
    print(f"  accuracy on encrypted pictures      {(guesses == expected).mean():.4f}")
    print(f"  accuracy in the clear               {(clear_guesses == expected).mean():.4f}")
    same = int((guesses == clear_guesses).sum())
    print(f"  pictures labelled as in the clear   {same} of {len(guesses)}")


if __name__ == "__main__":
    main()
