"""What was measured of one job planned in one way, and how it is measured."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw
from benchmarks.einsum.jobs import Job
from benchmarks.einsum.plans import (
    KEYS,
    PRECISION,
    SLOTS,
    Fit,
    Recorder,
    compiled_plan,
    eager_plan,
    key_demand,
    levels_used,
    relinearisations,
    rotations,
)
from benchmarks.measurement import Row
from cloakwork import _native
from cloakwork._native import Parameters
from cloakwork.plan.cost.measure import measured
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.costs import total_seconds
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.device.devices import CPU, open_device

# A job of milliseconds is run more often than one of seconds: at most so often, and no further
# once it has taken so many seconds.
_MOST_RUNS = 25
_ENOUGH_SECONDS = 0.5


class Way(NamedTuple):
    """How a job is planned: eagerly or compiled, and with which keys."""

    planning: str
    keys: str

    def __str__(self) -> str:
        return f"{self.planning}, {self.keys}"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One job planned in one way, evaluated.

    Args:
        job: Its name.
        planning: "eager" or "compiled".
        keys: Which rotations have keys.
        n: Ring degree.
        level: Levels of the parameter set.
        threads: Threads of the engine.
        cpu_seconds: Of one evaluation, all threads together, with the keys made before.
        wall_seconds: Of one evaluation.
        planning_seconds: Of planning alone.
        modelled_seconds: What the planner's measured costs say of the programs.
        rotations: How many.
        key_switches: Rotations and relinearisations.
        levels_used: Levels that the programs take.
        l2_error: Euclidean length of the difference from numpy's result.
        max_error: Largest difference from numpy's result.
        values_bytes: The most bytes that all values took at once.
        process_bytes: The most bytes that the process took: keys and planning included.
        key_bytes: Bytes of the evaluation keys.
    """

    job: str
    planning: str
    keys: str
    n: int
    level: int
    threads: int
    cpu_seconds: float
    wall_seconds: float
    planning_seconds: float
    modelled_seconds: float
    rotations: int
    key_switches: int
    levels_used: int
    l2_error: float
    max_error: float
    values_bytes: int
    process_bytes: int
    key_bytes: int

    @property
    def way(self) -> Way:
        """How it was planned."""
        return Way(self.planning, self.keys)

    @property
    def modelled_ratio(self) -> float | None:
        """Modelled seconds against CPU seconds; None where there is no work to model."""
        return self.modelled_seconds / self.cpu_seconds if self.modelled_seconds else None

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        figures: list[tuple[str, str, float | None]] = [
            ("CPU time", "ms", 1000 * self.cpu_seconds),
            ("time", "ms", 1000 * self.wall_seconds),
            ("planning time", "ms", 1000 * self.planning_seconds),
            ("modelled time", "ms", 1000 * self.modelled_seconds),
            ("modelled time", "CPU times", self.modelled_ratio),
            ("rotations", "operations", self.rotations),
            ("key switches", "operations", self.key_switches),
            ("levels", "levels", self.levels_used),
            ("error", "L2", self.l2_error),
            ("error", "max", self.max_error),
            ("values", "bytes", self.values_bytes),
            ("process", "bytes", self.process_bytes),
            ("keys", "bytes", self.key_bytes),
        ]
        for figure, unit, value in figures:
            if value is not None:
                name = f"{self.job}, {self.way}"
                yield Row(name, self.n, self.level, self.threads, figure, unit, value)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job that was planned and run once, so that its keys are there.

    Args:
        programs: What runs, one after the other.
        parameters: The parameter set.
        found: The result, decrypted.
        planning_seconds: Of planning alone.
        run: Runs it again.
        profile: Runs it again, and measures each program.
    """

    programs: Sequence[SlotProgram]
    parameters: Parameters
    found: NDArray[np.float64]
    planning_seconds: float
    run: Callable[[], None]
    profile: Callable[[], Sequence[Profile]]


def prepare_eager(job: Job, fit: Fit, device: str) -> Prepared:
    """Plan and run a job step by step in a session with the least depth that will do."""
    plan = eager_plan(job, fit, device)
    session = cw.Session(
        depth=plan.depth,
        precision=PRECISION,
        slots=SLOTS,
        bound=plan.bound,
        backend="ckks" if device == CPU else device,
    )
    recorder = Recorder(session, fit, device)
    start = time.perf_counter()
    result = recorder.result(job, job.arrays())
    planning_seconds = time.perf_counter() - start - recorder.seconds
    return Prepared(
        [step.program for step in recorder.steps],
        session.parameters,
        session.decrypt(result),
        planning_seconds,
        recorder.run_again,
        recorder.profile_again,
    )


def prepare_compiled(job: Job, fit: Fit, device: str) -> Prepared:
    """Compile a job, and run it once."""
    start = time.perf_counter()
    compiled, body = compiled_plan(job, fit, device)
    planning_seconds = time.perf_counter() - start
    client, evaluator = compiled.keygen()
    operands = client.encrypt(*job.arrays())
    found = client.decrypt(evaluator.run(operands))
    assert isinstance(found, np.ndarray)

    def run() -> None:
        evaluator.run(operands)

    def profiled() -> Sequence[Profile]:
        profile = Profile()
        evaluator.run(operands, profile=profile)
        return [profile]

    return Prepared([body], compiled.scheme.parameters, found, planning_seconds, run, profiled)


PLANNINGS: Mapping[str, Callable[[Job, Fit, str], Prepared]] = {
    "eager": prepare_eager,
    "compiled": prepare_compiled,
}
WAYS = tuple(Way(planning, keys) for planning in PLANNINGS for keys in KEYS)


def evaluate(job: Job, way: Way, runs: int, device: str = CPU) -> Evaluation:
    """Measure a job planned in one way, running it at least so many times besides the first."""
    prepared = PLANNINGS[way.planning](job, KEYS[way.keys], device)
    error = prepared.found - job.expected(*job.arrays())
    cpu, wall = _measured_runs(prepared.run, runs, device)
    profiles = prepared.profile()
    # Before the costs are measured, which takes memory of its own.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    costs = measured(prepared.parameters)
    turns = rotations(prepared.programs)
    return Evaluation(
        job=job.name,
        planning=way.planning,
        keys=way.keys,
        n=prepared.parameters.n,
        level=prepared.parameters.levels,
        threads=_native.threads(),
        cpu_seconds=cpu,
        wall_seconds=wall,
        planning_seconds=prepared.planning_seconds,
        modelled_seconds=sum(total_seconds(program, costs) for program in prepared.programs),
        rotations=turns,
        key_switches=turns + relinearisations(prepared.programs),
        levels_used=levels_used(prepared.programs),
        l2_error=float(np.linalg.norm(error)),
        max_error=float(np.abs(error).max()),
        values_bytes=max(profile.peak_bytes for profile in profiles),
        process_bytes=peak,
        key_bytes=key_demand(prepared.programs).nbytes(prepared.parameters.evaluation_key_bytes),
    )


def _measured_runs(run: Callable[[], None], runs: int, device: str) -> tuple[float, float]:
    """Median CPU seconds and wall seconds."""
    cpu: list[float] = []
    wall: list[float] = []
    if device != CPU:
        # A device records a program in its second run.
        run()
    while len(cpu) < runs or (len(cpu) < _MOST_RUNS and sum(wall) < _ENOUGH_SECONDS):
        start, cpu_start = time.perf_counter(), time.process_time()
        run()
        if device != CPU:
            # What a session computes stays there, and need not be done yet.
            open_device(device).native.synchronize()
        cpu.append(time.process_time() - cpu_start)
        wall.append(time.perf_counter() - start)
    return statistics.median(cpu), statistics.median(wall)
