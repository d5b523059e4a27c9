"""Names of jobs and files by what is in them, and which values are kept for a restart."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cloakwork.cluster.cut import Grain
from cloakwork.cluster.job import Job, is_kept, job_digest, order
from cloakwork.runtime.folder import Folder

JOB = Job("0" * 32, "evaluator-1", Folder("/jobs"), Folder("/jobs/0"), False, "1.0")
GRAIN = Grain(0, (3, 4), (), (), (7,), (8,), seconds=2.0)


def test_a_job_is_named_by_all_that_goes_in() -> None:
    digests = {
        job_digest("program", "keys", ["1", "2"]),
        job_digest("other", "keys", ["1", "2"]),
        job_digest("program", "other", ["1", "2"]),
        job_digest("program", "keys", ["1"]),
        job_digest("program", "keys", ["2", "1"]),
    }
    assert len(digests) == 5
    assert all(len(each) == 32 for each in digests)


def test_a_grain_is_named_by_what_it_does() -> None:
    first = order(JOB, GRAIN, 10)
    assert order(JOB, replace(GRAIN, lane=3, seconds=1.0), 10).name == first.name
    others = [
        replace(GRAIN, tasks=(3, 4, 5)),
        replace(GRAIN, gives=(7, 9)),
        replace(GRAIN, results=()),
    ]
    assert first.name not in {order(JOB, each, 10).name for each in others}
    # Of another number of parts other values have the same numbers.
    assert first.name != order(replace(JOB, inner_parts=2), GRAIN, 10).name


@pytest.mark.parametrize(
    ("nbytes", "seconds", "kept"),
    [(10**6, 1.0, True), (5 * 10**6, 1.0, True), (6 * 10**6, 1.0, False), (10**9, 200.0, True)],
)
def test_values_are_kept_that_take_long_to_make(nbytes: int, seconds: float, kept: bool) -> None:
    assert is_kept(replace(GRAIN, seconds=seconds), nbytes) is kept


def test_a_grain_that_gives_nothing_keeps_nothing() -> None:
    assert not is_kept(replace(GRAIN, gives=()), 0)


def test_a_grain_is_done_where_all_its_files_are() -> None:
    kept, lost = order(JOB, GRAIN, 10), order(JOB, GRAIN, 10**9)
    assert (kept.keeps, lost.keeps) == (True, False)
    both = {kept.results_file, kept.values_file}
    assert kept.is_done(both)
    assert not kept.is_done({kept.results_file})
    assert not kept.is_done({kept.values_file})
    assert not lost.is_done(both)
    only_results = order(JOB, replace(GRAIN, gives=()), 0)
    assert only_results.is_done({only_results.results_file})
