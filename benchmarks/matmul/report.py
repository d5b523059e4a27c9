"""The table of products, with FHE4DMM's figures beside."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.matmul.evaluate import Evaluation
from benchmarks.matmul.simulation import Simulation


def heading() -> str:
    """What the columns are."""
    return (
        f"{'product':<16}{'N':>6}{'d':>6}{'in':>7}{'out':>7}{'in':>9}{'keys':>9}{'time':>9}"
        f"{'1 thread':>10}{'products':>10}{'switches':>10}{'x numpy':>9}{'peak':>9}{'error':>8}"
        "  FHE4DMM"
    )


def line(evaluation: Evaluation) -> str:
    """One product."""
    job, plan, timing = evaluation.job, evaluation.plan, evaluation.timing
    bits = f"2^{math.log2(evaluation.error):.1f}" if evaluation.error else "0"
    return (
        f"{job.name:<16}{plan.n:>6}{plan.rotations:>6}{plan.left + plan.right:>7}{plan.results:>7}"
        f"{plan.input_bytes / 1e6:>6.0f} MB{plan.key_bytes / 1e6:>6.0f} MB"
        f"{timing.seconds:>7.3f} s{_alone(timing.one_thread_seconds):>10}"
        f"{timing.product_seconds:>8.3f} s{timing.switch_seconds:>8.3f} s"
        f"{evaluation.ratio:>9.1f}{timing.peak_bytes / 1e9:>6.2f} GB{bits:>8}{_theirs(evaluation)}"
    )


def _alone(seconds: float | None) -> str:
    return "streamed" if seconds is None else f"{seconds:.3f} s"


def _theirs(evaluation: Evaluation) -> str:
    job = evaluation.job
    if job.fhe4dmm_seconds is None:
        return ""
    machines = f"{job.fhe4dmm_machines} machine" + "s" * (job.fhe4dmm_machines > 1)
    times = job.fhe4dmm_seconds / evaluation.timing.seconds
    return f"  {job.fhe4dmm_seconds:.0f} s on {machines} of 64 threads: {times:.0f} times"


def simulated(simulations: Sequence[Simulation]) -> str:
    """Clusters that nobody has run, from the costs of tasks that were measured."""
    lines = ["\nSIMULATED, from measured costs of tasks: clusters of workers of one thread each"]
    lines.append(f"{'product':<16}{'workers':>9}{'time':>11}{'efficiency':>12}{'moved':>12}")
    lines += [
        f"{each.job:<16}{each.workers:>9}{each.seconds:>9.2f} s{each.efficiency:>12.2f}"
        f"{each.moved_bytes / 1e9:>9.2f} GB"
        for each in simulations
    ]
    return "\n".join(lines)
