"""Deep networks on encrypted inputs, measured: python -m benchmarks.deep_networks

Each network is trained on data that ships with scikit-learn or Django, compiled, and run on
ciphertexts by a process of its own, from files alone; its results are compared with those in the
clear. Prints a table in Markdown. All networks together take hours and up to 20 GB. A result that
is off makes the run fail.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from benchmarks.deep_networks import table
from benchmarks.deep_networks.evaluate import Evaluation, evaluate
from benchmarks.deep_networks.jobs import JOBS
from benchmarks.report import conclude
from cloakwork import _native


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.deep_networks", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument(
        "--only", nargs="+", choices=[job.name for job in JOBS], metavar="NAME", help="these alone"
    )
    parser.add_argument(
        "--programs", type=Path, metavar="FOLDER", help="keep compiled programs there"
    )
    asked = parser.parse_args(arguments)
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    print(table.heading(), flush=True)
    evaluations: list[Evaluation] = []
    jobs = [job for job in JOBS if asked.only is None or job.name in asked.only]
    for job in tqdm(jobs, disable=None, leave=False):
        evaluations.append(evaluate(job, asked.programs))
        tqdm.write(table.line(evaluations[-1]))
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    return finish(evaluations, asked.json)


def finish(evaluations: Sequence[Evaluation], path: Path | None) -> int:
    """Write the figures, and return 1 if any result was wrong, else 0."""
    wrong = [each.job for each in evaluations if is_wrong(each)]
    return conclude(evaluations, wrong, path)


def is_wrong(evaluation: Evaluation) -> bool:
    """Whether an error is larger than the program says to expect; a NaN is."""
    return not evaluation.largest_error <= evaluation.expected_error


if __name__ == "__main__":
    sys.exit(main())
