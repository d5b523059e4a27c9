"""BGV beside CKKS, measured: python -m benchmarks.bgv

The same operations at the top level of the same modulus, in turns, on one thread and on all.
Every result is decrypted and compared with Python's integers.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.measurement import Measurement
from benchmarks.parameter_sets import LARGEST_LOG_QP, largest_parameters
from benchmarks.report import conclude, target_table
from benchmarks.targets import Target
from cloakwork import _native
from cloakwork._native import (
    BgvCiphertext,
    BgvEvaluator,
    BgvParameters,
    BgvSecretKey,
    Evaluator,
    Parameters,
    SecretKey,
)

Rows: TypeAlias = NDArray[np.int64]

PRODUCT = "multiply and relinearise"
_LOG_N = 14
_LARGEST_RATIO = 1.6
# The best existing library, one thread of a 2-core Zen 3.
_MOST_MILLISECONDS = 14.0
_FEWEST_ROUNDS = 5
_SEED = 20160521


def same_modulus(parameters: Parameters) -> BgvParameters:
    """BGV on a chain of as many levels of as many bits."""
    return BgvParameters(
        levels=parameters.levels,
        level_bits=parameters.scale_bits,
        base_bits=parameters.scale_bits + parameters.headroom_bits,
        log_n=parameters.log_n,
        digits=3,
        insecure=parameters.insecure,
    )


def ckks_jobs(parameters: Parameters) -> Mapping[str, Callable[[], Any]]:
    """Operations by name."""
    top = parameters.levels
    secret = SecretKey.generate(parameters)
    keys = secret.evaluation_keys(
        relinearisation_level=top, rotations={1: top}, conjugation_level=None
    )
    evaluator = Evaluator(keys)
    a = secret.encrypt(parameters.encode(np.ones(parameters.slots), level=top))
    product = evaluator.multiply(a, a)
    return {
        PRODUCT: lambda: evaluator.multiply(a, a),
        "switch down one level": lambda: evaluator.rescale(product),
        "rotate": lambda: evaluator.rotate(a, 1),
        "add": lambda: evaluator.add(a, a),
    }


def bgv_jobs(
    parameters: BgvParameters,
) -> Mapping[str, tuple[Callable[[], BgvCiphertext], Callable[[BgvCiphertext], bool]]]:
    """Operations by name, each with the check of its result."""
    top = parameters.levels
    secret = BgvSecretKey.generate(parameters)
    keys = secret.evaluation_keys(
        relinearisation_level=top, rotations={1: top}, row_swap_level=None
    )
    evaluator = BgvEvaluator(keys)
    modulus = parameters.plaintext_modulus
    half = modulus // 2
    values = np.random.default_rng(_SEED).integers(-half, half + 1, (2, parameters.slots))
    a = secret.encrypt(parameters.encode(values, level=top))
    product = evaluator.multiply(a, a)

    def holds(expected: Rows) -> Callable[[BgvCiphertext], bool]:
        centred = (expected + half) % modulus - half
        return lambda found: bool((secret.decrypt(found) == centred).all())

    squares = holds(values * values)
    return {
        PRODUCT: (lambda: evaluator.multiply(a, a), squares),
        "switch down one level": (lambda: evaluator.switch_to(product, top - 1), squares),
        "rotate": (lambda: evaluator.rotate(a, 1), holds(np.roll(values, -1, axis=1))),
        "add": (lambda: evaluator.add(a, a), holds(2 * values)),
    }


def measure(parameters: Parameters, seconds: float) -> tuple[list[Measurement], list[str]]:
    """Both schemes' times of every operation, and the operations with a wrong result."""
    integers = same_modulus(parameters)
    bgv, ckks = bgv_jobs(integers), ckks_jobs(parameters)
    wrong = [name for name, (run, check) in bgv.items() if not check(run())]
    times: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    every_thread = _native.threads()
    try:
        for threads in sorted({1, every_thread}):
            _native.set_threads(threads)
            for name in bgv:
                turns = {"BGV": bgv[name][0], "CKKS": ckks[name]}
                end = time.perf_counter() + seconds
                while _few(times[name, "CKKS", threads]) or time.perf_counter() < end:
                    for scheme, run in turns.items():
                        start = time.perf_counter()
                        run()
                        times[name, scheme, threads].append(time.perf_counter() - start)
    finally:
        _native.set_threads(every_thread)
    measured = [
        Measurement(
            f"{scheme}: {name}", parameters.n, parameters.levels, threads, statistics.median(found)
        )
        for (name, scheme, threads), found in times.items()
    ]
    return measured, wrong


def _few(times: Sequence[float]) -> bool:
    return len(times) < _FEWEST_ROUNDS


def table(measured: Sequence[Measurement]) -> str:
    """Milliseconds of both schemes, and their ratio."""
    lines = [f"\n{'':<40}{'threads':>8}{'BGV, ms':>10}{'CKKS, ms':>10}{'ratio':>8}"]
    found = {(each.job, each.threads): 1000 * each.seconds for each in measured}
    for (job, threads), bgv in found.items():
        scheme, _, name = job.partition(": ")
        if scheme == "BGV":
            ckks = found[f"CKKS: {name}", threads]
            lines.append(f"{name:<40}{threads:>8}{bgv:10.3f}{ckks:10.3f}{bgv / ckks:8.2f}")
    return "\n".join(lines)


def targets(measured: Sequence[Measurement]) -> list[Target]:
    """The bounds on one product of one thread."""
    found = {each.job: 1000 * each.seconds for each in measured if each.threads == 1}
    bgv, ckks = found[f"BGV: {PRODUCT}"], found[f"CKKS: {PRODUCT}"]
    return [
        Target(f"BGV's {PRODUCT} over CKKS'", _LARGEST_RATIO, bgv / ckks),
        Target(f"BGV's {PRODUCT}, ms", _MOST_MILLISECONDS, bgv),
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and return how the process is to exit."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bgv", description=(__doc__ or "").partition("\n")[2]
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    asked = parser.parse_args(arguments)
    print(f"{_native.threads()} threads, load average {os.getloadavg()[0]:.2f} before the run")
    parameters = largest_parameters(_LOG_N, LARGEST_LOG_QP[_LOG_N])
    print(f"{parameters}\n{same_modulus(parameters)}")
    return finish(*measure(parameters, 0.05 if asked.quick else 2.0), asked.json)


def finish(measured: Sequence[Measurement], wrong: Sequence[str], path: Path | None) -> int:
    """Print the tables, write the figures, and return 1 if any result was wrong, else 0."""
    print(table(measured))
    print(target_table("Targets", targets(measured)))
    return conclude(measured, wrong, path)


if __name__ == "__main__":
    sys.exit(main())
