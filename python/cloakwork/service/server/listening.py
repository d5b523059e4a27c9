"""What listens for requests, and lets answers end that would last before it ends."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable

from uvicorn import Config, Server

from cloakwork.service.server.supervisor import READY, STOPPING, tell


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
