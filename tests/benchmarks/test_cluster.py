"""The benchmark of clusters: its report and its checks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.cluster import report
from benchmarks.cluster.evaluate import Evaluation, Times
from benchmarks.cluster.jobs import JOBS
from benchmarks.cluster.targets import targets

GOOD = Evaluation(
    job="LeNet, 4 images",
    is_shared=True,
    n=16384,
    runs=4,
    here=Times([8.0, 4.0, 2.0], [3.9, 3.9, 3.9]),
    by_workers={
        1: Times([8.8, 4.4, 4.0], [4.29, 4.29, 4.29]),
        2: Times([4.4, 2.2, 2.0], [4.5, 4.5, 4.5]),
    },
    grains={1: 8, 2: 16},
    moved_bytes={1: 0, 2: 3 * 10**6},
    equal=True,
    error=1e-5,
)


def test_ratios_are_of_one_run() -> None:
    assert GOOD.overhead == pytest.approx(0.1)
    assert GOOD.cpu_overhead == pytest.approx(0.1)
    assert GOOD.speed_up == pytest.approx(2.0)


def test_a_line_has_every_figure() -> None:
    line = report.line(GOOD)
    for figure in ("4.000 s", "4.400 s", "2.200 s", "10.0 %", "2.00", "16", "3.0 MB", "equal"):
        assert figure in line
    assert "OTHER" in report.line(replace(GOOD, equal=False))
    assert len(report.heading()) <= 140


def test_targets_tell_met_from_not_met() -> None:
    assert [each.outcome for each in targets([GOOD])] == ["met"] * 3
    alone = GOOD.by_workers[1]
    slow = replace(GOOD, here=Times([3.0] * 3, [3.0] * 3), by_workers={1: alone, 2: replace(alone)})
    assert [each.outcome for each in targets([slow])] == ["not met"] * 3
    # Milliseconds are not worth a cluster.
    assert not list(targets([replace(GOOD, here=Times([0.001] * 3, [0.001] * 3))]))
    # One run may have nothing to do side by side.
    assert len(list(targets([replace(GOOD, is_shared=False)]))) == 2


@pytest.mark.parametrize(
    ("evaluation", "wrong"),
    [
        (GOOD, False),
        (replace(GOOD, equal=False), True),
        (replace(GOOD, error=0.1), True),
        (replace(GOOD, error=float("nan")), True),
    ],
)
def test_wrong_results_are_found(evaluation: Evaluation, wrong: bool) -> None:
    assert evaluation.is_wrong is wrong


def test_every_figure_is_a_row() -> None:
    rows = list(GOOD.rows())
    assert len(rows) == 10
    assert {row.job for row in rows} == {GOOD.job}


def test_jobs_have_names_of_their_own() -> None:
    assert len({job.name for job in JOBS}) == len(JOBS) == 6
