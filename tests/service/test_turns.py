"""Whose job is next, and how long it takes until then."""

from __future__ import annotations

import random

import pytest

from cloakwork.service.server.turns import Turns, seconds_until
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


@pytest.mark.parametrize("load", [0.4, 0.9, 1.2])
def test_what_is_said_holds_though_others_ask_later(load: float) -> None:
    close = [each for seed in range(3) for each in _said_well(random.Random(seed), load)]
    assert len(close) > 300
    assert sum(close) / len(close) > 0.9


def _said_well(draw: random.Random, load: float) -> list[bool]:
    """Of jobs of 0.1 to 1.6 s, a few at a time, which end within a factor of two of what is said.

    Args:
        draw: What the jobs, and their moments, are drawn from.
        load: How much of the time one process runs them; above 1 the queue grows.
    """
    turns, seconds, said, close = Turns(), dict[str, float](), dict[str, tuple[float, float]](), []
    owners, end, running = dict[str, str](), 0.0, ""
    for moment, user in _moments(draw, load):
        while running and end <= moment:
            asked, told = said[running]
            close.append(told <= 2 * (end - asked) and end - asked <= 2 * told)
            running = turns.next() or ""
            if running:
                turns.remove(owners[running], running)
                turns.started(owners[running], end)
                end += seconds[running]
        for _ in range(draw.randint(1, 3)):
            job = f"{len(seconds)}"
            owners[job] = user
            seconds[job] = draw.choices((0.1, 0.33, 1.57), (6, 3, 1))[0]
            if not running:
                running, end = job, moment + seconds[job]
                said[job] = moment, seconds[job]
                turns.started(user, moment)
            else:
                turns.add(user, job)
                left = [end - moment]
                until = seconds_until(job, turns.order(), left, 1, seconds.__getitem__)
                said[job] = moment, until
    return close


def _moments(draw: random.Random, load: float) -> list[tuple[float, str]]:
    """When each of three users asks for jobs, of 0.63 s in all in the mean, in 120 seconds."""
    found: list[tuple[float, str]] = []
    for user in "abc":
        moment = draw.expovariate(load / 3 / 0.63)
        while moment < 120:
            found.append((moment, user))
            moment += draw.expovariate(load / 3 / 0.63)
    return sorted(found)
