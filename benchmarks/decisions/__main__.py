"""Decisions on numbers, and numbers of bits, measured: python -m benchmarks.decisions

Rows of programs that go from slots to bits, or back, run on ciphertexts at 128-bit security under
one key: AES that deciphers what a regression takes, a table on results over reals, the greatest of
integers, the five of a hundred most similar texts, and the digit that LeNet sees. All results are
compared with those in the clear; one that is wrong makes the run fail. What `cloakwork.estimate`
says before a run stands beside what it took. Rows take minutes each, the first one 4 GiB.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm import tqdm

from benchmarks.decisions import report
from benchmarks.decisions.evaluate import Evaluation, evaluate
from benchmarks.decisions.jobs import JOBS
from benchmarks.report import conclude, target_table
from cloakwork import _native


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.decisions", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--runs", type=int, default=2, metavar="COUNT", help="runs of each row")
    parser.add_argument(
        "--only", nargs="+", choices=[job.name for job in JOBS], metavar="NAME", help="these alone"
    )
    asked = parser.parse_args(arguments)
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    print(report.heading(), flush=True)
    evaluations: list[Evaluation] = []
    jobs = [job for job in JOBS if asked.only is None or job.name in asked.only]
    for job in tqdm(jobs, disable=None, leave=False):
        evaluations.append(evaluate(job, asked.runs))
        tqdm.write(report.lines(evaluations[-1]))
        sys.stdout.flush()
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    return finish(evaluations, asked.json)


def finish(evaluations: Sequence[Evaluation], path: Path | None) -> int:
    """Print the targets, write the figures, and return 1 if any result was wrong, else 0."""
    print(target_table("Targets", report.targets(evaluations)))
    return conclude(evaluations, [each.job for each in evaluations if not each.is_right], path)


if __name__ == "__main__":
    sys.exit(main())
