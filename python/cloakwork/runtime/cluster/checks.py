"""What a cluster has to be before a program runs on it; what it is not is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import sleep
from typing import Any

import distributed

from cloakwork.errors import (
    CloakworkError,
    ClusterFolderError,
    ClusterLostError,
    InvalidArgumentError,
    MemoryBudgetError,
    WorkerVersionError,
)
from cloakwork.runtime.cluster.folder import Folder
from cloakwork.runtime.cluster.job import own_version
from cloakwork.runtime.cluster.settings import KEPT_OF_LIMIT

# What a worker's process takes without keys and values: the interpreter, Dask, libraries.
_PROCESS_BYTES = 200_000_000

# Seconds before workers are asked once more, where one of them does not answer.
_WAITS = (0.2, 1.0)


@contextmanager
def named_losses(action: str) -> Iterator[None]:
    """Name what a client of Dask raises where its cluster does not answer.

    Raises:
        ClusterLostError: It does not.
    """
    try:
        yield
    except CloakworkError:
        raise
    except (OSError, TimeoutError, distributed.client.FutureCancelledError) as error:
        raise ClusterLostError(
            f"cannot {action}: the cluster does not answer ({type(error).__name__}: {error}); "
            "connect to one again and run with the same folder"
        ) from error


def _answers(cluster: Any, action: str, question: Callable[..., Any], *args: Any) -> dict[str, Any]:
    """What a function returns on every worker, by the worker's address.

    Raises:
        ClusterLostError: The cluster does not answer.
    """
    with named_losses(action):
        for wait in _WAITS:
            try:
                return dict(cluster.run(question, *args))
            except OSError:
                # A worker that has just been lost is still on the list for a moment.
                sleep(wait)
        return dict(cluster.run(question, *args))


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers of a cluster.

    Args:
        addresses: The address of each lane's: a worker has a lane for each of its threads, and
            lanes beside each other are on different workers as far as there are any.
        limits: For each worker whose memory is limited its bytes and its threads.
    """

    addresses: tuple[str, ...]
    limits: tuple[tuple[int, int], ...] = ()


def workers_of(cluster: Any, action: str) -> Workers:
    """The workers that there are.

    Raises:
        ClusterLostError: There are none.
    """
    with named_losses(action):
        found = cluster.scheduler_info(n_workers=-1)["workers"]
    if not found:
        raise ClusterLostError(
            f"cannot {action}: the cluster has no workers; wait for them by "
            "client.wait_for_workers(2)"
        )
    threads = sorted(
        (thread, address) for address, each in found.items() for thread in range(each["nthreads"])
    )
    limits = (
        (each["memory_limit"], each["nthreads"]) for each in found.values() if each["memory_limit"]
    )
    return Workers(tuple(address for _, address in threads), tuple(limits))


def require_client(cluster: Any, action: str) -> None:
    """Refuse what is not a client that waits for results, or is closed.

    Raises:
        InvalidArgumentError: It is something else.
        ClusterLostError: It is closed.
    """
    if not isinstance(cluster, distributed.Client) or cluster.asynchronous:
        raise InvalidArgumentError(
            f"cannot {action}: expected cluster to be a distributed.Client that is not "
            f"asynchronous, got {cluster!r:.60}"
        )
    if cluster.status in ("closing", "closed"):
        raise ClusterLostError(
            f"cannot {action}: the client of the cluster is closed; connect to the cluster again"
        )


def require_versions(cluster: Any, action: str) -> None:
    """Refuse a cluster with other versions of this package.

    Raises:
        WorkerVersionError: A worker or the scheduler has another, or lacks it.
    """

    # It goes by what it does, not by its name: a worker may have no module of this name.
    def version() -> str:
        from importlib import metadata  # noqa: PLC0415

        try:
            return metadata.version("cloakwork")
        except metadata.PackageNotFoundError:
            return "not installed"

    own = own_version()
    with named_losses(action):
        of_scheduler = cluster.run_on_scheduler(version)
    found = {**_answers(cluster, action, version), "the scheduler": of_scheduler}
    others = {place: each for place, each in found.items() if each != own}
    if others:
        place, other = min(others.items())
        raise WorkerVersionError(
            f"cannot {action}: expected cloakwork {own} everywhere, {len(others)} of {len(found)} "
            f"have another, {place} has {other}; install one version on all machines"
        )


def require_folder(cluster: Any, folder: Folder, name: str, action: str) -> None:
    """Refuse a folder in which a worker does not see a file.

    Raises:
        ClusterFolderError: One does not.
    """
    found = _answers(cluster, action, Folder.has, folder, name)
    blind = sorted(address for address, sees in found.items() if not sees)
    if blind:
        raise ClusterFolderError(
            f"cannot {action}: {len(blind)} of {len(found)} workers, {blind[0]} among them, see "
            f"no file {name} in {folder.url}; give a folder that all machines share, such as "
            "folder='s3://bucket/jobs'"
        )


def most_grain_bytes(key_bytes: int, workers: Workers, action: str) -> int | None:
    """What the values of a grain may take, so that all threads of a worker can be at one.

    Args:
        key_bytes: Bytes of the evaluation keys, which every worker has.
        workers: The workers.
        action: What the caller is about to do, for the message of an error.

    Returns:
        Bytes; None where no worker's memory is limited.

    Raises:
        MemoryBudgetError: The keys alone take more memory than a worker has.
    """
    found: list[int] = []
    for limit, threads in workers.limits:
        left = int((1 - KEPT_OF_LIMIT) * limit) - _PROCESS_BYTES - key_bytes
        if left <= 0:
            raise MemoryBudgetError(
                f"cannot {action}: the evaluation keys take {key_bytes} bytes and its process "
                f"{_PROCESS_BYTES}, a worker of {threads} threads has {limit} for them, inputs and "
                "tasks; start workers with fewer threads or a larger memory_limit, or compile with "
                "a smaller key_budget"
            )
        found.append(left // threads)
    return min(found, default=None)
