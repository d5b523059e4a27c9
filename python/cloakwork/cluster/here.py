"""Does the grains of placed jobs in this process, one after the other.

What one has made is written while the next one is at work, where memory has space for both.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from time import perf_counter, time
from typing import Self

from cloakwork.base.progress import progress_bar
from cloakwork.cluster.cut import Grain
from cloakwork.cluster.grains import Made, grain_found, grain_made
from cloakwork.cluster.inputs import InputFiles
from cloakwork.cluster.moved import Moved, Receipt, fill
from cloakwork.cluster.placing import ReadyJob
from cloakwork.cluster.work import Work
from cloakwork.errors import RunCancelledError
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.profile import Profile


def run_jobs_here(
    evaluator: Evaluator,
    placed: Sequence[ReadyJob],
    most_bytes: int,
    kept_bytes: int,
    threads: int,
    cancel: threading.Event | None,
    profile: Profile,
) -> None:
    """Do what is missing of jobs, one after the other.

    Args:
        evaluator: The evaluator, which has the keys.
        placed: The jobs.
        most_bytes: What the values of a grain may take, and results that are being written.
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
    with (
        progress_bar(title, total=sum(map(len, needed)), unit="grain") as bar,
        _Writer(most_bytes) as writer,
    ):
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
                writer.wait_for_space(job.form.work, grains[place])
                order, start = job.orders[place], time()
                made = grain_found(order, job.form, start) or grain_made(
                    order, given, evaluator, job.form, files, threads, start
                )
                writer.write(made)
                receipts.append(made.receipt)
                if users[place]:
                    live[place] = made.moved
                # Its results go once they are written.
                del made
                for maker, _ in needs:
                    users[maker] -= 1
                    if not users[maker]:
                        del live[maker]
                bar.update(1)
    fill(profile, receipts, [0] * len(receipts))
    profile.seconds = perf_counter() - begun


class _Writer:
    """Writes what one grain has made while the next one is at work.

    Args:
        most_bytes: What the values of a grain may take, and what is being written beside it.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="cloakwork-write")
        self._writing: Future[None] | None = None
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._pool:
            self._wait()

    def write(self, made: Made) -> None:
        """Write what a grain has made, once what was made before it is written.

        Raises:
            StorageFullError: There was no space left for that.
        """
        self._wait()
        self._bytes = sum(int(value.nbytes) for value in made.results.values())
        self._writing = self._pool.submit(made.write)

    def wait_for_space(self, work: Work, grain: Grain) -> None:
        """Wait until what is being written leaves enough memory for a grain.

        Raises:
            StorageFullError: There was no space left for what was written.
        """
        if self._writing is None or self._writing.done():
            self._wait()
            return
        needed = work.peak_bytes(grain.tasks, (*grain.gives, *grain.results))
        if needed + self._bytes > self._most_bytes:
            self._wait()

    def _wait(self) -> None:
        writing, self._writing, self._bytes = self._writing, None, 0
        if writing is not None:
            writing.result()
