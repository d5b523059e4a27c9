"""Products of encrypted matrices, measured: python -m benchmarks.matmul

A client encrypts, a process of its own that has nothing but files multiplies, and the result is
compared with numpy's; one that is off makes the run fail. Numpy's product of doubles is measured in
that process, too, on as many threads. Clusters are simulated from the costs of tasks that were
measured, and marked as such.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.matmul import report
from benchmarks.matmul.evaluate import (
    Evaluation,
    Plan,
    Timing,
    check,
    encrypt,
    multiply,
    stream,
)
from benchmarks.matmul.jobs import JOBS, WHOLE, Job
from benchmarks.matmul.simulation import WORKERS, TaskCosts, simulations
from benchmarks.matmul.targets import targets
from benchmarks.report import conclude, target_table
from cloakwork import _native

RUNS = 5
SIMULATED = (4096, 8192)

_ROOT = Path(__file__).parents[2]
_QUICK = ("128", "256")
_NAMED: Mapping[str, Job] = {job.name: job for job in (*JOBS, *WHOLE)}
# Runs of more multiplications of numbers than these are measured twice.
_LONG = 1 << 34


def benchmark(jobs: Sequence[Job], runs: int) -> Iterator[Evaluation]:
    """Measure products, printing each and what fails.

    Yields:
        What was measured; what failed is left out.
    """
    tqdm.write(report.heading())
    for job in tqdm(jobs, disable=None, leave=False):
        with tempfile.TemporaryDirectory() as folder:
            evaluation = _measured(job, folder, runs)
        if evaluation is not None:
            tqdm.write(report.line(evaluation))
            yield evaluation


def _measured(job: Job, folder: str, runs: int) -> Evaluation | None:
    """What three processes measure, one after the other: client, evaluator, client."""
    made: list[Any] = []
    times = min(runs, 2) if job.multiplications > _LONG else runs
    for stage in _STAGES:
        arguments = ["--job", job.name, "--stage", stage, "--folder", folder, "--runs", str(times)]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.matmul", *arguments],
            cwd=_ROOT,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            print(f"FAILED: {job.name}, {stage}", file=sys.stderr)
            return None
        made.append(json.loads(done.stdout))
    plan, timing, error = made
    return Evaluation(job, Plan(**plan), Timing(**timing), error)


_STAGES = ("encrypt", "multiply", "check")


def _staged(stage: str, job: Job, folder: Path, runs: int) -> Any:
    match stage:
        case "encrypt":
            return asdict(encrypt(job, folder))
        case "multiply" if job.memory_limit is None:
            return asdict(multiply(job, folder, runs))
        case "multiply":
            return asdict(stream(job, folder))
        case _:
            return check(job, folder)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.matmul", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    some = parser.add_mutually_exclusive_group()
    some.add_argument(
        "--quick", action="store_true", help=f"{' and '.join(_QUICK)} alone, run less often"
    )
    some.add_argument(
        "--whole", action="store_true", help="FHE4DMM's large shapes alone, which take up to 8 GB"
    )
    some.add_argument("--only", choices=_NAMED, help="one product alone")
    parser.add_argument("--job", choices=_NAMED, help=argparse.SUPPRESS)
    parser.add_argument("--stage", choices=_STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=RUNS, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.job is not None:
        print(json.dumps(_staged(asked.stage, _NAMED[asked.job], asked.folder, asked.runs)))
        return 0
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    chosen = _chosen(asked.quick, asked.whole, asked.only)
    evaluations = list(benchmark(chosen, 1 if asked.quick else asked.runs))
    sizes = SIMULATED if chosen is JOBS else ()
    code = finish(evaluations, sizes, asked.json)
    return code if len(evaluations) == len(chosen) else 1


def _chosen(quick: bool, whole: bool, only: str | None) -> Sequence[Job]:
    if only is not None:
        return [_NAMED[only]]
    if quick:
        return [_NAMED[name] for name in _QUICK]
    return WHOLE if whole else JOBS


def finish(evaluations: Sequence[Evaluation], sizes: Sequence[int], path: Path | None) -> int:
    """Print the rest, write the figures, and return 1 if any result was wrong, else 0.

    Args:
        evaluations: What was measured.
        sizes: Of the square products to simulate, by what the largest one that was measured took.
        path: Where the figures go, if anywhere.
    """
    if evaluations and sizes:
        largest = max(evaluations, key=lambda each: each.plan.multiplications)
        costs = TaskCosts.of(largest)
        found = [each for size in sizes for each in simulations(size, costs, WORKERS)]
        print(report.simulated(found))
    print(target_table("Targets", targets(evaluations)))
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    return conclude(evaluations, [each.job.name for each in evaluations if each.is_wrong], path)


if __name__ == "__main__":
    sys.exit(main())
