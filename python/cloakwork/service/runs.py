"""Runs the jobs of a server in processes of their own."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Callable
from contextlib import suppress

from cloakwork.errors import NotServedError, RunCancelledError, WorkerFailedError
from cloakwork.service.jobs import Jobs, ServedJob
from cloakwork.service.problems import problem_of
from cloakwork.service.store import Store

_MODULE = "cloakwork.service.worker"
# How often expired results are looked for, in seconds.
_EVERY = 60.0


class Runs:
    """Takes jobs from the queue as long as the server is there.

    Args:
        jobs: The queue.
        store: Where inputs are, and results go.
        workers: How many processes run jobs.
        attempts: How often a job is begun whose process was killed.
        kept_seconds: How long results are kept that nobody fetches.
    """

    def __init__(
        self, jobs: Jobs, store: Store, *, workers: int, attempts: int, kept_seconds: float
    ) -> None:
        self._jobs, self._store = jobs, store
        self._workers, self._attempts, self._kept_seconds = workers, attempts, kept_seconds
        self._wake = asyncio.Condition()
        self._running: dict[str, Process] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin, with what ran when the server ended before."""
        self._jobs.again()
        self._tasks = [asyncio.create_task(self._work()) for _ in range(self._workers)]
        self._tasks.append(asyncio.create_task(self._clean()))

    async def stop(self) -> None:
        """End; what runs is run again after the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def changed(self) -> None:
        """Say that a job is there, or has ended."""
        async with self._wake:
            self._wake.notify_all()

    async def wait(self, is_so: Callable[[], bool], seconds: float) -> None:
        """Wait until something is so, but no longer than so many seconds."""
        async with self._wake:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait_for(is_so), seconds)

    async def cancel(self, job: ServedJob) -> None:
        """End a job, whether it waits or runs."""
        process = self._running.get(job.name)
        self._jobs.end(job.name, problem_of(_cancelled(job)))
        if process is not None:
            process.kill()
        self._store.remove_job(job.name)
        await self.changed()

    async def _work(self) -> None:
        """Run one job after the other in one process, or the next where it was killed."""
        process: Process | None = None
        try:
            while True:
                job = await self._next()
                if process is None or process.returncode is not None:
                    process = await self._process()
                await self._run(job, process)
                await self.changed()
        finally:
            if process is not None and process.returncode is None:
                process.kill()
                await process.wait()

    async def _next(self) -> ServedJob:
        """The next job, once there is one."""
        async with self._wake:
            while (job := self._jobs.next()) is None:
                await self._wake.wait()
            return job

    async def _process(self) -> Process:
        insecure = ["--insecure"] if self._store.insecure else []
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", _MODULE, *insecure, stdin=PIPE, stdout=PIPE, stderr=DEVNULL
        )

    async def _run(self, job: ServedJob, process: Process) -> None:
        try:
            files = self._files(job)
        except NotServedError as error:
            # Its keys were removed meanwhile.
            self._jobs.end(job.name, problem_of(error))
            return
        self._running[job.name] = process
        try:
            answer = await _asked(process, files)
        finally:
            del self._running[job.name]
        now = self._jobs.find(job.user, job.name)
        if now is None or now.is_over:
            # It was cancelled.
            return
        if answer is not None:
            self._jobs.end(job.name, **json.loads(answer))
        elif now.attempts < self._attempts:
            self._jobs.requeue(job.name)
        else:
            self._jobs.end(job.name, problem_of(_killed(job)))

    def _files(self, job: ServedJob) -> bytes:
        files = {
            "program": str(self._store.program_file(job.program)),
            "keys": [str(each) for each in self._store.key_files(job.user, job.keys)],
            "inputs": str(self._store.job_file(job.name, "inputs")),
            "results": str(self._store.job_file(job.name, "results")),
        }
        return json.dumps(files).encode() + b"\n"

    async def _clean(self) -> None:
        """Remove jobs whose results nobody fetched, and files of such as were not accepted."""
        while True:
            before = time.time() - self._kept_seconds
            for job in self._jobs.expired(before):
                self._jobs.remove(job.name)
                self._store.remove_job(job.name)
            for name in self._store.jobs_before(before):
                if not self._jobs.has(name):
                    self._store.remove_job(name)
            await asyncio.sleep(_EVERY)


async def _asked(process: Process, line: bytes) -> bytes | None:
    """What a process answers to a line; None where it was killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    with suppress(ConnectionError):
        process.stdin.write(line)
        await process.stdin.drain()
    answer = await process.stdout.readline()
    if answer.endswith(b"\n"):
        return answer
    await process.wait()
    return None


def _cancelled(job: ServedJob) -> RunCancelledError:
    return RunCancelledError(f"cannot run {job.program}: the job was cancelled; ask for it again")


def _killed(job: ServedJob) -> WorkerFailedError:
    return WorkerFailedError(
        f"cannot run {job.program}: its process was killed, for memory perhaps, {job.attempts + 1} "
        "times; ask again later, or the operator for more memory"
    )
