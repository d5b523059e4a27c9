"""Operations of the engine on a device beside those of the CPU: same residues, and both times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from tqdm import tqdm

from benchmarks.engine.jobs import (
    CHEBYSHEV,
    CHEBYSHEV_DEGREE,
    DIAGONALS,
    HOISTED,
    ROTATION,
    Setting,
    hoisted_rotations,
    linear_transform,
    random_vectors,
)
from benchmarks.measurement import Row
from cloakwork import _native
from cloakwork._native import (
    Ciphertext,
    Device,
    DeviceCiphertext,
    DeviceEvaluator,
    DeviceParameters,
    Evaluator,
    LinearTransform,
    Parameters,
)
from cloakwork.errors import CloakworkError

RUNS = 50
_CPU_RUNS = 5
_SEED = 20240463
_NAME = 40


@dataclass(frozen=True, slots=True)
class Compared:
    """One operation on the CPU and on a device.

    Args:
        job: Its name.
        n: Ring degree.
        level: Levels of the parameter set.
        threads: Threads of the CPU.
        device: What the device calls itself.
        cpu_seconds: Median on the CPU.
        device_seconds: Median on the device.
        same: Whether all residues are equal.
    """

    job: str
    n: int
    level: int
    threads: int
    device: str
    cpu_seconds: float
    device_seconds: float
    same: bool

    def rows(self) -> Iterator[Row]:
        """Both times."""
        cpu, device = 1000 * self.cpu_seconds, 1000 * self.device_seconds
        yield Row(self.job, self.n, self.level, self.threads, "time", "ms", cpu)
        yield Row(self.job, self.n, self.level, 0, f"time on {self.device}", "ms", device)


@dataclass(frozen=True)
class Both:
    """Parameters on the CPU and on a device."""

    setting: Setting
    tables: DeviceParameters

    def evaluators(
        self, rotations: Sequence[int] = (), *, relinearises: bool = False
    ) -> tuple[Evaluator, DeviceEvaluator]:
        """Evaluators with the same keys of the top level."""
        top = self.setting.parameters.levels
        keys = self.setting.secret.evaluation_keys(
            relinearisation_level=top if relinearises else None,
            rotations=dict.fromkeys(rotations, top),
            conjugation_level=None,
        )
        return Evaluator(keys), DeviceEvaluator(self.tables, keys)


Runs = tuple[Callable[[], Any], Callable[[], Any]]


@dataclass(frozen=True)
class DeviceJob:
    """An operation by its name: on the CPU and on the device."""

    name: str
    prepare: Callable[[Both], Runs]
    levels: int = 0


def _add(both: Both) -> Runs:
    left, right = (both.setting.encrypt(each) for each in (both.setting.left, both.setting.right))
    x, y = both.tables.send(left), both.tables.send(right)
    cpu, device = both.evaluators()
    return lambda: cpu.add(left, right), lambda: device.add(x, y)


def _multiply_plaintext(both: Both) -> Runs:
    left, right = both.setting.encrypt(both.setting.left), both.setting.encode(both.setting.right)
    x, y = both.tables.send(left), both.tables.send_plaintext(right)
    cpu, device = both.evaluators()
    return lambda: cpu.multiply_plain(left, right), lambda: device.multiply_plain(x, y)


def _multiply(both: Both) -> Runs:
    left, right = (both.setting.encrypt(each) for each in (both.setting.left, both.setting.right))
    x, y = both.tables.send(left), both.tables.send(right)
    cpu, device = both.evaluators(relinearises=True)
    return (
        lambda: cpu.relinearize_and_rescale(cpu.multiply_lazily(left, right)),
        lambda: device.relinearize_and_rescale(device.multiply_lazily(x, y)),
    )


def _rotations(steps: Sequence[int]) -> Callable[[Both], Runs]:
    def prepare(both: Both) -> Runs:
        value = both.setting.encrypt(both.setting.left)
        x = both.tables.send(value)
        cpu, device = both.evaluators(steps)
        return lambda: cpu.rotate_hoisted(value, steps), lambda: device.rotate_hoisted(x, steps)

    return prepare


def _transform(count: int) -> DeviceJob:
    def prepare(both: Both) -> Runs:
        parameters = both.setting.parameters
        vectors = random_vectors(np.random.default_rng(_SEED), count, parameters.slots) / count**0.5
        transform = LinearTransform(
            parameters,
            dict(enumerate(vectors)),
            slots=parameters.slots,
            level=parameters.levels,
        )
        value = both.setting.encrypt(both.setting.left)
        x, sent = both.tables.send(value), both.tables.send_transform(transform)
        cpu, device = both.evaluators(transform.rotations)
        return (
            lambda: cpu.linear_transform(value, transform),
            lambda: device.linear_transform(x, sent),
        )

    return DeviceJob(linear_transform(count), prepare, 1)


def _chebyshev(both: Both) -> Runs:
    setting = both.setting
    coefficients = np.random.default_rng(_SEED).uniform(-1, 1, CHEBYSHEV_DEGREE + 1).tolist()
    value = setting.secret.encrypt(
        setting.parameters.encode(
            setting.left.real.copy(), level=setting.parameters.levels, bound=1.0
        )
    )
    x = both.tables.send(value)
    cpu, device = both.evaluators(relinearises=True)
    return (
        lambda: cpu.polynomial(value, coefficients, "chebyshev"),
        lambda: device.polynomial(x, coefficients, "chebyshev"),
    )


JOBS: tuple[DeviceJob, ...] = (
    DeviceJob("add", _add),
    DeviceJob("multiply by plaintext", _multiply_plaintext, 1),
    DeviceJob("multiply, relinearise, rescale at once", _multiply, 1),
    DeviceJob(ROTATION, _rotations([1])),
    *(DeviceJob(hoisted_rotations(count), _rotations(range(1, count + 1))) for count in HOISTED),
    *(_transform(count) for count in DIAGONALS),
    DeviceJob(CHEBYSHEV, _chebyshev, CHEBYSHEV_DEGREE.bit_length()),
)


def compare(
    parameter_sets: Sequence[Parameters], device: Device, *, runs: int = RUNS
) -> Iterator[Compared]:
    """Measure all jobs under each parameter set on a device and on the CPU, and print.

    What the device has too little memory for is left out, by name.
    """
    tqdm.write(f"device: {device.name}, {device.budget / 1e9:.1f} GB")
    for parameters in parameter_sets:
        both = Both(Setting.make(parameters), DeviceParameters(device, parameters))
        columns = f"{'CPU, ms':>12}{'device, ms':>12}{'ratio':>8}"
        tqdm.write(f"\n{parameters}\n{'':<{_NAME}}{columns}")
        for job in JOBS:
            if job.levels > parameters.levels:
                tqdm.write(f"{job.name:<{_NAME}}  skipped: needs {job.levels} levels")
                continue
            try:
                found = _compared(job, both, device, runs)
            except CloakworkError as error:
                tqdm.write(f"{job.name:<{_NAME}}  skipped: {error}")
                continue
            ratio = found.cpu_seconds / found.device_seconds
            times = (1000 * found.cpu_seconds, 1000 * found.device_seconds)
            verdict = "" if found.same else "  DIFFERENT"
            tqdm.write(f"{job.name:<{_NAME}}{times[0]:12.3f}{times[1]:12.3f}{ratio:8.1f}{verdict}")
            yield found


def _compared(job: DeviceJob, both: Both, device: Device, runs: int) -> Compared:
    on_cpu, on_device = job.prepare(both)
    same = _bytes(on_cpu()) == _bytes(on_device())
    parameters = both.setting.parameters

    def run_there() -> None:
        on_device()
        device.synchronize()

    return Compared(
        job.name,
        parameters.n,
        parameters.levels,
        _native.threads(),
        device.name,
        _median_seconds(on_cpu, min(runs, _CPU_RUNS)),
        _median_seconds(run_there, runs),
        same,
    )


def _bytes(made: Any) -> list[bytes]:
    """The bytes of what an operation has made."""
    values: list[Ciphertext | DeviceCiphertext] = made if isinstance(made, list) else [made]
    return [
        (each.fetch() if isinstance(each, DeviceCiphertext) else each).to_bytes() for each in values
    ]


def _median_seconds(run: Callable[[], Any], runs: int) -> float:
    times: list[float] = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return statistics.median(times)
