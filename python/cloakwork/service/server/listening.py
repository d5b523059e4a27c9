"""What listens for requests, and lets answers end that would last before it ends."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

from uvicorn import Config, Server

from cloakwork.errors import InvalidArgumentError
from cloakwork.runtime.storage import named_reading
from cloakwork.service.server.supervisor import READY, STOPPING, tell


def bound_at(host: str, port: int) -> socket.socket:
    """A socket at an address, which does not listen yet.

    Args:
        host: The address, or its name.
        port: 0 for any that is free.

    Raises:
        InvalidArgumentError: It is in use, or is not this machine's.

    Example:
        >>> with bound_at("127.0.0.1", 0) as bound:
        ...     bound.getsockname()[0]
        '127.0.0.1'
    """
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        # Whoever is started again need not wait for old connections.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # An answer is head and body, and one would wait for the other's acknowledgement: 40 ms.
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.bind((host, port))
    except (OSError, UnicodeError) as error:
        made.close()
        raise InvalidArgumentError(
            f"cannot serve at {host}, port {port}: expected an address of this machine and a port "
            f"that is free, got: {getattr(error, 'strerror', error)}; give another --port, 0 for "
            "any, or another --host"
        ) from None
    return made


def require_certificate(certificate: Path | None, key: Path | None) -> None:
    """Refuse a certificate for HTTPS that cannot be read or is of another key.

    Args:
        certificate: Its file; None where there is none.
        key: The file of its key; None where that is in the certificate's.

    Raises:
        FileMissingError, FileAccessError: One cannot be read.
        InvalidArgumentError: They are something else, or there is a key alone.
    """
    for path in (certificate, key):
        if path is not None:
            with named_reading(path, "give the files of a certificate and of its key"):
                path.open("rb").close()
    if certificate is None and key is not None:
        raise InvalidArgumentError(
            f"cannot serve by the key {key}: expected its certificate, too; give it by --tls-cert"
        )
    if certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, _no_passphrase)
    except (OSError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot serve by the certificate {certificate} and the key {key or certificate}: "
            "expected a certificate and the key that goes with it, both as PEM and without a "
            f"passphrase, got: {getattr(error, 'reason', None) or error}; give others"
        ) from None


def _no_passphrase() -> str:
    # Nobody is there to be asked, when a machine starts, say.
    return ""


class ListeningServer(Server):
    """A server of uvicorn's that waits for its answers at its end, and for no events.

    Args:
        config: Where it listens, and what answers.
        release: Lets answers end that wait for something.
    """

    def __init__(self, config: Config, release: Callable[[], Awaitable[None]]) -> None:
        super().__init__(config)
        self._release = release

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so to whoever started the process."""
        await super().startup(sockets)
        if self.started:
            tell(READY)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End, once all is answered."""
        tell(STOPPING)
        await self._release()
        await super().shutdown(sockets)
