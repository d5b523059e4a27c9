"""Programs on a cluster of this machine's processes, measured: python -m benchmarks.cluster

Every program runs in this process and on one and two workers, all of one thread. Its results are
compared byte by byte, and with those in the clear; one that is off makes the run fail.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from tqdm import tqdm

from benchmarks.cluster import report
from benchmarks.cluster.evaluate import Evaluation, evaluate, local_cluster
from benchmarks.cluster.jobs import JOBS, Job
from benchmarks.cluster.targets import targets
from benchmarks.report import conclude, target_table
from cloakwork import _native

_WORKERS = (1, 2)
_RUNS = 5


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.cluster", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--quick", action="store_true", help="the first program alone, run once")
    some.add_argument("--only", choices=[job.name for job in JOBS], help="one program alone")
    asked = parser.parse_args(arguments)
    _native.set_threads(1)
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.2f} before the run")
    tqdm.write(report.heading())
    evaluations: list[Evaluation] = []
    with ExitStack() as stack:
        clusters = {count: stack.enter_context(local_cluster(count)) for count in _WORKERS}
        for job in _chosen(asked.quick, asked.only):
            evaluations.append(evaluate(job, clusters, 1 if asked.quick else _RUNS))
            tqdm.write(report.line(evaluations[-1]))
    print(target_table("Targets", targets(evaluations)))
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    return conclude(evaluations, [each.job for each in evaluations if each.is_wrong], asked.json)


def _chosen(quick: bool, only: str | None) -> Sequence[Job]:
    if quick:
        return JOBS[:1]
    return [job for job in JOBS if only in (None, job.name)]


if __name__ == "__main__":
    sys.exit(main())
