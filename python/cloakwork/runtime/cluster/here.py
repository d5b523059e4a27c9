"""Does the grains of placed jobs in this process, one after the other."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from time import perf_counter, time
from typing import Any

from cloakwork.base.progress import progress_bar
from cloakwork.errors import RunCancelledError
from cloakwork.runtime.cluster.inputs import InputFiles
from cloakwork.runtime.cluster.moved import Moved, Receipt, fill
from cloakwork.runtime.cluster.placing import Placed
from cloakwork.runtime.cluster.worker import grain_done
from cloakwork.runtime.profile import Profile


def run_jobs_here(
    evaluator: Any,
    placed: Sequence[Placed],
    kept_bytes: int,
    threads: int,
    cancel: threading.Event | None,
    profile: Profile,
) -> None:
    """Do what is missing of jobs, one after the other.

    Args:
        evaluator: The evaluator, which has the keys.
        placed: The jobs.
        kept_bytes: What inputs may take that further grains need.
        threads: How many operations may run at once.
        cancel: Set from another thread, it stops the jobs after the grain under way.
        profile: Filled with what the grains took.

    Raises:
        RunCancelledError: The run was cancelled.
        CloakworkError: What a grain raised.
    """
    begun = perf_counter()
    files = InputFiles(kept_bytes)
    needed = [each.missing() for each in placed]
    title = evaluator.program.name
    receipts: list[Receipt] = []
    with progress_bar(title, total=sum(map(len, needed)), unit="grain") as bar:
        for job, places in zip(placed, needed, strict=True):
            grains = job.made.grains
            # Those that take what a grain made, and have not yet.
            users = Counter(
                maker
                for place, is_done in places.items()
                if not is_done
                for maker, _ in grains[place].needs
            )
            live: dict[int, Moved] = {}
            for place, is_done in places.items():
                if cancel is not None and cancel.is_set():
                    raise RunCancelledError(
                        f"cannot finish {title}: it was cancelled after {len(receipts)} grains, "
                        "which the same folder has"
                    )
                needs = () if is_done else grains[place].needs
                given = [live[maker].only(values) for maker, values in needs]
                made = grain_done(
                    job.orders[place], given, evaluator, job.form, files, threads, time()
                )
                receipts.append(made.receipt)
                if users[place]:
                    live[place] = made
                for maker, _ in needs:
                    users[maker] -= 1
                    if not users[maker]:
                        del live[maker]
                bar.update(1)
    fill(profile, receipts, [0] * len(receipts))
    profile.seconds = perf_counter() - begun
