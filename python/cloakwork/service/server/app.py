"""What a server answers: programs, evaluation keys, jobs, and how it is."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from cloakwork.errors import AccessDeniedError, CloakworkError, NotServedError
from cloakwork.runtime.program import Program
from cloakwork.service.hashes import job_name, request_of
from cloakwork.service.names import shown_name
from cloakwork.service.problems import MEDIA_TYPE, PREFIX, problem_of
from cloakwork.service.receipts import SignedReceipt
from cloakwork.service.run_inputs import RunInputs
from cloakwork.service.server.access import AccessTokens, TokenFile
from cloakwork.service.server.bodies import body_of, declared_bytes, number_said
from cloakwork.service.server.events import Events
from cloakwork.service.server.explained import Explained
from cloakwork.service.server.folder_lock import FolderLock
from cloakwork.service.server.jobs import FAILED, Jobs, ServedJob
from cloakwork.service.server.models import Models
from cloakwork.service.server.openapi import BYTES, document
from cloakwork.service.server.own_programs import OwnPrograms
from cloakwork.service.server.page import page_routes
from cloakwork.service.server.predicted import Prediction, require_run_memory, require_seconds
from cloakwork.service.server.program_requests import ProgramRequests
from cloakwork.service.server.runs import Runs
from cloakwork.service.server.settings import Settings
from cloakwork.service.server.state_requests import StateRequests
from cloakwork.service.server.states import Owner
from cloakwork.service.server.store import Store
from cloakwork.service.server.telling import Figures, Telling

# What a sender says of evaluation keys.
_OF_KEYS = ("key_id", "program")
# How long an answer waits for the end of a job, in seconds.
_LONGEST_WAIT = 30.0
_NOT_READY = 503
# Bytes that are worked on sooner than a thread for them begins.
_SMALL = 1 << 20
T = TypeVar("T")
_Handler = Callable[[Request, str], Awaitable[Response]]


def app(settings: Settings) -> Starlette:
    """The application that answers, of ASGI.

    Args:
        settings: Where its files are, and what it allows.

    Raises:
        FolderInUseError: Another server has the folder.
        MalformedBytesError: The database there is damaged.
    """
    server = _Server(settings)

    @asynccontextmanager
    async def living(_: Starlette) -> AsyncIterator[None]:
        await server.runs.start()
        yield
        await server.runs.stop()
        server.lock.release()

    def route(path: str, **handlers: _Handler) -> Route:
        return Route(path, server.answering(handlers), methods=list(handlers))

    metrics = Route("/metrics", server.metrics)
    if settings.metrics_user is not None:
        metrics = route("/metrics", GET=server.own_metrics)
    routes = [
        *page_routes(needs_token=settings.tokens is not None),
        Route("/livez", _alive),
        Route("/readyz", server.ready),
        Route("/v2/health/live", _alive),
        Route("/v2/health/ready", server.ready),
        metrics,
        Route("/openapi.json", server.description),
        route("/v2", GET=server.models.server),
        route("/v2/models/{name}", GET=server.models.model),
        route("/v2/models/{name}/ready", GET=server.models.ready),
        route("/v1/programs/{name}/explanation", GET=server.explained.explanation),
        route("/v1/programs/{name}/plot", GET=server.explained.plot),
        route("/v1/programs", GET=server.programs.listed),
        route(
            "/v1/programs/{name}",
            GET=server.programs.interface,
            PUT=server.programs.put,
            DELETE=server.programs.remove,
        ),
        route("/v1/programs/{name}/jobs", POST=server.submit),
        route("/v1/programs/{name}/states", GET=server.states.listed),
        route(
            "/v1/programs/{name}/states/{state}",
            PUT=server.states.put,
            DELETE=server.states.remove,
        ),
        route("/v1/jobs", GET=server.events.listed),
        route("/v1/jobs/{job}/events", GET=server.events.of_job),
        route("/v1/events", GET=server.events.of_user),
        route("/v1/jobs/{job}", GET=server.answer, DELETE=server.cancel),
        route("/v1/keys", GET=server.key_sets),
        route(
            "/v1/keys/{digest}",
            HEAD=server.received,
            PATCH=server.append,
            DELETE=server.remove_keys,
        ),
    ]
    # Whatever is not found or not allowed is told as the rest.
    handlers: Mapping[Any, Any] = {HTTPException: _http_problem}
    made = Starlette(
        routes=routes,
        lifespan=living,
        exception_handlers=handlers,
        middleware=[Middleware(Telling, figures=server.figures)],
    )
    made.state.release = server.runs.release
    return made


async def _alive(_: Request) -> Response:
    return JSONResponse({"live": True})


async def _http_problem(_: Request, error: HTTPException) -> Response:
    told = NotServedError(f"cannot answer: {error.detail}; see the service's documentation")
    return _problem({**problem_of(told), "status": error.status_code})


def _problem(problem: Mapping[str, Any]) -> Response:
    # Routers of the Open Inference Protocol look for `error`.
    told = {**problem, "error": problem["detail"]}
    return JSONResponse(told, problem["status"], media_type=MEDIA_TYPE)


class _Server:
    """What requests are answered from.

    Args:
        settings: Where its files are, and what it allows.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.lock = FolderLock(settings.folder)
        self._store = Store(
            settings.folder,
            insecure=settings.insecure,
            most_key_bytes=settings.most_key_bytes,
            kept_key_seconds=settings.kept_key_seconds,
        )
        self._jobs = Jobs(settings.folder / "jobs.sqlite", most=settings.most_jobs)
        self._tokens = AccessTokens() if settings.tokens is None else TokenFile(settings.tokens)
        self._version = version("cloakwork")
        self._signing = self._store.signing_key()
        self._predictions: dict[str, Prediction] = {}
        self.runs = Runs(self._jobs, self._store, settings)
        self.figures = Figures()
        self._own = OwnPrograms(self._store, settings)
        self.programs = ProgramRequests(
            self._store, self._own, self._signing.public.hex(), settings.most_program_bytes
        )
        self.states = StateRequests(self._jobs, self._own, self.runs, settings.most_state_bytes)
        self.explained = Explained(self._store, self._own, shows_plans=settings.shows_plans)
        self.models = Models(self._own, self._version)
        self.events = Events(self._jobs, self.runs, self._job)

    def answering(
        self, handlers: Mapping[str, _Handler]
    ) -> Callable[[Request], Awaitable[Response]]:
        """What answers requests by their method, to users alone."""

        async def answer(request: Request) -> Response:
            try:
                user = self._tokens.user_of(request.headers.get("authorization"))
                request.state.user = user
                # Starlette lets HEAD be asked wherever GET may be.
                handler = handlers.get(request.method) or handlers["GET"]
                return await handler(request, user)
            except CloakworkError as error:
                request.state.error = type(error).__name__
                return _problem(problem_of(error))
            except ClientDisconnect:
                # Nobody reads it.
                return Response(status_code=400)

        return answer

    async def ready(self, _: Request) -> Response:
        """Whether jobs that come now are run."""
        is_ready = self.runs.is_ready
        # Anyone asks, and names of programs are their users'.
        told = {"live": True, "ready": is_ready, "unserved": len(self._store.unserved)}
        return JSONResponse(told, 200 if is_ready else _NOT_READY)

    async def metrics(self, _: Request) -> Response:
        """Counts, as Prometheus reads them."""
        told = self.figures.told(
            self._jobs.counts(),
            queue_seconds=self._jobs.seconds_waiting(),
            key_bytes=self._store.key_bytes,
        )
        return Response(told, media_type="text/plain; version=0.0.4")

    async def own_metrics(self, request: Request, user: str) -> Response:
        """The same, for the user alone whom the operator names."""
        if user != self._settings.metrics_user:
            raise AccessDeniedError(
                "cannot answer: expected the token of the user whom the operator lets see figures, "
                "by --metrics-user, got another user's; ask the operator"
            )
        return await self.metrics(request)

    async def description(self, _: Request) -> Response:
        """All requests, as OpenAPI describes them."""
        return JSONResponse(document(self._version))

    async def key_sets(self, request: Request, user: str) -> Response:
        """The evaluation keys of a secret key, or all of a user."""
        key_id = request.query_params.get("key_id")
        return JSONResponse({"keys": self._store.key_sets(user, key_id)})

    async def received(self, request: Request, user: str) -> Response:
        """How much of evaluation keys is here."""
        here, is_whole = self._store.received(user, request.path_params["digest"])
        return Response(status_code=200, headers=_upload(here, is_whole))

    async def append(self, request: Request, user: str) -> Response:
        """Take further bytes of evaluation keys, as they come."""
        digest = request.path_params["digest"]
        offset = number_said(request, "upload-offset")
        with self._store.appending(user, digest, offset, declared_bytes(request)) as add:
            async for block in request.stream():
                add(block)
        if request.headers.get("upload-complete") == "?1":
            of = {name: request.headers.get(name.replace("_", "-"), "") for name in _OF_KEYS}
            await asyncio.to_thread(self._store.complete, user, digest, of)
        here, is_whole = self._store.received(user, digest)
        return Response(status_code=204, headers=_upload(here, is_whole))

    async def remove_keys(self, request: Request, user: str) -> Response:
        """Remove evaluation keys."""
        self._store.remove_keys(user, request.path_params["digest"])
        return Response(status_code=204)

    async def submit(self, request: Request, user: str) -> Response:
        """Take encrypted inputs, and put their run into the queue; its results if it ends soon."""
        wait = _wait_of(request)
        # Nothing of the inputs is in memory while it waits.
        name = await self._accepted(request, user)
        job = await self._after(user, name, wait)
        _note(request, job)
        if wait and job.is_over:
            return self._ended(job)
        # A job of which its user knows is on the disk.
        await asyncio.to_thread(self._sync, name)
        return self._waiting(job)

    async def _accepted(self, request: Request, user: str) -> str:
        """The name of the job that a request asks for, which is in the queue."""
        name = await self._own.served(user, request.path_params["name"])
        keys = request.query_params.get("keys", "")
        program = self._store.program(name)
        self._store.key_files(user, keys)
        inputs = await body_of(request, self._settings.most_input_bytes, "inputs")
        given = await _beside(len(inputs), lambda: RunInputs.from_bytes(inputs))
        given.require_for(program)
        takes = await self._prediction(program)
        self._require_allowed(name, takes)
        wanted = await _beside(len(inputs), lambda: request_of(program.fingerprint, keys, inputs))
        own = job_name(user, wanted)
        if self._begins(user, own):
            self._jobs.require_room(user, name)
            # They are there before anyone looks for them.
            await asyncio.to_thread(self._store.keep_inputs, own, inputs)
        if given.state is not None and self._begins(user, own):
            owner = Owner(user, given.state.key_id, program.fingerprint)
            self._jobs.states.take(owner, given.state.name, given.state.version, own)
        self._jobs.accept(user, name, keys, request=wanted, takes=takes)
        await self.runs.changed()
        return own

    def _sync(self, job: str) -> None:
        """Let a job that was accepted outlast a loss of power."""
        self._store.sync_job_file(job, "inputs")
        self._jobs.sync()

    async def answer(self, request: Request, user: str) -> Response:
        """The results of a job, why there are none, or when to ask again."""
        job = await self._after(user, request.path_params["job"], _wait_of(request))
        _note(request, job)
        return self._ended(job) if job.is_over else self._waiting(job)

    async def _after(self, user: str, name: str, wait: float) -> ServedJob:
        """A job of a user once it has ended, or after so many seconds."""
        job = self._job(user, name)
        if not wait or job.is_over:
            return job
        await self.runs.ends.wait(name, wait)
        return self._job(user, name)

    def _ended(self, job: ServedJob) -> Response:
        """The results of a job, or why there are none."""
        if job.state == FAILED:
            return _problem(job.problem)
        assert job.results is not None
        receipt = SignedReceipt.signed(self._signing, job.request, job.results, self._version)
        headers = {**_of(job), "cloakwork-receipt": receipt.text()}
        results = self._store.job_file(job.name, "results")
        if results.stat().st_size < _SMALL:
            return Response(results.read_bytes(), headers=headers, media_type=BYTES)
        return FileResponse(results, headers=headers, media_type=BYTES)

    async def cancel(self, request: Request, user: str) -> Response:
        """End a job."""
        job = self._job(user, request.path_params["job"])
        _note(request, job)
        await self.runs.cancel(job)
        return Response(status_code=204)

    def _begins(self, user: str, job: str) -> bool:
        """Whether a job is not there, or is to be begun anew."""
        known = self._jobs.find(user, job)
        return known is None or known.state == FAILED

    def _job(self, user: str, name: str) -> ServedJob:
        found = self._jobs.find(user, name)
        if found is None:
            raise NotServedError(
                f"cannot find job {name[:40]!r}: there is none of the name; ask for the run again"
            )
        return found

    def _waiting(self, job: ServedJob) -> Response:
        """Where the results of a job will be, and when to ask for them."""
        seconds = self._jobs.seconds_left(job, self._settings.workers)
        told = {**self.events.told_of(job), "seconds": seconds}
        headers = {"location": f"/v1/jobs/{job.name}", "retry-after": f"{math.ceil(seconds)}"}
        return JSONResponse(told, 202, headers={**headers, **_of(job)})

    async def _prediction(self, program: Program) -> Prediction:
        """What a run takes."""
        if program.fingerprint not in self._predictions:
            made = await asyncio.to_thread(Prediction.of, program)
            self._predictions[program.fingerprint] = made
        return self._predictions[program.fingerprint]

    def _require_allowed(self, name: str, takes: Prediction) -> None:
        """Refuse a run that takes more than the operator allows."""
        require_run_memory(name, takes.run_bytes, self._settings.memory_bytes)
        seconds = self._jobs.run_seconds(name, takes.seconds)
        require_seconds(name, seconds, self._settings.most_seconds)


async def _beside(size: int, work: Callable[[], T]) -> T:
    """What follows from so many bytes, without others waiting for long."""
    return work() if size < _SMALL else await asyncio.to_thread(work)


def _wait_of(request: Request) -> float:
    """How many seconds an answer may wait for the end of a job."""
    return min(_LONGEST_WAIT, float(number_said(request, "wait-seconds", absent=0)))


def _note(request: Request, job: ServedJob) -> None:
    """Have the operator's log say which job a request is of, and why there are no results."""
    request.state.program, request.state.job = shown_name(job.program), job.name
    if job.state == FAILED:
        request.state.error = job.problem["type"].removeprefix(PREFIX)


def _of(job: ServedJob) -> dict[str, str]:
    """What binds an answer to its request."""
    return {"cloakwork-request": job.request}


def _upload(here: int, is_whole: bool) -> dict[str, str]:
    return {"upload-offset": f"{here}", "upload-complete": f"?{int(is_whole)}"}
