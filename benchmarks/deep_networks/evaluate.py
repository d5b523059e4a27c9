"""What was measured of one deep network, and how it is measured."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

import cloakwork as cw
from benchmarks.deep_networks.jobs import Job
from benchmarks.measurement import Row
from cloakwork import _native
from cloakwork.plan.analysis.memory import process_memory
from cloakwork.programs.slots import SlotProgram
from cloakwork.schemes.encoded_cache import default_cache_bytes
from examples.nn.labelled import spread
from examples.nn.two_parties import answers


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One network, evaluated in one run.

    Args:
        job: Its name.
        n: Ring degree.
        level: Levels that its parameters have.
        threads: Threads of the engine.
        batch: Inputs of a run.
        inputs: Those of all runs.
        accuracy: In the clear, of 1.
        train_seconds: Of training it.
        compile_seconds: Of compiling it.
        cpu_seconds: Of the first run, all threads together.
        wall_seconds: Of the first run.
        modelled_seconds: What `cloakwork.estimate` says of the CPU.
        bootstraps: How many.
        rotations: How many.
        diagonals: How many.
        key_bytes: Bytes of the keys.
        process_bytes: The most bytes that the evaluator's process took, keys included.
        predicted_bytes: What the summary says of them, within the limit that was given.
        agreeing: Inputs whose largest output is the one that it is in the clear.
        range_precision: Bits of the mean error below the range of the outputs.
        largest_error: Of the outputs.
        expected_error: The error that the program says to expect.
    """

    job: str
    n: int
    level: int
    threads: int
    batch: int
    inputs: int
    accuracy: float
    train_seconds: float
    compile_seconds: float
    cpu_seconds: float
    wall_seconds: float
    modelled_seconds: float
    bootstraps: int
    rotations: int
    diagonals: int
    key_bytes: int
    process_bytes: int
    predicted_bytes: int
    agreeing: int
    range_precision: float
    largest_error: float
    expected_error: float

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        figures: list[tuple[str, str, float]] = [
            ("accuracy", "of 1", self.accuracy),
            ("training", "s", self.train_seconds),
            ("compile time", "s", self.compile_seconds),
            ("CPU time", "s", self.cpu_seconds),
            ("time", "s", self.wall_seconds),
            ("modelled time", "s", self.modelled_seconds),
            ("bootstraps", "operations", self.bootstraps),
            ("rotations", "operations", self.rotations),
            ("diagonals", "diagonals", self.diagonals),
            ("keys", "bytes", self.key_bytes),
            ("process", "bytes", self.process_bytes),
            ("predicted process", "bytes", self.predicted_bytes),
            ("inputs", "inputs", self.inputs),
            ("agreeing", "inputs", self.agreeing),
            ("precision of the range", "bits", self.range_precision),
            ("largest error", "", self.largest_error),
            ("expected error", "", self.expected_error),
        ]
        for figure, unit, value in figures:
            yield Row(self.job, self.n, self.level, self.threads, figure, unit, value)


def evaluate(job: Job, programs: Path | None = None) -> Evaluation:
    """Train a network, compile it, run it in an evaluator's process, compare it with the clear.

    Args:
        job: The network.
        programs: A folder where compiled programs are kept; None keeps none.
    """
    start = time.perf_counter()
    trained = job.train()
    train_seconds = time.perf_counter() - start
    inputs = trained.data.test[: job.runs * job.batch]
    start = time.perf_counter()
    network = cw.nn.compile(
        trained.module,
        inputs[:1],
        calibration=spread(trained.data.train, job.calibrating),
        precision=job.precision,
        margin=job.margin,
        batch=job.batch,
        cache=programs,
    )
    compile_seconds = time.perf_counter() - start
    with torch.no_grad():
        expected = trained.module(inputs).double().numpy().reshape(len(inputs), -1)
    found = answers(network, inputs.double().numpy(), memory_limit=job.memory_limit)
    outputs = found.outputs.reshape(expected.shape)
    errors = np.abs(outputs - expected)
    estimate = cw.estimate(network, memory_limit=job.memory_limit)
    body, scheme = network.body, network.scheme
    assert isinstance(body, SlotProgram)
    memory = process_memory(
        body, scheme.parameters, default_cache_bytes(), scheme.refreshing, job.memory_limit
    )
    done = estimate.operations
    return Evaluation(
        job=job.name,
        n=scheme.parameters.n,
        level=scheme.parameters.levels,
        threads=_native.threads(),
        batch=job.batch,
        inputs=len(inputs),
        accuracy=trained.accuracy(),
        train_seconds=train_seconds,
        compile_seconds=compile_seconds,
        cpu_seconds=found.cpu[0],
        wall_seconds=found.wall[0],
        modelled_seconds=estimate.seconds,
        bootstraps=done.get("bootstrap", 0) + done.get("paired bootstrap", 0),
        rotations=done.get("rotation", 0),
        diagonals=done.get("diagonal", 0),
        key_bytes=network.key_bytes,
        process_bytes=found.peak_bytes,
        predicted_bytes=memory.total,
        agreeing=int((outputs.argmax(axis=1) == expected.argmax(axis=1)).sum()),
        range_precision=-math.log2(errors.mean() / np.ptp(expected)),
        largest_error=float(errors.max()),
        expected_error=network.error or 0.0,
    )
