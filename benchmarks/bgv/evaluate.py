"""How both schemes are measured in turns, and the results of BGV checked."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Sequence

from benchmarks.bgv.jobs import bgv_jobs, ckks_jobs, same_modulus
from benchmarks.measurement import Measurement
from cloakwork import _native
from cloakwork._native import Parameters

_FEWEST_ROUNDS = 5


def measure(parameters: Parameters, seconds: float) -> tuple[list[Measurement], list[str]]:
    """Both schemes' times of every operation, and the operations with a wrong result."""
    integers = same_modulus(parameters)
    bgv, ckks = bgv_jobs(integers), ckks_jobs(parameters)
    wrong = [name for name, (run, check) in bgv.items() if not check(run())]
    times: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    every_thread = _native.threads()
    try:
        for threads in sorted({1, every_thread}):
            _native.set_threads(threads)
            for name in bgv:
                turns = {"BGV": bgv[name][0], "CKKS": ckks[name]}
                end = time.perf_counter() + seconds
                while _few(times[name, "CKKS", threads]) or time.perf_counter() < end:
                    for scheme, run in turns.items():
                        start = time.perf_counter()
                        run()
                        times[name, scheme, threads].append(time.perf_counter() - start)
    finally:
        _native.set_threads(every_thread)
    measured = [
        Measurement(
            f"{scheme}: {name}", parameters.n, parameters.levels, threads, statistics.median(found)
        )
        for (name, scheme, threads), found in times.items()
    ]
    return measured, wrong


def _few(times: Sequence[float]) -> bool:
    return len(times) < _FEWEST_ROUNDS
