"""Reaches servers of `cloakwork serve`."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any, overload

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    CloakworkError,
    FileMissingError,
    InvalidArgumentError,
    MissingDependencyError,
)
from cloakwork.schemes.base import ReadLimits
from cloakwork.service.addresses import is_here
from cloakwork.service.client.agreed import Servers
from cloakwork.service.client.asynchronous import AsyncServer
from cloakwork.service.client.connection import Awaited
from cloakwork.service.client.remote import Server

_SECONDS = 60.0


@overload
def connect(
    url: str,
    *,
    token: str | None = None,
    authority: str | os.PathLike[str] | None = None,
    signer: str | None = None,
    insecure: bool = False,
) -> Server: ...


@overload
def connect(
    url: list[str] | tuple[str, ...],
    *,
    token: str | Sequence[str] | None = None,
    authority: str | os.PathLike[str] | None = None,
    signer: Sequence[str] | None = None,
    insecure: bool = False,
) -> Servers: ...


def connect(
    url: str | list[str] | tuple[str, ...],
    *,
    token: str | Sequence[str] | None = None,
    authority: str | os.PathLike[str] | None = None,
    signer: str | Sequence[str] | None = None,
    insecure: bool = False,
) -> Server | Servers:
    """A server of `cloakwork serve`, which runs programs and never sees a secret key, or several.

    Of several that have the same programs, what more than half of them answer is taken. Some may
    be missing, as long as more than half are there.

    Args:
        url: Where it is, as `https://host:port`; or where each of several is, three or more for
            one to be outvoted.
        token: Who asks, where the server has users; of several servers one for all, or one each.
        authority: A file with the certificates that the server's must follow from; by default
            those that httpx brings.
        signer: The public key by which it has to sign, in hexadecimal digits, where it is known;
            `Server.signer` says which it is. Of several servers one each.
        insecure: Whether its programs may be below 128-bit security, for tests.

    Raises:
        MissingDependencyError: httpx is not installed; the extra `client` brings it.
        InvalidArgumentError: It is not a URL, not a token, or not a file of certificates; or there
            are not as many tokens or signers as servers, or two of these are one.
        FileMissingError: There is no such file of certificates.
        ServerUnreachableError: Nobody answers there.
        UntrustedServerError: Its certificate does not follow from those that are trusted.
        AccessDeniedError: The token is not that of a user.
        AnswerMismatchError: It signs by another key.

    Example:
        >>> import cloakwork as cw
        >>> server = cw.connect("https://127.0.0.1:1")
        Traceback (most recent call last):
        cloakwork.errors.ServerUnreachableError: cannot reach https://127.0.0.1:1: ...
    """

    if not isinstance(url, list | tuple):
        return _opened(_options(url, token, authority), signer, insecure)
    tokens = [token] * len(url) if isinstance(token, str) else _each(token, url, "tokens")
    signers = _each(signer, url, "signers")
    options = [_options(*each, authority) for each in zip(url, tokens, strict=True)]
    absent: dict[str, CloakworkError] = {}
    with ExitStack() as made:
        servers: list[Server] = []
        for each, own in zip(options, map(_signer, signers), strict=True):
            try:
                servers.append(made.enter_context(_opened(each, own, insecure)))
            except CloakworkError as error:
                # The others may outvote it.
                absent[each["base_url"]] = error
        found = Servers(servers, absent)
        made.pop_all()
    return found


def _opened(options: Mapping[str, Any], signer: object, insecure: bool) -> Server:
    import httpx  # noqa: PLC0415

    return Server(httpx.Client(**options), ReadLimits(insecure), _signer(signer))


def _each(given: object, urls: Sequence[str], what: str) -> Sequence[object]:
    """Of each server its own; None of each where nothing is given."""
    if given is None:
        return [None] * len(urls)
    # A token is nothing to show.
    if not isinstance(given, list | tuple) or len(given) != len(urls):
        got = len(given) if isinstance(given, list | tuple) else type(given).__name__
        raise InvalidArgumentError(
            f"cannot connect: expected {what} of {len(urls)} servers as a list, got {got}; give "
            "one each"
        )
    return given


def _signer(given: object) -> str | None:
    if given is None or isinstance(given, str):
        return given
    raise InvalidArgumentError(
        f"cannot connect: expected a public key in hexadecimal digits, got {shown(given)}; give "
        "what Server.signer says"
    )


def aconnect(
    url: str,
    *,
    token: str | None = None,
    authority: str | os.PathLike[str] | None = None,
    signer: str | None = None,
    insecure: bool = False,
) -> AsyncServer:
    """A server as `connect` gives it, for asyncio and trio: `async with` connects it.

    Args:
        url: See `connect`.
        token: See `connect`.
        authority: See `connect`.
        signer: See `connect`.
        insecure: See `connect`.

    Raises:
        CloakworkError: What `connect` raises.

    Example:
        >>> import asyncio
        >>> import cloakwork as cw
        >>> async def programs():
        ...     async with cw.aconnect("https://127.0.0.1:1") as server:
        ...         return server.programs
        >>> asyncio.run(programs())
        Traceback (most recent call last):
        cloakwork.errors.ServerUnreachableError: cannot reach https://127.0.0.1:1: ...
    """
    options = _options(url, token, authority)
    import httpx  # noqa: PLC0415

    return AsyncServer(Awaited(httpx.AsyncClient(**options)), ReadLimits(insecure), signer)


def _options(
    url: object, token: object, authority: str | os.PathLike[str] | None
) -> Mapping[str, Any]:
    """What a client of httpx takes."""
    try:
        import httpx  # noqa: PLC0415
    except ImportError:
        raise MissingDependencyError(
            "cannot connect: httpx is not installed; pip install 'cloakwork[client]'"
        ) from None
    try:
        place = httpx.URL(url if isinstance(url, str) else "")
    except httpx.InvalidURL:
        place = httpx.URL()
    if place.scheme not in ("https", "http") or not place.host:
        raise InvalidArgumentError(
            f"cannot connect: expected a URL such as https://host:8765, got {shown(url)}"
        )
    if token is not None and not _is_token(token):
        raise InvalidArgumentError(
            "cannot connect: expected a token as cloakwork token prints it, got one that is empty, "
            "or with spaces or other characters than letters, digits, _ and -; see where it is from"
        )
    if token is not None and place.scheme == "http" and not is_here(place.host):
        raise InvalidArgumentError(
            f"cannot connect to {url}: expected https:// where a token is sent to another machine, "
            "got http://; connect by TLS, or to what leads there from this machine"
        )
    return {
        "base_url": url,
        "headers": {} if token is None else {"authorization": f"Bearer {token}"},
        # Many may wait for their results, and each for a connection.
        "timeout": httpx.Timeout(_SECONDS, pool=None),
        "verify": True if authority is None else _trusting(authority),
        # Whoever a server names is not who was connected to, and gets no token.
        "follow_redirects": False,
    }


def _is_token(given: object) -> bool:
    is_text = isinstance(given, str) and given.isascii() and given.isprintable()
    return is_text and bool(given) and " " not in str(given)


def _trusting(authority: str | os.PathLike[str]) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=authority)
    except FileNotFoundError:
        raise FileMissingError(
            f"cannot connect: there is no file {os.fspath(authority)} of certificates; give "
            "another path"
        ) from None
    except (ssl.SSLError, OSError) as error:
        raise InvalidArgumentError(
            f"cannot connect: expected certificates in PEM in {os.fspath(authority)}, got {error}; "
            "give the file that the server's operator has for clients"
        ) from None
