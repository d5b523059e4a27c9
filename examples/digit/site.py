"""The server with the page: programs, keys and jobs as `cloakwork serve` has them, and files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from cloakwork.service.server.app import app
from cloakwork.service.server.settings import Settings
from examples.digit.recipe import Recipe

PAGE = Path(__file__).with_name("page")
# Beside the server's own page.
PLACE = "/digit"
# The page takes nothing from elsewhere, sends nothing elsewhere, and is shown in no other.
_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; "
    "style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}


def site(
    settings: Settings, recipe: Recipe, samples: Sequence[Any], hosts: Sequence[str]
) -> Starlette:
    """The application, of ASGI.

    Args:
        settings: Where its files are, and what it allows.
        recipe: What the page needs of the program.
        samples: Digits that the page offers, as JSON has them.
        hosts: The names under which it may be asked, lest another site's name leads here.
    """
    made = app(settings)

    async def facts(_: Request) -> Response:
        return JSONResponse({"recipe": recipe, "samples": samples})

    page = [Route("/facts.json", facts), Mount("/", StaticFiles(directory=PAGE, html=True))]
    made.router.routes.append(Mount(PLACE, routes=page, middleware=[Middleware(_Headers)]))
    made.add_middleware(TrustedHostMiddleware, allowed_hosts=[*hosts])
    return made


class _Headers:
    """Adds the headers of the page to every answer that is a part of it.

    Args:
        inner: What answers.
    """

    def __init__(self, inner: ASGIApp) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(_HEADERS)
            await send(message)

        await self._inner(scope, receive, with_headers)
