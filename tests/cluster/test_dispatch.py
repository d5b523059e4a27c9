"""Waiting for what a cluster does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.cluster import dispatch
from cloakwork.cluster.cut import Cut, cut
from cloakwork.cluster.dispatch import graph_of_missing
from cloakwork.cluster.job import Job, Order, order
from cloakwork.cluster.placing import needed_grains
from cloakwork.cluster.wire import Sealed
from cloakwork.cluster.work import Work
from cloakwork.errors import ClusterLostError, MalformedBytesError, WorkerFailedError
from cloakwork.runtime.folder import Folder
from tests.cluster.random_work import few, works
from tests.cluster.test_cut import FREE

FIRST, SECOND = ("a test", 0), ("a test", 1)
JOB = Job("0" * 32, "evaluator-1", Folder("/jobs"), Folder("/jobs/0"), False, "1.0")


class Told:
    """A scheduler that tells one thing after the other, and gives what it is said to have."""

    def __init__(self, *told: Any, gone: int = 0) -> None:
        self._left = list(told)
        self._gone = gone

    def news(self, _: float) -> Iterator[Mapping[str, Any]]:
        """The next thing."""
        if self._left:
            yield self._left.pop(0)

    def gathered(self, keys: Collection[Any]) -> dict[Any, Any]:
        """All that is asked for, but for the first times."""
        self._gone -= 1
        return {} if self._gone >= 0 else dict.fromkeys(keys, "an answer")

    def require_open(self, action: str) -> None:
        """There is no client of Dask."""

    def why(self, key: Any) -> str:
        """What it has noted."""
        return f"that {key[1]} is broken"


class Counted:
    """A bar that nobody sees."""

    def __init__(self) -> None:
        self.total = 0

    def update(self, by: int) -> None:
        """Go on."""
        self.total += by


def finished(key: Any) -> dict[str, Any]:
    """What is told of a task that has finished."""
    return {"op": "key-in-memory", "key": key, "workers": ()}


def seen_to_finish(scheduler: Any, read: Any = lambda value: value) -> int:
    """How many of two grains are."""
    bar: Any = Counted()
    dispatch._Awaited(scheduler, {FIRST: read, SECOND: read}, "a test").wait(None, bar)
    return int(bar.total)


@pytest.mark.parametrize("again", ["lost-data", "task-retried"])
def test_what_is_lost_with_its_worker_is_waited_for(again: str) -> None:
    lost = {"op": again, "key": FIRST}
    told = Told(finished(FIRST), lost, finished(SECOND), finished(FIRST), gone=2)
    assert seen_to_finish(told) == 2


def test_what_cannot_be_gathered_is_asked_for_again() -> None:
    assert seen_to_finish(Told(finished(FIRST), finished(SECOND), gone=5)) == 2


def test_what_nobody_asked_for_counts_nothing() -> None:
    others: tuple[Any, ...] = (("a test", 2), "a test", ({},), None, (Sealed([], False),))
    wrong = [finished(key) for key in others]
    told = Told(*wrong, {}, {"op": "print"}, {"op": 3}, finished(FIRST), finished(SECOND))
    assert seen_to_finish(told) == 2


@pytest.mark.parametrize("end", ["cancelled-keys", "restart", "stream-closed"])
def test_what_is_cancelled_is_lost_with_the_cluster(end: str) -> None:
    told = Told(finished(FIRST), {"op": end, "keys": [SECOND]})
    with pytest.raises(ClusterLostError, match="was lost after 1 of 2 grains"):
        seen_to_finish(told)


def test_a_task_that_fails_says_why() -> None:
    sealed = Sealed([memoryview(b"a pickle")], False)
    for error in (b"a pickle", sealed, None, 3):
        told = Told({"op": "task-erred", "key": SECOND, "exception": error})
        with pytest.raises(WorkerFailedError, match="says that 1 is broken; look whether"):
            seen_to_finish(told)


def test_workers_that_break_down_in_a_task_are_lost() -> None:
    told = Told({"op": "task-erred", "key": SECOND, "exception": b"..KilledWorker.."})
    with pytest.raises(ClusterLostError, match="several workers broke down one after the other"):
        seen_to_finish(told)


def test_an_answer_that_is_not_one_ends_the_wait() -> None:
    def read(_: Any) -> Any:
        raise MalformedBytesError("cannot read an answer")

    with pytest.raises(MalformedBytesError, match="cannot read an answer"):
        seen_to_finish(Told(finished(FIRST)), read)


def orders(work: Work, made: Cut) -> list[Order]:
    return [order(JOB, grain, work.bytes_of(grain.gives)) for grain in made.grains]


@few
@given(works(), st.integers(1, 5))
def test_every_task_has_what_it_needs(work: Work, lanes: int) -> None:
    made = cut(work, lanes, 6, FREE)
    given_orders = orders(work, made)
    needed = needed_grains(made, given_orders, set())
    assert sorted(needed) == list(range(len(made.grains)))
    assert not any(needed.values())
    graph = graph_of_missing("test", made, given_orders, needed)
    for task in graph.tasks.values():
        sources = task[2] if len(task) == 3 else [task[1]]
        assert all(key in graph.tasks for key in sources)
    count = 2 * len(made.grains) + len(made.messages())
    assert len(graph.tasks) == len(graph.lanes) == len(graph.places) == count
    assert list(graph.answers.values()) == given_orders


@few
@given(works(), st.integers(1, 5))
def test_nothing_is_done_where_all_results_are_there(work: Work, lanes: int) -> None:
    made = cut(work, lanes, 6, FREE)
    given_orders = orders(work, made)
    present = {each.results_file for each in given_orders}
    needed = needed_grains(made, given_orders, present)
    assert needed == {}
    assert graph_of_missing("test", made, given_orders, needed).tasks == {}


@few
@given(works(), st.integers(1, 5), st.data())
def test_what_is_there_is_not_done_again(work: Work, lanes: int, data: st.DataObject) -> None:
    made = cut(work, lanes, 6, FREE)
    given_orders = orders(work, made)
    files = sorted(
        {each.results_file for each in given_orders}
        | {each.values_file for each in given_orders if each.keeps}
    )
    present = set(data.draw(st.lists(st.sampled_from(files)))) if files else set()
    needed = needed_grains(made, given_orders, present)
    graph = graph_of_missing("test", made, given_orders, needed)
    for place, is_done in needed.items():
        assert is_done == given_orders[place].is_done(present)
        sources = {maker for maker, _ in made.grains[place].needs}
        assert is_done or sources <= needed.keys()
        (task,) = (
            task
            for task in graph.tasks.values()
            if len(task) == 3 and task[1].grain is made.grains[place]
        )
        assert len(task[2]) == (0 if is_done else len(sources))
