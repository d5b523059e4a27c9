"""What a server keeps in its folder: programs, users' evaluation keys, and ciphertexts of jobs."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cloakwork._native import SigningKey
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    NotServedError,
    QuotaError,
    UploadMismatchError,
)
from cloakwork.runtime import container
from cloakwork.runtime.interface import Interface
from cloakwork.runtime.load import load
from cloakwork.runtime.program import Program
from cloakwork.runtime.storage import DirectFile, named_full_disk, sync_folder
from cloakwork.runtime.whole_files import name_for_good, write_whole
from cloakwork.service.hashes import blocks_of, hash_of
from cloakwork.service.names import shown_name

_DIGEST = re.compile(r"[0-9a-f]{64}")
_LOGGER = logging.getLogger("cloakwork.service")
# Of the evaluation keys of one client.
_MOST_SETS = 64


@dataclass(frozen=True, slots=True)
class UnservedProgram:
    """Why a program that is there is not served.

    Args:
        error: The name of the error by which it does not load.
        detail: What that says.
    """

    error: str
    detail: str


class Store:
    """A folder.

    Args:
        folder: Where; programs are in `programs` there, each in a file `NAME.cw`.
        insecure: Whether programs may be below 128-bit security.
        most_key_bytes: What the evaluation keys of one user may take.
        kept_key_seconds: How long evaluation keys are kept that no job is run with.
    """

    def __init__(
        self, folder: Path, *, insecure: bool, most_key_bytes: int, kept_key_seconds: float
    ) -> None:
        self.folder = folder
        self.insecure = insecure
        self._most_key_bytes = most_key_bytes
        self._kept_key_seconds = kept_key_seconds
        self._open: set[Path] = set()
        # Keys are checked in another thread than the one that answers.
        self._opening = threading.Lock()
        for name in ("programs", "keys", "jobs"):
            (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
        self.programs: dict[str, Program] = {}
        self.interfaces: dict[str, bytes] = {}
        # Why programs that are there are not served; all others are.
        self.unserved: dict[str, UnservedProgram] = {}
        for path in sorted((folder / "programs").glob("*.cw")):
            self.take_program(path.stem)

    def signing_key(self) -> SigningKey:
        """The key that the server signs by, which it makes at its first start."""
        path = self.folder / "signing.key"
        if not path.exists():
            made = SigningKey.generate().to_bytes()
            write_whole(path, made)
            made[:] = bytes(len(made))
        path.chmod(0o600)
        with DirectFile(path) as file:
            read = bytearray(path.stat().st_size)
            file.readinto(read)
        try:
            return SigningKey.from_bytes(read)
        finally:
            read[:] = bytes(len(read))

    def has(self, name: str) -> bool:
        """Whether a program is at hand, or why it cannot be served."""
        return name in self.programs or name in self.unserved

    def program(self, name: str) -> Program:
        """A program.

        Raises:
            NotServedError: There is none of the name, or it cannot be served.
        """
        found = self.programs.get(name)
        if name in self.unserved:
            raise NotServedError(self.unserved[name].detail)
        if found is None:
            raise NotServedError(
                f"cannot serve {name!r}: there is no such program here; ask for the list"
            )
        return found

    def take_program(self, name: str) -> None:
        """Have a program at hand that is there, or why it cannot be served."""
        path = self.program_file(name)
        try:
            made = load(path, Program, insecure=self.insecure)
            interface = _interface(made)
        except CloakworkError as error:
            self.unserved[name] = _unserved(name, path, error)
            _LOGGER.error("%s", self.unserved[name].detail)
            return
        self.unserved.pop(name, None)
        self.programs[name], self.interfaces[name] = made, interface

    def forget_program(self, name: str) -> None:
        """Remove a program."""
        self.program_file(name).unlink(missing_ok=True)
        self.programs.pop(name, None)
        self.interfaces.pop(name, None)
        self.unserved.pop(name, None)

    def program_file(self, name: str) -> Path:
        """Where a program is."""
        return self.folder / "programs" / f"{name}.cw"

    def keys(self, user: str, digest: str) -> Path:
        """Where the evaluation keys of a user are that have a hash.

        Raises:
            NotServedError: They are not here, or not all of them.
        """
        path = self._keys(user, digest)
        if not path.exists():
            raise NotServedError(
                f"cannot run: evaluation keys {digest[:12]} are not here; send them first"
            )
        return path

    def key_files(self, user: str, digests: str) -> list[Path]:
        """Where evaluation keys are, by their hashes with commas between, which are used now.

        Raises:
            InvalidArgumentError: One is named twice, or there are too many.
            NotServedError: Some are not here.
        """
        several = digests.split(",")
        if len(set(several)) < len(several) or len(several) > _MOST_SETS:
            raise InvalidArgumentError(
                f"cannot run: expected up to {_MOST_SETS} sets of evaluation keys, each once, got "
                f"{len(several)}; name those of one client"
            )
        found = [self.keys(user, each) for each in several]
        for path in found:
            _note(path).touch()
        return found

    def received(self, user: str, digest: str) -> tuple[int, bool]:
        """How many bytes of evaluation keys are here, and whether these are all.

        Raises:
            NotServedError: It is not the hash of any.
        """
        path = self._keys(user, digest)
        # A part that is not there any more was made whole meanwhile.
        for file, found in _there([path, _part(path), path]):
            return found.st_size, file == path
        return 0, False

    @contextmanager
    def appending(
        self, user: str, digest: str, offset: int, coming: int = 0
    ) -> Iterator[Callable[[bytes], None]]:
        """What adds to evaluation keys; all that it was given is here afterwards.

        Args:
            user: Whose they are.
            digest: The hash of all their bytes.
            offset: Where the first byte that comes belongs.
            coming: How many are said to come.

        Raises:
            UploadMismatchError: The bytes do not follow those that are here, or others come now.
            QuotaError: A user's keys take more than they may.
            StorageFullError: There is no space left.
        """
        part = _part(self._keys(user, digest))
        with self._held(part):
            here, is_whole = self.received(user, digest)
            if is_whole or offset != here:
                raise UploadMismatchError(
                    f"cannot take evaluation keys: expected bytes from {here} on, got some from "
                    f"{offset} on; go on from there"
                )
            part.parent.mkdir(mode=0o700, exist_ok=True)
            others = _bytes_of(each for each in part.parent.iterdir() if each != part)
            if others + here + coming > self._most_key_bytes:
                raise self._too_many_keys()
            with named_full_disk(str(part.parent), "free some"), part.open("ab") as file:

                def add(block: bytes) -> None:
                    if others + file.tell() + len(block) > self._most_key_bytes:
                        raise self._too_many_keys()
                    file.write(block)

                yield add

    @contextmanager
    def _held(self, part: Path) -> Iterator[None]:
        """Let no other add to keys that come, or take them as whole.

        Raises:
            UploadMismatchError: Another does so now.
        """
        with self._opening:
            if part in self._open:
                raise UploadMismatchError(
                    "cannot take evaluation keys: expected one sender at a time, got another whose "
                    "bytes come or are checked; ask again what is here"
                )
            self._open.add(part)
        try:
            yield
        finally:
            self._open.remove(part)

    def _too_many_keys(self) -> QuotaError:
        return QuotaError(
            f"cannot take evaluation keys: expected at most {self._most_key_bytes} bytes of a "
            "user's in all, got more; remove some that are not needed"
        )

    def complete(self, user: str, digest: str, of: Mapping[str, str]) -> None:
        """Take evaluation keys as whole.

        Args:
            user: Whose they are.
            digest: The hash of their bytes.
            of: The secret key and the program that they are said to be of.

        Raises:
            UploadMismatchError: They have another hash; what was here is removed.
        """
        path = self._keys(user, digest)
        part = _part(path)
        with self._held(part):
            if path.exists():
                # Another has sent the last byte meanwhile.
                return
            if hash_of(blocks_of(part)) != digest:
                part.unlink()
                raise UploadMismatchError(
                    f"cannot take evaluation keys: expected the hash {digest[:12]}, got bytes of "
                    "another; send them again from the first byte on"
                )
            with named_full_disk(str(path), "free some"):
                write_whole(_note(path), json.dumps(dict(of)).encode())
                with part.open("rb") as file:
                    os.fsync(file.fileno())
            name_for_good({path: str(part)})

    def key_sets(self, user: str, key_id: str | None) -> list[dict[str, Any]]:
        """The evaluation keys of a user that are of a secret key; of None, all.

        Their hashes, programs and bytes, since when they are here, and until when where no job is
        run with them.
        """
        found: list[dict[str, Any]] = []
        for note in sorted(self._keys(user, "0" * 64).parent.glob("*.json")):
            told, keys = json.loads(note.read_bytes()), note.with_suffix("")
            if key_id in (told["key_id"], None) and keys.exists():
                until = note.stat().st_mtime + self._kept_key_seconds
                times = {"since": keys.stat().st_mtime, "until": until}
                found.append(
                    {"digest": note.stem, "program": told["program"], "bytes": keys.stat().st_size}
                    | {name: _written(moment) for name, moment in times.items()}
                )
        return found

    @property
    def key_bytes(self) -> int:
        """What the evaluation keys of all users take."""
        return _bytes_of(self.folder.glob("keys/*/*"))

    def remove_unused_keys(self) -> None:
        """Remove evaluation keys, and parts of such, that were not used for too long."""
        before = time.time() - self._kept_key_seconds
        marks = [*self.folder.glob("keys/*/*.json"), *self.folder.glob("keys/*/*.part")]
        for path, found in _there(marks):
            if path not in self._open and found.st_mtime < before:
                for each in (path.with_suffix(""), path):
                    each.unlink(missing_ok=True)

    def remove_keys(self, user: str, digest: str) -> None:
        """Remove evaluation keys, all of them or those that have come."""
        path = self._keys(user, digest)
        for each in (path, _part(path), _note(path)):
            each.unlink(missing_ok=True)

    def keep_inputs(self, job: str, data: bytes) -> None:
        """Write the inputs of a job; see `sync_job_file`.

        Raises:
            StorageFullError: There is no space left.
        """
        path = self.job_file(job, "inputs")
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with named_full_disk(str(path), "free some"):
            # The same may be sent twice at once.
            descriptor, partial = tempfile.mkstemp(".partial", dir=path.parent)
            try:
                with DirectFile(descriptor, "wb") as file:
                    file.write(data)
                os.replace(partial, path)
            finally:
                # On a full disk a part would take what there is left.
                Path(partial).unlink(missing_ok=True)

    def sync_job_file(self, job: str, name: str) -> None:
        """Let the inputs or the results of a job outlast a loss of power, which were written.

        Raises:
            StorageFullError: There is no space left.
        """
        path = self.job_file(job, name)
        # Of a job that was cancelled meanwhile there are none.
        with (
            named_full_disk(str(path), "free some"),
            suppress(FileNotFoundError),
            path.open("rb") as file,
        ):
            os.fsync(file.fileno())
        sync_folder(path.parent)

    def jobs_before(self, moment: float) -> list[str]:
        """The names of jobs of which nothing was written since a moment."""
        found = (self.folder / "jobs").iterdir()
        return [each.name for each in found if each.stat().st_mtime < moment]

    def job_file(self, job: str, name: str) -> Path:
        """Where the inputs or the results of a job are."""
        return self.folder / "jobs" / job / name

    def remove_job(self, job: str) -> None:
        """Remove what is kept of a job."""
        place = self.folder / "jobs" / job
        if place.is_dir():
            for each in place.iterdir():
                each.unlink(missing_ok=True)
            place.rmdir()

    def _keys(self, user: str, digest: str) -> Path:
        if not _DIGEST.fullmatch(digest):
            raise NotServedError(
                "cannot find evaluation keys: expected the SHA-256 of their file, 64 hexadecimal "
                f"digits, got {digest[:70]!r}; give it"
            )
        return self.folder / "keys" / hashlib.sha256(user.encode()).hexdigest()[:32] / digest


def _there(paths: Iterable[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    """Files and what they are, but those that went away since they were listed.

    Evaluation keys are made whole in another thread.
    """
    for path in paths:
        with suppress(FileNotFoundError):
            yield path, path.stat()


def _bytes_of(paths: Iterable[Path]) -> int:
    """What files take that are still there."""
    return sum(found.st_size for _, found in _there(paths))


def _interface(program: Program) -> bytes:
    made = Interface.of(program)
    return container.to_bytes(made._kind, made._record())


def _unserved(name: str, path: Path, error: CloakworkError) -> UnservedProgram:
    """Why a program is not served, without where it lies here."""
    own, kind = shown_name(name), type(error).__name__
    said = str(error).replace(str(path), own)
    return UnservedProgram(
        kind,
        f"cannot serve {own}: expected a program that loads, and its file is refused ({kind}: "
        f"{said}); have another put in its place",
    )


def _part(path: Path) -> Path:
    return path.with_suffix(".part")


def _written(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="seconds")


def _note(path: Path) -> Path:
    return path.with_suffix(".json")
