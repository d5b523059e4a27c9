"""The einsum benchmark: counts of the work that its jobs take, its report and its checks."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from benchmarks.einsum import __main__ as einsum
from benchmarks.einsum import evaluate as evaluation
from benchmarks.einsum.evaluate import WAYS, Evaluation, Way, evaluate
from benchmarks.einsum.jobs import JOBS, Job
from benchmarks.einsum.plans import (
    KEYS,
    PRECISION,
    SLOTS,
    Fit,
    Recorder,
    as_planned,
    compiled_plan,
    eager_plan,
    key_demand,
    levels_used,
    relinearisations,
    rotations,
)
from benchmarks.einsum.targets import is_wrong, targets
from benchmarks.measurement import Row
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.plan.parameters.ckks import parameters_for
from cloakwork.plan.passes.key_budget import powers_of_two_only
from cloakwork.plan.passes.rotation_paths import powers_of_two
from cloakwork.programs.slots import Add, Input, Mul, Output, Rescale, SlotProgram
from cloakwork.runtime.costs import modelled_for

NAMED = {job.name: job for job in JOBS}
SMALL = replace(NAMED["matmul"], name="small matmul", shapes=((2, 4), (4, 4)))


@dataclass(frozen=True)
class Work:
    """The most that one job may take: with all keys, and with powers of two alone."""

    rotations: int
    relinearisations: int
    levels: int
    key_megabytes: float
    power_rotations: int
    power_key_megabytes: float


EAGER = {
    "transpose": Work(0, 0, 0, 0, 0, 0),
    "transpose, materialised": Work(31, 0, 1, 73.2, 60, 47.2),
    "sum": Work(14, 0, 0, 25.7, 14, 25.7),
    "column sum": Work(7, 0, 0, 11.1, 7, 11.1),
    "row sum": Work(7, 0, 0, 11.1, 7, 11.1),
    "matvec": Work(14, 1, 1, 35.7, 14, 35.7),
    "matmul": Work(36, 1, 2, 113.3, 58, 77.4),
    "dot": Work(14, 1, 1, 32.0, 14, 32.0),
    "inner": Work(14, 1, 1, 32.0, 14, 32.0),
    "Hadamard": Work(0, 1, 1, 2.4, 0, 2.4),
    "outer": Work(36, 1, 2, 104.6, 67, 74.8),
    "batched": Work(19, 1, 2, 61.4, 29, 52.0),
    "three-way Hadamard": Work(0, 2, 2, 2.9, 0, 2.9),
    "chain": Work(45, 2, 4, 192.2, 67, 108.3),
    "bilinear": Work(38, 2, 3, 117.0, 58, 99.1),
    "contraction": Work(50, 1, 2, 166.5, 76, 66.1),
    "attention": Work(14, 1, 2, 38.6, 21, 39.6),
}

COMPILED = {
    "transpose": Work(0, 0, 0, 0, 0, 0),
    "transpose, materialised": Work(90, 0, 1, 57.9, 117, 15.4),
    "sum": Work(12, 0, 0, 5.6, 12, 5.6),
    "column sum": Work(10, 0, 0, 2.0, 10, 2.0),
    "row sum": Work(24, 0, 0, 2.4, 24, 2.4),
    "matvec": Work(5, 1, 1, 5.0, 5, 5.0),
    "matmul": Work(3, 1, 1, 2.3, 3, 2.3),
    "dot": Work(12, 1, 1, 11.1, 12, 11.1),
    "inner": Work(12, 1, 1, 11.1, 12, 11.1),
    "Hadamard": Work(0, 4, 1, 0.6, 0, 0.6),
    "outer": Work(0, 4, 1, 0.6, 0, 0.6),
    "batched": Work(2, 1, 1, 1.9, 2, 1.9),
    "three-way Hadamard": Work(0, 8, 2, 1.6, 0, 1.6),
    "chain": Work(14, 2, 3, 31.0, 18, 37.3),
    "bilinear": Work(6, 2, 2, 10.8, 6, 10.8),
    "contraction": Work(5, 1, 1, 3.1, 5, 3.1),
    "attention": Work(3, 1, 1, 2.3, 3, 2.3),
}

# Planning them takes seconds.
LONG = {"batched", "three-way Hadamard", "outer", "chain", "bilinear", "contraction", "attention"}
LONG_TO_COMPILE = {"transpose, materialised", "three-way Hadamard", "chain", "bilinear"}


def quick_and_slow(long: set[str]) -> list[Any]:
    return [pytest.param(name, marks=pytest.mark.slow if name in long else ()) for name in NAMED]


def require(
    most: Work,
    planned: list[SlotProgram],
    fitted: list[SlotProgram],
    key_bytes_at: Callable[[int], int],
) -> None:
    """The programs, and the same fitted to powers of two, take no more than that."""
    assert rotations(planned) <= most.rotations
    assert rotations(fitted) <= most.power_rotations
    assert max(relinearisations(planned), relinearisations(fitted)) <= most.relinearisations
    assert max(levels_used(planned), levels_used(fitted)) <= most.levels
    key_megabytes, power_key_megabytes = (
        key_demand(programs).nbytes(key_bytes_at) / 1e6 for programs in (planned, fitted)
    )
    assert key_megabytes <= most.key_megabytes
    assert power_key_megabytes <= most.power_key_megabytes
    for program in fitted:
        assert key_demand([program]).rotations.keys() <= set(powers_of_two(program.slots))


@pytest.mark.parametrize("name", quick_and_slow(LONG))
def test_work_that_eager_plans_take(name: str) -> None:
    job = NAMED[name]
    plan, fitted = (eager_plan(job, fit) for fit in (as_planned, powers_of_two_only))
    assert plan.depth == levels_used(plan.programs)
    parameters = parameters_for(plan.depth, PRECISION, bound=plan.bound, slots=SLOTS)
    assert not parameters.insecure
    require(
        EAGER[name],
        list(plan.programs),
        list(fitted.programs),
        parameters.evaluation_key_bytes,
    )


@pytest.mark.parametrize("name", quick_and_slow(LONG_TO_COMPILE))
def test_work_that_compiled_plans_take(name: str) -> None:
    job = NAMED[name]
    compiled, body = compiled_plan(job, as_planned)
    parameters = compiled.scheme.parameters
    assert not parameters.insecure
    require(COMPILED[name], [body], [powers_of_two_only(body)], parameters.evaluation_key_bytes)
    found = compiled.run_clear(*job.arrays())
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, job.expected(*job.arrays()), atol=1e-9)


@pytest.mark.parametrize("fit", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("name", quick_and_slow(LONG))
def test_eager_programs_are_right(name: str, fit: Fit) -> None:
    job = NAMED[name]
    session = cw.Session(
        depth=EAGER[name].levels, precision=PRECISION, slots=SLOTS, bound=128.0, backend="clear"
    )
    result = Recorder(session, fit).result(job, job.arrays())
    expected = job.expected(*job.arrays())
    np.testing.assert_allclose(session.decrypt(result), expected, atol=1e-9)


def test_the_materialised_transpose_lies_in_row_major_order() -> None:
    matrix = np.arange(6.0).reshape(2, 3) / 6
    job = replace(NAMED["transpose, materialised"], shapes=((2, 3),))
    session = cw.Session(depth=1, backend="clear")
    result = Recorder(session, as_planned).result(job, [matrix])
    assert result.shape == (3, 2)
    assert result.values[0].slots[:6].tolist() == matrix.T.ravel().tolist()
    free = cw.einsum("ij->ji", session.encrypt(matrix))
    assert free.values[0].slots[:6].tolist() == matrix.ravel().tolist()


def test_three_steps_compiled_take_fewer_rotations_than_one_by_one() -> None:
    def three_steps(x: Any, w: Any, v: Any) -> Any:
        hidden = cw.einsum("bi,ij->bj", x, w)
        scores = cw.einsum("bj,jk->bk", hidden, v)
        return cw.einsum("bk->k", scores)

    shapes = ((16, 8), (8, 8), (8, 4))
    job = Job("three steps", shapes, three_steps, lambda x, w, v: (x @ w @ v).sum(axis=0))
    one_by_one = eager_plan(job, as_planned)
    together = cw.compile(three_steps, *shapes, precision=PRECISION, log_n=SLOTS.bit_length())
    assert len(one_by_one.programs) == 3
    assert isinstance(together.body, SlotProgram)
    assert together.body.slots == one_by_one.programs[0].slots
    assert rotations([together.body]) < rotations(one_by_one.programs)
    found = together.run_clear(*job.arrays())
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, job.expected(*job.arrays()), atol=1e-9)


def test_products_that_meet_in_a_sum_are_relinearised_together() -> None:
    operations = (Input("x", 1), Mul(0, 0), Mul(0, 0), Add(1, 2), Rescale(3), Output(4))
    program = SlotProgram("", 8, operations, (None,) * 6)
    assert counted_operations(program)["ciphertext product"] == 2
    assert relinearisations([program, program]) == 2


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_job_is_measured_and_right(way: Way, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "measured", modelled_for)
    made = evaluate(SMALL, way, runs=1)
    assert not is_wrong(made)
    assert made.way == way
    assert made.cpu_seconds > 0
    assert made.key_switches == made.rotations + 1
    # The keys and values are in the process, too.
    assert made.process_bytes > made.key_bytes + made.values_bytes > made.key_bytes > 0


def evaluation_of(name: str, way: Way = WAYS[0], **changed: Any) -> Evaluation:
    figures: dict[str, Any] = {field.name: 1 for field in fields(Evaluation)}
    figures |= {"job": name, "planning": way.planning, "keys": way.keys, "n": 1 << 14}
    figures |= {"l2_error": 1e-6, "max_error": 1e-7}
    return Evaluation(**(figures | changed))


def test_every_figure_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evaluations = [evaluation_of(name, way) for name in NAMED for way in WAYS]
    path = tmp_path / "figures.json"
    assert einsum.finish(evaluations, path) == 0
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    assert all(set(row) == {field.name for field in fields(Row)} for row in rows)
    found = {(row["job"], row["figure"], row["unit"]) for row in rows}
    assert len(found) == len(rows) == 13 * len(evaluations)
    assert ("matmul, compiled, power-of-two keys", "CPU time", "ms") in found
    printed = capsys.readouterr()
    assert all(f"\n{name} " in printed.out for name in NAMED)
    assert printed.err == ""


@pytest.mark.parametrize("error", [1e-3, math.inf, math.nan])
def test_a_wrong_result_fails_the_run(error: float, capsys: pytest.CaptureFixture[str]) -> None:
    assert einsum.finish([evaluation_of("dot", l2_error=error)], None) == 1
    assert einsum.finish([evaluation_of("dot", max_error=error)], None) == 1
    assert "WRONG: dot, eager, all keys" in capsys.readouterr().err


def test_a_job_that_fails_is_told_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    unknown = replace(SMALL, name="unknown")
    monkeypatch.setattr(einsum, "WAYS", WAYS[:1])
    assert list(einsum.benchmark([unknown, unknown], runs=1)) == []
    assert capfd.readouterr().err.count("FAILED: unknown, eager, all keys") == 2


def test_targets_tell_met_from_not_met() -> None:
    eager, powers, compiled = WAYS[:3]
    found = targets(
        [
            evaluation_of("matmul", eager, cpu_seconds=1.0),
            evaluation_of("matmul", powers, cpu_seconds=1.0, modelled_seconds=1.3),
            evaluation_of("matmul", compiled, cpu_seconds=1.0, modelled_seconds=2.0),
            evaluation_of("sum", eager, cpu_seconds=0.5, modelled_seconds=2.0),
            evaluation_of("row sum", eager, cpu_seconds=1.0, process_bytes=7 * 10**9),
            evaluation_of("transpose", eager, cpu_seconds=1.0, modelled_seconds=0.0),
        ]
    )
    assert [(target.bound, target.outcome) for target in found] == [
        (100.0, "not met"),
        (30.0, "met"),
        (10.0, "met"),
        (100.0, "met"),
        (pytest.approx(13.29, abs=0.01), "met"),
        (6.0, "not met"),
        (35.0, "met"),
    ]


@pytest.mark.slow
def test_the_quick_run_is_right(capfd: pytest.CaptureFixture[str]) -> None:
    assert einsum.main(["--quick"]) == 0
    assert capfd.readouterr().out.count("\nmatmul ") == len(WAYS) + 1
