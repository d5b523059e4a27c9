"""Classify handwritten digits without seeing them.

A classifier is trained in the clear. The client encrypts a batch of test images,
the evaluator computes all scores by one einsum on the ciphertext, the client
decrypts them. Run: make demo
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import cloakwork as cw

BATCH = 64
BRIGHTEST = 16.0


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step took."""
    start = time.perf_counter()
    yield
    print(f"  {name:<42} {time.perf_counter() - start:7.2f} s")


def main() -> None:
    """Run the whole job and print what it did."""
    pixels, digits = load_digits(return_X_y=True)
    train, test, train_digits, test_digits = train_test_split(
        pixels / BRIGHTEST, digits, test_size=0.25, random_state=7, stratify=digits
    )
    images, labels = test[:BATCH], test_digits[:BATCH]

    print("Time per step")
    with step("train the classifier in the clear"):
        classifier = LogisticRegression(max_iter=1000).fit(train, train_digits)
    with step("make the parameters and the secret key"):
        session = cw.Session(depth=1, precision=20)
    with step(f"encrypt {BATCH} images of 64 pixels"):
        encrypted = session.encrypt(images)
    with step("make evaluation keys, compute all scores"):
        encrypted_scores = cw.einsum("bi,ci->bc", encrypted, classifier.coef_)
    with step("compute them again, the keys being there"):
        encrypted_scores = cw.einsum("bi,ci->bc", encrypted, classifier.coef_)
    with step("decrypt"):
        scores = session.decrypt(encrypted_scores) + classifier.intercept_

    clear_scores = classifier.decision_function(images)
    same = int((scores.argmax(axis=1) == clear_scores.argmax(axis=1)).sum())
    accuracy = (scores.argmax(axis=1) == labels).mean()
    clear_accuracy = (clear_scores.argmax(axis=1) == labels).mean()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    print(f"\nThe parameters\n  {session.parameters}")
    print(f"\nThe plan\n{cw.explain(encrypted_scores)}")
    print("\nThe result")
    print(f"  accuracy on encrypted images        {accuracy:.4f}")
    print(f"  accuracy in the clear               {clear_accuracy:.4f}")
    print(f"  images classified as in the clear   {same} of {BATCH}")
    print(f"  largest score difference            {np.abs(scores - clear_scores).max():.1e}")
    print(f"  evaluation keys                     {session.key_bytes / 2**20:.1f} MiB")
    print(f"  peak memory                         {peak:.0f} MiB")


if __name__ == "__main__":
    main()
