"""Runs a program on a cluster, as its evaluator asks for it: files, graph, waiting, results."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import dask
import distributed
from distributed.scheduler import KilledWorker

from cloakwork.base.progress import Bar, progress_bar
from cloakwork.base.record import Record
from cloakwork.errors import (
    CloakworkError,
    ClusterFolderError,
    ClusterLostError,
    InvalidArgumentError,
    MemoryBudgetError,
    MissingKeyError,
    RunCancelledError,
    WorkerVersionError,
)
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.cluster.cut import Cut, cut
from cloakwork.runtime.cluster.folder import Folder
from cloakwork.runtime.cluster.forms import Form, form_of
from cloakwork.runtime.cluster.graph import Graph, Key, graph_of, needed_grains
from cloakwork.runtime.cluster.job import (
    INPUT_KIND,
    VALUES_KIND,
    Job,
    Order,
    job_digest,
    order,
    own_version,
)
from cloakwork.runtime.cluster.moved import Receipt
from cloakwork.runtime.cluster.network import Network
from cloakwork.runtime.cluster.simulation import best_cut
from cloakwork.runtime.cluster.work import Work
from cloakwork.runtime.cluster.worker import read_values_file
from cloakwork.runtime.profile import Profile

_CUT = "cut"
_CUT_KIND = "cluster cut file"
_MAX_LANES = 1 << 20
# Attempts at a task beside the first, where a file or a connection fails.
_RETRIES = 2
# Seconds after which the wait looks whether the run was cancelled.
_LONGEST_WAIT = 0.2


def run_on_cluster(
    evaluator: Any,
    runs: Sequence[Mapping[int, Any]],
    cluster: distributed.Client,
    folder: Folder,
    profile: Profile,
    cancel: threading.Event | None,
) -> list[list[Any]]:
    """The outputs of every run of an evaluator's program, made by the workers of a cluster.

    Args:
        evaluator: A `runtime.evaluator.Evaluator`.
        runs: For each run its inputs by number, all encrypted.
        cluster: The client of the cluster.
        folder: A folder that all machines see.
        profile: Filled with what the runs took.
        cancel: Set from another thread, it stops the runs after the grains under way.

    Raises:
        CloakworkError: What `Evaluator.run` raises.
    """
    program = evaluator.program
    title, scheme = program.name, program.scheme
    action = f"run {title} on a cluster"
    _require_client(cluster, action)
    _require_versions(cluster, action)
    workers = _workers(cluster, action)
    _require_keys(evaluator, action)
    keys = evaluator._kept_in(folder, action)
    _require_folder(cluster, folder, keys, action)
    form = form_of(program)
    # Runs beside each other move nothing from one to another.
    lanes = max(1, len(workers.addresses) // len(runs))
    placed: list[_Placed] = []
    for number, given in enumerate(runs):
        inputs = {each: scheme.dump(value) for each, value in given.items()}
        digest = job_digest(program.fingerprint, keys, inputs)
        job = Job(digest, keys, folder, bool(scheme.insecure), own_version())
        placed.append(_place(job, form.work, inputs, lanes, number * lanes, action))
    _require_memory(evaluator, form.work, placed, workers, action)
    _run(cluster, workers, placed, title, cancel, profile)
    found = [
        form.outputs({**_opened(form, given), **each.results(scheme)})
        for given, each in zip(runs, placed, strict=True)
    ]
    for each in placed:
        each.remove_kept()
    return found


def _opened(form: Form, given: Mapping[int, Any]) -> dict[int, Any]:
    """The values of the work that inputs hold: some may be results as they are."""
    return {
        value: held
        for number, each in given.items()
        for value, held in form.opened(number, each).items()
    }


def _require_client(cluster: Any, action: str) -> None:
    if not isinstance(cluster, distributed.Client) or cluster.asynchronous:
        raise InvalidArgumentError(
            f"cannot {action}: expected cluster to be a distributed.Client that is not "
            f"asynchronous, got {cluster!r:.60}"
        )


def _require_versions(cluster: Any, action: str) -> None:
    """Refuse a cluster with other versions of this package."""

    # It goes by what it does, not by its name: a worker may have no module of this name.
    def version() -> str:
        from importlib import metadata  # noqa: PLC0415

        try:
            return metadata.version("cloakwork")
        except metadata.PackageNotFoundError:
            return "not installed"

    own = own_version()
    with _named_losses(action):
        found = {**cluster.run(version), "the scheduler": cluster.run_on_scheduler(version)}
    others = {place: each for place, each in found.items() if each != own}
    if others:
        place, other = min(others.items())
        raise WorkerVersionError(
            f"cannot {action}: expected cloakwork {own} everywhere, {len(others)} of {len(found)} "
            f"have another, {place} has {other}; install one version on all machines"
        )


def _require_keys(evaluator: Any, action: str) -> None:
    """Refuse keys that the program needs more than: a file made for another program's."""
    body = evaluator.program.body
    if not isinstance(body, SlotProgram):
        return
    needed = required_keys(body)
    for held in evaluator.program.scheme.held_keys(evaluator._key):
        missing = needed.beyond(held)
        if missing:
            steps = ", ".join(map(str, list(missing.rotations)[:5]))
            what = f"rotations by {steps}" if steps else "products"
            raise MissingKeyError(
                f"cannot {action}: the evaluation keys lack {len(missing)} of {len(needed)} keys, "
                f"of {what}; make the evaluator by client.evaluator() for this very program"
            )


def _require_folder(cluster: Any, folder: Folder, name: str, action: str) -> None:
    """Refuse a folder that a worker does not see."""
    with _named_losses(action):
        found = cluster.run(Folder.has, folder, name)
    blind = sorted(address for address, sees in found.items() if not sees)
    if blind:
        raise ClusterFolderError(
            f"cannot {action}: {len(blind)} of {len(found)} workers, {blind[0]} among them, see "
            f"no file {name} in {folder.url}; give a folder that all machines share, such as "
            "folder='s3://bucket/jobs'"
        )


@dataclass(frozen=True, slots=True)
class _Workers:
    """The workers of a cluster.

    Args:
        addresses: The address of each lane's: a worker has a lane for each of its threads, and
            lanes beside each other are on different workers as far as there are any.
        memory: The least bytes that one of them has for each of its lanes, keys included; None
            where nobody limits them.
    """

    addresses: tuple[str, ...]
    memory: int | None


def _workers(cluster: distributed.Client, action: str) -> _Workers:
    """The workers that there are.

    Raises:
        ClusterLostError: There are none.
    """
    client: Any = cluster
    with _named_losses(action):
        found = client.scheduler_info(n_workers=-1)["workers"]
    if not found:
        raise ClusterLostError(
            f"cannot {action}: the cluster has no workers; wait for them by "
            "client.wait_for_workers(2)"
        )
    threads = sorted(
        (thread, address) for address, each in found.items() for thread in range(each["nthreads"])
    )
    limits = [
        each["memory_limit"] // each["nthreads"] for each in found.values() if each["memory_limit"]
    ]
    return _Workers(tuple(address for _, address in threads), min(limits, default=None))


@dataclass(frozen=True, slots=True)
class _Placed:
    """A job whose inputs are written, ready to run.

    Args:
        job: The job.
        made: The cut.
        orders: The order for every grain.
        first: The lane of the cluster that is its first.
    """

    job: Job
    made: Cut
    orders: Sequence[Order]
    first: int

    def missing(self) -> dict[int, bool]:
        """The places of the grains that are to be done, and whether files hold what they make."""
        return needed_grains(self.made, self.orders, self.job.files.names())

    def results(self, scheme: Any) -> dict[int, Any]:
        """The values that are results, read from their files."""
        values: dict[int, Any] = {}
        for each in self.orders:
            if each.grain.results:
                fields = self.job.files.read(each.results_file, VALUES_KIND)
                values.update(read_values_file(fields, scheme))
        return values

    def remove_kept(self) -> None:
        """Remove the files that results were made of; those that hold results stay."""
        self.job.files.remove(("input-", "values-"))


def _place(
    job: Job, work: Work, inputs: Mapping[int, Record], lanes: int, first: int, action: str
) -> _Placed:
    """Cut a job, or take the cut of the last attempt at it, and write the inputs that it needs."""
    files = job.files
    files.make()
    present = files.names()
    if _CUT in present:
        fields = files.read(_CUT, _CUT_KIND)
        lanes, pieces = (
            fields.integer(name, least=1, most=_MAX_LANES) for name in ("lanes", "pieces")
        )
        made = cut(work, lanes, pieces, Network())
    else:
        made = best_cut(work, lanes, Network())
    orders = [order(job, grain, work.bytes_of(grain.gives)) for grain in made.grains]
    placed = _Placed(job, made, orders, first)
    if not placed.missing():
        return placed
    kept = sum(work.bytes_of(each.grain.gives) for each in orders if each.keeps)
    values = work.bytes_of(work.inputs) + kept + work.bytes_of(work.results)
    files.require_space(values, action)
    for number, record in inputs.items():
        if job.input_of(number) not in present:
            files.write(job.input_of(number), INPUT_KIND, record)
    if _CUT not in present:
        files.write(_CUT, _CUT_KIND, {"lanes": made.lanes, "pieces": made.pieces})
    return placed


def _require_memory(
    evaluator: Any, work: Work, placed: Sequence[_Placed], workers: _Workers, action: str
) -> None:
    """Refuse grains that take more memory than a worker has."""
    if workers.memory is None:
        return
    peaks = (
        work.peak_bytes(grain.tasks, (*grain.gives, *grain.results))
        for each in placed
        for grain in each.made.grains
    )
    largest = max(peaks, default=0)
    needed = evaluator.key_bytes + largest
    if needed > workers.memory:
        raise MemoryBudgetError(
            f"cannot {action}: a task takes {needed / 1e6:.0f} MB, keys included, a worker has "
            f"{workers.memory / 1e6:.0f} MB for each of its threads; start workers with fewer "
            "threads or a larger memory_limit"
        )


def _run(
    cluster: Any,
    workers: _Workers,
    placed: Sequence[_Placed],
    title: str,
    cancel: threading.Event | None,
    profile: Profile,
) -> None:
    """Do what is missing of jobs, all at a time."""
    begun = perf_counter()
    graphs = [graph_of(title, each.made, each.orders, each.missing()) for each in placed]
    receipts = [key for graph in graphs for key in graph.receipts]
    if receipts:
        futures = _submitted(cluster, workers, placed, graphs, receipts)
        with progress_bar(title, total=len(futures), unit="grain") as bar:
            _show_dashboard(bar, cluster)
            try:
                _wait(futures, title, cancel, bar)
                with _named_losses(f"finish {title}"):
                    found: list[Receipt] = cluster.gather(futures)
            except BaseException:
                _give_up(cluster, futures)
                raise
        lanes = [graph.lanes[key] for graph in graphs for key in graph.receipts]
        _fill(profile, found, lanes)
    profile.seconds = perf_counter() - begun


def _submitted(
    cluster: Any,
    workers: _Workers,
    placed: Sequence[_Placed],
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
    with dask.annotate(
        workers=meant.get,
        allow_other_workers=True,
        priority=priorities.get,
        retries=_RETRIES,
    ):
        futures: list[Any] = cluster.get(tasks, list(receipts), sync=False)
    return futures


def _wait(futures: Sequence[Any], title: str, cancel: threading.Event | None, bar: Bar) -> None:
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
    while done < len(futures):
        if cancel is not None and cancel.is_set():
            raise RunCancelledError(
                f"cannot finish {title}: it was cancelled after {done} of {len(futures)} grains"
            )
        try:
            future = ended.get(timeout=_LONGEST_WAIT)
        except queue.Empty:
            continue
        if future.status != "finished":
            raise _failure(future, title, f"{done} of {len(futures)} grains were done")
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
        cluster.cancel(list(futures), force=True)


@contextmanager
def _named_losses(action: str) -> Iterator[None]:
    try:
        yield
    except CloakworkError:
        raise
    except (OSError, TimeoutError, distributed.client.FutureCancelledError) as error:
        raise ClusterLostError(
            f"cannot {action}: the cluster does not answer ({type(error).__name__}: {error}); "
            "connect to one again and run with the same folder"
        ) from error


def _show_dashboard(bar: Bar, cluster: Any) -> None:
    """Say on the bar where to look, where Dask has a dashboard."""
    if not bar.disable and "dashboard" in cluster.scheduler_info()["services"]:
        bar.set_postfix_str(cluster.dashboard_link)


def _fill(profile: Profile, receipts: Sequence[Receipt], lanes: Sequence[int]) -> None:
    """Put what grains took together, in seconds from the first start on, lanes as threads."""
    begun = min(each.start for each in receipts)
    for each, lane in zip(receipts, lanes, strict=True):
        offset = each.start - begun
        profile.operations += [
            measured._replace(start=offset + measured.start, thread=lane)
            for measured in each.operations
        ]
        profile.peak_bytes = max(profile.peak_bytes, each.peak_bytes)
    profile.operations.sort(key=lambda measured: measured.start + measured.seconds)
