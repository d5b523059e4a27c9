"""Jobs that a server has accepted: in a database that outlives it, whenever it is killed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cloakwork.errors import QuotaError

QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"
_TABLE = """
create table if not exists jobs (
    id text primary key, user text not null, program text not null, keys text not null,
    request text not null, state text not null, seconds real not null, made real not null,
    started real, ended real, attempts integer not null default 0, results text, problem text)
"""


@dataclass(frozen=True, slots=True)
class ServedJob:
    """One run that is asked for.

    Args:
        name: What it is called: the hash of its user and its request.
        user: Whose it is.
        program: The name of the program.
        keys: The hash of the evaluation keys.
        request: The hash of all that the result depends on; see `request_of`.
        state: How far it is.
        seconds: How long the run takes by its estimate.
        attempts: How often it was begun.
        results: The hash of its results.
        problem: Why it failed.
    """

    name: str
    user: str
    program: str
    keys: str
    request: str
    state: str
    seconds: float
    attempts: int
    results: str | None = None
    problem: Any = None

    @property
    def is_over(self) -> bool:
        """Whether there is an answer."""
        return self.state in (DONE, FAILED)


def request_of(program: str, keys: str, inputs: bytes) -> str:
    """The hash of all that a result depends on: runs are deterministic.

    Args:
        program: The fingerprint of the program.
        keys: The hash of the evaluation keys.
        inputs: The encrypted inputs.
    """
    made = hashlib.sha256()
    for part in (program.encode(), keys.encode(), hashlib.sha256(inputs).digest()):
        made.update(len(part).to_bytes(8, "little") + part)
    return made.hexdigest()


def job_name(user: str, request: str) -> str:
    """What a job is called: nobody else's can be."""
    return hashlib.sha256(f"{user}\n{request}".encode()).hexdigest()[:32]


class Jobs:
    """The queue of a server.

    Args:
        path: The file of the database.
        most: How many jobs of one user may wait or run at once.

    Example:
        >>> import tempfile
        >>> jobs = Jobs(Path(tempfile.mkdtemp()) / "jobs.sqlite", most=2)
        >>> first = jobs.accept("ada", "scores", "k", request="r1", seconds=2.0)
        >>> jobs.accept("ada", "scores", "k", request="r1", seconds=2.0).name == first.name
        True
        >>> jobs.next().name == first.name, jobs.next() is None
        (True, True)
    """

    def __init__(self, path: Path, *, most: int) -> None:
        self._most = most
        # The event loop's thread alone asks.
        self._base = sqlite3.connect(path, isolation_level=None)
        self._base.execute("pragma journal_mode=wal")
        # What is lost with the machine's power is run again, and has the same results.
        self._base.execute("pragma synchronous=normal")
        self._base.execute(_TABLE)

    def accept(
        self, user: str, program: str, keys: str, *, request: str, seconds: float
    ) -> ServedJob:
        """A job; the one that is there already where the same was asked before.

        One that failed is begun anew.

        Raises:
            QuotaError: The user has as many jobs as may wait.
        """
        name = job_name(user, request)
        known = self.find(user, name)
        if known is not None and known.state != FAILED:
            return known
        self.require_room(user, program)
        # An accepted job is on the disk.
        self._base.execute("pragma synchronous=full")
        self._base.execute(
            "insert or replace into jobs (id, user, program, keys, request, state, seconds, made)"
            " values (?, ?, ?, ?, ?, 'queued', ?, ?)",
            (name, user, program, keys, request, seconds, time.time()),
        )
        self._base.execute("pragma synchronous=normal")
        found = self.find(user, name)
        assert found is not None
        return found

    def require_room(self, user: str, program: str) -> None:
        """Refuse a further job of a user who has as many as may wait.

        Raises:
            QuotaError: The user has.
        """
        waiting = self._count("user = ? and state in ('queued', 'running')", user)
        if waiting >= self._most:
            raise QuotaError(
                f"cannot run {program}: expected at most {self._most} jobs of a user's at once, "
                "got one more; ask again when one of them has ended"
            )

    def find(self, user: str, name: str) -> ServedJob | None:
        """A job of a user; None where there is none."""
        return self._one("id = ? and user = ?", name, user)

    def next(self) -> ServedJob | None:
        """The job to run now, which runs from then on: users take turns. None where none waits."""
        found = self._one(
            "state = 'queued' order by (select coalesce(max(other.started), 0) from jobs other"
            " where other.user = jobs.user), made limit 1"
        )
        if found is not None:
            self._base.execute(
                "update jobs set state = 'running', started = ?, attempts = attempts + 1"
                " where id = ?",
                (time.time(), found.name),
            )
        return found

    def end(
        self, name: str, problem: dict[str, Any] | None = None, results: str | None = None
    ) -> None:
        """Take note of the hash of a job's results, or of why it failed."""
        state = DONE if problem is None else FAILED
        told = None if problem is None else json.dumps(problem)
        self._base.execute(
            "update jobs set state = ?, ended = ?, results = ?, problem = ? where id = ?",
            (state, time.time(), results, told, name),
        )

    def again(self) -> None:
        """Put jobs that ran when the server ended back into the queue."""
        self._base.execute("update jobs set state = 'queued' where state = 'running'")

    def requeue(self, name: str) -> None:
        """Put a job that ran back into the queue."""
        self._base.execute("update jobs set state = 'queued' where id = ?", (name,))

    def remove(self, name: str) -> None:
        """Forget a job."""
        self._base.execute("delete from jobs where id = ?", (name,))

    def has(self, name: str) -> bool:
        """Whether there is a job of any user."""
        return bool(self._count("id = ?", name))

    def expired(self, before: float) -> Sequence[ServedJob]:
        """Jobs that ended before a moment."""
        return self._several("ended < ?", before)

    def seconds_before(self, job: ServedJob) -> float:
        """How long all that wait before a job, and run, take by their estimates."""
        query = (
            "select coalesce(sum(seconds), 0) from jobs where state = 'running' or"
            " (state = 'queued' and made < (select made from jobs where id = ?))"
        )
        return float(self._base.execute(query, (job.name,)).fetchone()[0])

    def counts(self) -> dict[str, int]:
        """How many jobs there are by state."""
        query = "select state, count(*) from jobs group by state"
        return dict(self._base.execute(query).fetchall())

    def _count(self, where: str, *values: object) -> int:
        query = f"select count(*) from jobs where {where}"
        return int(self._base.execute(query, values).fetchone()[0])

    def _one(self, where: str, *values: object) -> ServedJob | None:
        found = self._several(where, *values)
        return found[0] if found else None

    def _several(self, where: str, *values: object) -> list[ServedJob]:
        query = (
            "select id, user, program, keys, request, state, seconds, attempts, results, problem"
            f" from jobs where {where}"
        )
        found = self._base.execute(query, values).fetchall()
        return [replace(ServedJob(*row), problem=row[-1] and json.loads(row[-1])) for row in found]
