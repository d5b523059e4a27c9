"""Encrypted values in files of a folder, a few in each, so that a reader takes what it needs.

A head says what the values are, as an `Encrypted` does, and which file has which of them. It is
written last: where it is, all files are. Each file carries the mark of its writing, which the head
has, too: with a head of another writing, or under another name, it is refused.
"""

from __future__ import annotations

import hashlib
import math
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from cloakwork.base.record import Fields, Limits, Record, digest_of
from cloakwork.errors import ClusterFolderError, MalformedBytesError
from cloakwork.programs.slots import SlotProgram, State
from cloakwork.runtime.encrypted import Encrypted, Unread, worked_on_together
from cloakwork.runtime.folder import Folder
from cloakwork.runtime.schedule import schedule
from cloakwork.schemes.base import ReadLimits

if TYPE_CHECKING:
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.program import Program

HEAD_KIND = "encrypted values folder"
VALUES_KIND = "encrypted values part"

# The head of what a client wrote, and what its files begin with.
HEAD = "encrypted-head"
PREFIX = "encrypted-"

# Bytes of the values of one file, about: as much as is worth a request to an object store.
_FILE_BYTES = 1 << 22
_MAX_RUNS = 1 << 20
_MAX_VALUES = 1 << 26
_MARK_BYTES = 16
_NAME = re.compile(r"[a-z0-9-]{1,100}")


@dataclass(frozen=True)
class RunFiles:
    """Where the values of one run of a program are.

    Args:
        folder: The name of a folder within that of the head; empty for that itself.
        names: The files.
        numbers: The numbers of the values in each, in order.
        mark: What tells the writing that they are of from every other.
    """

    folder: str
    names: tuple[str, ...]
    numbers: tuple[tuple[int, ...], ...]
    mark: str

    @cached_property
    def file_of(self) -> Mapping[int, int]:
        """The place among the files of each value's, by its number."""
        return {number: place for place, held in enumerate(self.numbers) for number in held}


@dataclass(frozen=True, slots=True)
class Source:
    """Values of a run in a folder, as a worker finds them.

    Args:
        folder: The folder.
        head: The name of the head's file.
        run: Which run of the program's.
        digest: What is in it; empty for what a run has written for itself.
    """

    folder: Folder
    head: str
    run: int
    digest: str


def write_part(folder: Folder, name: str, mark: str, record: Record) -> None:
    """Write a file of values that carries the mark of its writing.

    Raises:
        StorageFullError: There is no space left for it.
    """
    folder.write(name, VALUES_KIND, {"mark": _mark_of(mark, name), **record})


def read_part(folder: Folder, name: str, mark: str) -> Fields:
    """The record of a file of values.

    Raises:
        ClusterFolderError: It is not seen from here.
        MalformedBytesError: It is damaged, or is of another writing or has had another name.
    """
    fields = folder.read(name, VALUES_KIND)
    if fields.word("mark") != _mark_of(mark, name):
        raise MalformedBytesError(
            f"cannot read {folder.url}/{name}: expected the file that was written with the head "
            "of these values, got one of another writing or of another name; copy folders as a "
            "whole, and open what was written anew once more"
        )
    return fields


def _mark_of(mark: str, name: str) -> str:
    return f"{mark}/{name}"


class StoredRun(Mapping[int, Unread]):
    """The values of a run by number; their records leave their files when they are taken."""

    def __init__(self, folder: Folder, files: RunFiles) -> None:
        self._folder = folder.within(files.folder) if files.folder else folder
        self._files = files

    def part(self, place: int) -> dict[int, Record]:
        """The records in one of the files.

        Raises:
            ClusterFolderError: It is not seen from here.
            MalformedBytesError: It is damaged, or belongs to other values.
        """
        fields = read_part(self._folder, self._files.names[place], self._files.mark)
        records = fields.items("values", most=_MAX_VALUES)
        numbers = self._files.numbers[place]
        if len(records) != len(numbers):
            raise MalformedBytesError(f"cannot read {fields.place}: a value is missing")
        return dict(zip(numbers, records, strict=True))

    def parts(self) -> Iterator[dict[int, Record]]:
        """The records of one file after the other."""
        return map(self.part, range(len(self._files.names)))

    @property
    def files(self) -> RunFiles:
        """Where they are."""
        return self._files

    def __getitem__(self, number: int) -> Unread:
        return Unread(self.part(self._files.file_of[number])[number])

    def __iter__(self) -> Iterator[int]:
        return iter(sorted(self._files.file_of))

    def __len__(self) -> int:
        return len(self._files.file_of)

    def items(self) -> Any:
        # Each file is read once, not for each of its values.
        found = {number: Unread(each) for part in self.parts() for number, each in part.items()}
        return dict(sorted(found.items())).items()


class StoredEncrypted(Encrypted):
    """Encrypted values that stay in a folder; see `Encrypted`.

    Args:
        folder: The folder.
        head: The name of the head's file.
        fields: The record of the head.
    """

    def __init__(self, folder: Folder, head: str, fields: Fields) -> None:
        told = Encrypted._of(fields.within("values"), ReadLimits())
        files = [_files(each) for each in fields.several("runs", most=_MAX_RUNS)]
        if not files or any(each.file_of.keys() != files[0].file_of.keys() for each in files):
            raise fields.wrong("runs", "values of the same numbers, once or more")
        super().__init__(
            told.program,
            told.role,
            told.ports,
            [StoredRun(folder, each) for each in files],
            told.count,
            told.key_id,
        )
        self.folder = folder
        self.head = head
        self.stored_bytes = fields.integer("nbytes", least=0, most=1 << 62)
        self.digest = fields.word("digest")

    @property
    def place(self) -> str:
        return self.folder.url

    @property
    def nbytes(self) -> int:
        return self.stored_bytes

    def values(self, scheme: Any, body: Any) -> list[dict[int, Any]]:
        # They stay in the folder: what was read is not kept.
        self.require_numbers(body)
        return [self._read(run, scheme, body) for run in self._runs]

    def parts(self, scheme: Any, body: Any) -> Sequence[Iterator[dict[int, Any]]]:
        self.require_numbers(body)
        return [self._parts(self.stored_run(run), scheme, body) for run in range(self.runs)]

    def _parts(self, run: StoredRun, scheme: Any, body: Any) -> Iterator[dict[int, Any]]:
        if not isinstance(body, SlotProgram):
            yield self._read(run, scheme, body)
            return
        for records in run.parts():
            for numbers in worked_on_together(records, body):
                unread = {number: Unread(records.pop(number)) for number in numbers}
                yield self._read(unread, scheme, body)

    def stored_run(self, run: int) -> StoredRun:
        """The values of a run.

        Raises:
            MalformedBytesError: There is no such run.
        """
        if run >= len(self._runs):
            raise MalformedBytesError(
                f"cannot read {self.folder.url}: expected run {run}, got {len(self._runs)} runs"
            )
        found = self._runs[run]
        assert isinstance(found, StoredRun)
        return found

    def source(self, run: int) -> Source:
        """The values of a run, for workers."""
        return Source(self.folder, self.head, run, self.digest)

    def __reduce__(self) -> tuple[Any, ...]:
        return stored_values, (self.folder, self.head)


def stored_values(folder: Folder, head: str) -> StoredEncrypted:
    """The values of a folder.

    Raises:
        ClusterFolderError: There are no such values.
        MalformedBytesError: The head is damaged.
    """
    return StoredEncrypted(folder, head, folder.read(head, HEAD_KIND))


def in_folder(path: str | os.PathLike[str], action: str) -> StoredEncrypted:
    """What `Client.encrypt_into` or a run wrote to a folder; it stays there.

    Raises:
        ClusterFolderError: There are no such values.
        MalformedBytesError: The folder's head is damaged.
        InvalidArgumentError: There can be nothing at such a place.
    """
    place = Folder.at(path, action)
    if not place.has(HEAD):
        below = [each for each in sorted(place.names()) if place.within(each).has(HEAD)]
        such_as = f", such as {place.within(below[0]).url}" if below else ""
        raise ClusterFolderError(
            f"cannot {action}: there is no such file as {place.url}/{HEAD}; give the folder that "
            f"encrypt_into or a run wrote them to{such_as}"
        )
    return stored_values(place, HEAD)


def _files(fields: Fields) -> RunFiles:
    """Where the values of a run are, by a record that nobody needs to trust."""
    folder = fields.word("folder")
    names = fields.value("names", tuple[str, ...])
    numbers = fields.value(
        "numbers", tuple[tuple[Annotated[int, Limits(0, _MAX_VALUES)], ...], ...]
    )
    if not all(map(_NAME.fullmatch, (*names, *([folder] if folder else [])))):
        raise fields.wrong("names", "names of files in the folder")
    flat = [number for held in numbers for number in held]
    if len(names) != len(numbers) or len(set(flat)) != len(flat):
        raise MalformedBytesError(f"cannot read {fields.place}: a value is missing or comes twice")
    return RunFiles(folder, names, numbers, fields.word("mark"))


def write_head(
    folder: Folder, head: str, like: Encrypted, runs: Sequence[RunFiles], nbytes: int, digest: str
) -> StoredEncrypted:
    """Write what values that stand in files are.

    Args:
        folder: The folder.
        head: The name of the head's file.
        like: What is known of them all; its own values do not count.
        runs: For each run where its values are.
        nbytes: Bytes of all of them.
        digest: What tells them from others.
    """
    told = {**like.described(), "runs": [{"numbers": [], "values": []}]}
    listed = [
        {
            "folder": each.folder,
            "names": list(each.names),
            "numbers": [*map(list, each.numbers)],
            "mark": each.mark,
        }
        for each in runs
    ]
    record = {"values": told, "runs": listed, "nbytes": nbytes, "digest": digest}
    folder.write(head, HEAD_KIND, record)
    return stored_values(folder, head)


def new_mark() -> str:
    """The mark of a writing that is like no other."""
    return secrets.token_hex(_MARK_BYTES)


def write_values(
    folder: Folder,
    prefix: str,
    mark: str,
    like: Encrypted,
    runs: Iterable[Iterable[tuple[tuple[int, ...], Callable[[], Sequence[Record]]]]],
) -> StoredEncrypted:
    """Write values to a folder, no more in memory than those of one file.

    Args:
        folder: The folder.
        prefix: What the names of the files begin with.
        mark: What tells this writing from others; the same values may be written twice with one.
        like: What is known of them all.
        runs: For each run the numbers that each file takes, and what makes their records.
    """
    found: list[RunFiles] = []
    whole, total = hashlib.sha256(), 0
    for run, parts in enumerate(runs):
        names: list[str] = []
        held: list[tuple[int, ...]] = []
        for place, (numbers, made) in enumerate(parts):
            records = list(made())
            names.append(f"{prefix}{run}-{place}")
            held.append(numbers)
            write_part(folder, names[-1], mark, {"values": records})
            whole.update(digest_of({"numbers": list(numbers), "values": records}).encode())
            total += sum(map(record_bytes, records))
        found.append(RunFiles("", tuple(names), tuple(held), mark))
    digest = digest_of({**like.described(), "content": whole.hexdigest()})[:32]
    return write_head(folder, f"{prefix}head", like, found, total, digest)


def parts_of(program: Program | Interface, numbers: Iterable[int]) -> list[tuple[int, ...]]:
    """The numbers of inputs that a file takes each: such as the same tasks work on.

    Example:
        >>> import cloakwork as cw
        >>> shapes = (200, 6), (6, 200)
        >>> program = cw.compile(lambda a, b: a @ b, *shapes, precision=7, log_n=10, insecure=True)
        >>> [len(each) for each in parts_of(program, range(12))]
        [6, 6]
    """
    body = program.body
    if not isinstance(body, SlotProgram):
        return [(number,) for number in sorted(numbers)]
    scheme: Any = program.scheme
    plan = schedule(body)
    together: dict[tuple[int, ...], list[int]] = {}
    for number in sorted(numbers):
        users = tuple(plan.users.get(plan.inputs[number], ()))
        together.setdefault(users, []).append(number)
    found: list[tuple[int, ...]] = []
    for held in together.values():
        level = body.states[plan.inputs[held[0]]].level
        count = max(1, _FILE_BYTES // int(scheme.bytes_at(State(level))))
        # Files of about the same size.
        count = math.ceil(len(held) / math.ceil(len(held) / count))
        found += [tuple(held[start : start + count]) for start in range(0, len(held), count)]
    return sorted(found)


def record_bytes(record: Record) -> int:
    """Bytes of the ciphertexts of a record."""
    return sum(
        sum(map(len, entry)) if isinstance(entry, list) else len(entry) for entry in record.values()
    )
