"""What was measured of one network, and how it is measured."""

from __future__ import annotations

import math
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.measurement import Row
from benchmarks.nn_jobs import PRECISION, Job
from cloakwork import _native, nn
from cloakwork.explain.networks import layers_of
from cloakwork.frontends.nn.evaluate import evaluate as evaluate_layers
from cloakwork.plan.keys import demand_of
from cloakwork.plan.measured_cost import measured

_SAMPLES = 16


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One network, evaluated.

    Args:
        job: Its name.
        n: Ring degree.
        level: Levels that it takes.
        threads: Threads of the engine.
        batch: Inputs of a run.
        cpu_seconds: Of one run, all threads together, its layers encoded before.
        wall_seconds: Of one run.
        first_seconds: CPU seconds of the first run, which encodes the layers.
        compile_seconds: Of compiling it.
        modelled_seconds: What the summary says of a run.
        precision: Bits of the mean error below 1.
        rotations: How many.
        diagonals: How many.
        keys: How many evaluation keys.
        key_bytes: Bytes of the keys.
        encoded_bytes: Bytes of its encoded layers.
        process_bytes: The most bytes that the process took, keys and compiling included.
    """

    job: str
    n: int
    level: int
    threads: int
    batch: int
    cpu_seconds: float
    wall_seconds: float
    first_seconds: float
    compile_seconds: float
    modelled_seconds: float
    precision: float
    rotations: int
    diagonals: int
    keys: int
    key_bytes: int
    encoded_bytes: int
    process_bytes: int

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        figures: list[tuple[str, str, float]] = [
            ("CPU time", "ms", 1000 * self.cpu_seconds),
            ("time", "ms", 1000 * self.wall_seconds),
            ("first CPU time", "ms", 1000 * self.first_seconds),
            ("compile time", "ms", 1000 * self.compile_seconds),
            ("modelled time", "ms", 1000 * self.modelled_seconds),
            ("throughput", "inputs per CPU second", self.batch / self.cpu_seconds),
            ("precision", "bits", self.precision),
            ("rotations", "operations", self.rotations),
            ("diagonals", "diagonals", self.diagonals),
            ("keys", "keys", self.keys),
            ("keys", "bytes", self.key_bytes),
            ("encoded layers", "bytes", self.encoded_bytes),
            ("process", "bytes", self.process_bytes),
        ]
        for figure, unit, value in figures:
            yield Row(self.job, self.n, self.level, self.threads, figure, unit, value)


def evaluate(job: Job, runs: int) -> Evaluation:
    """Compile a network, run it so many times besides the first, compare it with its layers."""
    graph = job.make()
    samples = np.random.default_rng(0).uniform(0, 1, (_SAMPLES, *graph.input.shape))
    start = time.perf_counter()
    network = nn.compile_graph(graph, samples, title=job.name, precision=PRECISION, batch=job.batch)
    compile_seconds = time.perf_counter() - start
    client, evaluator = network.keygen()
    inputs = np.random.default_rng(1).uniform(0, 1, (job.batch, *graph.input.shape))
    encrypted = client.encrypt(inputs)
    start = time.process_time()
    result = evaluator.run(encrypted)
    first = time.process_time() - start
    cpu: list[float] = []
    wall: list[float] = []
    for _ in range(runs):
        start, cpu_start = time.perf_counter(), time.process_time()
        result = evaluator.run(encrypted)
        cpu.append(time.process_time() - cpu_start)
        wall.append(time.perf_counter() - start)
    error = float(np.abs(client.decrypt(result) - evaluate_layers(graph, inputs)).mean())
    # Before the costs are measured, which takes memory of its own.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    costs = measured(network.parameters).kept()
    layers = layers_of(network.program, costs)
    return Evaluation(
        job=job.name,
        n=network.parameters.n,
        level=network.parameters.levels,
        threads=_native.threads(),
        batch=job.batch,
        cpu_seconds=statistics.median(cpu),
        wall_seconds=statistics.median(wall),
        first_seconds=first,
        compile_seconds=compile_seconds,
        modelled_seconds=sum(layer.seconds for layer in layers) + costs.run,
        precision=-math.log2(error),
        rotations=sum(layer.rotations for layer in layers),
        diagonals=sum(layer.diagonals for layer in layers),
        keys=len(demand_of(network.program)),
        key_bytes=network.key_bytes,
        encoded_bytes=network.encoded_bytes,
        process_bytes=peak,
    )
