"""What a server tells its operator: a line for each request, and figures as Prometheus reads them.

Neither has contents, tokens, or hashes of contents but the names of jobs: of a path only its
route's pattern.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, MutableMapping
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.types import ASGIApp, Receive, Scope, Send

LOGGER = logging.getLogger("cloakwork.service")
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
# A request for what there is not, or by a method that nothing answers to.
_OTHER = "other"
# What a line ends with where an answer is of a job, or refuses.
_NOTED = ("program", "job", "error")


class Figures:
    """Counts of a server.

    Example:
        >>> figures = Figures()
        >>> figures.answered("GET", "/v1/programs", 200, 0.01)
        >>> told = figures.told({"queued": 2}, queue_seconds=1.5, key_bytes=100).decode()
        >>> 'cloakwork_requests_total{method="GET",route="/v1/programs",status="200"} 1.0' in told
        True
    """

    def __init__(self) -> None:
        own = self._registry = CollectorRegistry()
        labels = ["method", "route", "status"]
        self._requests = Counter("cloakwork_requests", "Requests.", labels, registry=own)
        self._seconds = Histogram(
            "cloakwork_request_seconds", "How long answers took.", ["route"], registry=own
        )
        self._jobs = Gauge("cloakwork_jobs", "Jobs by state.", ["state"], registry=own)
        self._queue = Gauge(
            "cloakwork_queue_seconds", "How long the jobs that wait will run.", registry=own
        )
        self._keys = Gauge("cloakwork_key_bytes", "Bytes of evaluation keys.", registry=own)

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Take note of an answer."""
        self._requests.labels(method, route, status).inc()
        self._seconds.labels(route).observe(seconds)

    def told(self, jobs: Mapping[str, int], *, queue_seconds: float, key_bytes: int) -> bytes:
        """All figures, as text.

        Args:
            jobs: How many there are by state.
            queue_seconds: How long those that wait will run.
            key_bytes: What evaluation keys take.
        """
        self._jobs.clear()
        for state, count in jobs.items():
            self._jobs.labels(state).set(count)
        self._queue.set(queue_seconds)
        self._keys.set(key_bytes)
        return generate_latest(self._registry)


class Telling:
    """A layer of ASGI that takes note of requests.

    Args:
        app: What answers.
        figures: Where they are counted.
    """

    def __init__(self, app: ASGIApp, figures: Figures) -> None:
        self._app, self._figures = app, figures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and take note of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, status = time.perf_counter(), 0

        async def sent(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, sent)
        finally:
            self._tell(scope, status, time.perf_counter() - begin)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        method = scope["method"] if scope["method"] in _METHODS else _OTHER
        route = getattr(scope.get("route"), "path", _OTHER)
        self._figures.answered(method, route, status, seconds)
        told, (address, *_) = scope.get("state", {}), scope["client"] or ("-",)
        words = [told.get("user", "-"), address]
        words += [f"{name}={told[name]}" for name in _NOTED if name in told]
        LOGGER.info("%s %s %d %.1f ms %s", method, route, status, 1000 * seconds, " ".join(words))
