"""Runs the jobs of a server in processes of their own."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from typing import Any

from cloakwork.errors import (
    MemoryBudgetError,
    NotServedError,
    RunCancelledError,
    WorkerFailedError,
)
from cloakwork.service.problems import problem_of
from cloakwork.service.server.ends import Ends
from cloakwork.service.server.jobs import Jobs, ServedJob
from cloakwork.service.server.memory import SharedMemory
from cloakwork.service.server.predicted import require_run_memory
from cloakwork.service.server.processes import NotBegunError, RunProcess
from cloakwork.service.server.progress import ProgressOfJobs
from cloakwork.service.server.settings import Settings
from cloakwork.service.server.store import Store

_LOG = logging.getLogger(__name__)
# How often expired results are looked for, in seconds.
_EVERY = 60.0
# Seconds of a run below which its process knows of the next one before it ends.
_SHORT = 0.25


class Runs:
    """Takes jobs from the queue as long as the server is there.

    Args:
        jobs: The queue.
        store: Where inputs are, and results go.
        settings: How many processes run jobs, how often, and what they may take.
    """

    def __init__(self, jobs: Jobs, store: Store, settings: Settings) -> None:
        self._jobs, self._store, self._settings = jobs, store, settings
        self._memory = SharedMemory(settings.memory_bytes, settings.workers)
        self.progress = ProgressOfJobs()
        # How often something changed.
        self.changes = 0
        self.is_ending = False
        self._wake = asyncio.Condition()
        self.ends = Ends()
        self._running: dict[str, RunProcess] = {}
        # Of each process the jobs that it was asked for: the first one runs.
        self._asked: list[list[ServedJob]] = [[] for _ in range(settings.workers)]
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_failed = False

    async def start(self) -> None:
        """Begin, with what ran when the server ended before."""
        for number in range(self._settings.workers):
            self._do(self._work(number))
        self._do(self._clean())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside all else, to its end or the server's."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._over)

    def _over(self, task: asyncio.Task[None]) -> None:
        """Say why something has failed, whatever it was: jobs may not be run any more."""
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._has_failed = True
            _LOG.error(
                "cannot run jobs any more: %s; start the server again", error, exc_info=error
            )

    async def stop(self) -> None:
        """End; what runs is run again after the next start."""
        tasks = [*self._tasks]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    @property
    def is_ready(self) -> bool:
        """Whether jobs are taken from the queue: from the start on, and until the end."""
        return bool(self._tasks) and not self._has_failed and not self.is_ending

    async def changed(self) -> None:
        """Say that a job is there, has gone on, or has ended."""
        self.changes += 1
        async with self._wake:
            self._wake.notify_all()

    async def release(self) -> None:
        """Let nobody wait any longer: the server ends, and answers before."""
        self.is_ending = True
        self.ends.tell_all()
        await self.changed()

    async def wait(self, is_so: Callable[[], bool], seconds: float) -> None:
        """Wait until something is so or the server ends, but no longer than so many seconds."""
        async with self._wake:
            with suppress(TimeoutError):
                is_enough = self._wake.wait_for(lambda: self.is_ending or is_so())
                await asyncio.wait_for(is_enough, seconds)

    async def cancel(self, job: ServedJob) -> None:
        """End a job, whether it waits or runs."""
        process = self._running.get(job.name)
        self._jobs.end(job, problem_of(_cancelled(job)))
        if process is not None:
            process.kill()
        self._store.remove_job(job.name)
        await self._ended(job)

    async def _ended(self, job: ServedJob) -> None:
        """Say that a job has ended."""
        self.ends.tell(job.name)
        await self.changed()

    async def _work(self, number: int) -> None:
        """Run one job after the other in one process, or the next where it was killed."""
        process = RunProcess(self._settings, number)
        try:
            while True:
                await process.start()
                job = await self._next(number, process)
                await process.start()
                self._do(self._run(job, number, process))
        finally:
            await process.end()

    async def _next(self, number: int, process: RunProcess) -> ServedJob:
        """The next job, once there is one that the process is to be asked for."""
        async with self._wake:
            while True:
                job = self._jobs.first()
                if job is not None and self._takes(number, job):
                    self._asked[number].append(job)
                    return self._jobs.take(job)
                if job is not None and not self._asked[number] and self._memory.keeps(number):
                    # What waits for other runs gives way to one that waits for memory.
                    await process.end()
                    await process.start()
                    self._memory.keep(number, 0)
                    self._wake.notify_all()
                else:
                    await self._wake.wait()

    def _takes(self, number: int, job: ServedJob) -> bool:
        """Whether a process is to be asked for a job now.

        It runs nothing and the others leave enough memory; or it runs what is as short, as do all
        others, so that it need not wait for the next one.
        """
        asked = self._asked[number]
        if not asked:
            return self._memory.fits(number, job.run_bytes)
        return (
            len(asked) == 1
            and all(self._asked)
            and job.run_bytes <= self._memory.taken(number)
            and all(
                self._jobs.run_seconds(each.program, each.seconds) < _SHORT
                for each in (*asked, job)
            )
        )

    async def _run(self, job: ServedJob, number: int, process: RunProcess) -> None:
        try:
            told = await self._answer(job, number, process)
        except (MemoryBudgetError, NotServedError) as error:
            # Keys may be removed meanwhile.
            told = {"problem": problem_of(error)}
        except NotBegunError:
            self._jobs.put_back(job)
            await self.changed()
            return
        finally:
            self._asked[number].remove(job)
        # The process goes on meanwhile.
        await self.changed()
        if "results" in told:
            await asyncio.to_thread(self._store.sync_job_file, job.name, "results")
        await self._end(job, told)

    async def _answer(self, job: ServedJob, number: int, process: RunProcess) -> dict[str, Any]:
        """How a run goes; nothing of one that was killed."""
        # An operator may allow less than when it was accepted.
        require_run_memory(job.program, job.run_bytes, self._memory.most)
        run = self._files(job)
        run["takes"] = job.kept_bytes, job.run_bytes
        run["most"] = self._memory.take(number, job.run_bytes)
        try:
            told = await process.asked(run, partial(self._hear, job, process)) or {}
        finally:
            self._running.pop(job.name, None)
        kept = told.pop("kept", 0)
        if self._asked[number] == [job]:
            self._memory.keep(number, kept)
        return told

    async def _end(self, job: ServedJob, told: dict[str, Any]) -> None:
        """Take note of how a run went; of one that was killed nothing is known."""
        now = self._jobs.find(job.user, job.name)
        if now is None or now.is_over:
            # It was cancelled.
            return
        if not told and now.attempts < self._settings.attempts:
            self._jobs.requeue(job)
            await self.changed()
            return
        self.progress.hear(job.name, {"peak_bytes": told.pop("peak_bytes", 0)})
        self._jobs.end(job, **(told or {"problem": problem_of(_killed(now))}))
        await self._ended(job)

    async def _hear(self, job: ServedJob, process: RunProcess, told: dict[str, Any]) -> None:
        if told:
            self.progress.hear(job.name, told)
        else:
            self._running[job.name] = process
            self._jobs.begun(job)
            self.progress.begin(job.name, self._jobs.run_seconds(job.program, job.seconds))
        await self.changed()

    def _files(self, job: ServedJob) -> dict[str, Any]:
        step = self._jobs.states.files(job.name)
        return {
            "program": str(self._store.program_file(job.program)),
            "keys": [str(each) for each in self._store.key_files(job.user, job.keys)],
            "inputs": str(self._store.job_file(job.name, "inputs")),
            "results": str(self._store.job_file(job.name, "results")),
            "state": None if step is None else [str(each) for each in step],
        }

    async def _clean(self) -> None:
        """Remove jobs whose results nobody fetched, and files of such as were not accepted."""
        while True:
            before = time.time() - self._settings.kept_seconds
            for job in self._jobs.expired(before):
                self._jobs.remove(job.name)
                self._store.remove_job(job.name)
            for name in self._store.jobs_before(before):
                if not self._jobs.has(name):
                    self._store.remove_job(name)
            self._store.remove_unused_keys()
            await asyncio.sleep(_EVERY)


def _cancelled(job: ServedJob) -> RunCancelledError:
    return RunCancelledError(f"cannot run {job.program}: the job was cancelled; ask for it again")


def _killed(job: ServedJob) -> WorkerFailedError:
    return WorkerFailedError(
        f"cannot run {job.program}: its process was killed, for memory perhaps, {job.attempts} "
        "times; ask again later, or the operator for more memory"
    )
