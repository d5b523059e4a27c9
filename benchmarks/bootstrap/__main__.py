"""Bootstrapping, measured: python -m benchmarks.bootstrap

Random vectors are refreshed under the secure set of each ring asked for, on one thread and on all,
and compared with themselves; an error above the engine's estimate makes the run fail. 2^16 takes
about 8 GB of memory.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.bootstrap.evaluate import Packing, Refreshing, Setting, refresh
from benchmarks.bootstrap.report import REFERENCE, TITLE, lines, targets
from benchmarks.report import conclude, target_table
from cloakwork import _native
from cloakwork._native import BootstrappingParameters

_SEED = 17
# log2 of the ring degree with --quick, which is insecure.
_QUICK = 10


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bootstrap", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument(
        "--log-n", type=int, nargs="+", choices=(15, 16, 17), default=[16], help="by default 16"
    )
    parser.add_argument(
        "--packings",
        nargs="+",
        choices=("complex", "real", "half"),
        default=["complex"],
        help="what is in the slots; half: complex numbers in half of them",
    )
    parser.add_argument("--repetitions", type=int, default=5, help="vectors, by default 5")
    parser.add_argument("--quick", action="store_true", help="a small insecure ring alone")
    asked = parser.parse_args(arguments)
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    sets = (
        [BootstrappingParameters(_QUICK, insecure=True)]
        if asked.quick
        else [BootstrappingParameters(log_n) for log_n in asked.log_n]
    )
    measured = [
        found
        for parameters in sets
        for packing in asked.packings
        for found in _under(parameters, packing, asked.repetitions)
    ]
    print(target_table(TITLE, targets(measured)))
    print(REFERENCE)
    wrong = [f"{each.job}, {each.threads} threads" for each in measured if not each.accuracy.holds]
    return conclude(measured, wrong, asked.json)


def _under(
    parameters: BootstrappingParameters, name: str, repetitions: int
) -> Iterator[Refreshing]:
    every = parameters.parameters.slots
    packing: Packing = "real" if name == "real" else "complex"
    setting = Setting.make(parameters, every // 2 if name == "half" else every, packing)
    print(f"\n{setting.bootstrapping}")
    for threads in sorted({1, _native.threads()}):
        found = refresh(setting, threads, repetitions, _SEED)
        print(lines(found))
        yield found


if __name__ == "__main__":
    sys.exit(main())
