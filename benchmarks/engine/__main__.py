"""The engine, measured: python -m benchmarks.engine

Every job runs under parameters of the largest secure modulus of each ring and of half of
it, on one thread and on all. Its result is decrypted and compared with numpy's; one with
fewer right bits than the engine promised makes the run fail.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.engine.evaluate import benchmark
from benchmarks.engine.jobs import GROUPS
from benchmarks.engine.on_device import RUNS, Compared, compare
from benchmarks.engine.report import reference_table
from benchmarks.engine.targets import targets
from benchmarks.measurement import Measurement, Measurements
from benchmarks.parameter_sets import RINGS, largest_parameters
from benchmarks.report import conclude, target_table
from cloakwork import _native
from cloakwork.schemes.device.devices import CPU, device_name, open_device

_QUICK_RUNS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.engine", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument(
        "--log-n",
        type=int,
        nargs="+",
        choices=RINGS,
        help="log2 of the ring degrees to measure, by default all of these",
    )
    parser.add_argument(
        "--quick", action="store_true", help="2^13 and 2^14 alone, and few repetitions"
    )
    parser.add_argument(
        "--device",
        default=CPU,
        help="a GPU to measure beside the CPU, residues compared: cuda, or cuda:1",
    )
    asked = parser.parse_args(arguments)
    every = list(RINGS)
    log_ns = asked.log_n or (every[:2] if asked.quick else every)
    seconds = 0.05 if asked.quick else 0.6
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    parameter_sets = [largest_parameters(log_n, share) for log_n in log_ns for share in (1.0, 0.5)]
    if device_name(asked.device, "measure the engine") != CPU:
        runs = _QUICK_RUNS if asked.quick else RUNS
        device = open_device(asked.device).native
        return finish_compared(list(compare(parameter_sets, device, runs=runs)), asked.json)
    measured = benchmark(parameter_sets, GROUPS, seconds=seconds)
    return finish(measured, asked.json)


def finish_compared(compared: Sequence[Compared], path: Path | None) -> int:
    """Write the figures, and return 1 if any residues were different, else 0."""
    wrong = [f"{each.job}, N = {each.n}, {each.device}" for each in compared if not each.same]
    return conclude(compared, wrong, path)


def finish(measured: Sequence[Measurement], path: Path | None) -> int:
    """Print the summary, write the figures, and return 1 if any result was wrong, else 0."""
    found = Measurements(measured)
    print(target_table("Targets, at the largest modulus", targets(found)))
    print(reference_table(found))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(f"\npeak memory {peak / 1e9:.2f} GB")
    wrong = [
        f"{each.job}, N = {each.n}, level {each.level}, {each.threads} threads"
        for each in measured
        if each.accuracy is not None and not each.accuracy.holds
    ]
    return conclude(measured, wrong, path)


if __name__ == "__main__":
    sys.exit(main())
