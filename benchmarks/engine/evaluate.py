"""How the operations of the engine are measured, in turns, and their results checked."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Never

from tqdm import tqdm

from benchmarks.engine import report
from benchmarks.engine.jobs import Job, Prepared, Setting
from benchmarks.engine.targets import differences
from benchmarks.measurement import Accuracy, Measurement
from cloakwork import _native
from cloakwork._native import Parameters

NTT = "NTT"
MOST_BYTES = 8 * 10**9

_FEWEST_ROUNDS = 5
_NTTS_A_ROUND = 9
# Of the time that a job is given, for one burst of runs and for threads to settle.
_BURST_SHARE = 20
_SPREADING_SHARE = 6
_NTT_SHARE = 0.2


def benchmark(
    parameter_sets: Sequence[Parameters],
    groups: Sequence[Sequence[Job]],
    *,
    seconds: float,
    most_bytes: int = MOST_BYTES,
) -> list[Measurement]:
    """Measure the jobs under each parameter set, each for about so many seconds, and print."""
    every_thread = _native.threads()
    measured: list[Measurement] = []
    try:
        jobs = sum(len(group) for group in groups)
        with tqdm(total=len(parameter_sets) * jobs, disable=None, leave=False) as progress:
            for parameters in parameter_sets:
                measured += _under(parameters, groups, seconds, most_bytes, every_thread, progress)
    finally:
        _native.set_threads(every_thread)
    return measured


def _under(
    parameters: Parameters,
    groups: Sequence[Sequence[Job]],
    seconds: float,
    most_bytes: int,
    every_thread: int,
    progress: tqdm[Never],
) -> list[Measurement]:
    thread_counts = sorted({1, every_thread})
    setting = Setting.make(parameters)
    ntt = _ntt(parameters, seconds)
    tqdm.write(report.heading(parameters, ntt.seconds, thread_counts))
    measured: list[Measurement] = []
    for group in groups:
        progress.set_description(f"2^{parameters.log_n}, {group[0].name}")
        obstacles = {job.name: job.obstacle(setting, most_bytes) for job in group}
        fitting = [job for job in group if obstacles[job.name] is None]
        _native.set_threads(every_thread)
        found = _measure(fitting, setting, thread_counts, seconds)
        for name, reason in obstacles.items():
            if reason is None:
                tqdm.write(report.line([each for each in found if each.job == name]))
            else:
                tqdm.write(report.skipped(name, reason))
        measured += found
        progress.update(len(group))
    further = list(differences(measured))
    for name in dict.fromkeys(each.job for each in further):
        tqdm.write(report.line([each for each in further if each.job == name]))
    return [ntt, *measured, *further]


def _ntt(parameters: Parameters, seconds: float) -> Measurement:
    once = _native.ntt_seconds(parameters, _FEWEST_ROUNDS)
    repetitions = max(_FEWEST_ROUNDS, int(_NTT_SHARE * seconds / once))
    median = _native.ntt_seconds(parameters, repetitions)
    return Measurement(NTT, parameters.n, parameters.levels, 1, median)


def _measure(
    jobs: Sequence[Job], setting: Setting, thread_counts: Sequence[int], seconds: float
) -> list[Measurement]:
    parameters = setting.parameters
    prepared = {job.name: job.prepare(setting) for job in jobs}
    accuracies = {
        (name, threads): accuracy
        for threads in thread_counts
        for name, accuracy in _accuracies(prepared, threads)
    }
    times, transforms = _rounds(prepared, parameters, thread_counts, seconds)
    unit = statistics.median(transforms) * parameters.key_prime_count if transforms else None
    return [
        Measurement(
            name,
            parameters.n,
            parameters.levels,
            threads,
            median := statistics.median(times[name, threads]),
            median / unit if unit else None,
            prepared[name].key_bytes,
            accuracies[name, threads],
        )
        for name in prepared
        for threads in thread_counts
    ]


def _accuracies(prepared: Mapping[str, Prepared], threads: int) -> Iterator[tuple[str, Accuracy]]:
    _native.set_threads(threads)
    for name, job in prepared.items():
        yield name, job.check(job.run())


def _rounds(
    prepared: Mapping[str, Prepared],
    parameters: Parameters,
    thread_counts: Sequence[int],
    seconds: float,
) -> tuple[Mapping[tuple[str, int], list[float]], list[float]]:
    """Seconds by job and number of threads, and of one transform.

    A machine that is shared slows down and speeds up by the second. What is measured in turns
    has its share of both.
    """
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    transforms: list[float] = []
    end = time.perf_counter() + seconds * len(prepared) * len(thread_counts)
    while prepared and (len(transforms) < _FEWEST_ROUNDS or time.perf_counter() < end):
        for threads in thread_counts:
            _native.set_threads(threads)
            # The system takes a while to spread new threads over its cores.
            _burst(next(iter(prepared.values())).run, seconds / _SPREADING_SHARE)
            transforms.append(_native.ntt_seconds(parameters, _NTTS_A_ROUND))
            for name, job in prepared.items():
                times[name, threads] += _burst(job.run, seconds / _BURST_SHARE)
    return times, transforms


def _burst(run: Callable[[], Any], seconds: float) -> list[float]:
    """Seconds of each of the runs in a row that it takes to fill the time, one at the least."""
    times: list[float] = []
    end = time.perf_counter() + seconds
    while not times or time.perf_counter() < end:
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return times
