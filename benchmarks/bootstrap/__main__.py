"""Bootstrapping, measured: python -m benchmarks.bootstrap

Random vectors are refreshed under the secure set of each ring asked for, on one thread and on all,
and compared with themselves; an error above the engine's estimate makes the run fail. A pair is two
vectors of real numbers that are refreshed as one of complex numbers; its time is that of both. 2^16
takes about 8 GB of memory.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.bootstrap.evaluate import Contents, Refreshing, Setting, refresh
from benchmarks.bootstrap.report import REFERENCE, TITLE, line, setting_line, targets
from benchmarks.report import conclude, target_table
from cloakwork import _native
from cloakwork._native import BootstrappingParameters

_SEED = 17
# log2 of the ring degree with --quick, which is insecure.
_QUICK = 10
# log2 of the numbers of slots that are measured where a ring has as many, largest first.
_SLOTS = (15, 14, 12, 8)
_CONTENTS: tuple[Contents, ...] = ("complex", "real", "pair")


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
        "--log-slots", type=int, nargs="+", default=_SLOTS, help="by default 15 14 12 8"
    )
    parser.add_argument(
        "--contents", nargs="+", choices=_CONTENTS, default=_CONTENTS, help="by default all"
    )
    parser.add_argument("--repetitions", type=int, default=1, help="by default 1")
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
        for log_slots in asked.log_slots
        if 1 << log_slots <= parameters.parameters.slots
        for found in _of_slots(parameters, 1 << log_slots, asked.contents, asked.repetitions)
    ]
    print(target_table(TITLE, targets(measured)))
    print(REFERENCE)
    wrong = [f"{each.job}, {each.threads} threads" for each in measured if not each.accuracy.holds]
    return conclude(measured, wrong, asked.json)


def _of_slots(
    parameters: BootstrappingParameters, slots: int, contents: Sequence[Contents], repetitions: int
) -> Iterator[Refreshing]:
    """All that is measured under one set of keys, printed as it is found."""
    setting = Setting.make(parameters, slots)
    is_first = True
    for kind in contents:
        circuit = setting.circuit(kind)
        for threads in sorted({1, _native.threads()}):
            found = refresh(setting, circuit, kind, threads, repetitions, _SEED)
            if is_first:
                print(setting_line(found))
            is_first = False
            print(line(found), flush=True)
            yield found


if __name__ == "__main__":
    sys.exit(main())
