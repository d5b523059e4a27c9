"""The time and the memory that products are to reach."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmarks.matmul.evaluate import Evaluation
from benchmarks.target import Target

# By the names of jobs: numpy's products, seconds of the whole job, gigabytes.
RATIOS: Mapping[str, float] = {"512": 55, "1024": 32, "2048": 20, "4096": 16}
SECONDS: Mapping[str, float] = {
    "512": 0.12,
    "2048": 3,
    "4096": 15,
    "LargeM": 20,
    "Slim": 8,
    "Flat": 40,
}
PLANNING_SECONDS: Mapping[str, float] = {"512": 1}
GIGABYTES: Mapping[str, float] = {"512": 0.25, "4096": 3.5, "Flat": 6}
# Of two threads.
_SPEED_UP = {"2048": 1.85}
# For each limb, where sizes are multiples of blocks.
_WORDS = 4.4


def targets(evaluations: Sequence[Evaluation]) -> Iterator[Target]:
    """Every target for what was measured."""
    for each in evaluations:
        job = each.job
        whole = job.name.rpartition(" of ")[2]
        if job.name in RATIOS:
            yield Target(f"{job.name}, numpy's products", RATIOS[job.name], each.ratio)
        if whole in SECONDS:
            seconds = each.timing.seconds / job.part
            yield Target(f"{job.name}, seconds of the whole", SECONDS[whole], seconds)
        if job.name in PLANNING_SECONDS:
            what = f"{job.name}, seconds of planning"
            yield Target(what, PLANNING_SECONDS[job.name], each.plan.compile_seconds)
        if whole in GIGABYTES:
            gigabytes = each.timing.peak_bytes / 1e9
            yield Target(f"{job.name}, GB", GIGABYTES[whole] * job.part, gigabytes)
        if job.name in _SPEED_UP and each.timing.threads > 1:
            what = f"{job.name}, {each.timing.threads} threads by one"
            yield Target(what, _SPEED_UP[job.name], each.timing.speed_up, at_most=False)
        what = f"{job.name}, multiplications of residues for each of the matrices and limb"
        yield Target(what, _WORDS, each.words_per_multiplication)
