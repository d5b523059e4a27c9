"""The table of programs on a cluster."""

from __future__ import annotations

from benchmarks.cluster.evaluate import Evaluation


def heading() -> str:
    """What the columns are."""
    return (
        f"{'program':<20}{'N':>7}{'runs':>6}{'here':>9}{'1 worker':>10}{'2 workers':>11}"
        f"{'overhead':>10}{'of CPU':>9}{'speed-up':>10}{'grains':>8}{'moved':>10}{'bytes':>8}"
    )


def line(evaluation: Evaluation) -> str:
    """One program."""
    here = evaluation.here.seconds
    one, two = (evaluation.by_workers[count].seconds for count in (1, 2))
    return (
        f"{evaluation.job:<20}{evaluation.n:>7}{evaluation.runs:>6}{here:>7.3f} s"
        f"{one:>8.3f} s{two:>9.3f} s{100 * evaluation.overhead:>8.1f} %"
        f"{100 * evaluation.cpu_overhead:>7.1f} %{evaluation.speed_up:>10.2f}"
        f"{evaluation.grains[2]:>8}"
        f"{evaluation.moved_bytes[2] / 1e6:>7.1f} MB{'equal' if evaluation.equal else 'OTHER':>8}"
    )
