"""Ask a model of XGBoost about patients whose data it does not see.

The client encrypts, for each of 200 patients, whether each feature is above each threshold that the
100 trees have; the evaluator computes the score of every patient, exactly; the client takes the
class. Run: python examples/models/cancer.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import xgboost
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import cloakwork as cw

PATIENTS = 200


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step took."""
    start = time.perf_counter()
    yield
    print(f"  {name:<42} {time.perf_counter() - start:7.2f} s")


def main() -> None:
    """Run the whole job and print what it did."""
    rows, classes = load_breast_cancer(return_X_y=True)
    train, test, known, expected = train_test_split(
        rows, classes, test_size=PATIENTS, random_state=0
    )
    model = xgboost.XGBClassifier(n_estimators=100, max_depth=4).fit(train, known)
    with step("plan the model"):
        compiled = cw.models.compile(model, train, batch=PATIENTS)
    print(f"  {compiled}")
    with step("make keys"):
        client, evaluator = compiled.program.keygen()
    with step(f"encrypt {PATIENTS} patients"):
        encrypted = client.encrypt(**compiled.encode(test))
    with step("compute scores of all of them"):
        scores = evaluator.run(encrypted)
    with step("decrypt"):
        found = compiled.decode(client.decrypt(scores))
    same = int((found == model.predict(test)).sum())
    right = int((found == expected).sum())
    print(f"{same} of {PATIENTS} as the model says in the clear, {right} of {PATIENTS} right")


if __name__ == "__main__":
    main()
