"""Waiting for what a cluster does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from cloakwork.errors import ClusterLostError
from cloakwork.runtime.cluster import dispatch


class Told:
    """A future of Dask, of which each look tells the next status; the last stays."""

    def __init__(self, *statuses: str) -> None:
        self._left = list(statuses)

    @property
    def status(self) -> str:
        """As the client knows it."""
        return self._left.pop(0) if len(self._left) > 1 else self._left[0]

    def add_done_callback(self, call: Callable[[Any], None]) -> None:
        """Call at once: it has finished, or has been so far as to finish."""
        call(self)


class Workers:
    """There are some."""

    def require_workers(self, title: str, so_far: str) -> None:
        """They are there."""


class Counted:
    """A bar that nobody sees."""

    def __init__(self) -> None:
        self.total = 0

    def update(self, by: int) -> None:
        """Go on."""
        self.total += by


def seen_to_finish(*futures: Told) -> int:
    """How many futures are."""
    watch: Any = Workers()
    bar: Any = Counted()
    dispatch._wait(futures, watch, "a test", None, bar)
    return int(bar.total)


@pytest.mark.parametrize("again", ["lost", "pending"])
def test_what_is_lost_with_its_worker_is_waited_for(again: str) -> None:
    futures = Told("finished"), Told(again, again, "finished"), Told("finished")
    assert seen_to_finish(*futures) == 3


def test_what_is_cancelled_is_lost_with_the_cluster() -> None:
    with pytest.raises(ClusterLostError, match="was lost after 1 of 2 grains"):
        seen_to_finish(Told("finished"), Told("lost", "cancelled"))
