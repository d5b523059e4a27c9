"""What a user hears of own jobs while they wait and run: as a list, and as server-sent events."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from cloakwork.service.names import shown_name
from cloakwork.service.server.jobs import QUEUED, RUNNING, Jobs, ServedJob
from cloakwork.service.server.openapi import EVENTS
from cloakwork.service.server.runs import Runs

# Jobs that have ended, of which a user hears.
_ENDED = 50
# Seconds between what is told, and after which a connection is kept alive.
_PAUSE, _SILENCE = 0.25, 15.0
_HEADERS = {"cache-control": "no-store"}
_ALIVE = b":\n\n"
# What goes on by itself, and is not worth an event.
_CLOCK = "elapsed_seconds"
Found = Callable[[str, str], ServedJob]


class Events:
    """Answers how far jobs are.

    Args:
        jobs: The jobs of all users.
        runs: What runs them.
        found: Finds the job of a user that has a name.
    """

    def __init__(self, jobs: Jobs, runs: Runs, found: Found) -> None:
        self._jobs, self._runs, self._found = jobs, runs, found

    async def listed(self, _request: Request, user: str) -> Response:
        """The jobs of a user."""
        return JSONResponse({"jobs": self._of_user(user)}, headers=_HEADERS)

    async def of_user(self, _request: Request, user: str) -> Response:
        """Events of all jobs of a user, from what they are now on."""
        return _stream(self._told(lambda: self._of_user(user), lambda: False))

    async def of_job(self, request: Request, user: str) -> Response:
        """Events of a job until it ends."""
        name = self._found(user, request.path_params["job"]).name

        def find() -> Sequence[ServedJob]:
            job = self._jobs.find(user, name)
            return [] if job is None else [job]

        def is_over() -> bool:
            return all(job.is_over for job in find())

        return _stream(self._told(lambda: self._described(find()), is_over))

    async def _told(
        self, read: Callable[[], list[dict[str, Any]]], is_over: Callable[[], bool]
    ) -> AsyncIterator[bytes]:
        """Events of jobs as they change, the first of them as they are; none after their end."""
        known: dict[str, dict[str, Any]] = {}
        while True:
            seen, was_over = self._runs.changes, is_over()
            told = {each["job"]: each for each in read()}
            # The newest come first in a list, and last as events.
            for name in reversed(told):
                if _lasting(told[name]) != known.get(name):
                    yield b"data: " + json.dumps(told[name]).encode() + b"\n\n"
            known = {name: _lasting(each) for name, each in told.items()}
            if was_over or self._runs.is_ending:
                return
            await asyncio.sleep(_PAUSE)
            if not self._is_newer(seen):
                await self._runs.wait(partial(self._is_newer, seen), _SILENCE)
            if not self._is_newer(seen):
                yield _ALIVE

    def _is_newer(self, seen: int) -> bool:
        return self._runs.changes != seen

    def told_of(self, job: ServedJob) -> dict[str, Any]:
        """How far a job is: nothing of what it computes on."""
        return self._described([job])[0]

    def _of_user(self, user: str) -> list[dict[str, Any]]:
        return self._described(self._jobs.of_user(user, _ENDED))

    def _described(self, jobs: Sequence[ServedJob]) -> list[dict[str, Any]]:
        waits = any(job.state == QUEUED for job in jobs)
        places = self._jobs.places() if waits else {}
        return [self._description(job, places.get(job.name)) for job in jobs]

    def _description(self, job: ServedJob, place: int | None) -> dict[str, Any]:
        progress = self._runs.progress.of(job.name)
        return {
            "job": job.name,
            "program": shown_name(job.program),
            "state": job.state,
            "place": place,
            "done": progress.done if job.state == RUNNING else float(job.is_over),
            "of": progress.of if job.state == RUNNING else 1.0,
            "step": progress.step if job.state == RUNNING else "",
            "made": job.made,
            "started": None if job.state == QUEUED else job.started,
            "ended": job.ended,
            _CLOCK: _elapsed_seconds(job),
            "predicted_seconds": progress.predicted_seconds or self._predicted_seconds(job),
            "predicted_bytes": job.run_bytes,
            "peak_bytes": progress.peak_bytes or None,
            "problem": job.problem and job.problem.get("detail"),
        }

    def _predicted_seconds(self, job: ServedJob) -> float:
        """What is predicted of a job that has not begun since the server has."""
        # What has ended stays as it is, whatever others take.
        return job.seconds if job.is_over else self._jobs.run_seconds(job.program, job.seconds)


def _elapsed_seconds(job: ServedJob) -> float:
    """How long a job runs, or has run; 0 of one that was not begun."""
    if job.started is None or job.state == QUEUED:
        return 0.0
    return round((job.ended or time.time()) - job.started, 3)


def _lasting(told: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in told.items() if name != _CLOCK}


def _stream(events: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(events, media_type=EVENTS, headers=_HEADERS)
