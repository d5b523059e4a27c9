"""A server in a thread of the test, which may change what it is made of."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn

from cloakwork.service.server import processes
from cloakwork.service.server.app import app
from cloakwork.service.server.listening import ListeningServer
from cloakwork.service.server.settings import Settings
from tests.service.paced_worker import PACE


@contextmanager
def served(settings: Settings, port: int = 0) -> Iterator[str]:
    """The address of a server, which is there meanwhile."""
    bound = socket.create_server(("127.0.0.1", port))
    servers: queue.Queue[ListeningServer] = queue.Queue()

    def serve() -> None:
        # Its database is asked by the thread that made it.
        made = app(settings)
        own = ListeningServer(uvicorn.Config(made, log_level="warning"), made.state.release)
        servers.put(own)
        own.run([bound])

    thread = threading.Thread(target=serve)
    thread.start()
    own = servers.get()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        own.should_exit = True
        thread.join()
        bound.close()


def pace_workers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder by whose files jobs of the next server go on; see `paced_worker`."""
    folder.mkdir()
    monkeypatch.setenv(PACE, str(folder))
    monkeypatch.setattr(processes, "_MODULE", "tests.service.paced_worker")
    return folder
