"""Programs that users put on a server: who has put one sees and runs it, and nobody else does."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from cloakwork.errors import (
    AccessDeniedError,
    InvalidProgramError,
    NotReplaceableError,
    NotServedError,
    QuotaError,
)
from cloakwork.runtime.program import Program
from cloakwork.runtime.storage import named_full_disk
from cloakwork.runtime.whole_files import name_for_good, written_whole
from cloakwork.service.names import is_name, require_name, shown_name
from cloakwork.service.problems import told_error
from cloakwork.service.server.settings import Settings
from cloakwork.service.server.store import Store, UnservedProgram

_MODULE = "cloakwork.service.server.check_program"
_T = TypeVar("_T")


class OwnPrograms:
    """The programs of users, in the folder of programs, in one for each user.

    Args:
        store: Where programs are.
        settings: What users may put.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        # However many are sent at once, one is read at a time.
        self._reading = asyncio.Lock()

    async def _of(self, user: str) -> Sequence[str]:
        """What the store calls a user's programs."""
        names = sorted(path.stem for path in self._folder(user).glob("*.cw"))
        return [await self.served(user, name) for name in names]

    async def seen(self, user: str) -> dict[str, Program]:
        """The programs that a user sees by their names: the operator's, and the user's own."""
        return await self._seen(user, self._store.programs)

    async def unserved(self, user: str) -> dict[str, UnservedProgram]:
        """Why programs of the operator's or the user's are there and cannot be served."""
        return await self._seen(user, self._store.unserved)

    async def _seen(self, user: str, known: Mapping[str, _T]) -> dict[str, _T]:
        """What is known of programs that a user sees, by their names."""
        own = await self._of(user)
        names = [*filter(_is_operators, known), *(each for each in own if each in known)]
        return {shown_name(name): known[name] for name in names}

    async def served(self, user: str, name: str) -> str:
        """What the store calls a program that a user asks for, which is read where it was not."""
        own = _own(user, name)
        if not is_name(name) or not self._store.program_file(own).exists():
            return name
        if not self._store.has(own):
            await asyncio.to_thread(self._store.take_program, own)
        return own

    async def program(self, user: str, name: str) -> Program:
        """A program that a user asks for.

        Raises:
            NotServedError: The user sees none of the name, or it cannot be served.
        """
        return self._store.program(await self.served(user, name))

    async def put(self, user: str, name: str, data: bytes) -> None:
        """Keep a program of a user.

        Reading it is bounded: a process of its own does it first, and is ended where it takes more
        seconds or memory than it may.

        Args:
            user: Whose it is.
            name: What it is called.
            data: Its file.

        Raises:
            AccessDeniedError: The operator takes no programs.
            InvalidArgumentError: Its name is not such.
            NotReplaceableError: There is another of the name.
            QuotaError: The user's programs are more, or larger, than they may.
            InvalidProgramError: Reading it takes too much.
            StorageFullError: There is no space left.
            CloakworkError: What `cloakwork.load` raises.
        """
        self._require_allowed(name)
        own = _own(user, name)
        path = self._store.program_file(own)
        self._require_room(user, path, len(data))
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with (
            named_full_disk(str(path.parent), "free some"),
            written_whole({path: lambda file: file.write(data)}) as partials,
        ):
            async with self._reading:
                fingerprint = await self._checked(partials[path], name)
            if await self.served(user, name) == own:
                self._require_same(own, name, fingerprint)
            elif self._store.has(name):
                raise NotReplaceableError(
                    f"cannot put the program {name}: the operator has one of the name; give "
                    "another name"
                )
            name_for_good(partials)
        await asyncio.to_thread(self._store.take_program, own)

    def remove(self, user: str, name: str) -> None:
        """Remove a program of a user.

        Raises:
            NotServedError: The user has none of the name.
        """
        own = _own(user, name)
        if not is_name(name) or not self._store.program_file(own).exists():
            raise NotServedError(
                f"cannot remove the program {name!r:.80}: there is none of the name that you put; "
                "ask for the list"
            )
        self._store.forget_program(own)

    def _require_allowed(self, name: str) -> None:
        if not self._settings.uploads:
            raise AccessDeniedError(
                f"cannot put the program {name!r:.80}: expected a server that takes programs of "
                "users, got one whose operator takes none; ask the operator"
            )
        require_name(name, "put a program")

    def _require_room(self, user: str, but: Path, size: int) -> None:
        """Refuse more programs, or more bytes of them, than a user may have."""
        others = [path for path in self._folder(user).glob("*.cw") if path != but]
        taken = size + sum(path.stat().st_size for path in others)
        most = self._settings.most_programs, self._settings.most_program_bytes
        if len(others) >= most[0] or taken > most[1]:
            raise QuotaError(
                f"cannot put a program: expected up to {most[0]} of a user's, of at most {most[1]} "
                "bytes in all, got more; remove some that are not needed"
            )

    def _require_same(self, own: str, name: str, fingerprint: str) -> None:
        """Refuse to replace a program: jobs and states are of the one that is there."""
        known = self._store.programs.get(own)
        if known is not None and known.fingerprint != fingerprint:
            raise NotReplaceableError(
                f"cannot put the program {name}: there is another of the name; remove it first, or "
                "give another name"
            )

    async def _checked(self, path: str, name: str) -> str:
        """The fingerprint of a program's file, as a process of its own reads it."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", _MODULE, path, *self._limits()),
            stdin=DEVNULL,
            stdout=PIPE,
            stderr=DEVNULL,
        )
        try:
            answer, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
        if not answer.endswith(b"\n"):
            raise InvalidProgramError(
                f"cannot put the program {name}: expected one that is read within "
                f"{self._settings.check_seconds} seconds and {self._settings.check_bytes} bytes of "
                "memory, got one that takes more; ask the operator to put it"
            )
        # Where it lies here is nothing that its user knows.
        told = json.loads(answer.replace(path.encode(), name.encode()))
        error = told_error(told)
        if error is not None:
            raise error
        return str(told["fingerprint"])

    def _limits(self) -> Sequence[str]:
        limits = ("--seconds", f"{self._settings.check_seconds}")
        memory = ("--memory", f"{self._settings.check_bytes}")
        return (*limits, *memory, *(["--insecure"] if self._settings.insecure else []))

    def _folder(self, user: str) -> Path:
        return self._store.program_file(_own(user, "any")).parent


def _own(user: str, name: str) -> str:
    """What the store calls a program of a user; no program of an operator is called so."""
    return f"~{user}/{name}"


def _is_operators(name: str) -> bool:
    return shown_name(name) == name
