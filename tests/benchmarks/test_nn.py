"""The benchmark of networks: its measurement, its report and its checks."""

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.nn import __main__ as nn
from benchmarks.nn.evaluate import Evaluation, evaluate
from benchmarks.nn.jobs import JOBS
from benchmarks.nn.targets import targets

LENET = "LeNet"


def evaluation_of(job: str, **changed: Any) -> Evaluation:
    figures: dict[str, Any] = {field.name: 1 for field in fields(Evaluation)}
    good = {"n": 16384, "precision": 20.0, "range_precision": 24.0, "inputs": 100, "agreeing": 100}
    return Evaluation(**(figures | good | {"job": job} | changed))


def test_a_layer_is_measured_and_right() -> None:
    [job] = (job for job in JOBS if job.name == "linear layer, batched")
    made = evaluate(replace(job, runs=2))
    assert (made.inputs, made.batch, made.agreeing) == (32, 16, 32)
    assert (made.rotations, made.diagonals, made.level) == (23, 128, 1)
    assert made.precision > 18
    assert made.predicted_bytes == pytest.approx(made.process_bytes, rel=0.2)
    assert made.cpu_seconds > 0


def test_there_are_three_networks_one_by_one_and_in_full_batches_and_nine_layers() -> None:
    assert len(JOBS) == 15
    full = {job.name: job.one_by_one for job in JOBS if job.batch == "throughput"}
    assert full == {f"{name}, full": name for name in ("MLP 784-128-128-10", "LoLA", LENET)}
    assert [job.name for job in JOBS if job.orion_seconds] == ["MLP 784-128-128-10", "LoLA", LENET]


def test_targets_tell_met_from_not_met() -> None:
    bad = {
        "cpu_seconds": 1.0,
        "modelled_seconds": 1.4,
        "process_bytes": 4e9,
        "predicted_bytes": 3e9,
        "agreeing": 98,
        "range_precision": 13.0,
        "compile_seconds": 21.0,
    }
    good = {
        "cpu_seconds": 0.5,
        "modelled_seconds": 0.6,
        "process_bytes": 2e9,
        "predicted_bytes": 1.7e9,
        "agreeing": 99,
        "range_precision": 15.0,
        "compile_seconds": 19.0,
    }
    for figures, outcome in ((bad, "not met"), (good, "met")):
        found = list(targets([evaluation_of(LENET, **figures), evaluation_of("odd sizes")]))
        assert len(found) == 7
        assert {target.outcome for target in found} == {outcome}


@pytest.mark.parametrize(("seconds", "outcome"), [(8192 / 15, "met"), (8192 / 13, "not met")])
def test_a_full_batch_is_compared_with_its_inputs_one_by_one(seconds: float, outcome: str) -> None:
    full = evaluation_of(f"{LENET}, full", batch=8192, cpu_seconds=seconds)
    for measured, expected in (([full, evaluation_of(LENET)], outcome), ([full], "not measured")):
        [found] = [each for each in targets(measured) if each.what.endswith("one by one")]
        assert found.outcome == expected


def test_every_figure_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    assert nn.finish([evaluation_of("LoLA"), evaluation_of(LENET)], path) == 0
    rows = json.loads(path.read_text())
    assert len({(row["job"], row["figure"], row["unit"]) for row in rows}) == len(rows) == 34
    assert "LoLA, times Orion" in capsys.readouterr().out


def test_a_wrong_result_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    for precision in (17.0, float("nan")):
        assert nn.finish([evaluation_of("LoLA", precision=precision)], None) == 1
        assert "WRONG: LoLA" in capsys.readouterr().err
