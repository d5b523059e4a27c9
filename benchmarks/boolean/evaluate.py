"""What was measured of one program over bits, and how it is measured."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from benchmarks.boolean.jobs import Job
from benchmarks.boolean.layers import layered_seconds, layers_of
from benchmarks.measurement import Row
from cloakwork import _native
from cloakwork._native import BooleanCiphertexts, BooleanEvaluationKey, BooleanSecretKey
from cloakwork.plan.boolean.cache import cached_mapping
from cloakwork.plan.boolean.gate_by_gate import gate_by_gate
from cloakwork.plan.boolean.map import MappedProgram
from cloakwork.plan.cost.tfhe import data_flow_seconds, stated_sets
from cloakwork.programs.bootstraps import BootstrapProgram, bootstrap_statistics_of
from cloakwork.programs.packing.bits import BitPacking
from cloakwork.runtime.client import Client
from cloakwork.runtime.encrypted import KEY_ID_BYTES
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.program import Program
from cloakwork.schemes.tfhe import Tfhe
from cloakwork.schemes.tfhe_noise import failure_of

THREADS = (1, 2, 4, 8, 16, 32, 64, 128)

# Of the time of a gate.
_REPETITIONS = 15
# Gate by gate is measured where it takes less on one thread.
_MOST_SECONDS = 60.0

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Run:
    """One run on ciphertexts.

    Args:
        threads: Threads.
        cpu_seconds: Of all threads together.
        wall_seconds: From its start to its end.
    """

    threads: int
    cpu_seconds: float
    wall_seconds: float


@dataclass(frozen=True, slots=True)
class GateByGate:
    """The program's gates of two inputs, a bootstrap each, layer by layer on the same keys.

    Args:
        gates: How many there are.
        depth: How many stand one after another.
        cpu_seconds: Measured on all threads; or the gates times the time of one.
        wall_seconds: Measured on all threads, None where it was not.
        least_seconds: CPU seconds under the parameters with the quickest gate that goes wrong as
            seldom: measured where these are the program's and it was, else the gates times the
            time of one.
    """

    gates: int
    depth: int
    cpu_seconds: float
    wall_seconds: float | None
    least_seconds: float

    @property
    def least_gate_seconds(self) -> float:
        """Those of one gate."""
        return self.least_seconds / self.gates

    @property
    def source(self) -> str:
        """Whether it was run."""
        return "stated" if self.wall_seconds is None else "measured"


@dataclass(frozen=True, slots=True)
class Schedule:
    """Simulated seconds of a program by number of threads.

    Args:
        mapped_for: Threads that it was mapped for.
        bootstraps: Its bootstraps.
        depth: How many of them stand one after another.
        data_flow: Each node as soon as its operands are there.
        layered: Each layer when the one before is done.
    """

    mapped_for: int
    bootstraps: int
    depth: int
    data_flow: Mapping[int, float]
    layered: Mapping[int, float]

    def efficiency(self, threads: int) -> float:
        """The share of the threads' time by data flow in which they work."""
        return self.data_flow[1] / (threads * self.data_flow[threads])

    def layered_efficiency(self, threads: int) -> float:
        """The share of the threads' time layer by layer in which they work."""
        return self.data_flow[1] / (threads * self.layered[threads])

    def speed_up(self, threads: int) -> float:
        """How many times shorter data flow is than layers."""
        return self.layered[threads] / self.data_flow[threads]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One program, evaluated.

    Args:
        job: Its name.
        parameters: The parameter set.
        bootstraps: Bootstraps of the mapped program.
        depth: How many of them stand one after another.
        log2_failure: The probability that the program goes wrong anywhere.
        log2_worst_failure: That of its worst bootstrap or output.
        mapping_seconds: Of mapping, next to nothing where the mapping was in the user's cache.
        runs: On one thread and on all.
        right: Whether all that was decrypted is what the gates make in the clear.
        gate_by_gate: The baseline.
        schedules: Simulated, of the program that ran and of those mapped for other threads.
    """

    job: str
    parameters: str
    bootstraps: int
    depth: int
    log2_failure: float
    log2_worst_failure: float
    mapping_seconds: float
    runs: tuple[Run, ...]
    right: bool
    gate_by_gate: GateByGate
    schedules: tuple[Schedule, ...]

    @property
    def one(self) -> Run:
        """The run on one thread."""
        return self.runs[0]

    @property
    def all(self) -> Run:
        """The run on all threads."""
        return self.runs[-1]

    @property
    def share(self) -> float:
        """CPU seconds on one thread against those of gate by gate."""
        return self.one.cpu_seconds / self.gate_by_gate.cpu_seconds

    def schedule(self, mapped_for: int) -> Schedule | None:
        """The schedules of what was mapped for so many threads."""
        return next((each for each in self.schedules if each.mapped_for == mapped_for), None)

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        gates = self.gate_by_gate
        counts: list[tuple[str, str, float]] = [
            ("gates", "gates", gates.gates),
            ("gate depth", "gates", gates.depth),
            ("bootstraps", "bootstraps", self.bootstraps),
            ("depth", "bootstraps", self.depth),
            ("failure", "log2", self.log2_failure),
            ("worst failure", "log2", self.log2_worst_failure),
            ("mapping time", "ms", 1000 * self.mapping_seconds),
            ("right", "results", self.right),
            (f"gate by gate, {gates.source}, CPU time", "ms", 1000 * gates.cpu_seconds),
            ("gate by gate, quickest parameters, CPU time", "ms", 1000 * gates.least_seconds),
        ]
        for figure, unit, value in counts:
            yield self._row(1, figure, unit, float(value))
        if gates.wall_seconds is not None:
            threads = self.all.threads
            yield self._row(threads, "gate by gate, time", "ms", 1000 * gates.wall_seconds)
        for run in self.runs:
            yield self._row(run.threads, "CPU time", "ms", 1000 * run.cpu_seconds)
            yield self._row(run.threads, "time", "ms", 1000 * run.wall_seconds)
        for schedule in self.schedules:
            mapped = f"mapped for {schedule.mapped_for} threads"
            for threads in schedule.data_flow:
                for figure, seconds in (
                    ("simulated data flow", schedule.data_flow[threads]),
                    ("simulated layers", schedule.layered[threads]),
                ):
                    yield self._row(threads, f"{figure}, {mapped}", "ms", 1000 * seconds)

    def _row(self, threads: int, figure: str, unit: str, value: float) -> Row:
        # Bits have no ring degree and no level that a user chooses: the parameters' name tells.
        return Row(f"{self.job}, {self.parameters}", 0, 0, threads, figure, unit, value)


@dataclass(frozen=True, slots=True)
class _Keys:
    """Keys that serve every program under the parameters of one."""

    scheme: Tfhe
    secret: BooleanSecretKey
    evaluation: BooleanEvaluationKey

    @classmethod
    def made(cls, mapped: MappedProgram) -> _Keys:
        """New keys."""
        scheme = Tfhe(mapped.costs.name)
        secret = scheme.secret_key()
        return cls(scheme, secret, scheme.evaluation_keys(secret, mapped.program))

    def roles(self, body: BootstrapProgram) -> tuple[Client, Evaluator]:
        """Client and evaluator of a program."""
        program = Program(self.scheme, body, BitPacking(body.inputs, body.outputs))
        key_id = secrets.token_bytes(KEY_ID_BYTES)
        return Client(program, self.secret, key_id), Evaluator(program, self.evaluation, key_id)

    def encrypted(self, body: BootstrapProgram, arguments: Mapping[str, Any]) -> BooleanCiphertexts:
        """The ciphertexts of all inputs, in the order in which the program has them."""
        (run,) = BitPacking(body.inputs, body.outputs).pack(arguments, "encrypt").runs
        values = self.scheme.encrypt(self.secret, run, body, None)
        order = np.concatenate([body.signals_of(number) for number in values])
        first, *others = values.values()
        together: BooleanCiphertexts = first.concatenate(others)
        return together.select(np.argsort(order).tolist())

    def decrypted(self, body: BootstrapProgram, outputs: BooleanCiphertexts) -> Any:
        """Every output by name."""
        several = [outputs.select(range(own.start, own.stop)) for own in body.output_slices]
        found = self.scheme.decrypt(self.secret, several, body)
        return BitPacking(body.inputs, body.outputs).unpack([found.vectors], None)


def evaluate(job: Job) -> Evaluation:
    """Read and map a program, run it on one thread and on all, and check what it makes."""
    circuit = job.read()
    arguments = job.arguments(circuit)
    expected = circuit.run_clear(**arguments)
    start = time.perf_counter()
    mapped = cached_mapping(circuit.gates, stated_sets(), _native.threads())
    mapping_seconds = time.perf_counter() - start
    keys = _Keys.made(mapped)
    client, evaluator = keys.roles(mapped.program)
    secret = {name: value for name, value in arguments.items() if name not in job.clear}
    clear = {name: arguments[name] for name in job.clear}
    encrypted = client.encrypt(**secret)
    runs, right = [], True
    for threads in sorted({1, _native.threads()}):
        result, run = _measured(
            threads, lambda count: evaluator.run(encrypted, clear, threads=count)
        )
        runs.append(run)
        right = right and _same(client.decrypt(result), expected)
    plain = gate_by_gate(circuit.gates)
    baseline, baseline_right = _gate_by_gate(plain, keys, arguments, expected)
    statistics = bootstrap_statistics_of(mapped.program)
    others = [
        (threads, cached_mapping(circuit.gates, stated_sets(), threads))
        for threads in job.schedule_threads
    ]
    return Evaluation(
        job=job.name,
        parameters=mapped.costs.name,
        bootstraps=statistics.bootstraps,
        depth=statistics.depth,
        log2_failure=mapped.failure.total,
        log2_worst_failure=mapped.failure.worst,
        mapping_seconds=mapping_seconds,
        runs=tuple(runs),
        right=right and baseline_right,
        gate_by_gate=baseline,
        schedules=tuple(
            _schedule(threads, each) for threads, each in [(_native.threads(), mapped), *others]
        ),
    )


def _measured(threads: int, work: Callable[[int], _Result]) -> tuple[_Result, Run]:
    start, cpu_start = time.perf_counter(), time.process_time()
    result = work(threads)
    cpu, wall = time.process_time() - cpu_start, time.perf_counter() - start
    return result, Run(threads, cpu, wall)


def _gate_by_gate(
    plain: BootstrapProgram,
    keys: _Keys,
    arguments: Mapping[str, Any],
    expected: Mapping[str, Any],
) -> tuple[GateByGate, bool]:
    """The baseline, run where that does not take long, and whether it made the right result."""
    gates, depth = plain.bootstrap_count, int(plain.levels.max(initial=0))
    name, quickest = keys.scheme.parameters.name, _quickest_gate(plain)
    least, stated = gates * gate_seconds(quickest), gates * gate_seconds(name)
    if stated >= _MOST_SECONDS:
        return GateByGate(gates, depth, stated, None, least), True
    layers, inputs = layers_of(plain), keys.encrypted(plain, arguments)
    outputs, run = _measured(
        _native.threads(), lambda count: layers.run(keys.evaluation, inputs, count)
    )
    found = keys.decrypted(plain, outputs)
    least = run.cpu_seconds if name == quickest else least
    measured = GateByGate(gates, depth, run.cpu_seconds, run.wall_seconds, least)
    return measured, _same(found, expected)


def _quickest_gate(plain: BootstrapProgram) -> str:
    """The parameters with the quickest gate of two inputs that goes wrong as seldom as is asked."""
    names = [
        costs.name
        for costs in stated_sets()
        if failure_of(plain, costs.noise).worst <= -costs.noise.failure_bits
    ]
    return min(names, key=gate_seconds)


@lru_cache
def gate_seconds(name: str) -> float:
    """Seconds of one ordinary gate of two inputs under a parameter set, on one thread."""
    return float(_native.boolean_seconds(name, _REPETITIONS)["gate"])


def _schedule(mapped_for: int, mapped: MappedProgram) -> Schedule:
    statistics = bootstrap_statistics_of(mapped.program)
    return Schedule(
        mapped_for,
        statistics.bootstraps,
        statistics.depth,
        {count: data_flow_seconds(mapped.program, mapped.costs, count) for count in THREADS},
        {count: layered_seconds(mapped.program, mapped.costs, count) for count in THREADS},
    )


def _same(found: Mapping[str, Any], expected: Mapping[str, Any]) -> bool:
    return found.keys() == expected.keys() and all(
        np.array_equal(found[name], value) for name, value in expected.items()
    )
