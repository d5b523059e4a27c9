"""The benchmark, end to end in a small ring: its rows, its targets and its checks."""

import json
import math
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.engine.__main__ import finish, finish_compared
from benchmarks.engine.evaluate import NTT, benchmark
from benchmarks.engine.jobs import (
    DIAGONALS,
    GROUPS,
    ROTATION,
    Job,
    Prepared,
    Setting,
    error_bits,
)
from benchmarks.engine.jobs import linear_transform as transform
from benchmarks.engine.on_device import JOBS as DEVICE_JOBS
from benchmarks.engine.on_device import compare
from benchmarks.engine.targets import further_diagonal, targets
from benchmarks.measurement import UNITS, Measurement, Measurements, Row
from benchmarks.parameter_sets import SCALE_BITS, largest_parameters
from cloakwork import _native
from cloakwork._native import Device, Parameters, max_log_qp
from tests.devices import needs_software

SMALL = Parameters(levels=5, log_n=11, insecure=True)
JOBS = [job for group in GROUPS for job in group]
CHECKED = {job.name for job in JOBS}


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = _native.threads()
    _native.set_threads(2)
    yield
    _native.set_threads(before)


def test_every_job_is_measured_and_right(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measured = benchmark([SMALL], GROUPS, seconds=0.0)
    path = tmp_path / "figures.json"
    assert finish(measured, path) == 0

    rows: list[dict[str, Any]] = json.loads(path.read_text())
    names = {field.name for field in fields(Row)}
    found = set()
    for row in rows:
        assert set(row) == names
        assert (row["n"], row["level"]) == (SMALL.n, SMALL.levels)
        assert row["threads"] in {1, 2}
        assert math.isfinite(row["value"])
        found.add((row["job"], row["threads"], row["figure"], row["unit"]))
    assert len(found) == len(rows)
    assert (NTT, 1, "time", "ms") in found
    assert (further_diagonal(128, 512), 2, "time", UNITS) in found
    for job in JOBS:
        for threads in (1, 2):
            assert (job.name, threads, "time", "ms") in found
            assert (job.name, threads, "time", UNITS) in found
            assert (job.name, threads, "keys", "bytes") in found
            assert (job.name, threads, "error", "bits") in found
            assert (job.name, threads, "precision estimate", "bits") in found

    printed = capsys.readouterr()
    assert "INSECURE" in printed.out
    assert "speed-up on 2 threads" in printed.out
    assert "skipped" not in printed.out
    assert printed.err == ""
    assert _native.threads() == 2


def test_a_wrong_result_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    def off_by_one_slot(setting: Setting) -> Prepared:
        ciphertext = setting.encrypt(setting.left)
        evaluator, key_bytes = setting.evaluator([1])
        return Prepared(
            lambda: evaluator.rotate(ciphertext, 1),
            lambda made: setting.accuracy(made, np.roll(setting.left, 1)),
            key_bytes,
        )

    measured = benchmark([SMALL], [[Job(ROTATION, off_by_one_slot)]], seconds=0.0)
    assert finish(measured, None) == 1
    printed = capsys.readouterr()
    assert "WRONG" in printed.out
    assert "WRONG: rotation, N = 2048" in printed.err


@needs_software
def test_operations_on_a_device_are_compared_with_the_cpu(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    compared = list(compare([SMALL], Device.software(1 << 32), runs=1))
    assert [each.job for each in compared] == [job.name for job in DEVICE_JOBS]
    path = tmp_path / "figures.json"
    assert finish_compared(compared, path) == 0
    rows = json.loads(path.read_text())
    assert len(rows) == 2 * len(compared)
    assert {row["figure"] for row in rows} == {"time", "time on software device"}
    printed = capsys.readouterr()
    assert "INSECURE" in printed.out
    assert "skipped" not in printed.out
    assert "DIFFERENT" not in printed.out
    wrong = [replace(compared[0], same=False)]
    assert finish_compared(wrong, None) == 1
    assert "WRONG: add, N = 2048, software device" in capsys.readouterr().err


@needs_software
def test_what_a_device_has_no_memory_for_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    measured = {each.job for each in compare([SMALL], Device.software(10**6), runs=1)}
    assert measured < {job.name for job in DEVICE_JOBS}
    assert ROTATION not in measured
    assert "skipped: cannot rotate: it needs" in capsys.readouterr().out


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e300])
def test_values_out_of_all_bounds_are_errors(value: float) -> None:
    assert error_bits(np.full(2, value + 0j), np.zeros(2, complex)) < -900


def test_jobs_that_do_not_fit_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    flat = Parameters(levels=0, log_n=6, insecure=True)
    measured = benchmark([flat], GROUPS, seconds=0.0, most_bytes=10**4)
    assert {each.job for each in measured} < {NTT, *CHECKED}
    printed = capsys.readouterr().out
    assert "skipped: needs 1 levels, there are 0" in printed
    assert "skipped: needs more slots than 32" in printed
    assert "GB" in printed


def test_targets_tell_met_from_not_met() -> None:
    n = 1 << 14

    def of(job: str, units: float, threads: int = 1) -> Measurement:
        return Measurement(job, n, 6, threads, units / 1000, units)

    found = Measurements(
        [
            of(ROTATION, 10.5),
            of(further_diagonal(*DIAGONALS[1:]), 1.1),
            of(transform(DIAGONALS[1]), 190.0),
            of(transform(DIAGONALS[1]), 100.0, threads=2),
            Measurement(ROTATION, n, 2, 1, 0.001, 1.0),
        ]
    )
    outcomes = [target.outcome for target in targets(found)]
    assert outcomes == ["not met", "not measured", "met", "met"]


@pytest.mark.parametrize("log_n", [13, 14])
@pytest.mark.parametrize("share", [1.0, 0.5])
def test_parameter_sets_fill_their_modulus(log_n: int, share: float) -> None:
    budget = share * (max_log_qp(log_n) or 0.0)
    found = largest_parameters(log_n, share)
    assert not found.insecure
    assert found.scale_bits == SCALE_BITS
    assert 0.85 * budget < found.log_qp <= budget
