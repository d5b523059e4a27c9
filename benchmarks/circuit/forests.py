"""Forests of decision trees on slots, measured: python -m benchmarks.circuit.forests

Each model is compiled for a row and for 4,096 rows, at 128 bits of security, and runs on one
thread. 200 rows that it was not trained on are computed in the clear by the program, and a run of
its batch on ciphertexts; what differs from the model itself makes the benchmark fail. The largest
one takes minutes, and 4 GiB.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import RandomForestClassifier
from xgboost import XGBClassifier

import cloakwork as cw
from benchmarks.measurement import Row, cpu_timed
from benchmarks.report import conclude, target_table
from benchmarks.target import Target
from cloakwork.programs.slots import SlotProgram

BATCH = 4096
_TESTED = 200
_SEED = 0
# Seconds of a row by itself, and milliseconds of each of a batch.
_MOST_SECONDS = 15.0
_MOST_MS = 20.0


@dataclass(frozen=True, slots=True)
class ForestJob:
    """A model that is trained, and compiled for so many rows."""

    name: str
    batch: int
    data: Callable[..., Any]
    model: Callable[[], Any]


def jobs() -> Iterator[ForestJob]:
    """What people train on tables."""

    def boosting() -> Any:
        return XGBClassifier(n_estimators=100, max_depth=4, n_jobs=1)

    def forest() -> Any:
        return RandomForestClassifier(100, random_state=_SEED)

    for batch in (1, BATCH):
        yield ForestJob("XGBoost, breast cancer", batch, load_breast_cancer, boosting)
        yield ForestJob("forest, digits", batch, load_digits, forest)


@dataclass(frozen=True, slots=True)
class ForestEvaluation:
    """One model, evaluated; times are CPU seconds.

    Args:
        job: Its name.
        batch: Rows of a run.
        n: Ring degree.
        levels: Levels of its inputs.
        vectors: Ciphertexts that a client encrypts.
        compile_seconds: Of `compile`.
        encrypt_seconds: Of the encryption of a batch.
        run_seconds: Of a run.
        right: Whether all results are the model's.
    """

    job: str
    batch: int
    n: int
    levels: int
    vectors: int
    compile_seconds: float
    encrypt_seconds: float
    run_seconds: float
    right: bool

    @property
    def row_ms(self) -> float:
        """Milliseconds of a run for each row."""
        return 1e3 * self.run_seconds / self.batch

    def rows(self) -> Iterator[Row]:
        """Every figure."""
        figures = {
            ("rows", "count"): self.batch,
            ("ciphertexts of inputs", "count"): self.vectors,
            ("compile time", "s"): self.compile_seconds,
            ("encryption", "s"): self.encrypt_seconds,
            ("run", "s"): self.run_seconds,
        }
        for (figure, unit), value in figures.items():
            yield Row(self.job, self.n, self.levels, 1, figure, unit, value)


def evaluated(job: ForestJob) -> ForestEvaluation:
    """Train a model, compile it, run it, and compare with the model."""
    rows, classes = job.data(return_X_y=True)
    order = np.random.default_rng(_SEED).permutation(len(rows))
    tested, trained = order[:_TESTED], order[_TESTED:]
    model = job.model().fit(rows[trained], classes[trained])
    compiled, compile_seconds = cpu_timed(
        lambda: cw.models.compile(model, rows[trained], batch=job.batch)
    )
    clear = compiled.program.run_clear(**compiled.coding.encode(rows[tested]))
    wanted = model.predict(rows[tested])
    is_right = bool((compiled.decode(clear) == wanted).all())
    taken = np.resize(np.arange(_TESTED), job.batch)
    given = compiled.encode(rows[tested][taken])
    client, evaluator = compiled.program.keygen()
    encrypted, encrypt_seconds = cpu_timed(lambda: client.encrypt(**given))
    made, run_seconds = cpu_timed(lambda: evaluator.run(encrypted, threads=1))
    found = compiled.decode(client.decrypt(made))
    body = compiled.program.body
    assert isinstance(body, SlotProgram)
    return ForestEvaluation(
        job.name,
        job.batch,
        compiled.program.scheme.parameter_sets[0].n,
        body.top_level,
        compiled.program.packing.vector_counts[0],
        compile_seconds,
        encrypt_seconds,
        run_seconds,
        is_right and bool((found == wanted[taken]).all()),
    )


def line(evaluation: ForestEvaluation) -> str:
    """One model."""
    figures = (
        f"{evaluation.batch:>6}{evaluation.n.bit_length() - 1:>7}{evaluation.levels:>8}"
        f"{evaluation.vectors:>8}{evaluation.compile_seconds:>11.2f}"
        f"{evaluation.encrypt_seconds:>11.2f}{evaluation.run_seconds:>8.2f}"
        f"{evaluation.row_ms:>12.2f}"
    )
    return f"{evaluation.job:<24}{figures}{'' if evaluation.right else '  WRONG'}"


def targets(evaluations: Sequence[ForestEvaluation]) -> Iterator[Target]:
    """What a row may take."""
    for each in evaluations:
        if each.batch == 1:
            yield Target(f"{each.job}, seconds a row", _MOST_SECONDS, each.run_seconds)
        else:
            yield Target(f"{each.job}, ms a row in batch", _MOST_MS, each.row_ms)


def main() -> int:
    """Measure, print and return how the process is to exit."""
    names = ("rows", "log N", "levels", "inputs", "compile s", "encrypt s", "run s", "ms a row")
    widths = (6, 7, 8, 8, 11, 11, 8, 12)
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
