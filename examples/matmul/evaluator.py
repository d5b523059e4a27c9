"""The evaluator's side of a product: multiply encrypted matrices, from files alone.

Takes a folder with an evaluator's file and what clients have encrypted, runs the program on
all of it at once, and leaves the encrypted result there. Prints, as JSON, what the run took.
Run: python examples/matmul/evaluator.py FOLDER
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import cloakwork as cw


def peak_bytes() -> int:
    """The most memory that this process has taken."""
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def main() -> None:
    """Run the program once."""
    folder = Path(sys.argv[1])
    evaluator = cw.load(folder / "evaluator", cw.Evaluator)
    given = [cw.load(path, cw.Encrypted) for path in sorted(folder.glob("from-*"))]
    start, cpu_start = time.perf_counter(), time.process_time()
    result = evaluator.run(given)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu_start
    result.save(folder / "result")
    print(json.dumps({"cpu": cpu, "wall": wall, "peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
