"""Runs a program on a cluster, as its evaluator asks for it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import distributed

from cloakwork.runtime.cluster.checks import (
    require_client,
    require_folder,
    require_keys,
    require_memory,
    require_versions,
    workers_of,
)
from cloakwork.runtime.cluster.dispatch import run_jobs
from cloakwork.runtime.cluster.folder import Folder
from cloakwork.runtime.cluster.forms import Form, form_of
from cloakwork.runtime.cluster.job import Job, job_digest, own_version
from cloakwork.runtime.cluster.placing import Placed, place
from cloakwork.runtime.profile import Profile


def run_on_cluster(
    evaluator: Any,
    runs: Sequence[Mapping[int, Any]],
    cluster: distributed.Client,
    folder: Folder,
    jobs: Folder,
    profile: Profile,
    cancel: threading.Event | None,
) -> list[list[Any]]:
    """The outputs of every run of an evaluator's program, made by the workers of a cluster.

    Args:
        evaluator: A `runtime.evaluator.Evaluator`.
        runs: For each run its inputs by number, all encrypted.
        cluster: The client of the cluster.
        folder: A folder that all machines see, for the evaluator's file.
        jobs: One for all else; what it has of an earlier attempt is taken from there.
        profile: Filled with what the runs took.
        cancel: Set from another thread, it stops the runs after the grains under way.

    Raises:
        CloakworkError: What `Evaluator.run` raises.
    """
    program = evaluator.program
    title, scheme = program.name, program.scheme
    action = f"run {title} on a cluster"
    require_client(cluster, action)
    require_versions(cluster, action)
    workers = workers_of(cluster, action)
    require_keys(evaluator, action)
    keys = evaluator._kept_in(folder, action)
    require_folder(cluster, folder, keys, action)
    form = form_of(program)
    # Runs beside each other move nothing from one to another.
    lanes = max(1, len(workers.addresses) // len(runs))
    placed: list[Placed] = []
    for number, given in enumerate(runs):
        inputs = {each: scheme.dump(value) for each, value in given.items()}
        digest = job_digest(program.fingerprint, keys, inputs)
        job = Job(digest, keys, folder, jobs.within(digest), bool(scheme.insecure), own_version())
        placed.append(place(job, form.work, inputs, lanes, number * lanes, action))
    cuts = [each.made for each in placed]
    require_memory(evaluator.key_bytes, form.work, cuts, workers, action)
    run_jobs(cluster, workers, placed, title, cancel, profile)
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
