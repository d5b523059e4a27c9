"""The benchmark of bootstrapping, end to end in a small ring."""

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from benchmarks.bootstrap.__main__ import main
from benchmarks.bootstrap.evaluate import Setting, refresh
from benchmarks.bootstrap.report import targets
from benchmarks.measurement import Row
from cloakwork._native import BootstrappingParameters

PARAMETERS = BootstrappingParameters(8, levels=2, insecure=True)


def test_a_small_ring_is_measured_and_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "figures.json"
    assert main(["--quick", "--repetitions", "1", "--json", str(path)]) == 0
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    assert all(set(row) == {field.name for field in fields(Row)} for row in rows)
    found = {(row["figure"], row["unit"]): row["value"] for row in rows if row["threads"] == 1}
    assert found["levels left", "levels"] == 10
    assert found["worst error", "bits"] >= found["precision estimate", "bits"] > 20
    assert found["mean error", "bits"] > found["worst error", "bits"]
    jobs = [row["job"] for row in rows if row["figure"] == "mean error" and row["threads"] == 1]
    assert jobs == [
        f"bootstrap, 256 slots, {each}" for each in ("complex", "real", "two real vectors")
    ]
    text = capsys.readouterr().out
    assert "not measured" in text
    assert "10 levels and 400 bits of modulus left, keys 0." in text


def test_a_result_beyond_the_estimate_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.measurement.Accuracy.holds", False)
    assert main(["--quick", "--repetitions", "1"]) == 1
    assert "WRONG: bootstrap, 256 slots, complex" in capsys.readouterr().err


def test_targets_are_those_of_the_full_ring() -> None:
    setting = Setting.make(PARAMETERS, 128)
    found = refresh(setting, setting.circuit("real"), "real", 1, 1, seed=5)
    assert {target.outcome for target in targets([found])} == {"not measured"}
