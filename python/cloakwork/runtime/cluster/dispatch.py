"""Hands placed jobs to Dask, waits for them, and says why one has not finished."""

from __future__ import annotations

import queue
import threading
from collections.abc import Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

from dask.base import annotate
from distributed.scheduler import KilledWorker

from cloakwork.base.progress import Bar, progress_bar
from cloakwork.errors import ClusterLostError, RunCancelledError
from cloakwork.runtime.cluster.checks import Workers, named_losses
from cloakwork.runtime.cluster.graph import Graph, Key, graph_of
from cloakwork.runtime.cluster.moved import Receipt, fill
from cloakwork.runtime.cluster.placing import Placed
from cloakwork.runtime.profile import Profile

# Attempts at a task beside the first, where a file or a connection fails.
_RETRIES = 2
# Seconds after which the wait looks whether the run was cancelled.
_LONGEST_WAIT = 0.2
# Seconds from one look for workers to the next, and without any until the cluster counts as lost:
# one that is started again takes a few.
_LOOK = 5.0
_LONELY = 60.0
# What Dask says of a task that had finished when its worker was lost, and its receipt with it.
_DONE_AGAIN = ("lost", "pending")


def run_jobs(
    cluster: Any,
    workers: Workers,
    placed: Sequence[Placed],
    title: str,
    cancel: threading.Event | None,
    profile: Profile,
) -> None:
    """Do what is missing of jobs, all at a time.

    Args:
        cluster: The client of the cluster.
        workers: Its workers.
        placed: The jobs.
        title: What they compute.
        cancel: Set from another thread, it stops them after the grains under way.
        profile: Filled with what the grains took, lanes as threads.

    Raises:
        RunCancelledError: The run was cancelled.
        ClusterLostError: The cluster was lost.
        CloakworkError: What a grain raised.
    """
    begun = perf_counter()
    graphs = [graph_of(title, each.made, each.orders, each.missing()) for each in placed]
    receipts = [key for graph in graphs for key in graph.receipts]
    if receipts:
        futures = _submitted(cluster, workers, placed, graphs, receipts)
        with progress_bar(title, total=len(futures), unit="grain") as bar:
            _show_dashboard(bar, cluster)
            try:
                _wait(futures, _Watch(cluster), title, cancel, bar)
                with named_losses(f"finish {title}"):
                    found: list[Receipt] = cluster.gather(futures)
            except BaseException:
                _give_up(cluster, futures)
                raise
        lanes = [graph.lanes[key] for graph in graphs for key in graph.receipts]
        fill(profile, found, lanes)
    profile.seconds = perf_counter() - begun


def _submitted(
    cluster: Any,
    workers: Workers,
    placed: Sequence[Placed],
    graphs: Sequence[Graph],
    receipts: Sequence[Key],
) -> list[Any]:
    """The futures of all receipts, every task being meant for the worker of its lane."""
    tasks: dict[Key, Any] = {}
    meant: dict[Key, list[str]] = {}
    priorities: dict[Key, int] = {}
    for each, graph in zip(placed, graphs, strict=True):
        tasks.update(graph.tasks)
        for key, lane in graph.lanes.items():
            meant[key] = [workers.addresses[(each.first + lane) % len(workers.addresses)]]
            priorities[key] = -graph.places[key]
    # A worker that is lost leaves its tasks to others.
    with annotate(
        workers=meant.get,
        allow_other_workers=True,
        priority=priorities.get,
        retries=_RETRIES,
    ):
        futures: list[Any] = cluster.get(tasks, list(receipts), sync=False)
    return futures


class _Watch:
    """Looks now and then whether a cluster has workers still."""

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        self._seen = self._looked = perf_counter()

    def require_workers(self, title: str, so_far: str) -> None:
        """Raise where there were none for long: their tasks would wait for ever.

        Raises:
            ClusterLostError: There were none.
        """
        now = perf_counter()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        with named_losses(f"finish {title}"):
            if self._cluster.scheduler_info(n_workers=-1)["workers"]:
                self._seen = now
        if now - self._seen >= _LONELY:
            raise ClusterLostError(
                f"cannot finish {title}: the cluster has had no workers for {now - self._seen:.0f} "
                f"s, after {so_far}; start workers and run with the same folder"
            )


def _wait(
    futures: Sequence[Any],
    watch: _Watch,
    title: str,
    cancel: threading.Event | None,
    bar: Bar,
) -> None:
    """Wait until all have finished.

    Raises:
        RunCancelledError: The run was cancelled.
        ClusterLostError: The cluster was lost.
        CloakworkError: What a task raised.
    """
    ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
    for future in futures:
        future.add_done_callback(ended.put)
    done = 0
    lost: list[Any] = []
    while done < len(futures):
        so_far = f"{done} of {len(futures)} grains"
        if cancel is not None and cancel.is_set():
            raise RunCancelledError(f"cannot finish {title}: it was cancelled after {so_far}")
        try:
            future = ended.get(timeout=_LONGEST_WAIT)
        except queue.Empty:
            watch.require_workers(title, so_far)
            while lost:
                ended.put(lost.pop())
            continue
        # Looked at once, as it changes meanwhile.
        status = future.status
        if status in _DONE_AGAIN:
            lost.append(future)
            continue
        if status != "finished":
            raise _failure(future, title, so_far)
        done += 1
        bar.update(1)


def _failure(future: Any, title: str, so_far: str) -> BaseException:
    """Why a task has not finished."""
    if future.status != "error":
        return ClusterLostError(
            f"cannot finish {title}: the cluster was lost after {so_far}; connect to one again "
            "and run with the same folder, in which they are found"
        )
    error: BaseException = future.exception()
    if isinstance(error, KilledWorker):
        return ClusterLostError(
            f"cannot finish {title}: several workers broke down one after the other in one task, "
            f"most often for want of memory, after {so_far}; give workers more memory and run "
            "with the same folder"
        )
    return error


def _give_up(cluster: Any, futures: Sequence[Any]) -> None:
    """Let no further task start, if there is a cluster still."""
    with suppress(OSError, RuntimeError, TimeoutError):
        cluster.cancel(list(futures))


def _show_dashboard(bar: Bar, cluster: Any) -> None:
    """Say on the bar where to look, where Dask has a dashboard."""
    if not bar.disable and "dashboard" in cluster.scheduler_info()["services"]:
        bar.set_postfix_str(cluster.dashboard_link)
