"""einsum on encrypted tensors, measured: python -m benchmarks.einsum

Every job is planned eagerly and compiled, with a key for each of its rotations and with
keys for powers of two alone, each in a process of its own. Its result is compared with
numpy's; one that is off makes the run fail.
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

from benchmarks.einsum import report
from benchmarks.einsum.evaluate import WAYS, Evaluation, Way, evaluate
from benchmarks.einsum.jobs import JOBS, Job
from benchmarks.einsum.targets import is_wrong, targets
from benchmarks.report import conclude, target_table
from cloakwork import _native
from cloakwork.schemes.device.devices import CPU

RUNS = 5

_ROOT = Path(__file__).parents[2]
_QUICK = ("sum", "matmul")


def benchmark(jobs: Sequence[Job], runs: int, device: str = CPU) -> Iterator[Evaluation]:
    """Measure jobs in every way, printing each and what fails.

    Yields:
        What was measured; what failed is left out.
    """
    tqdm.write(report.heading())
    with tqdm(total=len(jobs) * len(WAYS), disable=None, leave=False) as progress:
        for job in jobs:
            for way in WAYS:
                progress.set_description(f"{job.name}, {way}")
                evaluation = _in_a_process(job, way, runs, device)
                if evaluation is not None:
                    tqdm.write(report.line(evaluation))
                    yield evaluation
                progress.update()


def _in_a_process(job: Job, way: Way, runs: int, device: str) -> Evaluation | None:
    """What a process of its own measures, so that its peak memory is of this job alone."""
    arguments = ["--job", job.name, "--way", str(way), "--runs", str(runs)]
    arguments += ["--device", device]
    with tempfile.TemporaryDirectory() as costs:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.einsum", *arguments],
            cwd=_ROOT,
            # The costs of operations are measured afresh, under the load that the job runs under.
            env=os.environ | {"XDG_CACHE_HOME": costs},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
    if done.returncode:
        print(f"FAILED: {job.name}, {way}", file=sys.stderr)
        return None
    return Evaluation(**json.loads(done.stdout))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.einsum", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument(
        "--quick", action="store_true", help=f"{' and '.join(_QUICK)} alone, run less often"
    )
    jobs, ways = {job.name: job for job in JOBS}, {str(way): way for way in WAYS}
    parser.add_argument(
        "--device", default=CPU, help="where jobs run: cuda, or cuda:1 for the second GPU"
    )
    parser.add_argument("--job", choices=jobs, help=argparse.SUPPRESS)
    parser.add_argument("--way", choices=ways, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=RUNS, help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.job is not None:
        print(
            json.dumps(asdict(evaluate(jobs[asked.job], ways[asked.way], asked.runs, asked.device)))
        )
        return 0
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    chosen = [jobs[name] for name in _QUICK] if asked.quick else JOBS
    evaluations = list(benchmark(chosen, 1 if asked.quick else asked.runs, asked.device))
    complete = len(evaluations) == len(chosen) * len(WAYS)
    return max(finish(evaluations, asked.json), 0 if complete else 1)


def finish(evaluations: Sequence[Evaluation], path: Path | None) -> int:
    """Print the summary, write the figures, and return 1 if any result was wrong, else 0."""
    print(report.summary(evaluations))
    print(target_table("Targets", targets(evaluations)))
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    wrong = [f"{each.job}, {each.way}" for each in evaluations if is_wrong(each)]
    return conclude(evaluations, wrong, path)


if __name__ == "__main__":
    sys.exit(main())
