"""How requests reach a server: one way waits for answers, the other awaits them."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from cloakwork.errors import AnswerMismatchError, ServerUnreachableError, UntrustedServerError
from cloakwork.service.client.answers import HttpAnswer, TakenIn

if TYPE_CHECKING:
    import httpx

_T = TypeVar("_T")
_CERTIFICATE = re.compile(r"CERTIFICATE_VERIFY_FAILED\]? *(.*?)\.?(?: \(_ssl\.c:\d+\))?$")
# Of what tells of programs, keys and jobs.
_MOST_TOLD = 1 << 26


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is asked of a server.

    Args:
        method: The method.
        path: Where, with its query.
        content: What is sent.
        headers: What is said beside it.
        most: How many bytes the answer may have.
    """

    method: str
    path: str
    content: bytes | Callable[[], Iterator[bytes]] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    most: int = _MOST_TOLD


class HttpConnection(Protocol):
    """What the protocol is spoken over."""

    url: str

    async def ask(self, request: HttpRequest) -> HttpAnswer:
        """The answer to a request, whatever it is.

        Raises:
            ServerUnreachableError: There is none.
            UntrustedServerError: It would be that of another server.
            AnswerMismatchError: It is too long.
        """

    async def pause(self, seconds: float) -> None:
        """Let time pass."""

    async def aside(self, work: Callable[[], _T]) -> _T:
        """What takes a while to compute."""

    async def close(self) -> None:
        """Close it."""


class Waiting:
    """A connection whose caller waits: nothing that it does is ever suspended.

    Args:
        client: What connects.
    """

    def __init__(self, client: httpx.Client) -> None:
        self._client, self.url = client, str(client.base_url)

    async def ask(self, request: HttpRequest) -> HttpAnswer:
        content = request.content() if callable(request.content) else request.content
        to, headers = (request.method, request.path), request.headers
        with (
            _named(self.url),
            self._client.stream(*to, content=content, headers=headers) as response,
        ):
            taken = TakenIn(request.most)
            for block in response.iter_bytes():
                taken.add(block)
            return taken.answer(response)

    async def pause(self, seconds: float) -> None:
        time.sleep(seconds)

    async def aside(self, work: Callable[[], _T]) -> _T:
        return work()

    async def close(self) -> None:
        self._client.close()


class Awaited:
    """A connection whose caller does something else meanwhile, in asyncio or trio.

    Args:
        client: What connects.
    """

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client, self.url = client, str(client.base_url)

    async def ask(self, request: HttpRequest) -> HttpAnswer:
        content = _each(request.content()) if callable(request.content) else request.content
        to, headers = (request.method, request.path), request.headers
        with _named(self.url):
            async with self._client.stream(*to, content=content, headers=headers) as response:
                taken = TakenIn(request.most)
                async for block in response.aiter_bytes():
                    taken.add(block)
                return taken.answer(response)

    async def pause(self, seconds: float) -> None:
        # httpx brings it.
        import anyio  # noqa: PLC0415

        await anyio.sleep(seconds)

    async def aside(self, work: Callable[[], _T]) -> _T:
        from anyio import to_thread  # noqa: PLC0415

        return await to_thread.run_sync(work, abandon_on_cancel=True)

    async def close(self) -> None:
        await self._client.aclose()


def at_once(work: Coroutine[Any, Any, _T]) -> _T:
    """What a coroutine over a `Waiting` connection returns.

    Example:
        >>> async def two() -> int:
        ...     return 2
        >>> at_once(two())
        2
    """
    try:
        work.send(None)
    except StopIteration as ended:
        found: _T = ended.value
        return found
    raise AssertionError("a connection whose caller waits is never suspended")


async def _each(blocks: Iterator[bytes]) -> AsyncIterator[bytes]:
    for block in blocks:
        yield block


@contextmanager
def _named(url: str) -> Iterator[None]:
    """Name what httpx raises."""
    import httpx  # noqa: PLC0415

    try:
        yield
    except httpx.DecodingError as error:
        raise AnswerMismatchError(
            f"cannot take an answer of {url}: expected one that is compressed as it says, got "
            f"{error}; look whether the URL is right"
        ) from error
    except httpx.HTTPError as error:
        untrusted = _CERTIFICATE.search(str(error))
        if untrusted is not None:
            raise UntrustedServerError(
                f"cannot trust {url}: expected a certificate of its own that follows from trusted "
                f"ones, got this refusal: {untrusted[1]}; give a file of those that it follows "
                "from as authority, or see whether the URL is right"
            ) from error
        raise ServerUnreachableError(
            f"cannot reach {url}: {str(error) or type(error).__name__}; see whether it is there, "
            "and try again"
        ) from error
