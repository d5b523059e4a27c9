"""Networks on encrypted inputs, measured: python -m benchmarks.nn

Each network and layer is compiled, run and compared with its layers in the clear, in a
process of its own. A result that is off makes the run fail.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from tqdm import tqdm

from benchmarks import nn_report, report
from benchmarks.nn_evaluation import Evaluation, evaluate
from benchmarks.nn_jobs import JOBS, Job
from cloakwork import _native

RUNS = 5

_ROOT = Path(__file__).parents[1]
_QUICK = ("LoLA", "linear layer, batched")


def benchmark(jobs: Sequence[Job], runs: int) -> Iterator[Evaluation]:
    """Measure networks, printing each and what fails.

    Yields:
        What was measured; what failed is left out.
    """
    tqdm.write(nn_report.heading())
    with tqdm(jobs, disable=None, leave=False) as progress:
        for job in progress:
            progress.set_description(job.name)
            evaluation = _in_a_process(job, runs)
            if evaluation is not None:
                tqdm.write(nn_report.line(evaluation))
                yield evaluation


def _in_a_process(job: Job, runs: int) -> Evaluation | None:
    """What a process of its own measures, so that its peak memory is of this network alone."""
    arguments = ["--job", job.name, "--runs", str(runs)]
    with tempfile.TemporaryDirectory() as costs:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.nn", *arguments],
            cwd=_ROOT,
            # The costs of operations are measured afresh, under the load that it runs under.
            env=os.environ | {"XDG_CACHE_HOME": costs},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        print(f"FAILED: {job.name}", file=sys.stderr)
        return None
    return Evaluation(**json.loads(done.stdout))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.nn", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument(
        "--quick", action="store_true", help=f"{' and '.join(_QUICK)} alone, run less often"
    )
    jobs = {job.name: job for job in JOBS}
    parser.add_argument("--job", choices=jobs, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=RUNS, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.job is not None:
        print(json.dumps(asdict(evaluate(jobs[asked.job], asked.runs))))
        return 0
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    chosen = [jobs[name] for name in _QUICK] if asked.quick else JOBS
    evaluations = list(benchmark(chosen, 1 if asked.quick else asked.runs))
    complete = len(evaluations) == len(chosen)
    return max(finish(evaluations, asked.json), 0 if complete else 1)


def finish(evaluations: Sequence[Evaluation], path: Path | None) -> int:
    """Print the targets, write the figures, and return 1 if any result was wrong, else 0."""
    if evaluations:
        print(report.target_table("Targets", nn_report.targets(evaluations)))
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    if path is not None:
        report.write_json(path, evaluations)
    wrong = [each for each in evaluations if nn_report.is_wrong(each)]
    for each in wrong:
        print(f"WRONG: {each.job}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
