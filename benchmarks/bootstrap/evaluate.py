"""How refreshing is measured and its results checked."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.measurement import Accuracy, Row
from cloakwork import _native
from cloakwork._native import Bootstrapping, BootstrappingParameters, Evaluator, SecretKey

Packing: TypeAlias = Literal["complex", "real"]

_NTT_REPETITIONS = 101


@dataclass(frozen=True, slots=True)
class Refreshing:
    """What was measured of one packing on some number of threads.

    Errors are absolute values of complex differences, in bits below 1.
    """

    job: str
    n: int
    slots: int
    level: int
    threads: int
    seconds: float
    ntt_units: float
    mean_error_bits: float
    accuracy: Accuracy
    levels_left: int
    bits_left: float
    key_bytes: int
    diagonal_bytes: int
    peak_bytes: int

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        figures: list[tuple[str, str, float]] = [
            ("time", "s", self.seconds),
            ("time", "NTTs", self.ntt_units),
            ("mean error", "bits", self.mean_error_bits),
            ("worst error", "bits", self.accuracy.error_bits),
            ("precision estimate", "bits", self.accuracy.promised_bits),
            ("levels left", "levels", self.levels_left),
            ("modulus left", "bits", self.bits_left),
            ("keys, seeded", "bytes", self.key_bytes),
            ("diagonals", "bytes", self.diagonal_bytes),
            ("peak memory", "bytes", self.peak_bytes),
        ]
        for figure, unit, value in figures:
            yield Row(self.job, self.n, self.level, self.threads, figure, unit, value)


@dataclass(frozen=True)
class Setting:
    """Keys and circuit of one packing."""

    parameters: BootstrappingParameters
    bootstrapping: Bootstrapping
    packing: Packing
    secret: SecretKey
    evaluator: Evaluator
    key_bytes: int

    @classmethod
    def make(cls, parameters: BootstrappingParameters, slots: int, packing: Packing) -> Setting:
        """With fresh keys."""
        bootstrapping = Bootstrapping(parameters, slots=slots, packing=packing)
        secret = SecretKey.generate(parameters.parameters)
        keys = secret.bootstrapping_keys(bootstrapping)
        # One half of each key is stored as a seed.
        key_bytes = keys.nbytes // 2
        return cls(parameters, bootstrapping, packing, secret, Evaluator(keys), key_bytes)


def refresh(setting: Setting, threads: int, repetitions: int, seed: int) -> Refreshing:
    """Refresh random vectors on so many threads, and compare them with themselves.

    Args:
        setting: What to refresh with.
        threads: Threads of the engine.
        repetitions: How many vectors; the time is the median.
        seed: Of the vectors.
    """
    ckks = setting.parameters.parameters
    slots = setting.bootstrapping.slots
    generator = np.random.default_rng(seed)
    ntt = _native.ntt_seconds(ckks, _NTT_REPETITIONS)
    before = _native.threads()
    _native.set_threads(threads)
    seconds, mean, worst, promised = [], [], [], []
    try:
        for _ in range(repetitions):
            values = _values(generator, slots, setting.packing)
            level = setting.bootstrapping.input_level
            spent = setting.secret.encrypt(ckks.encode(values, level=level, bound=1.0))
            start = time.perf_counter()
            fresh = setting.evaluator.bootstrap(spent, setting.bootstrapping)
            seconds.append(time.perf_counter() - start)
            estimate = spent.estimate.bootstrap(setting.bootstrapping)
            decrypted = setting.secret.decrypt(fresh, estimate).decode()
            errors = np.abs(decrypted - values)
            mean.append(float(errors.mean()))
            worst.append(float(errors.max()))
            promised.append(fresh.precision)
    finally:
        _native.set_threads(before)
    median = statistics.median(seconds)
    return Refreshing(
        job=f"bootstrap, {slots} {setting.packing} slots",
        n=ckks.n,
        slots=slots,
        level=ckks.levels,
        threads=threads,
        seconds=median,
        ntt_units=median / ntt,
        mean_error_bits=-float(np.log2(np.mean(mean))),
        accuracy=Accuracy(-float(np.log2(max(worst))), min(promised)),
        levels_left=setting.parameters.output_level - setting.parameters.input_level,
        bits_left=setting.parameters.bits_left,
        key_bytes=setting.key_bytes,
        diagonal_bytes=setting.bootstrapping.nbytes,
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def _values(
    generator: np.random.Generator, slots: int, packing: Packing
) -> npt.NDArray[np.complex128]:
    """Uniform in the unit disc's inner square, or in [-1, 1]."""
    real = generator.uniform(-1.0, 1.0, slots)
    if packing == "real":
        return real.astype(np.complex128)
    values: npt.NDArray[np.complex128] = np.empty(slots, dtype=np.complex128)
    values.real = real * np.sqrt(0.5)
    values.imag = generator.uniform(-1.0, 1.0, slots) * np.sqrt(0.5)
    return values
