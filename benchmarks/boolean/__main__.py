"""Programs over bits on ciphertexts, measured: python -m benchmarks.boolean

Every program of examples/boolean, and of examples/circuit/compared.py, is mapped, run on one thread
and on all, and checked against the same gates in the clear; a result that is off makes the run
fail. Beside it stand its gates of two inputs, run one by one layer by layer on the same keys where
that takes less than a minute, otherwise their number times the time of a gate. Mapping takes
minutes the first time; mappings and the costs of operations are kept in the user's cache.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tqdm import tqdm

from benchmarks.boolean import report
from benchmarks.boolean.evaluate import Evaluation, evaluate
from benchmarks.boolean.jobs import JOBS, Job
from benchmarks.boolean.targets import targets
from benchmarks.report import conclude, target_table
from cloakwork import _native
from cloakwork.errors import CloakworkError

_QUICK = ("adder-32-bristol", "calculator")


def benchmark(jobs: Sequence[Job]) -> Iterator[Evaluation]:
    """Measure jobs, printing each and what fails.

    Yields:
        What was measured; what failed is left out.
    """
    tqdm.write(report.heading())
    with tqdm(total=len(jobs), disable=None, leave=False) as progress:
        for job in jobs:
            progress.set_description(job.name)
            try:
                evaluation = evaluate(job)
            except CloakworkError as error:
                print(f"FAILED: {job.name}: {error}", file=sys.stderr)
            else:
                tqdm.write(report.line(evaluation))
                yield evaluation
            progress.update()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.boolean", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    jobs = {job.name: job for job in JOBS}
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--quick", action="store_true", help=f"{' and '.join(_QUICK)} alone")
    which.add_argument(
        "--programs", nargs="+", choices=jobs, metavar="NAME", help=f"of {', '.join(jobs)}"
    )
    asked = parser.parse_args(arguments)
    names = _QUICK if asked.quick else asked.programs or tuple(jobs)
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    evaluations = list(benchmark([jobs[name] for name in names]))
    return max(finish(evaluations, asked.json), 0 if len(evaluations) == len(names) else 1)


def finish(evaluations: Sequence[Evaluation], path: Path | None) -> int:
    """Print the summary, write the figures, and return 1 if any result was wrong, else 0."""
    print(report.paper_table(evaluations))
    print(report.compared_table(evaluations))
    print(report.schedule_table(evaluations))
    print(target_table("Targets", targets(evaluations)))
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    wrong = [each.job for each in evaluations if not each.right]
    return conclude(evaluations, wrong, path)


if __name__ == "__main__":
    sys.exit(main())
