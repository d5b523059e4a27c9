"""Logistic regression trained on encrypted data: neither data nor model are seen by the evaluator.

The client encrypts the breast-cancer measurements of scikit-learn, 569 patients by 30 features, and
the weights to start from. The evaluator does five epochs of gradient descent on all patients at
once, and returns the encrypted weights. The sigmoid is the polynomial of degree 3 that is nearest
in the mean over -12 to 12, as in Kim, Song, Wang, Xia and Jiang, "Secure logistic regression based
on homomorphic encryption: design and evaluation", JMIR Medical Informatics 6(2), 2018.
Run: python -m examples.functions.logistic_regression
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

import cloakwork as cw
from examples.matmul.clients import Answer, evaluated, step

EPOCHS = 5
RATE = 0.5
# Standard deviations beyond which measurements are cut off.
CLIP = 2.0
# Ranges of the margins of patients, and of weights, for which the program is made.
MARGIN = 12.0
WEIGHT = 1.0
PRECISION = 8
LOG_N = 16

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shape:
    """What is public of the data: how many patients, and the ciphertext that they fill.

    Args:
        patients: How many there are.
        rows: Rows of the matrix, those behind the patients zero.
        columns: Columns of the matrix, those behind the features zero.
    """

    patients: int
    rows: int
    columns: int


def data() -> tuple[Array, Array]:
    """Measurements of mean 0 and deviation 1, cut off, and 1 or -1 for every patient."""
    measurements, labels = load_breast_cancer(return_X_y=True)
    standard = (measurements - measurements.mean(axis=0)) / measurements.std(axis=0)
    return np.clip(standard, -CLIP, CLIP), 2.0 * labels - 1.0


def signed(measurements: Array, labels: Array, shape: Shape) -> Array:
    """Each patient's measurements times the label, from -1 to 1, in a matrix of powers of two."""
    padded = np.zeros((shape.rows, shape.columns))
    padded[: len(labels), : measurements.shape[1]] = measurements * labels[:, None] / CLIP
    return padded


def cubic(margin: float) -> tuple[float, float]:
    """a and b so that 1/2 + a m - b m^3 is nearest to the sigmoid from -margin to margin.

    Example:
        >>> [round(each, 4) for each in cubic(8.0)]
        [0.1501, 0.0016]
    """
    m = np.linspace(-margin, margin, 4001)
    (a, b), *_ = np.linalg.lstsq(np.stack([m, -(m**3)], axis=1), 1 / (1 + np.exp(-m)) - 0.5)
    return float(a), float(b)


def training(shape: Shape, epochs: int) -> Callable[[Any, Any], Any]:
    """Gradient descent on signed measurements z and weights w, encrypted or not.

    A patient's margin is m = CLIP z @ w, and an epoch adds the mean of RATE CLIP z / (1 + exp(m)).
    All constants but two are in the matrix that sums the features of a patient, so that an epoch
    takes four levels. The sums over patients are in every row: nothing is copied or masked.
    """
    a, b = cubic(MARGIN)
    step_size = RATE * CLIP / shape.patients
    scale = float(np.cbrt(step_size * b * CLIP**3))
    linear = a / b * (scale / CLIP) ** 2
    sums = scale * np.ones((shape.columns, shape.columns))
    reached = MARGIN * scale / CLIP

    def train(z: Any, w: Any) -> Any:
        half = (0.5 * step_size * z).sum(axis=0)
        for _ in range(epochs):
            u = cw.within((z * w) @ sums, -reached, reached)
            pull = ((linear - u * u) * (u * z)).sum(axis=0)
            w = cw.within(half - pull + w, -WEIGHT, WEIGHT)
        return w

    return train


def compiled(shape: Shape, epochs: int, *, log_n: int, insecure: bool = False) -> cw.Program:
    """The program of a training."""
    return cw.compile(
        training(shape, epochs),
        cw.Spec((shape.rows, shape.columns), bound=1),
        cw.Spec((shape.columns,), bound=WEIGHT),
        precision=PRECISION,
        log_n=log_n,
        insecure=insecure,
    )


def trained(program: cw.Program, z: Array, w: Array) -> Answer:
    """Encrypt data and weights, train in another process from files alone, decrypt."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with step("make keys"):
            client, evaluator = program.keygen()
            evaluator.save(folder / "evaluator")
        with step("encrypt data and weights"):
            client.encrypt(z, w).save(folder / "from-client")
        with step("train in another process"):
            took = evaluated(folder)
        with step("decrypt"):
            result = client.decrypt(cw.load(folder / "result", cw.Encrypted))
    return Answer(np.asarray(result), took["wall"], took["cpu"], took["peak_bytes"])


def in_the_clear(
    signed_measurements: Array, epochs: int, sigmoid: Callable[[Array], Array]
) -> Array:
    """The weights after as many epochs on clear measurements, times their labels."""
    weights = np.zeros(signed_measurements.shape[1])
    for _ in range(epochs):
        gradient = sigmoid(-signed_measurements @ weights) @ signed_measurements
        weights = weights + RATE / len(signed_measurements) * gradient
    return weights


def main() -> None:
    """Run the whole job and print what it did."""
    measurements, labels = data()
    patients, features = measurements.shape
    shape = Shape(patients, 1024, 32)

    print("Time per step")
    with step("compile"):
        program = compiled(shape, EPOCHS, log_n=LOG_N)
    found = trained(program, signed(measurements, labels, shape), np.zeros(shape.columns))
    weights = found.result[:features]

    a, b = cubic(MARGIN)
    clear = measurements * labels[:, None]
    by_cubic = in_the_clear(clear, EPOCHS, lambda m: 0.5 + a * m - b * m**3)
    by_sigmoid = in_the_clear(clear, EPOCHS, lambda m: 1 / (1 + np.exp(-m)))
    converged = LogisticRegression(max_iter=10_000).fit(measurements, labels)

    def accuracy(model: Array) -> str:
        return f"{np.mean(np.sign(measurements @ model) == labels):.4f}"

    print(f"\nThe plan\n{cw.explain(program)}")
    print("\nThe result")
    found.report()
    print(f"  largest error of a weight           {np.abs(weights - by_cubic).max():.1e}")
    print(f"  accuracy, trained encrypted         {accuracy(weights)}")
    print(f"  the same epochs in the clear        {accuracy(by_cubic)}")
    print(f"  with the sigmoid itself             {accuracy(by_sigmoid)}")
    print(f"  scikit-learn, until it converges    {converged.score(measurements, labels):.4f}")


if __name__ == "__main__":
    main()
