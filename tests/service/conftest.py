"""Every answer of a server to a test is compared with its description."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from tests.service.described import misfit


class _Kept(httpx.SyncByteStream, httpx.AsyncByteStream):
    """Passes an answer on, and compares it when all of it is there.

    Args:
        request: What was asked.
        answer: The answer.
        found: Where misfits go.
    """

    def __init__(self, request: httpx.Request, answer: httpx.Response, found: list[str]) -> None:
        self._request, self._answer, self._found = request, answer, found
        self._stream = answer.stream
        self._body = bytearray()

    def __iter__(self) -> Iterator[bytes]:
        for block in self._stream:  # type: ignore[union-attr]
            self._body += block
            yield block
        self._compare()

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for block in self._stream:  # type: ignore[union-attr]
            self._body += block
            yield block
        self._compare()

    def close(self) -> None:
        self._stream.close()  # type: ignore[union-attr]

    async def aclose(self) -> None:
        await self._stream.aclose()  # type: ignore[union-attr]

    def _compare(self) -> None:
        differs = misfit(self._request, self._answer, bytes(self._body))
        if differs:
            asked = f"{self._request.method} {self._request.url.path}"
            self._found.append(f"{asked}: {self._answer.status_code}: {differs}")


@pytest.fixture(autouse=True)
def _answers_as_described(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    found: list[str] = []
    handle = httpx.HTTPTransport.handle_request
    handle_awaited = httpx.AsyncHTTPTransport.handle_async_request

    def answered(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        answer = handle(transport, request)
        answer.stream = _Kept(request, answer, found)
        return answer

    async def awaited(
        transport: httpx.AsyncHTTPTransport, request: httpx.Request
    ) -> httpx.Response:
        answer = await handle_awaited(transport, request)
        answer.stream = _Kept(request, answer, found)
        return answer

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", answered)
    monkeypatch.setattr(httpx.AsyncHTTPTransport, "handle_async_request", awaited)
    yield
    assert not found
