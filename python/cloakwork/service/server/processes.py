"""The processes that a server runs jobs in."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from cloakwork.service.server.settings import Settings

_MODULE = "cloakwork.service.server.worker"
# Of a line that a worker answers.
_MOST_ANSWER = 1 << 20
Hear = Callable[[dict[str, Any]], Awaitable[None]]


class NotBegunError(Exception):
    """A process was killed before it began what it was asked for."""


class RunProcess:
    """A process of `cloakwork.service.server.worker`, or the next one where it was killed.

    Args:
        settings: What it is held to.
        number: Which of the server's processes it is.
    """

    def __init__(self, settings: Settings, number: int) -> None:
        self._options = ["--memory", f"{settings.memory_bytes}"]
        if settings.insecure:
            self._options.append("--insecure")
        if settings.cluster is not None:
            place = settings.folder.resolve() / "cluster" / f"{number}"
            self._options += ["--cluster", settings.cluster, "--place", str(place)]
        self._process: Process | None = None
        # Whoever asked first has it first.
        self._turn = asyncio.Lock()

    async def start(self) -> None:
        """Let there be one."""
        if self._process is None or self._process.returncode is not None:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", _MODULE, *self._options),
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                limit=_MOST_ANSWER,
            )

    async def asked(self, run: dict[str, Any], hear: Hear) -> dict[str, Any] | None:
        """How a run went, which follows those that were asked for before; None where it was killed.

        Args:
            run: What is run.
            hear: What is called when it begins, with nothing, and with how far it is.

        Raises:
            NotBegunError: The process was killed before it began.
        """
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        # The next run is there when the last one ends.
        process.stdin.write(json.dumps(run).encode() + b"\n")
        async with self._turn:
            if process.returncode is not None:
                raise NotBegunError
            await hear({})
            with suppress(ConnectionError):
                await process.stdin.drain()
            while (line := await process.stdout.readline()).endswith(b"\n"):
                told: dict[str, Any] = json.loads(line)
                if "done" not in told:
                    return told
                await hear(told)
            await process.wait()
            return None

    def kill(self) -> None:
        """End what it runs, and itself."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def end(self) -> None:
        """Kill it, and wait until it has ended."""
        self.kill()
        if self._process is not None:
            await self._process.wait()
