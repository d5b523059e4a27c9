"""The bootstraps, speed and schedules that programs over bits are to reach."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.boolean.evaluate import Evaluation
from benchmarks.boolean.jobs import JOBS
from benchmarks.target import Target

_AES, _PIR = "aes-encrypt", "pir-100"
_AES_SHARE = 0.5
_PIR_SHARE = 0.6
_NO_LONGER = 1.0
_SPEED_UP = 1.85
_SPEED_UP_ON = ("aes-encrypt", "pir-100", "pir-500")
_SCHEDULE_THREADS = 64
_SCHEDULE_SPEED_UP = 1.3

_JOBS = {job.name: job for job in JOBS}


def targets(evaluations: Sequence[Evaluation]) -> Iterator[Target]:
    """Every target for what was measured.

    A gate's time is that under the parameters with the quickest gate that goes wrong with a
    probability of 2^-64 at most, as the bootstraps of these programs do; measured in the same run
    where the program has these parameters and its gates take less than a minute.
    """
    found = {each.job: each for each in evaluations}
    if _AES in found:
        yield _of_paper(found[_AES], _AES_SHARE)
        yield _of_own(found[_AES], _AES_SHARE)
    if _PIR in found:
        yield _of_paper(found[_PIR], _PIR_SHARE)
    for each in evaluations:
        yield _of_own(each, _NO_LONGER)
        known = _JOBS[each.job].compared
        if known is not None:
            yield Target(f"{each.job}, CPU seconds", known.cpu_seconds, each.one.cpu_seconds)
    for name in _SPEED_UP_ON:
        if name in found:
            yield _speed_up(found[name])
    if _AES in found:
        schedule = found[_AES].schedule(_SCHEDULE_THREADS)
        yield Target(
            f"{_AES}, {_SCHEDULE_THREADS} threads simulated, layers' time / data flow's",
            _SCHEDULE_SPEED_UP,
            None if schedule is None else schedule.speed_up(_SCHEDULE_THREADS),
            at_most=False,
        )


def _of_paper(evaluation: Evaluation, bound: float) -> Target:
    paper = _JOBS[evaluation.job].paper
    assert paper is not None
    assert paper.gates is not None
    share = evaluation.one.cpu_seconds / (paper.gates * evaluation.gate_by_gate.least_gate_seconds)
    return Target(f"{evaluation.job}, CPU time / {paper.gates} gates' time", bound, share)


def _of_own(evaluation: Evaluation, bound: float) -> Target:
    gates = evaluation.gate_by_gate
    share = evaluation.one.cpu_seconds / gates.least_seconds
    return Target(f"{evaluation.job}, CPU time / own {gates.gates} gates' time", bound, share)


def _speed_up(evaluation: Evaluation) -> Target:
    one, two = evaluation.one, evaluation.all
    speed_up = one.wall_seconds / two.wall_seconds if two.threads == 2 else None
    return Target(f"{evaluation.job}, speed-up on 2 threads", _SPEED_UP, speed_up, at_most=False)
