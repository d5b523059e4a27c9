"""Comparisons and tables in batch on BGV, measured: python -m benchmarks.circuit.in_batch

Each function is run on 16,384 evaluations at once on one thread, at 128 bits of security, and every
result is compared with Python's.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import cloakwork as cw
from benchmarks.measurement import Row, cpu_timed
from benchmarks.report import conclude, target_table
from benchmarks.target import Target
from cloakwork.programs.slots import SlotProgram

BATCH = 1 << 14
# Of a comparison of 16 bits, and of a table of 8.
_MOST_MS = 2.0
_SEED = 1
_TABLE = np.random.default_rng(_SEED).integers(0, 256, 4096)


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A function, and the inputs that it takes."""

    name: str
    function: Callable[..., Any]
    inputs: Mapping[str, Any]


def _integers(bits: int) -> Any:
    return cw.scalar(bounds=(0, (1 << bits) - 1))


def jobs() -> Iterator[BatchJob]:
    """What people compare and look up."""
    for bits in (8, 16, 32):
        pair = {"a": _integers(bits), "b": _integers(bits)}
        yield BatchJob(f"a < b, {bits} bits", lambda a, b: a < b, pair)
    pair = {"a": _integers(16), "b": _integers(16)}
    yield BatchJob("a == b, 16 bits", lambda a, b: a == b, pair)
    yield BatchJob("max(a, b), 16 bits", lambda a, b: np.maximum(a, b), pair)  # noqa: PLW0108
    yield BatchJob("a < 12345, 16 bits", lambda a: a < 12345, {"a": _integers(16)})
    for bits in (4, 8, 10):
        table = cw.table(_TABLE[: 1 << bits])
        yield BatchJob(f"table of {bits} bits", lambda x, t=table: t[x], {"x": _integers(bits)})


@dataclass(frozen=True, slots=True)
class BatchEvaluation:
    """One function, evaluated; times are CPU seconds.

    Args:
        job: Its name.
        n: Ring degree.
        levels: Levels of its inputs.
        products: Products of ciphertexts.
        vectors: Ciphertexts that a client encrypts.
        compile_seconds: Of `compile`.
        encrypt_seconds: Of the encryption of all inputs.
        run_seconds: Of a run.
        right: Whether all results are Python's.
    """

    job: str
    n: int
    levels: int
    products: int
    vectors: int
    compile_seconds: float
    encrypt_seconds: float
    run_seconds: float
    right: bool

    @property
    def value_ms(self) -> float:
        """Milliseconds of a run for each evaluation."""
        return 1e3 * self.run_seconds / BATCH

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        figures = {
            ("products", "count"): self.products,
            ("ciphertexts of inputs", "count"): self.vectors,
            ("compile time", "s"): self.compile_seconds,
            ("encryption", "s"): self.encrypt_seconds,
            ("run", "s"): self.run_seconds,
        }
        for (figure, unit), value in figures.items():
            yield Row(self.job, self.n, self.levels, 1, figure, unit, value)


def evaluated(job: BatchJob) -> BatchEvaluation:
    """Compile a function, run it on random inputs, and compare with Python."""
    function = cw.circuit(**job.inputs)(job.function)
    program, compile_seconds = cpu_timed(lambda: function.compile(batch=BATCH))
    random = np.random.default_rng(_SEED)
    given = {
        name: random.integers(each.bounds[0], each.bounds[1] + 1, BATCH)
        for name, each in job.inputs.items()
    }
    first = next(iter(given))
    for each in given.values():
        each[::8] = given[first][::8]
    client, evaluator = program.keygen()
    encrypted, encrypt_seconds = cpu_timed(lambda: client.encrypt(**given))
    evaluator.run(encrypted, threads=1)
    found, run_seconds = cpu_timed(lambda: evaluator.run(encrypted, threads=1))
    columns = (each.tolist() for each in given.values())
    wanted = [int(job.function(*each)) for each in zip(*columns, strict=True)]
    assert isinstance(program.body, SlotProgram)
    return BatchEvaluation(
        job.name,
        program.scheme.parameter_sets[0].n,
        program.body.top_level,
        cw.estimate(program).operations["ciphertext product"],
        program.packing.vector_counts[0],
        compile_seconds,
        encrypt_seconds,
        run_seconds,
        [*map(int, client.decrypt(found))] == wanted,
    )


def line(evaluation: BatchEvaluation) -> str:
    """One function."""
    figures = (
        f"{evaluation.products:>9}{evaluation.n.bit_length() - 1:>7}{evaluation.levels:>8}"
        f"{evaluation.vectors:>8}{evaluation.compile_seconds:>11.2f}"
        f"{evaluation.encrypt_seconds:>11.2f}{evaluation.run_seconds:>8.2f}"
        f"{1e3 * evaluation.value_ms:>10.1f}"
    )
    return f"{evaluation.job:<24}{figures}{'' if evaluation.right else '  WRONG'}"


def targets(evaluations: Sequence[BatchEvaluation]) -> Iterator[Target]:
    """What a value may take."""
    for each in evaluations:
        if each.job in ("a < b, 16 bits", "table of 8 bits"):
            yield Target(f"{each.job}, ms a value", _MOST_MS, each.value_ms)


def main() -> int:
    """Measure, print and return how the process is to exit."""
    names = ("products", "log N", "levels", "inputs", "compile s", "encrypt s", "run s", "us each")
    widths = (9, 7, 8, 8, 11, 11, 8, 10)
    columns = (f"{name:>{width}}" for name, width in zip(names, widths, strict=True))
    print(f"{'CPU seconds, one thread':<24}{''.join(columns)}")
    found = []
    for job in jobs():
        found.append(evaluated(job))
        print(line(found[-1]), flush=True)
    print(target_table("Targets", targets(found)))
    return conclude(found, [each.job for each in found if not each.right], None)


if __name__ == "__main__":
    sys.exit(main())
