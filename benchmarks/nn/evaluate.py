"""What was measured of one network, and how it is measured."""

from __future__ import annotations

import math
import statistics
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.measurement import Row
from benchmarks.nn.jobs import PRECISION, Job
from cloakwork import _native
from cloakwork._native import Parameters
from cloakwork.explain.layers import layers_of
from cloakwork.explain.modelled import seconds_with_kept
from cloakwork.plan.analysis.memory import kept_transforms, process_memory
from cloakwork.plan.cost.measure import measured
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import SlotProgram
from cloakwork.schemes.device.devices import CPU
from cloakwork.schemes.encoded_cache import default_cache_bytes
from examples.nn.two_parties import answers


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One network, evaluated.

    Args:
        job: Its name.
        n: Ring degree.
        level: Levels that it takes.
        threads: Threads of the engine.
        batch: Inputs of a run.
        inputs: Inputs of all runs; of the same some are run often.
        cpu_seconds: Of one run, all threads together, its layers encoded before.
        wall_seconds: Of one run.
        first_seconds: CPU seconds of the first run, which encodes the layers.
        compile_seconds: Of compiling it.
        modelled_seconds: What the summary says of a run.
        precision: Bits of the mean error below 1.
        range_precision: Bits of the mean error below the range of the outputs.
        agreeing: Inputs whose largest output is the one that it is in the clear.
        rotations: How many.
        diagonals: How many.
        keys: How many evaluation keys.
        key_bytes: Bytes of the keys.
        encoded_bytes: Bytes of its encoded layers.
        process_bytes: The most bytes that the evaluator's process took, keys included.
        predicted_bytes: What the summary says of them.
    """

    job: str
    n: int
    level: int
    threads: int
    batch: int
    inputs: int
    cpu_seconds: float
    wall_seconds: float
    first_seconds: float
    compile_seconds: float
    modelled_seconds: float
    precision: float
    range_precision: float
    agreeing: int
    rotations: int
    diagonals: int
    keys: int
    key_bytes: int
    encoded_bytes: int
    process_bytes: int
    predicted_bytes: int

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
            ("precision of the range", "bits", self.range_precision),
            ("agreeing", "inputs", self.agreeing),
            ("inputs", "inputs", self.inputs),
            ("rotations", "operations", self.rotations),
            ("diagonals", "diagonals", self.diagonals),
            ("keys", "keys", self.keys),
            ("keys", "bytes", self.key_bytes),
            ("encoded layers", "bytes", self.encoded_bytes),
            ("process", "bytes", self.process_bytes),
            ("predicted process", "bytes", self.predicted_bytes),
        ]
        for figure, unit, value in figures:
            yield Row(self.job, self.n, self.level, self.threads, figure, unit, value)


def evaluate(job: Job, device: str = CPU) -> Evaluation:
    """Compile a network, run it in an evaluator's process, compare it with the clear."""
    case = job.make()
    start = time.perf_counter()
    network = compile_graph(
        case.capture(),
        case.samples,
        NetworkOptions(title=job.name, precision=PRECISION, batch=job.batch),
    )
    compile_seconds = time.perf_counter() - start
    # As often as it takes for the batches of all runs.
    turns = np.arange(job.runs * network.batch) % len(case.inputs)
    found = answers(network, case.inputs[turns], device)
    outputs = found.outputs.reshape(len(turns), -1)
    expected = case.expected[turns].reshape(outputs.shape)
    error = float(np.abs(outputs - expected).mean())
    body, parameters = network.body, network.scheme.parameters
    assert isinstance(body, SlotProgram)
    costs, cache_bytes = measured(parameters), default_cache_bytes()
    kept = kept_transforms(body, parameters, cache_bytes)
    layers = layers_of(body, seconds_with_kept(body, parameters, costs, kept))
    return Evaluation(
        job=job.name,
        n=parameters.n,
        level=parameters.levels,
        threads=_native.threads(),
        batch=network.batch,
        inputs=len(turns),
        cpu_seconds=statistics.median(found.cpu[1:]),
        wall_seconds=statistics.median(found.wall[1:]),
        first_seconds=found.cpu[0],
        compile_seconds=compile_seconds,
        modelled_seconds=sum(layer.seconds for layer in layers) + costs.run,
        precision=-math.log2(error),
        range_precision=-math.log2(error / np.ptp(expected)),
        agreeing=int((outputs.argmax(axis=1) == expected.argmax(axis=1)).sum()),
        rotations=sum(layer.rotations for layer in layers),
        diagonals=sum(layer.diagonals for layer in layers),
        keys=len(required_keys(body)),
        key_bytes=network.key_bytes,
        encoded_bytes=encoded_bytes(body, parameters),
        process_bytes=found.peak_bytes,
        predicted_bytes=process_memory(body, parameters, cache_bytes).total,
    )


def encoded_bytes(body: SlotProgram, parameters: Parameters) -> int:
    """Bytes of all layers encoded, as an evaluator keeps them between runs."""
    return sum(kept_transforms(body, parameters, sys.maxsize).values())
