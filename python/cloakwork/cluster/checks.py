"""What a cluster has to be before a program runs on it; what it is not is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import sleep
from typing import Any

from cloakwork.base.record import Fields
from cloakwork.cluster.answers import readable
from cloakwork.cluster.job import own_version
from cloakwork.cluster.scheduler import Scheduler
from cloakwork.cluster.settings import KEPT_OF_LIMIT
from cloakwork.errors import (
    CloakworkError,
    ClusterFolderError,
    ClusterLostError,
    MemoryBudgetError,
    WorkerVersionError,
)
from cloakwork.runtime.folder import Folder

# What a worker's process takes without keys and values: the interpreter, Dask, libraries.
_PROCESS_BYTES = 200_000_000

# Seconds before workers are asked once more, where one of them does not answer.
_WAITS = (0.2, 1.0)

# Characters of an answer, threads of a worker and bytes of its memory; there are fewer.
_LONGEST = 200
_MOST_THREADS = 1 << 16
_MOST_BYTES = 1 << 62


@contextmanager
def named_losses(action: str) -> Iterator[None]:
    """Name what is raised where a cluster does not answer.

    Raises:
        ClusterLostError: It does not.
    """
    try:
        yield
    except CloakworkError:
        raise
    except OSError as error:
        raise ClusterLostError(
            f"cannot {action}: the cluster does not answer ({type(error).__name__}: {error}); "
            "connect to one again and run with the same folder"
        ) from error


def _answers(
    scheduler: Scheduler, action: str, question: Callable[..., bytes], *args: Any
) -> dict[str, str]:
    """The text that a function returns as bytes on every worker, by the worker's address."""
    with named_losses(action):
        for wait in _WAITS:
            try:
                return _texts(scheduler.answers(question, *args))
            except OSError:
                # A worker that has just been lost is still on the list for a moment.
                sleep(wait)
        return _texts(scheduler.answers(question, *args))


def _texts(answers: Mapping[str, bytes]) -> dict[str, str]:
    return {
        place: readable(each[:_LONGEST].decode(errors="replace")) for place, each in answers.items()
    }


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


def workers_of(scheduler: Scheduler, action: str) -> Workers:
    """The workers that there are.

    Raises:
        ClusterLostError: There are none.
        MalformedBytesError: What the scheduler says of them are not workers.
    """
    with named_losses(action):
        found = scheduler.workers()
    if not found:
        raise ClusterLostError(
            f"cannot {action}: the cluster has no workers; wait for them by "
            "client.wait_for_workers(2)"
        )
    own = {
        readable(address): Fields(each, f"worker {readable(address)}")
        for address, each in found.items()
    }
    counts = {
        address: each.integer("nthreads", least=1, most=_MOST_THREADS)
        for address, each in own.items()
    }
    threads = sorted(
        (thread, address) for address, count in counts.items() for thread in range(count)
    )
    limits = (
        (each.integer("memory_limit", least=1, most=_MOST_BYTES), counts[address])
        for address, each in own.items()
        if each.raw("memory_limit")
    )
    return Workers(tuple(address for _, address in threads), tuple(limits))


def require_versions(scheduler: Scheduler, action: str) -> None:
    """Refuse a cluster with other versions of this package.

    Raises:
        WorkerVersionError: A worker or the scheduler has another, or lacks it.
        ClusterLostError: The cluster does not answer.
    """

    # It goes by what it does, not by its name: a worker may have no module of this name.
    def version() -> bytes:
        from importlib import metadata  # noqa: PLC0415

        try:
            return metadata.version("cloakwork").encode()
        except metadata.PackageNotFoundError:
            return b"not installed"

    own = own_version()
    with named_losses(action):
        of_scheduler = _texts({"the scheduler": scheduler.own_answer(version)})
    found = {**_answers(scheduler, action, version), **of_scheduler}
    others = {place: each for place, each in found.items() if each != own}
    if others:
        place, other = min(others.items())
        raise WorkerVersionError(
            f"cannot {action}: expected cloakwork {own} everywhere, {len(others)} of {len(found)} "
            f"have another, {place} has {other}; install one version on all machines"
        )


def _seen(folder: Folder, name: str) -> bytes:
    """Whether there is a file, as workers are asked for it."""
    return b"yes" if folder.has(name) else b""


def require_folder(scheduler: Scheduler, folder: Folder, name: str, action: str) -> None:
    """Refuse a folder in which a worker does not see a file.

    Raises:
        ClusterFolderError: One does not.
        ClusterLostError: The cluster does not answer.
    """
    found = _answers(scheduler, action, _seen, folder, name)
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
