"""Waits for the end of jobs: whoever does is woken by that of theirs alone."""

from __future__ import annotations

import asyncio
from contextlib import suppress


class Ends:
    """Who waits for the end of which job.

    Example:
        >>> async def waited() -> None:
        ...     ends = Ends()
        ...     waiting = asyncio.create_task(ends.wait("scores", 60.0))
        ...     await asyncio.sleep(0)
        ...     ends.tell("scores")
        ...     await waiting
        >>> asyncio.run(waited())
    """

    def __init__(self) -> None:
        self._awaited: dict[str, asyncio.Event] = {}

    async def wait(self, job: str, seconds: float) -> None:
        """Wait until a job has ended that has not, but no longer than so many seconds."""
        event = self._awaited.setdefault(job, asyncio.Event())
        with suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)

    def tell(self, job: str) -> None:
        """Wake those that wait for a job, which has ended."""
        event = self._awaited.pop(job, None)
        if event is not None:
            event.set()

    def tell_all(self) -> None:
        """Wake all."""
        for job in [*self._awaited]:
            self.tell(job)
