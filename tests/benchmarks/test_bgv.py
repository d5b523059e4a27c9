"""The benchmark of BGV, end to end in a small ring."""

import json
from pathlib import Path

import pytest

from benchmarks.bgv.__main__ import finish
from benchmarks.bgv.evaluate import measure
from benchmarks.bgv.jobs import PRODUCT, same_modulus
from cloakwork import _native
from cloakwork._native import Parameters

SMALL = Parameters(levels=2, log_n=9, insecure=True)


def test_both_schemes_are_measured_on_one_modulus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    integers = same_modulus(SMALL)
    assert integers.levels == SMALL.levels
    assert [integers.prime_count(level) for level in range(3)] == [
        SMALL.prime_count(level) for level in range(3)
    ]
    measured, wrong = measure(SMALL, seconds=0.0)
    assert not wrong
    path = tmp_path / "figures.json"
    assert finish(measured, wrong, path) == 0
    rows = json.loads(path.read_text())
    found = {(row["job"], row["threads"]) for row in rows}
    for scheme in ("BGV", "CKKS"):
        assert (f"{scheme}: {PRODUCT}", _native.threads()) in found
    assert all(row["value"] > 0 for row in rows)
    assert "BGV's multiply and relinearise over CKKS'" in capsys.readouterr().out


def test_a_wrong_result_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    measured, _ = measure(SMALL, seconds=0.0)
    assert finish(measured, ["rotate"], None) == 1
    assert "WRONG: rotate" in capsys.readouterr().err
