"""How refreshing is measured and its results checked."""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.measurement import Accuracy, Row
from cloakwork import _native
from cloakwork._native import (
    Bootstrapping,
    BootstrappingParameters,
    Ciphertext,
    Evaluator,
    SecretKey,
)

# What is in the slots: complex numbers, real ones, or two vectors of real ones at once.
Contents: TypeAlias = Literal["complex", "real", "pair"]
Values: TypeAlias = npt.NDArray[np.complex128]

_NTT_REPETITIONS = 101


@dataclass(frozen=True, slots=True)
class Refreshing:
    """What was measured of one kind of contents on some number of threads.

    Errors are absolute values of complex differences, in bits below 1. Of a pair the time is that
    of both vectors.
    """

    job: str
    n: int
    slots: int
    contents: Contents
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
    """Keys for a number of slots."""

    parameters: BootstrappingParameters
    slots: int
    secret: SecretKey
    evaluator: Evaluator
    key_bytes: int

    @classmethod
    def make(cls, parameters: BootstrappingParameters, slots: int) -> Setting:
        """With fresh keys, which are the same for all contents."""
        secret = SecretKey.generate(parameters.parameters)
        asked = Bootstrapping.streamed(parameters, slots=slots, packing="real")
        keys = secret.bootstrapping_keys(asked)
        # One half of each key is stored as a seed.
        key_bytes = keys.nbytes // 2
        return cls(parameters, slots, secret, Evaluator(keys), key_bytes)

    def circuit(self, contents: Contents) -> Bootstrapping:
        """The circuit with its diagonals encoded."""
        packing: Literal["complex", "real"] = "complex" if contents == "complex" else "real"
        return Bootstrapping(self.parameters, slots=self.slots, packing=packing)


def refresh(
    setting: Setting,
    circuit: Bootstrapping,
    contents: Contents,
    threads: int,
    repetitions: int,
    seed: int,
) -> Refreshing:
    """Refresh random vectors on so many threads, and compare them with themselves.

    Args:
        setting: What to refresh with.
        circuit: Its circuit for the contents.
        contents: What is in the slots.
        threads: Threads of the engine.
        repetitions: How often; the time is the median.
        seed: Of the vectors.
    """
    ckks = setting.parameters.parameters
    generator = np.random.default_rng(seed)
    ntt = _native.ntt_seconds(ckks, _NTT_REPETITIONS)
    before = _native.threads()
    _native.set_threads(threads)
    seconds, mean, worst, promised = [], [], [], []
    try:
        for _ in range(repetitions):
            vectors = _vectors(generator, setting.slots, contents)
            spent = [
                setting.secret.encrypt(ckks.encode(each, level=circuit.input_level, bound=1.0))
                for each in vectors
            ]
            start = time.perf_counter()
            fresh = _refreshed(setting.evaluator, circuit, spent)
            seconds.append(time.perf_counter() - start)
            for ciphertext, values in zip(fresh, vectors, strict=True):
                decrypted = setting.secret.decrypt(ciphertext, ciphertext.estimate).decode()
                errors = np.abs(decrypted - values)
                mean.append(float(errors.mean()))
                worst.append(float(errors.max()))
                promised.append(ciphertext.precision)
    finally:
        _native.set_threads(before)
    median = statistics.median(seconds)
    what = "two real vectors" if contents == "pair" else contents
    return Refreshing(
        job=f"bootstrap, {setting.slots} slots, {what}",
        n=ckks.n,
        slots=setting.slots,
        contents=contents,
        level=ckks.levels,
        threads=threads,
        seconds=median,
        ntt_units=median / ntt,
        mean_error_bits=-float(np.log2(np.mean(mean))),
        accuracy=Accuracy(-float(np.log2(max(worst))), min(promised)),
        levels_left=setting.parameters.output_level - setting.parameters.input_level,
        bits_left=setting.parameters.bits_left,
        key_bytes=setting.key_bytes,
        diagonal_bytes=circuit.nbytes,
        peak_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def _refreshed(
    evaluator: Evaluator, circuit: Bootstrapping, spent: Sequence[Ciphertext]
) -> Sequence[Ciphertext]:
    """One ciphertext by itself, or two at once."""
    match spent:
        case [single]:
            return [evaluator.bootstrap(single, circuit)]
        case _:
            left, right = spent
            return evaluator.bootstrap_pair(left, right, circuit)


def _vectors(generator: np.random.Generator, slots: int, contents: Contents) -> list[Values]:
    """Uniform in the unit disc's inner square, or in [-1, 1]."""
    count = 1 if contents == "real" else 2
    real, *others = (generator.uniform(-1.0, 1.0, slots) for _ in range(count))
    if contents == "complex":
        return [(real + 1j * others[0]) * np.sqrt(0.5)]
    return [each.astype(np.complex128) for each in (real, *others)]
