"""Whose job is next, and how long it takes until then."""

from __future__ import annotations

import random

import pytest

from cloakwork.service.turns import Turns, seconds_until
from tests.thoroughness import ALL

pytestmark = pytest.mark.random
CASES = 2000 if ALL else 100


def _some(draw: random.Random) -> Turns:
    turns = Turns()
    for number in range(draw.randrange(20)):
        turns.add(draw.choice("abcd"), f"{number}")
    for user in draw.sample("abcd", draw.randrange(4)):
        turns.started(user, draw.random())
    return turns


def test_the_order_is_that_in_which_jobs_are_begun() -> None:
    for seed in range(CASES):
        turns, moment, begun = _some(random.Random(seed)), 1.0, []
        order, owners = [*turns.order()], _owners(_some(random.Random(seed)))
        while (job := turns.next()) is not None:
            turns.remove(owners[job], job)
            turns.started(owners[job], moment)
            moment += 1
            begun.append(job)
        assert begun == order
        assert len(turns) == 0


def _owners(turns: Turns) -> dict[str, str]:
    return {job: user for user, jobs in turns._waiting.items() for job in jobs}


def test_nobody_is_overtaken_by_more_than_one_job_of_each_other() -> None:
    for seed in range(CASES):
        turns = _some(random.Random(seed))
        owners, order = _owners(turns), [*turns.order()]
        for user in {*owners.values()}:
            before = [owners[job] for job in order]
            first = before[: before.index(user)]
            assert len(first) == len({*first})


def test_a_job_that_is_run_again_is_the_first_of_its_user() -> None:
    turns = Turns()
    turns.add("ada", "first")
    turns.add_again("ada", "again")
    turns.add("ada", "last")
    assert [*turns.order()] == ["again", "first", "last"]


def test_jobs_end_when_it_is_said() -> None:
    for seed in range(CASES):
        draw = random.Random(seed)
        order = [f"{number}" for number in range(draw.randrange(1, 12))]
        seconds = {job: draw.randrange(1, 20) for job in order}
        workers = draw.randrange(1, 4)
        running = [draw.randrange(1, 20) for _ in range(draw.randrange(workers + 1))]
        ends = _ends(order, seconds, running, workers)
        for job in order:
            assert seconds_until(job, order, running, workers, seconds.__getitem__) == ends[job]


def _ends(
    order: list[str], seconds: dict[str, int], running: list[int], workers: int
) -> dict[str, int]:
    """When each job ends, by a clock that goes on second by second."""
    waiting, ends, now = [*order], dict[str, int](), 0
    busy = [(end, "") for end in running]
    while waiting or busy:
        ends |= {job: end for end, job in busy if end == now}
        busy = [(end, job) for end, job in busy if end > now]
        while waiting and len(busy) < workers:
            job = waiting.pop(0)
            busy.append((now + seconds[job], job))
        now += 1
    return ends
