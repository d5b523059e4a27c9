"""The processes that a server runs jobs in."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress

from cloakwork.service.settings import Settings

_MODULE = "cloakwork.service.worker"
# Of a line that a worker answers.
_MOST_ANSWER = 1 << 20


class RunProcess:
    """A process of `cloakwork.service.worker`, or the next one where it was killed.

    Args:
        settings: What it is held to.
    """

    def __init__(self, settings: Settings) -> None:
        self._options = ["--memory", f"{settings.memory_bytes}"]
        if settings.insecure:
            self._options.append("--insecure")
        self._process: Process | None = None

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

    async def asked(self, line: bytes) -> bytes | None:
        """What it answers to a line; None where it was killed."""
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(ConnectionError):
            process.stdin.write(line)
            await process.stdin.drain()
        answer = await process.stdout.readline()
        if answer.endswith(b"\n"):
            return answer
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
