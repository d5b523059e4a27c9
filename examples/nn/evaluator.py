"""The evaluator's side of a network: classify encrypted images, from files alone.

Takes a folder with an evaluator's file and encrypted inputs, and leaves the encrypted results
there. It needs neither PyTorch nor a secret key. Prints, as JSON, the CPU and wall
seconds of every run and the most bytes that the process took.
Run: python examples/nn/evaluator.py FOLDER [DEVICE [MEMORY_LIMIT]]
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from tqdm import tqdm

import cloakwork as cw


def peak_bytes() -> int:
    """The most memory that this process has taken.

    Unlike getrusage's, it does not count the process that started this one.
    """
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.partition("VmHWM:")[2].split()[0])


def _run(evaluator: cw.Evaluator, folder: Path, number: int) -> tuple[float, float]:
    """Run the network on one input; return the CPU and wall seconds.

    Its ciphertexts go with the call, before those of the next are read.
    """
    encrypted = cw.load(folder / f"input{number}", cw.Encrypted)
    # Its bytes become ciphertexts before the clock starts.
    encrypted.values(evaluator.program.scheme, evaluator.program.body)
    start, cpu_start = time.perf_counter(), time.process_time()
    result = evaluator.run(encrypted)
    took = time.process_time() - cpu_start, time.perf_counter() - start
    result.save(folder / f"result{number}")
    return took


def main() -> None:
    """Run the network on each input in turn."""
    folder = Path(sys.argv[1])
    evaluator = cw.load(folder / "evaluator", cw.Evaluator)
    evaluator.device = sys.argv[2] if len(sys.argv) > 2 else "cpu"
    if len(sys.argv) > 3:
        evaluator.memory_limit = int(sys.argv[3])
    inputs = range(len(list(folder.glob("input*"))))
    took = [_run(evaluator, folder, number) for number in tqdm(inputs, disable=None, leave=False)]
    cpu, wall = ([each[number] for each in took] for number in range(2))
    print(json.dumps({"cpu": cpu, "wall": wall, "peak_bytes": peak_bytes()}))


if __name__ == "__main__":
    main()
