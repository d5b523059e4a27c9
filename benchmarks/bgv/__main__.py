"""BGV beside CKKS, measured: python -m benchmarks.bgv

The same operations at the top level of the same modulus, in turns, on one thread and on all.
Every result is decrypted and compared with Python's integers.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.bgv.evaluate import measure
from benchmarks.bgv.jobs import same_modulus
from benchmarks.bgv.report import table
from benchmarks.bgv.targets import targets
from benchmarks.measurement import Measurement
from benchmarks.parameter_sets import largest_parameters
from benchmarks.report import conclude, target_table
from cloakwork import _native

_LOG_N = 14


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bgv", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    asked = parser.parse_args(arguments)
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    parameters = largest_parameters(_LOG_N)
    print(f"{parameters}\n{same_modulus(parameters)}")
    return finish(*measure(parameters, 0.05 if asked.quick else 2.0), asked.json)


def finish(measured: Sequence[Measurement], wrong: Sequence[str], path: Path | None) -> int:
    """Print the tables, write the figures, and return 1 if any result was wrong, else 0."""
    print(table(measured))
    print(target_table("Targets", targets(measured)))
    return conclude(measured, wrong, path)


if __name__ == "__main__":
    sys.exit(main())
