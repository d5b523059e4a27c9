"""What was measured of one row of programs, and how it is measured."""

from __future__ import annotations

import resource
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import cloakwork as cw
from benchmarks.decisions.jobs import Job
from benchmarks.measurement import Row
from cloakwork import _native
from cloakwork.runtime.row import key_bytes_of
from cloakwork.schemes.bridged import KeyPair


@dataclass(frozen=True, slots=True)
class Part:
    """One program of a row.

    Args:
        name: Its name.
        bootstraps: Those of bits.
        log2_failure: The probability that it, or one before it, goes wrong.
        told_seconds: What `cloakwork.estimate` says of the CPU.
        cpu_seconds: Of all threads together, the median of all runs.
        wall_seconds: The same from the start to the end of a run.
    """

    name: str
    bootstraps: int
    log2_failure: float
    told_seconds: float
    cpu_seconds: float
    wall_seconds: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A row, evaluated.

    Args:
        job: Its name.
        threads: Threads of the engine.
        parts: Its programs.
        told_key_bytes: Bytes of the evaluation keys by the programs alone.
        key_bytes: What the evaluator has.
        peak_bytes: The most bytes that the process, client and evaluator in one, took until then.
        verdicts: How many results are equal, close and wrong.
    """

    job: str
    threads: int
    parts: tuple[Part, ...]
    told_key_bytes: int
    key_bytes: int
    peak_bytes: int
    verdicts: Mapping[str, int]

    @property
    def is_right(self) -> bool:
        """Whether no result was wrong."""
        return not self.verdicts.get("wrong")

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        for part in self.parts:
            figures: list[tuple[str, str, float]] = [
                ("bootstraps", "bootstraps", part.bootstraps),
                ("failure", "log2", part.log2_failure),
                ("modelled time", "ms", 1000 * part.told_seconds),
                ("CPU time", "ms", 1000 * part.cpu_seconds),
                ("time", "ms", 1000 * part.wall_seconds),
            ]
            for figure, unit, value in figures:
                yield Row(f"{self.job}: {part.name}", 0, 0, self.threads, figure, unit, value)
        whole: list[tuple[str, str, float]] = [
            ("predicted keys", "bytes", self.told_key_bytes),
            ("keys", "bytes", self.key_bytes),
            ("process", "bytes", self.peak_bytes),
            *((f"{verdict} results", "results", count) for verdict, count in self.verdicts.items()),
        ]
        for figure, unit, value in whole:
            yield Row(self.job, 0, 0, self.threads, figure, unit, value)


def evaluate(job: Job, runs: int) -> Evaluation:
    """Make the keys of a row, run it on ciphertexts, and judge what it decides."""
    task = job.make(runs)
    first, *others = task.programs
    client, evaluator = first.keygen()
    clients, evaluators = [client], [evaluator]
    for number, program in enumerate(others, start=1):
        clients.append(client.serving(program))
        lacking = clients[-1].evaluation_keys(*task.programs[:number])
        evaluators.append(evaluators[-1].serving(program, lacking))
    times: list[list[tuple[float, float]]] = []
    verdicts: Counter[str] = Counter()
    for run in task.runs:
        made: Any = client.encrypt(**run.arguments)
        of_run = []
        for each in evaluators:
            clear = (run.clear,) if each is evaluator and run.clear else ()
            start, cpu_start = time.perf_counter(), time.process_time()
            made = each.run(made, *clear)
            of_run.append((time.process_time() - cpu_start, time.perf_counter() - start))
        times.append(of_run)
        verdicts[run.judge(clients[-1].decrypt(made))] += 1
    parts = [
        _part(program, own)
        for program, own in zip(task.programs, zip(*times, strict=True), strict=True)
    ]
    return Evaluation(
        job=job.name,
        threads=_native.threads(),
        parts=tuple(parts),
        told_key_bytes=key_bytes_of(task.programs),
        key_bytes=_key_bytes(evaluators[-1]._key),
        peak_bytes=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        verdicts=dict(verdicts),
    )


def _key_bytes(keys: KeyPair) -> int:
    """As they are told: those of slots as they are held, those of bits as they are stored."""
    held = [each.nbytes for each in (keys.slots, keys.back) if each is not None]
    stored = [len(each.to_bytes()) for each in (keys.bits, keys.switch) if each is not None]
    return sum(held) + sum(stored)


def _part(program: cw.Program, times: tuple[tuple[float, float], ...]) -> Part:
    told = cw.estimate(program)
    cpu, wall = (statistics.median(each) for each in zip(*times, strict=True))
    bootstraps = told.operations.get("bootstrap", 0)
    return Part(program.name, bootstraps, program.log2_failure, told.seconds, cpu, wall)
