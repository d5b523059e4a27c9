"""Runs a program in grains on a cluster, as its evaluator asks for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from cloakwork.cluster.checks import (
    Workers,
    most_grain_bytes,
    require_folder,
    require_versions,
    workers_of,
)
from cloakwork.cluster.dispatch import run_jobs
from cloakwork.cluster.evaluator_files import kept_in, require_all_keys, restored_in
from cloakwork.cluster.run import Asked, Ran, advice_on_limit, placed_jobs, shared_out
from cloakwork.cluster.scheduler import Scheduler
from cloakwork.errors import ClusterFolderError, MalformedBytesError
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.stored import StoredEncrypted


def run_on_cluster(asked: Asked, client: Any) -> Ran:
    """Let the workers of a cluster do the runs.

    Args:
        asked: What is to be done.
        client: The client of the cluster, or the address of its scheduler.

    Raises:
        CloakworkError: What `Evaluator.run` raises.
    """
    action = f"run {asked.evaluator.program.name} on a cluster"
    with Scheduler(client, action) as scheduler:
        return _run(asked, scheduler, action)


def _run(asked: Asked, scheduler: Scheduler, action: str) -> Ran:
    evaluator, folder = asked.evaluator, asked.folder
    title = evaluator.program.name
    require_versions(scheduler, action)
    workers = workers_of(scheduler, action)
    require_all_keys(evaluator, action)
    keys = kept_in(folder, evaluator, action)
    require_folder(scheduler, folder, keys, action)
    for each in asked.inputs:
        if isinstance(each, StoredEncrypted):
            require_folder(scheduler, each.folder, each.head, action)
    most, advice = _most_on_workers(evaluator, workers, action)
    # Runs beside each other move nothing from one to another.
    lanes = max(1, len(workers.addresses) // asked.runs)
    ran = placed_jobs(asked, keys, lanes, most, advice, action)
    try:
        run_jobs(scheduler, workers, ran.placed, title, asked.cancel, asked.profile)
    except (ClusterFolderError, MalformedBytesError):
        # A file of the evaluator's may have been damaged or removed since an earlier run.
        if not restored_in(folder, evaluator, action):
            raise
        run_jobs(scheduler, workers, ran.placed, title, asked.cancel, asked.profile)
    return ran


def _most_on_workers(
    evaluator: Evaluator, workers: Workers, action: str
) -> tuple[int | None, Callable[[int], str]]:
    """What the values of a grain may take by the limits of workers and of the evaluator."""
    most = most_grain_bytes(evaluator.key_bytes, workers, action)
    if evaluator._runner.own_limit is None:
        return most, _advice_for_workers
    threads = max(Counter(workers.addresses).values())
    own = shared_out(evaluator._runner.own_limit)[1] // threads
    if most is not None and most <= own:
        return most, _advice_for_workers
    return own, partial(advice_on_limit, threads)


def _advice_for_workers(_: int) -> str:
    return "start workers with fewer threads or a larger memory_limit"
