"""Jobs that a server has accepted: in a database that outlives it, whenever it is killed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloakwork.errors import MalformedBytesError, QuotaError
from cloakwork.service.hashes import job_name
from cloakwork.service.server.database import opened_database
from cloakwork.service.server.measured import MeasuredRuns
from cloakwork.service.server.states import States
from cloakwork.service.server.turns import Turns, seconds_until

if TYPE_CHECKING:
    from cloakwork.service.server.predicted import Prediction

QUEUED, RUNNING, DONE, FAILED = "queued", "running", "done", "failed"
_TABLE = """
create table if not exists jobs (
    id text primary key not null, user text not null, program text not null, keys text not null,
    request text not null, state text not null, seconds real not null, kept_bytes integer not null,
    run_bytes integer not null, made real not null, started real, ended real,
    attempts integer not null default 0, results text, problem text,
    check (state in ('queued', 'running', 'done', 'failed')),
    check (typeof(seconds) = 'real' and typeof(made) = 'real'),
    check (typeof(started) in ('real', 'null') and typeof(ended) in ('real', 'null')),
    check (typeof(kept_bytes) = 'integer' and typeof(run_bytes) = 'integer'),
    check (typeof(attempts) = 'integer' and typeof(problem) in ('text', 'null')),
    check (typeof(id) = 'text' and typeof(user) = 'text' and typeof(program) = 'text'),
    check (typeof(keys) = 'text' and typeof(request) = 'text'))
"""
# What is asked for however many jobs there were.
_INDEXES = (
    "create index if not exists by_state on jobs (state, user)",
    "create index if not exists by_user on jobs (user, started)",
    "create index if not exists by_end on jobs (ended)",
)
# Of a run, the part that is always still to come.
_LEAST_LEFT = 0.1


@dataclass(frozen=True, slots=True)
class ServedJob:
    """One run that is asked for.

    Args:
        name: What it is called: the hash of its user and its request.
        user: Whose it is.
        program: The name of the program.
        keys: The hash of the evaluation keys.
        request: The hash of all that the result depends on; see `hashes.request_of`.
        state: How far it is.
        seconds: How long the run takes by the model.
        kept_bytes: What its evaluator takes that waits for another run.
        run_bytes: What its run takes.
        attempts: How often it was begun.
        results: The hash of its results.
        problem: Why it failed.
        made: When it was accepted, in seconds of Unix.
        started: When it was last begun.
        ended: When there was an answer.
    """

    name: str
    user: str
    program: str
    keys: str
    request: str
    state: str
    seconds: float
    kept_bytes: int
    run_bytes: int
    attempts: int
    results: str | None = None
    problem: Any = None
    made: float = 0.0
    started: float | None = None
    ended: float | None = None

    @property
    def is_over(self) -> bool:
        """Whether there is an answer."""
        return self.state in (DONE, FAILED)


class Jobs:
    """The queue of a server.

    Args:
        path: The file of the database.
        most: How many jobs of one user may wait or run at once.

    Example:
        >>> import tempfile
        >>> from cloakwork.service.server.predicted import Prediction
        >>> jobs = Jobs(Path(tempfile.mkdtemp()) / "jobs.sqlite", most=2)
        >>> takes = Prediction(seconds=2.0, kept_bytes=100, run_bytes=1000)
        >>> first = jobs.accept("ada", "scores", "k", request="r1", takes=takes)
        >>> jobs.accept("ada", "scores", "k", request="r1", takes=takes).name == first.name
        True
        >>> jobs.seconds_left(first, workers=1)
        2.0
        >>> jobs.take(jobs.first()).name == first.name, jobs.first() is None
        (True, True)
    """

    def __init__(self, path: Path, *, most: int) -> None:
        self._most = most
        # All that is not in the database's file yet.
        self._log = path.with_name(f"{path.name}-wal")
        self._base = opened_database(path, (_TABLE, *_INDEXES))
        # What is lost with the machine's power is run again, and has the same results; `sync`
        # keeps what must not be lost.
        self._base.execute("pragma synchronous=normal")
        self.states = States(self._base, path.parent / "states")
        self._measured = MeasuredRuns(self._base)
        self._turns = Turns()
        self._waiting: dict[str, ServedJob] = {}
        # Those whose processes end others before, and those that run, with when they began.
        self._next: dict[str, ServedJob] = {}
        self._running: dict[str, tuple[ServedJob, float]] = {}
        self._go_on()

    def _go_on(self) -> None:
        """Let jobs wait that did, or ran, when the server ended before."""
        self._base.execute("update jobs set state = 'queued' where state = 'running'")
        for job in self._several("state = 'queued' order by made"):
            self._waiting[job.name] = job
            self._turns.add(job.user, job.name)
        query = "select user, max(started) from jobs where started is not null group by user"
        for user, moment in self._base.execute(query).fetchall():
            self._turns.started(user, moment)

    def accept(
        self, user: str, program: str, keys: str, *, request: str, takes: Prediction
    ) -> ServedJob:
        """A job; the one that is there already where the same was asked before. See `sync`.

        One that failed is begun anew.

        Raises:
            QuotaError: The user has as many jobs as may wait.
        """
        name = job_name(user, request)
        known = self.find(user, name)
        if known is not None and known.state != FAILED:
            return known
        self.require_room(user, program)
        self._base.execute(
            "insert or replace into jobs (id, user, program, keys, request, state, seconds,"
            " kept_bytes, run_bytes, made) values (?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?)",
            (name, user, program, keys, request, *astuple(takes), time.time()),
        )
        found = self.find(user, name)
        assert found is not None
        self._waiting[name] = found
        self._turns.add(user, name)
        return found

    def sync(self) -> None:
        """Let the jobs that were accepted before outlast a loss of power; for any thread."""
        descriptor = os.open(self._log, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

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

    def first(self) -> ServedJob | None:
        """The job whose turn it is: users take turns. None where none waits."""
        name = self._turns.next()
        return None if name is None else self._waiting[name]

    def take(self, job: ServedJob) -> ServedJob:
        """Take a job that waits for a process, which may end another one before."""
        self._forget(job)
        self._turns.started(job.user, time.time())
        self._next[job.name] = job
        return job

    def put_back(self, job: ServedJob) -> None:
        """Let a job that was taken, and not begun, wait again."""
        if self._next.pop(job.name, None):
            self._waiting[job.name] = job
            self._turns.add_again(job.user, job.name)

    def begun(self, job: ServedJob) -> None:
        """Let a job run that was taken."""
        now = time.time()
        # Of one that was cancelled meanwhile nobody waits for the end.
        if self._next.pop(job.name, None):
            self._running[job.name] = job, now
            self._base.execute(
                "update jobs set state = 'running', started = ?, attempts = attempts + 1"
                " where id = ?",
                (now, job.name),
            )

    def end(
        self, job: ServedJob, problem: dict[str, Any] | None = None, results: str | None = None
    ) -> None:
        """Take note of the hash of a job's results, or of why it failed."""
        state = DONE if problem is None else FAILED
        told = None if problem is None else json.dumps(problem)
        now = time.time()
        change = "update jobs set state = ?, ended = ?, results = ?, problem = ? where id = ?"
        values = (state, now, results, told, job.name)
        step = None if problem else self.states.files(job.name)
        if step is None:
            self._base.execute(change, values)
        else:
            with self._at_once_and_for_good():
                self._base.execute(change, values)
                self.states.advance(job.name)
            self.states.clean(step)
        _, started = self._running.get(job.name, (job, now))
        # A clock may have been set back.
        if problem is None and started < now:
            self._measured.add(job.program, now - started, predicted=job.seconds, ended=now)
        self._forget(job)

    @contextmanager
    def _at_once_and_for_good(self) -> Iterator[None]:
        """All that is written within is on the disk afterwards, or nothing of it."""
        self._base.execute("pragma synchronous=full")
        with self._base:
            self._base.execute("begin immediate")
            yield
        self._base.execute("pragma synchronous=normal")

    def requeue(self, job: ServedJob) -> None:
        """Put a job that ran back into the queue."""
        self._base.execute("update jobs set state = 'queued' where id = ?", (job.name,))
        self._forget(job)
        self._waiting[job.name] = job
        self._turns.add_again(job.user, job.name)

    def _forget(self, job: ServedJob) -> None:
        """Let a job neither wait nor run."""
        self._waiting.pop(job.name, None)
        self._next.pop(job.name, None)
        self._running.pop(job.name, None)
        self._turns.remove(job.user, job.name)

    def remove(self, name: str) -> None:
        """Forget a job."""
        self._base.execute("delete from jobs where id = ?", (name,))

    def has(self, name: str) -> bool:
        """Whether there is a job of any user."""
        return bool(self._count("id = ?", name))

    def expired(self, before: float) -> Sequence[ServedJob]:
        """Jobs that ended before a moment."""
        return self._several("ended < ?", before)

    def of_user(self, user: str, most: int) -> Sequence[ServedJob]:
        """The jobs of a user that wait or run, and the last of those that ended, newest first."""
        waiting = self._several("user = ? and state in ('queued', 'running')", user)
        ended = self._several("user = ? and ended not null order by ended desc limit ?", user, most)
        return sorted([*waiting, *ended], key=lambda job: job.made, reverse=True)

    def places(self) -> dict[str, int]:
        """Which place in the queue each job has that waits, from 1 on."""
        return {name: place for place, name in enumerate(chain(self._next, self._turns.order()), 1)}

    def run_seconds(self, program: str, predicted: float) -> float:
        """How long a run of a program takes, by what others took here.

        Args:
            program: The name of the program.
            predicted: How long by the model.
        """
        return self._measured.seconds(program, predicted)

    def seconds_left(self, job: ServedJob, workers: int) -> float:
        """How long it takes until a job has ended, by what runs took here.

        Args:
            job: The job.
            workers: How many run at once.
        """
        left = {name: self._run_seconds_left(name) for name in self._running}
        if job.name in left:
            return left[job.name]
        order = chain(self._next, self._turns.order())
        return seconds_until(job.name, order, left.values(), workers, self._seconds_of)

    def seconds_waiting(self) -> float:
        """How long all that wait take, one after the other."""
        return sum(map(self._seconds_of, self._waiting))

    def _seconds_of(self, name: str) -> float:
        job = self._waiting.get(name) or self._next[name]
        return self._measured.seconds(job.program, job.seconds)

    def _run_seconds_left(self, name: str) -> float:
        job, started = self._running[name]
        whole = self._measured.seconds(job.program, job.seconds)
        return max(whole - (time.time() - started), _LEAST_LEFT * whole)

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
            "select id, user, program, keys, request, state, seconds, kept_bytes, run_bytes,"
            f" attempts, results, problem, made, started, ended from jobs where {where}"
        )
        found = (ServedJob(*row) for row in self._base.execute(query, values).fetchall())
        return [replace(job, problem=_problem_of(job)) for job in found]


def _problem_of(job: ServedJob) -> Any:
    """Why a job failed, as it was written.

    Raises:
        MalformedBytesError: It is damaged.
    """
    try:
        return None if job.problem is None else dict(json.loads(job.problem))
    except (ValueError, TypeError, RecursionError):
        raise MalformedBytesError(
            f"cannot read the job {job.name}: expected why it failed, got {job.problem!r:.40}; ask "
            "for the run again"
        ) from None
