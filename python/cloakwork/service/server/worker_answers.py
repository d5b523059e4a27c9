"""Writes the results of a worker's runs, and says how these go."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from cloakwork.errors import CloakworkError
from cloakwork.runtime import container
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.storage import DirectFile, named_full_disk
from cloakwork.service.hashes import blocks_of, hash_of
from cloakwork.service.problems import problem_of

# Results that are written beside the next run.
_SMALL = 1 << 20
_REPLACED = os.O_CREAT | os.O_TRUNC | os.O_WRONLY


@dataclass(frozen=True, slots=True)
class WorkerResults:
    """The results of a run, which are in memory.

    Args:
        made: The results.
        place: The file that they go to.
        peak_bytes: The most memory that the process took for them.
    """

    made: Encrypted
    place: str
    peak_bytes: int

    @property
    def are_small(self) -> bool:
        """Whether they may be in memory while the process runs something else."""
        return self.made.nbytes < _SMALL

    def written(self) -> dict[str, Any]:
        """Write them, and give the hash of their file and the most memory."""
        # The server reads them after this answer, and lets them outlast a loss of power. One that
        # was killed may have left a process that still runs the same.
        own = f"{self.place}.{os.getpid()}"
        with (
            named_full_disk(self.place, "free some"),
            DirectFile(os.open(own, _REPLACED, 0o600), "wb") as file,
        ):
            container.Content(self.made._kind, self.made._record()).write_into(file)
        os.replace(own, self.place)
        digest = hash_of(blocks_of(Path(self.place)))
        return {"results": digest, "peak_bytes": self.peak_bytes}


class RunAnswers:
    """Says how runs go, in their order; small results are written while the next one runs."""

    def __init__(self) -> None:
        self._beside = ThreadPoolExecutor(1)
        # Its thread is a part of what the process has, not of what a run takes.
        self._last: Future[None] = self._beside.submit(lambda: None)

    def __enter__(self) -> Self:
        self._last.result()
        return self

    def __exit__(self, *_: object) -> None:
        self._beside.shutdown()

    def tell(self, done: float, of: float, step: str) -> None:
        """Say how far the run is that was begun last."""
        self._last.result()
        _say({"done": done, "of": of, "step": step})

    def give(self, made: WorkerResults, kept_bytes: int) -> None:
        """Write the results of a run, and say so.

        Args:
            made: The results.
            kept_bytes: What the evaluators take that are kept.
        """

        def written() -> None:
            try:
                told = made.written()
            except CloakworkError as error:
                told = {"problem": problem_of(error)}
            _say({**told, "kept": kept_bytes})

        self._last.result()
        self._last = self._beside.submit(written)
        self._last.add_done_callback(_end_where_it_failed)
        if not made.are_small:
            self._last.result()

    def refuse(self, error: CloakworkError, kept_bytes: int) -> None:
        """Say why a run has no results."""
        self._last.result()
        _say({"problem": problem_of(error), "kept": kept_bytes})


def _end_where_it_failed(done: Future[None]) -> None:
    """End the process as an error ends it elsewhere: a server that waits begins the run again."""
    if done.exception() is not None:
        os._exit(1)


def _say(told: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()
