"""The benchmark of products of matrices: its report, its simulation and its checks."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw
from benchmarks.matmul import __main__ as matmul
from benchmarks.matmul import report
from benchmarks.matmul.evaluate import (
    Evaluation,
    Plan,
    Timing,
    check,
    encrypt,
    multiply,
    stream,
)
from benchmarks.matmul.jobs import JOBS, WHOLE, Job
from benchmarks.matmul.simulation import TaskCosts, priced, simulations
from benchmarks.matmul.targets import GIGABYTES, PLANNING_SECONDS, RATIOS, SECONDS, targets
from tests.products import real_product

SMALL = Job("small", 40, 30, 20)
NAMED = {job.name: job for job in (*JOBS, *WHOLE)}
PLAN = Plan(
    n=4096,
    limbs=3,
    rotations=64,
    groups=2,
    multiplications=3 * 4 * 512**3,
    left=256,
    right=512,
    results=128,
    key_bytes=50_000_000,
    input_bytes=38_000_000,
    compile_seconds=0.1,
    keygen_seconds=0.1,
    encryption_seconds=0.2,
)
TIMING = Timing(
    threads=2,
    seconds=0.1,
    cpu_seconds=0.19,
    one_thread_seconds=0.19,
    speed_up=1.9,
    product_seconds=0.15,
    switch_seconds=0.04,
    numpy_seconds=0.002,
    peak_bytes=200_000_000,
    values_bytes=90_000_000,
    predicted_bytes=90_000_000,
)
GOOD = Evaluation(NAMED["512"], PLAN, TIMING, error=2.0**-16)


def test_figures_are_of_one_run() -> None:
    assert GOOD.ratio == pytest.approx(50)
    assert GOOD.words_per_multiplication == pytest.approx(4)


def test_a_line_has_every_figure_and_those_of_fhe4dmm() -> None:
    line = report.line(GOOD)
    for figure in ("0.100 s", "0.190 s", "50.0", "0.20 GB", "2^-16.0", "768", "401 s on 1 machine"):
        assert figure in line
    assert "4014 times" in line
    assert "FHE4DMM" in report.heading()
    assert "machine" not in report.line(replace(GOOD, job=NAMED["1024"]))
    assert len(report.heading()) <= 140


@pytest.mark.parametrize(
    ("error", "wrong"), [(0.0, False), (2.0**-8, False), (2.0**-7, True), (math.nan, True)]
)
def test_wrong_results_are_found(error: float, wrong: bool) -> None:
    assert replace(GOOD, error=error).is_wrong is wrong


def test_targets_tell_met_from_not_met() -> None:
    assert {each.outcome for each in targets([GOOD])} == {"met"}
    slow = replace(TIMING, seconds=1.0, peak_bytes=10**9)
    long_planned = replace(PLAN, compile_seconds=2.0)
    found = list(targets([replace(GOOD, plan=long_planned, timing=slow)]))
    assert [each.outcome for each in found] == ["not met"] * 4 + ["met"]
    part = list(targets([replace(GOOD, job=NAMED["1/16 of Flat"])]))
    assert part[0].figure == pytest.approx(1.6)
    assert part[1].bound == pytest.approx(6 / 16)
    assert {*RATIOS, *SECONDS, *PLANNING_SECONDS, *GIGABYTES} <= NAMED.keys()


def test_every_figure_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "figures.json"
    assert matmul.finish([GOOD], (), path) == 0
    rows = json.loads(path.read_text())
    assert len({(row["figure"], row["unit"]) for row in rows}) == len(rows) == 20
    assert "SIMULATED" not in capsys.readouterr().out
    assert matmul.finish([replace(GOOD, error=1.0)], (), None) == 1
    assert "WRONG: 512" in capsys.readouterr().err


def test_products_are_encrypted_multiplied_and_checked_by_files(tmp_path: Path) -> None:
    plan = encrypt(SMALL, tmp_path)
    timing = multiply(SMALL, tmp_path, runs=1)
    assert check(SMALL, tmp_path) < 2.0**-7
    size = sum(each.stat().st_size for each in (tmp_path / "inputs").iterdir())
    assert plan.input_bytes == pytest.approx(size, rel=0.1)
    assert timing.peak_bytes > plan.key_bytes + timing.values_bytes
    assert 0 < timing.values_bytes <= timing.predicted_bytes
    assert timing.speed_up is not None
    assert timing.speed_up > 0
    assert timing.product_seconds > 0
    assert timing.switch_seconds > 0


def test_large_products_are_streamed_through_folders(tmp_path: Path) -> None:
    job = replace(SMALL, memory_limit=10**8)
    plan = encrypt(job, tmp_path)
    timing = stream(job, tmp_path)
    assert check(job, tmp_path) < 2.0**-7
    assert (tmp_path / "inputs").is_dir()
    assert plan.left + plan.right > 2
    assert 0 < timing.values_bytes <= 10**8
    streamed = Evaluation(job, plan, timing, error=0.0)
    assert timing.speed_up is None
    assert "streamed" in report.line(streamed)
    assert all(row.value is not None for row in streamed.rows())


def test_simulations_are_of_the_actual_tasks_and_marked() -> None:
    costs = TaskCosts(term=1e-5, switch=1e-3)
    program = real_product((256, 256), (256, 256))
    results = program.packing.vector_counts[1]
    terms = 256**3 // (2 * program.scheme.parameters.slots)
    expected = costs.term * terms + costs.switch * results
    assert sum(priced(program, costs).seconds) == pytest.approx(expected)
    one, two = simulations(256, replace(costs, switch=1.0), (1, 2))
    assert one.efficiency <= 1
    assert two.seconds < one.seconds
    assert "SIMULATED" in report.simulated([one, two])


def test_costs_of_tasks_are_those_that_were_measured() -> None:
    costs = TaskCosts.of(GOOD)
    terms = 512**3 / 4096
    assert costs.term * terms == pytest.approx(TIMING.product_seconds)
    assert costs.switch * PLAN.results == pytest.approx(TIMING.switch_seconds)


def test_other_programs_than_products_are_not_simulated() -> None:
    with pytest.raises(ValueError, match="expected the tasks of a product"):
        priced(cw.compile(lambda x: x + x, (3,)), TaskCosts(1.0, 1.0))


def test_operands_are_the_same_each_time() -> None:
    np.testing.assert_array_equal(SMALL.matrices()[1], SMALL.matrices()[1])


@pytest.mark.slow
def test_the_quick_run_is_right(capfd: pytest.CaptureFixture[str]) -> None:
    assert matmul.main(["--quick"]) == 0
    assert "\n128 " in capfd.readouterr().out
