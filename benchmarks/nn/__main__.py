"""Networks on encrypted inputs, measured: python -m benchmarks.nn

Each network is compiled; a process of its own evaluates it on ciphertexts, from files alone, and
its results are compared with those in the clear. MLP, LoLA and LeNet are trained on
scikit-learn's digits and run on 100 images that they have not seen, one by one, and in full batches
of these again and again; single layers are random. A result that is off makes the run fail.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from tqdm import tqdm

from benchmarks.nn import report
from benchmarks.nn.evaluate import Evaluation, evaluate
from benchmarks.nn.jobs import JOBS, Job
from benchmarks.nn.targets import is_wrong, targets
from benchmarks.report import conclude, target_table
from cloakwork import _native
from cloakwork.schemes.device.devices import CPU

_QUICK = ("LoLA", "linear layer, batched")
_QUICK_RUNS = 5


def benchmark(jobs: Sequence[Job], device: str = CPU) -> Iterator[Evaluation]:
    """Measure networks, printing each."""
    tqdm.write(report.heading())
    with tqdm(total=len(jobs), disable=None, leave=False) as progress:
        for job in jobs:
            progress.set_description(job.name)
            evaluation = evaluate(job, device)
            tqdm.write(report.line(evaluation))
            yield evaluation
            progress.update()


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.nn", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument(
        "--quick", action="store_true", help=f"{' and '.join(_QUICK)} alone, run less often"
    )
    parser.add_argument(
        "--only", nargs="+", choices=[job.name for job in JOBS], metavar="NAME", help="these alone"
    )
    parser.add_argument(
        "--device", default=CPU, help="where networks run: cuda, or cuda:1 for the second GPU"
    )
    asked = parser.parse_args(arguments)
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    jobs = [job for job in JOBS if asked.only is None or job.name in asked.only]
    if asked.quick:
        jobs = [replace(job, runs=_QUICK_RUNS) for job in jobs if job.name in _QUICK]
    # The costs of operations are measured afresh, under the load that networks run under.
    with tempfile.TemporaryDirectory() as costs:
        os.environ["XDG_CACHE_HOME"] = costs
        evaluations = list(benchmark(jobs, asked.device))
    return finish(evaluations, asked.json)


def finish(evaluations: Sequence[Evaluation], path: Path | None) -> int:
    """Print the targets, write the figures, and return 1 if any result was wrong, else 0."""
    print(target_table("Targets", targets(evaluations)))
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    wrong = [each.job for each in evaluations if is_wrong(each)]
    return conclude(evaluations, wrong, path)


if __name__ == "__main__":
    sys.exit(main())
