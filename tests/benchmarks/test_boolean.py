"""The benchmark of programs over bits: bootstraps that they take, its report and its checks."""

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.boolean import __main__ as boolean
from benchmarks.boolean.evaluate import THREADS, Evaluation, GateByGate, Run, Schedule, evaluate
from benchmarks.boolean.jobs import JOBS, Job
from benchmarks.boolean.layers import layered_seconds, layers_of
from benchmarks.boolean.targets import targets
from benchmarks.measurement import Row
from cloakwork import _native
from cloakwork.errors import MissingDependencyError
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.plan.boolean.gate_by_gate import gate_by_gate
from cloakwork.plan.boolean.map import map_gates
from cloakwork.plan.cost.tfhe import BitCosts
from cloakwork.programs.bootstraps import bootstrap_statistics_of
from cloakwork.schemes.tfhe_noise import noise_of
from tests.families import greater
from tests.plan.cost.published import published_costs

NAMED = {job.name: job for job in JOBS}
ADDER = NAMED["adder-32-bristol"]

# Seconds as on a Zen 3, so that what is chosen does not depend on the machine.
SECONDS = {"space4": 0.0054, "space4x2": 0.0079, "space8": 0.0086, "space16": 0.0096}
SETS = [
    BitCosts.from_seconds(noise_of(name), {"bootstrap": [seconds] * 3, "linear": 2e-7})
    for name, seconds in SECONDS.items()
]


def costlier(costs: BitCosts) -> BitCosts:
    """Every doubling of the tables takes a fiftieth of the time."""
    (seconds, *_) = costs.bootstrap_seconds
    return replace(costs, bootstrap_seconds=(seconds, 1.02 * seconds, 1.04 * seconds))


# The most bootstraps, and the most of them one after another, on two threads.
MOST = {
    "adder-32-bristol": (32, 32),
    "adder-64": (64, 64),
    "calculator": (250, 28),
    "relu": (48, 1),
    "sort": (349, 106),
    "pir-100": (1191, 7),
    "pir-100-table": (90, 6),
    # A bootstrap for each of 3,199 ANDs was twice as many, and gate by gate there are 6,399.
    "pir-100-member": (1009, 6),
    "aes-encrypt": (5126, 167),
    "chi-squared": (1201, 38),
    "chi-squared-python": (871, 43),
    "cardio": (56, 13),
    "cardio-python": (51, 13),
    "auction": (1205, 96),
    "auction-python": (1150, 91),
    "hamming": (198, 14),
    "hamming-python": (124, 11),
}


def is_quick(name: str) -> bool:
    return name == ADDER.name or name.endswith("-python")


names_to_map = [
    # Clash and Yosys take seconds for each.
    pytest.param(name, marks=() if is_quick(name) else pytest.mark.slow)
    for name in MOST
]


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = _native.threads()
    _native.set_threads(2)
    yield
    _native.set_threads(before)


@pytest.mark.parametrize("name", names_to_map)
def test_bootstraps_that_programs_take(name: str) -> None:
    mapped = map_gates(NAMED[name].read().gates, SETS, threads=2)
    found = bootstrap_statistics_of(mapped.program)
    assert found.bootstraps <= MOST[name][0]
    assert found.depth <= MOST[name][1]
    assert mapped.failure.worst <= -128


@pytest.mark.slow
@pytest.mark.parametrize(
    "sets",
    [SETS, [costlier(each) for each in SETS], [published_costs()]],
    ids=["one cost", "tables that cost", "published"],
)
def test_data_flow_gains_on_layers_for_aes(sets: list[BitCosts]) -> None:
    mapped = map_gates(NAMED["aes-encrypt"].read().gates, sets, threads=64)
    by_layer = layered_seconds(mapped.program, mapped.costs, 64)
    assert by_layer >= 1.3 * mapped.seconds


def test_a_program_is_cut_into_its_layers() -> None:
    program = gate_by_gate(ADDER.read().gates)
    layers = layers_of(program)
    made = [layer.program.bootstraps for layer in layers.layers]
    assert sum(made) == program.bootstrap_count
    assert [count for count in made if count] == list(bootstrap_statistics_of(program).widths)


def require_measured_and_right(job: Job, gates: int) -> None:
    made = evaluate(job)
    assert made.right
    assert [run.threads for run in made.runs] == [1, 2]
    assert all(run.cpu_seconds > 0 and run.wall_seconds > 0 for run in made.runs)
    assert made.gate_by_gate.gates == gates
    assert made.gate_by_gate.source == "measured"
    assert [schedule.mapped_for for schedule in made.schedules] == [2, 64]


@pytest.mark.usefixtures("two_threads")
def test_a_program_is_measured_and_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.boolean.evaluate.gate_seconds", SECONDS.__getitem__)
    require_measured_and_right(Job("comparison", lambda: Circuit(greater(4))), 12)


@pytest.mark.slow
@pytest.mark.usefixtures("two_threads")
def test_the_adder_is_measured_and_right() -> None:
    require_measured_and_right(ADDER, 157)


@pytest.mark.parametrize("name", ["pir-100", "pir-500-table"])
def test_an_index_is_that_of_an_entry(name: str) -> None:
    job = NAMED[name]
    assert set(job.below) == {"index"}
    adder = ADDER.read()
    arguments = replace(job, below={"x0": 7}).arguments(adder)
    assert arguments["x0"] < 7 <= arguments["x1"]
    assert arguments == replace(job, below={"x0": 7}).arguments(adder)


def evaluation_of(
    name: str, *, seconds: float = 1.0, speed_up: float = 2.0, **changed: Any
) -> Evaluation:
    simulated = dict.fromkeys(THREADS, 1.0)
    figures: dict[str, Any] = {
        "job": name,
        "parameters": "space4",
        "bootstraps": 10,
        "depth": 5,
        "log2_failure": -70.0,
        "log2_worst_failure": -80.0,
        "mapping_seconds": 0.5,
        "runs": (Run(1, seconds, seconds), Run(2, seconds, seconds / speed_up)),
        "right": True,
        "gate_by_gate": GateByGate(100, 8, 2.0, None, 1.0),
        "schedules": tuple(Schedule(each, 10, 5, simulated, simulated) for each in (2, 64)),
    }
    return Evaluation(**(figures | changed))


def test_every_figure_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    measured = GateByGate(100, 8, 2.0, 1.0, 1.0)
    evaluations = [evaluation_of(name) for name in NAMED if name != ADDER.name]
    evaluations.append(evaluation_of(ADDER.name, gate_by_gate=measured))
    path = tmp_path / "figures.json"
    assert boolean.finish(evaluations, path) == 0
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    assert all(set(row) == {field.name for field in fields(Row)} for row in rows)
    found = {(row["job"], row["threads"], row["figure"], row["unit"]) for row in rows}
    assert len(found) == len(rows) == (10 + 2 * 2 + 2 * 2 * len(THREADS)) * len(JOBS) + 1
    assert ("adder-32-bristol, space4", 2, "gate by gate, time", "ms") in found
    printed = capsys.readouterr()
    assert all(f"\n{name} " in printed.out for name in NAMED)
    assert printed.err == ""


def test_a_wrong_result_fails_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert boolean.finish([evaluation_of("relu"), evaluation_of("sort", right=False)], None) == 1
    assert capsys.readouterr().err == "WRONG: sort\n"


def test_a_program_that_fails_is_told_and_the_others_go_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def evaluated(job: Job) -> Evaluation:
        if job.name == "relu":
            raise MissingDependencyError("cannot read it: there is no Clash")
        return evaluation_of(job.name)

    monkeypatch.setattr(boolean, "evaluate", evaluated)
    found = boolean.benchmark([NAMED["relu"], NAMED["sort"]])
    assert [each.job for each in found] == ["sort"]
    assert "FAILED: relu: cannot read it" in capsys.readouterr().err


def outcomes(*evaluations: Evaluation) -> dict[str, str]:
    return {target.what: target.outcome for target in targets(evaluations)}


def test_targets_tell_met_from_not_met() -> None:
    # 27,987 and 6,399 gates of 10 ms, and 100 of their own.
    assert outcomes(
        evaluation_of("aes-encrypt", seconds=139.0, speed_up=1.84),
        evaluation_of("pir-100", seconds=38.5, speed_up=1.86),
        evaluation_of("relu", seconds=1.0),
    ) == {
        "aes-encrypt, CPU time / 27987 gates' time": "met",
        "pir-100, CPU time / 6399 gates' time": "not met",
        "aes-encrypt, CPU time / own 100 gates' time": "not met",
        "pir-100, CPU time / own 100 gates' time": "not met",
        "relu, CPU time / own 100 gates' time": "met",
        "aes-encrypt, speed-up on 2 threads": "not met",
        "pir-100, speed-up on 2 threads": "met",
        "aes-encrypt, 64 threads simulated, layers' time / data flow's": "not met",
    }


def test_aes_is_held_to_half_of_its_own_gates() -> None:
    found = list(targets([evaluation_of("aes-encrypt", seconds=0.6)]))
    own = [target for target in found if "own" in target.what]
    assert [(target.bound, target.outcome) for target in own] == [(0.5, "not met"), (1.0, "met")]


def test_schedules_are_those_of_what_was_mapped_for_so_many_threads() -> None:
    flow = dict.fromkeys(THREADS, 1.0)
    layered = dict.fromkeys(THREADS, 1.4)
    for_two, for_many = Schedule(2, 10, 5, flow, flow), Schedule(64, 12, 4, flow, layered)
    name = "aes-encrypt, 64 threads simulated, layers' time / data flow's"
    assert outcomes(evaluation_of("aes-encrypt", schedules=(for_two, for_many)))[name] == "met"
    assert outcomes(evaluation_of("aes-encrypt", schedules=(for_two,)))[name] == "not measured"
    assert for_many.efficiency(2) == 0.5
    assert for_many.layered_efficiency(2) == pytest.approx(1 / 2.8)


def test_speed_up_is_that_of_two_threads_alone() -> None:
    runs = Run(1, 1.0, 1.0), Run(8, 1.0, 0.2)
    found = outcomes(evaluation_of("pir-500", runs=runs))
    assert found["pir-500, speed-up on 2 threads"] == "not measured"
