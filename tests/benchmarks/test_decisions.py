"""The benchmark of rows between slots and bits: its rows, its report and its checks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.decisions import __main__ as decisions
from benchmarks.decisions import report
from benchmarks.decisions.evaluate import Evaluation, Part, evaluate
from benchmarks.decisions.jobs import JOBS
from tests.thoroughness import slow

_QUICK = ("greatest of four integers",)


@pytest.mark.parametrize(
    "name",
    [*_QUICK, *slow(*(job.name for job in JOBS if job.name not in _QUICK))],
)
def test_a_row_is_right_and_its_keys_are_as_told(name: str) -> None:
    (job,) = (job for job in JOBS if job.name == name)
    found = evaluate(job, 1)
    assert sum(found.verdicts.values()) == 1
    assert found.is_right
    assert found.told_key_bytes == pytest.approx(found.key_bytes, rel=0.01)
    of_bits = [part for part in found.parts if part.bootstraps]
    assert len(of_bits) == 1
    assert of_bits[0].log2_failure < -64
    assert all(part.cpu_seconds > 0 and part.told_seconds > 0 for part in found.parts)


def evaluation_of(**verdicts: int) -> Evaluation:
    part = Part("argmax", 76, -125.0, 2.0, 1.6, 0.9)
    return Evaluation("greatest", 2, (part,), 20, 25, 1 << 30, verdicts)


def test_the_report_has_what_was_told_beside_what_was_measured() -> None:
    whole, part = report.lines(evaluation_of(equal=2, close=1)).splitlines()
    assert whole.startswith("greatest: 2 equal, 1 close; keys ")
    assert part.split() == ["argmax", "76", "2^-125", "2.000", "1.600", "1.25", "0.900"]
    assert len(part) == len(report.heading())
    figures = [target.figure for target in report.targets([evaluation_of()])]
    assert figures == pytest.approx([25.0, 20.0])


def test_a_wrong_result_fails_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    assert decisions.finish([evaluation_of(equal=1, close=1)], path) == 0
    assert {row["job"] for row in json.loads(path.read_text())} == {"greatest", "greatest: argmax"}
    assert decisions.finish([evaluation_of(equal=1, wrong=1)], None) == 1
    assert "WRONG: greatest" in capsys.readouterr().err
