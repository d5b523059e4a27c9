"""The examples of iterations: right in the clear, and, slowly, on ciphertexts."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.thoroughness import slow

ROOT = Path(__file__).parents[2]


def _example(name: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return import_module(f"examples.iterations.{name}")


def test_the_steps_lead_where_they_should(monkeypatch: pytest.MonkeyPatch) -> None:
    example = _example("gradient_descent", monkeypatch)
    x, y, w = example.inputs()
    assert np.linalg.norm(x @ example.descend(x, y, w) - y) < 0.6 * np.linalg.norm(y)
    example = _example("inverse", monkeypatch)
    a, first = example.inputs()
    assert np.abs(example.inverse(a, first) - np.linalg.inv(a)).max() < 2**-10
    example = _example("principal_component", monkeypatch)
    c, v = example.inputs()
    vector = np.linalg.eigh(c)[1][:, -1]
    assert abs(vector @ example.component(c, v)) > 1 - 2**-10
    example = _example("logistic", monkeypatch)
    x, y, w = example.inputs()
    assert np.mean((x @ example.train(x, y, w) > 0) == (y > 0.5)) > 0.85
    example = _example("clusters", monkeypatch)
    x, first = example.inputs()
    distances = ((x[:, None] - example.clusters(x, first)) ** 2).sum(axis=-1)
    kinds = np.argmin(distances, axis=1).reshape(3, 50)
    assert sum(np.bincount(kind).max() for kind in kinds) > 0.85 * len(x)


def test_a_matrix_is_inverted_in_the_clear(monkeypatch: pytest.MonkeyPatch) -> None:
    example = _example("inverse", monkeypatch)
    program = example.compiled()
    a, first = example.inputs()
    assert program.repeated.times == example.STEPS
    assert np.abs(program.run_clear(a, first) - np.linalg.inv(a)).max() < program.error + 2**-10


@pytest.mark.parametrize(
    ("name", "most"),
    slow(
        ("gradient_descent", 2**-10),
        ("inverse", 2**-8),
        ("principal_component", 2**-8),
        ("logistic", 2**-10),
        ("clusters", 2**-8),
    ),
)
def test_the_examples_are_right_on_ciphertexts(name: str, most: float) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"examples.iterations.{name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"largest error +(\S+)", done.stdout)
    assert found
    assert float(found[1]) < most
    assert "INSECURE" not in done.stdout
