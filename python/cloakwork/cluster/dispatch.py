"""Hands placed jobs to a cluster as tasks, waits for them, says why one has not finished."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from secrets import token_hex
from time import perf_counter
from typing import Any, TypeAlias

from cloakwork.base.progress import Bar, progress_bar
from cloakwork.cluster.answers import Answer, receipt_of
from cloakwork.cluster.checks import Workers, named_losses
from cloakwork.cluster.cut import Cut
from cloakwork.cluster.job import Order
from cloakwork.cluster.moved import Receipt, fill
from cloakwork.cluster.placing import ReadyJob
from cloakwork.cluster.scheduler import Scheduler
from cloakwork.cluster.settings import ATTEMPTS
from cloakwork.cluster.wire import plain_bytes
from cloakwork.cluster.worker import Send, done
from cloakwork.errors import (
    ClusterLostError,
    MalformedBytesError,
    RunCancelledError,
    WorkerFailedError,
)
from cloakwork.runtime.profile import Profile

# Seconds after which the wait looks whether the run was cancelled.
_LONGEST_WAIT = 0.2
# Seconds from one look for workers to the next, and without any until the cluster counts as lost:
# one that is started again takes a few.
_LOOK = 5.0
_LONELY = 60.0
# What Dask's scheduler tells: of a task that has finished, of one whose result was lost with its
# worker and that is done again, and of the end of all.
_FINISHED = "key-in-memory"
_AGAIN = ("lost-data", "task-retried")
_ENDED = ("cancelled-keys", "restart", "stream-closed")
_FAILED = "task-erred"
Key: TypeAlias = tuple[str | int, ...]


def run_jobs(
    scheduler: Scheduler,
    workers: Workers,
    placed: Sequence[ReadyJob],
    title: str,
    cancel: threading.Event | None,
    profile: Profile,
) -> None:
    """Do what is missing of jobs, all at a time.

    Args:
        scheduler: The scheduler of the cluster.
        workers: Its workers.
        placed: The jobs.
        title: What they compute.
        cancel: Set from another thread, it stops them after the grains under way.
        profile: Filled with what the grains took, lanes as threads.

    Raises:
        RunCancelledError: The run was cancelled.
        ClusterLostError: The cluster was lost.
        MalformedBytesError: A worker or the scheduler has answered something else.
        CloakworkError: What a grain raised.
    """
    begun = perf_counter()
    graphs = [graph_of_missing(title, each.made, each.orders, each.missing()) for each in placed]
    readers: dict[Key, Callable[[Any], Receipt]] = {
        key: _reader(each, order)
        for each, graph in zip(placed, graphs, strict=True)
        for key, order in graph.answers.items()
    }
    if readers:
        awaited = _Awaited(scheduler, readers, title)
        with named_losses(f"start {title}"):
            _submit(scheduler, workers, placed, graphs)
        with progress_bar(title, total=len(readers), unit="grain") as bar:
            with named_losses(f"finish {title}"):
                _show_dashboard(bar, scheduler)
            awaited.wait(cancel, bar)
        lanes = {key: lane for graph in graphs for key, lane in graph.lanes.items()}
        found = awaited.receipts
        fill(profile, list(found.values()), [lanes[key] for key in found])
    profile.seconds = perf_counter() - begun


def _reader(placed: ReadyJob, order: Any) -> Callable[[Any], Receipt]:
    """What reads the answer of a grain."""

    def read(value: Any) -> Receipt:
        data = plain_bytes(value, f"a worker's answer of grain {order.name}")
        return receipt_of(data, order, placed.form.operations)

    return read


def _submit(
    scheduler: Scheduler, workers: Workers, placed: Sequence[ReadyJob], graphs: Sequence[DaskGraph]
) -> None:
    """Let everything be done, every task being meant for the worker of its lane."""
    tasks: dict[Key, Any] = {}
    meant: dict[Key, list[str]] = {}
    priorities: dict[Key, int] = {}
    for each, graph in zip(placed, graphs, strict=True):
        tasks.update(graph.tasks)
        for key, lane in graph.lanes.items():
            meant[key] = [workers.addresses[(each.first + lane) % len(workers.addresses)]]
            priorities[key] = -graph.places[key]
    scheduler.submit(
        tasks,
        [key for graph in graphs for key in graph.answers],
        {
            "workers": meant.get,
            # A worker that is lost leaves its tasks to others.
            "allow_other_workers": True,
            "priority": priorities.get,
            "retries": ATTEMPTS - 1,
        },
    )


class _Awaited:
    """The answers of grains as they come.

    Args:
        scheduler: The scheduler.
        readers: What reads the answer of each grain, by its key.
        title: What they compute.

    Attributes:
        receipts: What the grains took that have answered.
    """

    def __init__(
        self, scheduler: Scheduler, readers: Mapping[Key, Callable[[Any], Receipt]], title: str
    ) -> None:
        self.receipts: dict[Key, Receipt] = {}
        self._scheduler = scheduler
        self._readers = readers
        self._title = title
        self._there: set[Key] = set()
        self._seen = self._looked = perf_counter()

    def wait(self, cancel: threading.Event | None, bar: Bar) -> None:
        """Wait until all have answered.

        Raises:
            RunCancelledError: The run was cancelled.
            ClusterLostError: The cluster was lost.
            MalformedBytesError: An answer is not one.
            WorkerFailedError: A worker has failed otherwise.
            CloakworkError: What a grain raised.
        """
        action = f"finish {self._title}"
        while len(self.receipts) < len(self._readers):
            if cancel is not None and cancel.is_set():
                raise RunCancelledError(f"cannot {action}: it was cancelled after {self._so_far}")
            self._scheduler.require_open(f"{action} after {self._so_far}")
            with named_losses(f"{action} after {self._so_far}"):
                for each in self._scheduler.news(_LONGEST_WAIT):
                    self._note(each)
                bar.update(self._take())
                self._require_workers()

    @property
    def _so_far(self) -> str:
        return f"{len(self.receipts)} of {len(self._readers)} grains"

    def _note(self, told: Mapping[Any, Any]) -> None:
        """Take note of what the scheduler tells."""
        operation, key = told.get("op"), told.get("key")
        if operation in _ENDED:
            raise ClusterLostError(
                f"cannot finish {self._title}: the cluster was lost after {self._so_far}; connect "
                "to one again and run with the same folder, in which they are found"
            )
        if not isinstance(key, tuple) or not all(isinstance(each, str | int) for each in key):
            return
        if key not in self._readers or key in self.receipts:
            return
        if operation == _FINISHED:
            self._there.add(key)
        elif operation in _AGAIN:
            self._there.discard(key)
        elif operation == _FAILED:
            raise self._failure(key, told)

    def _take(self) -> int:
        """Take the answers that are there; what a worker took with it is told of again."""
        found = self._scheduler.gathered(self._there) if self._there else {}
        for key, value in found.items():
            self.receipts[key] = self._readers[key](value)
        self._there -= found.keys()
        return len(found)

    def _failure(self, key: Key, told: Mapping[Any, Any]) -> Exception:
        """Why a task has not finished. Its error is a pickle, in which a name is looked for."""
        with suppress(MalformedBytesError):
            error = told.get("exception")
            if b"KilledWorker" in (error if isinstance(error, bytes) else plain_bytes(error, "")):
                return ClusterLostError(
                    f"cannot finish {self._title}: several workers broke down one after the other "
                    f"in one task, most often for want of memory, after {self._so_far}; give "
                    "workers more memory and run with the same folder"
                )
        reason = self._scheduler.why(key) or "nothing that can be read"
        return WorkerFailedError(
            f"cannot finish {self._title}: a worker failed after {self._so_far}, and says "
            f"{reason}; look whether all workers have the same packages, and run with the same "
            "folder"
        )

    def _require_workers(self) -> None:
        """Look now and then for workers: without any, tasks would wait for ever."""
        now = perf_counter()
        if now - self._looked < _LOOK:
            return
        self._looked = now
        if self._scheduler.workers():
            self._seen = now
        if now - self._seen >= _LONELY:
            raise ClusterLostError(
                f"cannot finish {self._title}: the cluster has had no workers for "
                f"{now - self._seen:.0f} s, after {self._so_far}; start workers and run with the "
                "same folder"
            )


def _show_dashboard(bar: Bar, scheduler: Scheduler) -> None:
    """Say on the bar where to look, where Dask has a dashboard."""
    link = None if bar.disable else scheduler.dashboard()
    if link is not None:
        bar.set_postfix_str(link)


@dataclass(frozen=True, slots=True)
class DaskGraph:
    """A job as Dask takes it.

    Args:
        tasks: The tasks by key, which no other attempt has.
        lanes: The lane that each is meant for.
        places: The place in the cut of each, by which they are done first.
        answers: The orders of the grains that are to be done, by the keys of their answers.
    """

    tasks: Mapping[Key, Any]
    lanes: Mapping[Key, int]
    places: Mapping[Key, int]
    answers: Mapping[Key, Order]


def graph_of_missing(
    title: str, made: Cut, orders: Sequence[Order], needed: Mapping[int, bool]
) -> DaskGraph:
    """The tasks for the results that are missing.

    Args:
        title: What Dask's dashboard calls them.
        made: The cut.
        orders: The order for every grain.
        needed: The places of the grains that are to be done; see `placing.needed_grains`.
    """
    # What another attempt has left on workers, a failure such as a full disk, is not for this one.
    job = token_hex(16)
    answers: dict[Key, Order] = {}
    tasks: dict[Key, Any] = {}
    lanes: dict[Key, int] = {}
    places: dict[Key, int] = {}

    def add(key: Key, task: Any, place: int) -> None:
        tasks[key] = task
        lanes[key] = made.grains[place].lane
        places[key] = place

    for place, is_done in needed.items():
        grain = made.grains[place]
        given: list[Key] = []
        if not is_done:
            given = [_source(title, job, made, maker, grain.lane) for maker, _ in grain.needs]
        add(_grain(title, job, place), (done, orders[place], given), place)
        answer = Answer(orders[place].job.digest, orders[place].name)
        answers[_answer(title, job, place)] = orders[place]
        add(_answer(title, job, place), (answer, _grain(title, job, place)), place)
    for each in made.messages():
        if each.grain in needed:
            key = _message(title, job, each.grain, each.lane)
            add(key, (Send(each.values), _grain(title, job, each.grain)), each.grain)
    return DaskGraph(tasks, lanes, places, answers)


def _source(title: str, job: str, made: Cut, maker: int, lane: int) -> Key:
    """What a grain on a lane takes of another: all of one on its lane, else what is sent."""
    if made.grains[maker].lane == lane:
        return _grain(title, job, maker)
    return _message(title, job, maker, lane)


def _grain(title: str, job: str, place: int) -> Key:
    return (f"{title}-{job}", place)


def _message(title: str, job: str, place: int, lane: int) -> Key:
    return (f"{title} sends-{job}", place, lane)


def _answer(title: str, job: str, place: int) -> Key:
    return (f"{title} answers-{job}", place)
