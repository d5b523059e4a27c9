"""A server in a process of its own, as an operator starts it, that tests may kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import cloakwork as cw
from cloakwork.service.client.connecting import connect
from cloakwork.service.client.remote import Server


class Serving:
    """A server of a folder.

    Args:
        folder: The server's folder.
        options: What else its operator says.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self._options = options
        self.port = 0
        self._connections: list[Server] = []
        self.start()

    def start(self) -> None:
        """Start it, where it was before."""
        command = [sys.executable, "-m", "cloakwork", "serve", str(self.folder), "--insecure"]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), *self._options], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        told = self.process.stdout.readline()
        self.process.stdout.close()
        assert told.startswith("serving at "), told
        self.port = int(told.rsplit(":", 1)[1])

    def kill(self) -> None:
        """End it as a power cut does, and what it has started."""
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def children(self) -> list[int]:
        """The processes that it has started."""
        place = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(each) for each in place.read_text().split()]

    def stop(self) -> None:
        """End it as an operator does."""
        self.process.terminate()
        self.process.wait()
        for each in self._connections:
            each.close()

    def connect(self, **options: Any) -> Server:
        """A connection to it."""
        made = connect(f"http://127.0.0.1:{self.port}", insecure=True, **options)
        self._connections.append(made)
        return made


def put(folder: Path, **programs: cw.Program) -> None:
    """Put programs into a server's folder."""
    (folder / "programs").mkdir(parents=True, exist_ok=True)
    for name, program in programs.items():
        program.save(folder / "programs" / f"{name}.cw")
