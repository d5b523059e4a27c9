"""Circuits over encrypted integers, measured: python -m benchmarks.circuit

Coyote's suite, its layouts of one matrix product and its random polynomials, each vectorised and
scalar by scalar on BGV at 128 bits of security. Every result is compared with Python's integers;
one that is off makes the run fail. "relin." is the scalar program with every product relinearised
at once, as the paper runs it; "times" is how often the vectorised program fits into that.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from benchmarks.circuit import report
from benchmarks.circuit.evaluate import CircuitEvaluation, evaluated
from benchmarks.circuit.jobs import (
    CircuitJob,
    large_job,
    layout_jobs,
    polynomial_jobs,
    small_jobs,
)
from benchmarks.circuit.targets import targets
from benchmarks.report import conclude, target_table
from cloakwork import _native

_QUICK = ("dot.3", "mm.2")


def benchmark(jobs: Sequence[CircuitJob]) -> Iterator[CircuitEvaluation]:
    """Measure jobs, printing each."""
    tqdm.write(report.heading())
    with tqdm(total=len(jobs), disable=None, leave=False) as progress:
        for job in jobs:
            progress.set_description(f"{job.name}, {job.replication}")
            evaluation = evaluated(job)
            tqdm.write(report.line(evaluation))
            yield evaluation
            progress.update()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.circuit", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--quick", action="store_true", help=f"{' and '.join(_QUICK)} alone")
    asked = parser.parse_args(arguments)
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    if asked.quick:
        jobs = [job for job in small_jobs() if job.name in _QUICK]
    else:
        jobs = [*small_jobs(), *layout_jobs(), *polynomial_jobs(), large_job()]
    return finish(list(benchmark(jobs)), asked.json)


def finish(evaluations: Sequence[CircuitEvaluation], path: Path | None) -> int:
    """Print the targets, write the figures, and return 1 if any result was wrong, else 0."""
    print(target_table("Targets", targets(evaluations)))
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    wrong = [each.name for each in evaluations if not each.right]
    return conclude(evaluations, wrong, path)


if __name__ == "__main__":
    sys.exit(main())
