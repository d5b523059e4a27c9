"""The circuit benchmark: its measurement, its report and its checks."""

import importlib
import json
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks.circuit import __main__ as circuit
from benchmarks.circuit import in_batch
from benchmarks.circuit.evaluate import CircuitEvaluation, evaluated
from benchmarks.circuit.jobs import small_jobs
from benchmarks.circuit.targets import targets


def evaluation_of(job: str, **changed: Any) -> CircuitEvaluation:
    figures: dict[str, Any] = {field.name: 1 for field in fields(CircuitEvaluation)}
    figures |= {"job": job, "replication": "un", "right": True, "n": 4096}
    return CircuitEvaluation(**(figures | changed))


def test_a_job_is_measured_and_right() -> None:
    job = next(job for job in small_jobs() if job.name == "dot.3")
    made = evaluated(job, effort=0.1)
    assert made.right
    assert made.seconds > 0
    assert made.moves == 3
    assert made.n == made.scalar_n == 4096


def test_a_function_in_batch_is_measured_and_right() -> None:
    job = next(job for job in in_batch.jobs() if job.name == "table of 4 bits")
    made = in_batch.evaluated(job)
    assert made.right
    assert made.products == 7
    assert made.n == in_batch.BATCH
    assert "table of 4 bits" in in_batch.line(made)


@pytest.mark.parametrize("batch", [1, 40])
def test_a_forest_is_measured_and_right(batch: int) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    tree = pytest.importorskip("sklearn.tree")
    pytest.importorskip("xgboost")
    forests = importlib.import_module("benchmarks.circuit.forests")
    model = partial(tree.DecisionTreeClassifier, max_depth=3)
    job = forests.ForestJob("a tree", batch, datasets.load_breast_cancer, model)
    made = forests.evaluated(job)
    assert made.right
    assert made.batch == batch
    assert [each.what for each in forests.targets([made])] == [
        "a tree, seconds a row" if batch == 1 else "a tree, ms a row in batch"
    ]
    assert "a tree" in forests.line(made)


def test_targets_tell_met_from_not_met() -> None:
    found = {
        target.what: target.outcome
        for target in targets(
            [
                evaluation_of("dot.3", rotations=3, compile_seconds=2.0),
                evaluation_of("mm.3", rotations=4, seconds=0.5),
                evaluation_of("polynomial.5"),
            ]
        )
    }
    assert found["dot.3, un, rotations and products"] == "not met"
    assert found["dot.3, un, compile seconds"] == "not met"
    assert found["mm.3, un, rotations and products"] == "met"
    assert found["mm.3, un, compile seconds"] == "met"
    assert found["mm.3, un, times scalar, relinearised at once"] == "met"
    assert found["rows strictly below the paper, percent"] == "met"
    assert len(found) == 8


def test_every_figure_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    assert circuit.finish([evaluation_of("dot.3"), evaluation_of("mm.3")], path) == 0
    rows = json.loads(path.read_text())
    assert len({(row["job"], row["figure"]) for row in rows}) == len(rows) == 20
    assert "dot.3, un" in capsys.readouterr().out


def test_a_wrong_result_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert circuit.finish([evaluation_of("dot.3", right=False)], None) == 1
    assert "WRONG: dot.3, un" in capsys.readouterr().err
