"""Waiting for what a cluster does."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pytest

from cloakwork.cluster import dispatch
from cloakwork.cluster.wire import Sealed
from cloakwork.errors import ClusterLostError, MalformedBytesError, WorkerFailedError

FIRST, SECOND = ("a test", 0), ("a test", 1)


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
