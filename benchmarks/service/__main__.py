"""A server under load, measured: python -m benchmarks.service --clients 200 --seconds 600

First a few users ask for jobs of 0.1 to 3 seconds, and what the server says of how long they take
is compared with how long they take. Then many clients, each with keys of its own, ask for small
jobs as fast as they are answered. Every run has one thread.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

from benchmarks.report import target_table
from benchmarks.service import load, waits
from benchmarks.service.programs import MIXED, SMALL
from benchmarks.service.served import served
from benchmarks.target import Target
from cloakwork import _native
from cloakwork.service.server.access import new_token


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.service", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument(
        "--clients", type=int, default=20, help="that ask for small jobs; 0 for none"
    )
    parser.add_argument("--users", type=int, default=3, help="that ask for all jobs; 0 for none")
    parser.add_argument("--workers", type=int, default=1, help="processes that run jobs")
    parser.add_argument("--seconds", type=float, default=60, help="how long each asks")
    parser.add_argument("--pause", type=float, default=5, help="between the requests of a user")
    asked = parser.parse_args(arguments)
    _native.set_threads(1)
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.2f} before the run")
    targets: list[Target] = []
    wrong: list[str] = []
    if asked.users:
        found = _waits(asked.users, asked.workers, asked.seconds, asked.pause)
        targets += _wait_targets(found)
    if asked.clients:
        whole = _load(asked.clients, asked.workers, asked.seconds)
        targets += _load_targets(whole)
        wrong = whole.wrong
    print(target_table("Targets", targets))
    print(f"\nload average {os.getloadavg()[0]:.2f} after the run")
    for each in wrong[:10]:
        print(f"WRONG: {each}", file=sys.stderr)
    return 1 if wrong else 0


def _waits(users: int, workers: int, seconds: float, pause: float) -> list[waits.Waited]:
    with tempfile.TemporaryDirectory() as folder:
        file, until = Path(folder) / "tokens", datetime.now(UTC) + timedelta(days=1)
        tokens = [new_token(file, f"user{number}", until) for number in range(users)]
        options = ("--token-file", str(file), "--workers", f"{workers}")
        with served(MIXED, *options) as server:
            found = waits.measured(server, tokens, seconds, pause)
    for name in MIXED:
        own = [each for each in found if each.program == name]
        close = sum(each.is_close for each in own)
        took = np.median([each.took for each in own]) if own else 0.0
        print(f"{name:<8}{len(own):>6} jobs, {close} close, median {took:.2f} s until their end")
    return found


def _load(clients: int, workers: int, seconds: float) -> load.Load:
    options = ("--workers", f"{workers}", "--limit", f"jobs={10 * clients}")
    with served({"small": SMALL}, *options) as server:
        found = load.measured(server, clients, seconds)
    p50, p99 = 1000 * np.percentile(found.answered, [50, 99])
    print(f"answered {len(found.answered)} jobs, p50 {p50:.1f} ms, p99 {p99:.1f} ms")
    alone = ", ".join(f"{each:.1f}" for each in found.alone)
    print(f"{found.throughput:.1f} jobs a second; in one process {alone}")
    taken = ", ".join(f"{name} {each:.1f} ms" for name, each in found.cpu.items())
    alone = ", ".join(f"{each:.1f}" for each in found.alone_cpu)
    print(f"of processors a job takes: {taken}; in one process {alone} ms")
    early, late = (found.memory[at][1] / 2**20 for at in (len(found.memory) // 5, -1))
    print(f"memory of the server {early:.1f} MiB after a fifth of the time, {late:.1f} at the end")
    print(f"refusals {dict(found.refusals)}")
    return found


def _wait_targets(found: Sequence[waits.Waited]) -> list[Target]:
    count = len(found) / 100
    return [
        Target(
            "% of jobs that end within a factor of two of what was said",
            90,
            sum(each.is_close for each in found) / count,
            at_most=False,
        ),
        Target(
            "% of those whose Retry-After was so, in whole seconds",
            90,
            sum(each.retries_in_time for each in found) / count,
            at_most=False,
        ),
    ]


def _load_targets(found: load.Load) -> list[Target]:
    return [
        Target("answers that no server should give", 0, len(found.wrong)),
        Target("% that the server's memory grows", 10, 100 * found.growth),
        Target("% of the throughput of one process", 90, 100 * found.share, at_most=False),
    ]


if __name__ == "__main__":
    sys.exit(main())
