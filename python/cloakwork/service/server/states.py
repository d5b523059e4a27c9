"""States of programs that a server keeps: each is replaced by the next together with a result."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cloakwork.errors import (
    InvalidArgumentError,
    NotReplaceableError,
    NotServedError,
    QuotaError,
    StepMismatchError,
)
from cloakwork.runtime.storage import named_full_disk
from cloakwork.runtime.whole_files import write_whole
from cloakwork.service.names import require_name

if TYPE_CHECKING:
    import sqlite3

_TABLE = """
create table if not exists states (
    id text primary key, user text not null, key_id text not null, program text not null,
    name text not null, origin text not null, version text not null, step integer not null,
    bytes integer not null, pending text,
    check (typeof(name) = 'text' and typeof(origin) = 'text' and typeof(version) = 'text'),
    check (typeof(step) = 'integer' and typeof(bytes) = 'integer'),
    check (typeof(pending) in ('text', 'null')))
"""
_ORIGIN = re.compile(r"[0-9a-f]{64}")
# Of one user.
_MOST = 1 << 12


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose states are meant: those of others are not seen.

    Args:
        user: The user.
        key_id: What the secret key is known by, in hexadecimal digits.
        program: The fingerprint of the program.
    """

    user: str
    key_id: str
    program: str


@dataclass(frozen=True, slots=True)
class StoredState:
    """A state that a server keeps.

    Args:
        name: What its owner calls it.
        version: The hash of what it was made of: at first `hashes.first_version`, then that of the
            request whose run made it.
        step: Steps that led to it.
        origin: What its owner drew for this start.
        pending: The job of the step that was taken on last; it may have failed.
    """

    name: str
    version: str
    step: int
    origin: str
    pending: str | None = None


class States:
    """The states of a server, in the database of its jobs, and a folder.

    A step is a job that is `taken` by the state of its version. The state's next version is in a
    file of its own when the job's end is written, and both are written at once: a server that is
    killed before begins the step again, with the state as it was, and one that is killed after does
    not.

    Args:
        base: The database.
        folder: Where the files are.
    """

    def __init__(self, base: sqlite3.Connection, folder: Path) -> None:
        self._base, self._folder = base, folder
        base.execute(_TABLE)

    def of(self, owner: Owner) -> Sequence[StoredState]:
        """The states of an owner, by their names."""
        where = "user = ? and key_id = ? and program = ? order by name"
        return self._several(where, owner.user, owner.key_id, owner.program)

    def find(self, owner: Owner, name: str) -> StoredState:
        """A state.

        Raises:
            NotServedError: The owner has none of the name.
        """
        found = self._several("id = ?", _id(owner, name))
        if not found:
            raise NotServedError(
                f"cannot find the state {name!r:.80}: there is none of the name under this key and "
                "program; start one"
            )
        return found[0]

    def require_new(self, owner: Owner, name: str, origin: str) -> None:
        """Refuse a name that another state has than one of an origin.

        Raises:
            NotReplaceableError: It has.
        """
        known = self._several("id = ?", _id(owner, name))
        if known and known[0].origin != origin:
            raise NotReplaceableError(
                f"cannot keep the state {name}: there is one of the name, of step {known[0].step}; "
                "reset it, or give another name"
            )

    def put(self, owner: Owner, made: StoredState, data: bytes, *, most: int) -> StoredState:
        """Keep a state in the place of any of its name; one of its origin stays as it is by now.

        Args:
            owner: Whose it is.
            made: What is said of it.
            data: The state.
            most: How many bytes the states of the user may take.

        Raises:
            InvalidArgumentError: Its name or its origin is not such.
            QuotaError: The states of the user take more than they may.
            StorageFullError: There is no space left.
        """
        require_name(made.name, "keep a state")
        if not _ORIGIN.fullmatch(made.origin):
            raise InvalidArgumentError(
                f"cannot keep the state {made.name}: expected an origin of 64 hexadecimal digits, "
                f"got {made.origin!r:.80}; draw one"
            )
        own = _id(owner, made.name)
        known = self._several("id = ?", own)
        if known and known[0].origin == made.origin:
            return known[0]
        if not self.has_room(owner, made.name, len(data), most):
            raise QuotaError(
                f"cannot keep a state: expected up to {_MOST} states of a user's, of at most "
                f"{most} bytes in all, got more; remove some that are not needed"
            )
        folder = self._folder / own
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with named_full_disk(str(folder), "free some"):
            write_whole(folder / made.version, data)
        said = (made.name, made.origin, made.version, made.step, len(data))
        self._base.execute(
            "insert or replace into states values (?, ?, ?, ?, ?, ?, ?, ?, ?, null)",
            (own, owner.user, owner.key_id, owner.program, *said),
        )
        self._keep_only(own, made.version)
        return made

    def has_room(self, owner: Owner, name: str, size: int, most: int) -> bool:
        """Whether the states of a user may take so many bytes more, in the place of one of a name.

        Args:
            owner: Whose it is.
            name: What it is called.
            size: How many bytes.
            most: How many bytes the states of the user may take.
        """
        query = "select count(*), coalesce(sum(bytes), 0) from states where user = ? and id != ?"
        count, taken = self._base.execute(query, (owner.user, _id(owner, name))).fetchone()
        return bool(taken + size <= most and count < _MOST)

    def remove_unserved(self, user: str, programs: Collection[str]) -> None:
        """Remove the states of a user that no step can be run of any more.

        Args:
            user: The user.
            programs: The fingerprints of the programs that there are for the user.
        """
        query = "select key_id, program, name from states where user = ?"
        for key_id, program, name in self._base.execute(query, (user,)).fetchall():
            if program not in programs:
                self.remove(Owner(user, key_id, program), name)

    def remove(self, owner: Owner, name: str) -> None:
        """Remove a state."""
        own = _id(owner, name)
        self._base.execute("delete from states where id = ?", (own,))
        # A process that was ended may still have one of them.
        shutil.rmtree(self._folder / own, ignore_errors=True)

    def take(self, owner: Owner, name: str, version: str, job: str) -> None:
        """Let a job be the next step of a state.

        Args:
            owner: Whose it is.
            name: What it is called.
            version: The version that the step is of.
            job: The job, which need not be there yet.

        Raises:
            NotServedError: There is no such state.
            StepMismatchError: It has another version, or another job is its next step.
        """
        found = self.find(owner, name)
        pending = found.pending if found.pending != job and self._is_open(found.pending) else None
        if found.version != version or pending:
            raise StepMismatchError(
                f"cannot run a step of the state {name}: expected the version before its step "
                f"{found.step + 1}, {found.version[:12]}, and no other step at the same time, got "
                f"{version[:12]}{' beside another' if pending else ''}; wait for the results of "
                "that, and look for the state as it is by now"
            )
        change = "update states set pending = ? where id = ?"
        self._base.execute(change, (job, _id(owner, name)))

    def files(self, job: str) -> tuple[Path, Path] | None:
        """Where a step reads its state, and where it writes the next; None for other jobs."""
        query = (
            "select states.id, states.version, jobs.request from states"
            " join jobs on jobs.id = states.pending where states.pending = ?"
        )
        found = self._base.execute(query, (job,)).fetchone()
        if found is None:
            return None
        own, version, following = found
        return self._folder / own / version, self._folder / own / following

    def advance(self, job: str) -> None:
        """Let a state be what its step made; it is one transaction with the end of the job."""
        found = self.files(job)
        if found is not None:
            _, made = found
            self._base.execute(
                "update states set version = ?, step = step + 1, bytes = ?, pending = null"
                " where pending = ?",
                (made.name, made.stat().st_size, job),
            )

    def clean(self, files: tuple[Path, Path]) -> None:
        """Remove what a step read, once it is over."""
        self._keep_only(files[1].parent.name, files[1].name)

    def _keep_only(self, own: str, version: str) -> None:
        """Remove the files of a state but that of a version."""
        for each in (self._folder / own).iterdir():
            if each.name != version:
                each.unlink(missing_ok=True)

    def _is_open(self, job: str | None) -> bool:
        """Whether a job waits or runs."""
        query = "select count(*) from jobs where id = ? and state in ('queued', 'running')"
        return bool(self._base.execute(query, (job,)).fetchone()[0])

    def _several(self, where: str, *values: object) -> list[StoredState]:
        query = f"select name, version, step, origin, pending from states where {where}"
        return [StoredState(*row) for row in self._base.execute(query, values).fetchall()]


def _id(owner: Owner, name: str) -> str:
    told = "\n".join((owner.user, owner.key_id, owner.program, name))
    return hashlib.sha256(told.encode()).hexdigest()[:32]
