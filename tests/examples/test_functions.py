"""The examples of functions of encrypted numbers: small in the clear, whole on ciphertexts."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module("examples.functions.logistic_regression")


def test_the_sigmoid_is_that_of_the_paper(example: Any) -> None:
    # 0.5 + 1.20096 (x / 8) - 0.81562 (x / 8)^3 over -8 to 8.
    assert example.cubic(8.0) == pytest.approx((1.20096 / 8, 0.81562 / 8**3), rel=1e-3)


def test_a_small_training_is_as_in_the_clear(example: Any) -> None:
    shape = example.Shape(60, 64, 8)
    program = example.compiled(shape, 2, log_n=10, insecure=True)
    assert program.scheme.parameters.levels <= 5 * 2
    measurements, labels = example.data()
    measurements, labels = measurements[:60, :8], labels[:60]
    z = example.signed(measurements, labels, shape)
    a, b = example.cubic(example.MARGIN)
    clear = example.in_the_clear(
        measurements * labels[:, None], 2, lambda m: 0.5 + a * m - b * m**3
    )
    np.testing.assert_allclose(program.run_clear(z, np.zeros(8)), clear, atol=1e-9)
    assert np.abs(program.run(z, np.zeros(8)) - clear).max() < 2.0**-example.PRECISION


@pytest.mark.slow
def test_a_model_is_trained_on_encrypted_data() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.functions.logistic_regression"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""

    def told(what: str) -> float:
        found = re.search(rf"{what} +(\S+)", done.stdout)
        assert found
        return float(found[1])

    assert "INSECURE" not in done.stdout
    assert told("largest error of a weight") < 2.0**-8
    assert told("accuracy, trained encrypted") == told("the same epochs in the clear")
    assert told("accuracy, trained encrypted") > told("with the sigmoid itself") - 0.01
    assert told("peak memory of the evaluator") < 10_000
