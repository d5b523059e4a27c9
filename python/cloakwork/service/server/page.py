"""The page that shows a server to its users: files that come with it, none of elsewhere."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_FOLDER = files("cloakwork.service.server") / "page_files"
_INDEX = "index.html"
# Where each file is, and as what.
FILES = {
    "/": (_INDEX, "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
    "/page.svg": ("page.svg", "image/svg+xml"),
}
# Plots are asked for with a token, and shown from memory.
_POLICY = (
    "default-src 'self'; img-src 'self' blob:; object-src 'none'; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}
_OPEN, _TOKEN = b'name="access" content="open"', b'name="access" content="token"'


def page_routes(*, needs_token: bool) -> list[Route]:
    """What answers by the page.

    Args:
        needs_token: Whether it has to ask its user for a token.
    """
    routes = []
    for path, (name, media_type) in FILES.items():
        data = (_FOLDER / name).read_bytes()
        if name == _INDEX and needs_token:
            data = data.replace(_OPEN, _TOKEN)
        routes.append(_route(path, data, media_type))
    return routes


def _route(path: str, data: bytes, media_type: str) -> Route:
    async def answer(_: Request) -> Response:
        return Response(data, headers=_HEADERS, media_type=media_type)

    return Route(path, answer)
