"""Measures one product: by a client that encrypts, an evaluator in a process of its own, a check.

Whoever multiplies is a process that has nothing but files, so that its peak memory is its own.
"""

from __future__ import annotations

import resource
import time
from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cloakwork as cw
from benchmarks.matmul.jobs import Job
from benchmarks.measurement import Row
from cloakwork import _native
from cloakwork.programs.operations import RotatedProducts
from cloakwork.programs.packing.matrix import MatrixPacking
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.memory import predicted_peak_bytes

# Bits after the binary point that results are to have.
PRECISION = 7
# Folders; a file of a result that was in memory.
_INPUTS, _RESULT = "inputs", "result"
# Rows of results that are compared at a time.
_ROWS = 1024


@dataclass(frozen=True, slots=True)
class Plan:
    """How a product is computed.

    Args:
        n: Ring degree.
        limbs: Primes of the operands.
        rotations: d.
        groups: Rotated products.
        multiplications: Of residues, in all limbs.
        left: Ciphertexts of the left operand.
        right: Ciphertexts of the right operand.
        results: Ciphertexts of the result.
        key_bytes: Bytes of the keys in memory.
        input_bytes: Bytes of the operands as files.
        compile_seconds: What planning takes.
        keygen_seconds: What the keys take.
        encryption_seconds: What encryption takes, into files.
    """

    n: int
    limbs: int
    rotations: int
    groups: int
    multiplications: int
    left: int
    right: int
    results: int
    key_bytes: int
    input_bytes: int
    compile_seconds: float
    keygen_seconds: float
    encryption_seconds: float


@dataclass(frozen=True, slots=True)
class Timing:
    """What the evaluator takes, once the ciphertexts are read, or from files to files.

    Args:
        threads: Threads of the engine.
        seconds: Of the fastest run on all threads.
        cpu_seconds: Least CPU of these runs.
        one_thread_seconds: Of the fastest run on one thread; None of one that is streamed.
        speed_up: How many times faster all threads are than one, the median of runs in turn;
            None where one thread is not measured.
        product_seconds: Of rotated products in a run on one thread, or in the one that is streamed.
        switch_seconds: Of key switches in the same run.
        numpy_seconds: Of numpy's product of doubles on all threads, the fastest.
        peak_bytes: Of the process, up to the end of its first run.
        values_bytes: The most that ciphertexts took, by the profile.
        predicted_bytes: The same by prediction.
    """

    threads: int
    seconds: float
    cpu_seconds: float
    one_thread_seconds: float | None
    speed_up: float | None
    product_seconds: float
    switch_seconds: float
    numpy_seconds: float
    peak_bytes: int
    values_bytes: int
    predicted_bytes: int


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A product that was measured, and its largest error."""

    job: Job
    plan: Plan
    timing: Timing
    error: float

    @property
    def ratio(self) -> float:
        """How many of numpy's products the encrypted one takes."""
        return self.timing.seconds / self.timing.numpy_seconds

    @property
    def words_per_multiplication(self) -> float:
        """Multiplications of residues for each limb and each multiplication of the matrices."""
        return self.plan.multiplications / (self.plan.limbs * self.job.multiplications)

    @property
    def is_wrong(self) -> bool:
        """Whether the result is not as good as promised; a NaN is not."""
        return not self.error < 2.0**-PRECISION

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        plan, timing = self.plan, self.timing
        figures: Sequence[tuple[str, str, float | None]] = (
            ("time", "s", timing.seconds),
            ("CPU time", "s", timing.cpu_seconds),
            ("time on one thread", "s", timing.one_thread_seconds),
            ("rotated products", "s", timing.product_seconds),
            ("key switches", "s", timing.switch_seconds),
            ("numpy's product", "s", timing.numpy_seconds),
            ("time", "numpy's products", self.ratio),
            ("speed-up", "", timing.speed_up),
            ("process", "bytes", timing.peak_bytes),
            ("values", "bytes", timing.values_bytes),
            ("predicted values", "bytes", timing.predicted_bytes),
            ("keys", "bytes", plan.key_bytes),
            ("inputs", "bytes", plan.input_bytes),
            ("inputs", "ciphertexts", plan.left + plan.right),
            ("results", "ciphertexts", plan.results),
            ("residues", "multiplications", plan.multiplications),
            ("compilation", "s", plan.compile_seconds),
            ("key generation", "s", plan.keygen_seconds),
            ("encryption", "s", plan.encryption_seconds),
            ("error", "max", self.error),
        )
        for figure, unit, value in figures:
            if value is not None:
                yield Row(self.job.name, plan.n, 1, timing.threads, figure, unit, value)


def encrypt(job: Job, folder: Path) -> Plan:
    """Compile, make keys, encrypt, and write what the evaluator needs to a folder."""
    compiled, compile_seconds = _timed(
        lambda: cw.compile(
            lambda a, b: a @ b,
            (job.rows, job.inner),
            (job.inner, job.columns),
            precision=PRECISION,
        )
    )
    (client, evaluator), keygen_seconds = _timed(compiled.keygen)
    client.save(folder / "client")
    evaluator.save(folder / "evaluator")
    matrices = job.matrices()
    inputs, encryption_seconds = _timed(lambda: client.encrypt_into(folder / _INPUTS, *matrices))
    body, packing, scheme = compiled.body, compiled.packing, compiled.scheme
    assert isinstance(body, SlotProgram)
    assert isinstance(packing, MatrixPacking)
    parameters: Any = scheme.parameters
    products = [each for each in body.operations if isinstance(each, RotatedProducts)]
    rotations = body.slots // products[0].step
    terms = sum(len(each.left) for each in products)
    limbs = parameters.prime_count(1)
    left, right = (each.place.ciphertexts for each in packing.placed)
    return Plan(
        parameters.n,
        limbs,
        rotations,
        len(products),
        4 * limbs * parameters.n * rotations * terms,
        left,
        right,
        packing.results[0].ciphertexts,
        evaluator.key_bytes,
        inputs.nbytes,
        compile_seconds,
        keygen_seconds,
        encryption_seconds,
    )


def multiply(job: Job, folder: Path, runs: int) -> Timing:
    """Multiply what lies in a folder, and write the result there."""
    evaluator = cw.load(folder / "evaluator", cw.Evaluator)
    body, scheme = evaluator.program.body, evaluator.program.scheme
    assert isinstance(body, SlotProgram)
    inputs = _in_memory(cw.load(folder / _INPUTS, cw.Encrypted), scheme, body)
    profile = cw.Profile()
    result = evaluator.run(inputs, profile=profile)
    peak = _peak_bytes()
    result.save(folder / _RESULT)
    del result
    threads, (left, right) = _native.threads(), job.matrices()
    seconds: list[float] = []
    cpu: list[float] = []
    theirs: list[float] = []
    one_thread: list[float] = []
    alone = cw.Profile()
    # In turn, as a machine that others share is not the same for a minute.
    for _ in range(runs):
        start = time.process_time()
        seconds.append(_timed(lambda: evaluator.run(inputs))[1])
        cpu.append(time.process_time() - start)
        theirs.append(_timed(lambda: left @ right)[1])
        _native.set_threads(1)
        one_thread.append(_timed(lambda: evaluator.run(inputs, threads=1, profile=alone))[1])
        _native.set_threads(threads)
    by_kind = _seconds_by_kind(alone)
    products = by_kind.get("rotated_products", 0.0)
    return Timing(
        threads,
        min(seconds),
        min(cpu),
        min(one_thread),
        float(np.median(np.divide(one_thread, seconds))),
        products,
        sum(by_kind.values()) - products,
        min(theirs),
        peak,
        profile.peak_bytes,
        predicted_peak_bytes(body, scheme.bytes_at),
    )


def _in_memory(stored: cw.Encrypted, scheme: Any, body: SlotProgram) -> cw.Encrypted:
    """Values that stay in a folder, read a few at a time."""
    runs = [dict(ChainMap(*parts)) for parts in stored.parts(scheme, body)]
    return cw.Encrypted(
        stored.program,
        stored.role,
        stored.ports,
        runs,
        stored.count,
        stored.key_id,
        scheme.dump,
    )


def stream(job: Job, folder: Path) -> Timing:
    """Multiply what lies in files of a folder, and leave the result in files there."""
    evaluator = cw.load(folder / "evaluator", cw.Evaluator)
    assert job.memory_limit is not None
    evaluator.memory_limit = job.memory_limit
    body, scheme = evaluator.program.body, evaluator.program.scheme
    assert isinstance(body, SlotProgram)
    inputs = cw.load(folder / _INPUTS, cw.Encrypted)
    profile = cw.Profile()
    start = time.process_time()
    result, seconds = _timed(
        lambda: evaluator.run(inputs, on=cw.cluster.Files(folder / "jobs"), profile=profile)
    )
    cpu, peak = time.process_time() - start, _peak_bytes()
    assert result.place is not None
    Path(result.place).rename(folder / _RESULT)
    left, right = job.matrices()
    theirs = _timed(lambda: left @ right)[1]
    by_kind = _seconds_by_kind(profile)
    products = by_kind.get("rotated_products", 0.0)
    return Timing(
        _native.threads(),
        seconds,
        cpu,
        None,
        None,
        products,
        sum(by_kind.values()) - products,
        theirs,
        peak,
        profile.peak_bytes,
        predicted_peak_bytes(body, scheme.bytes_at),
    )


def check(job: Job, folder: Path) -> float:
    """The largest error of the result in a folder."""
    client = cw.load(folder / "client", cw.Client)
    if job.memory_limit is None:
        found = client.decrypt(cw.load(folder / _RESULT, cw.Encrypted))
    else:
        found = client.decrypt_into(folder / "found.npy", cw.load(folder / _RESULT, cw.Encrypted))
    left, right = job.matrices()
    # A few rows at a time: the whole may take more memory than there is.
    rows = [slice(start, start + _ROWS) for start in range(0, job.rows, _ROWS)]
    return float(np.max([np.abs(found[some] - left[some] @ right).max() for some in rows]))


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _seconds_by_kind(profile: cw.Profile) -> Mapping[str, float]:
    totals: dict[str, float] = {}
    for each in profile.operations:
        totals[each.kind] = totals.get(each.kind, 0.0) + each.seconds
    return totals


def _timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    made = work()
    return made, time.perf_counter() - start
