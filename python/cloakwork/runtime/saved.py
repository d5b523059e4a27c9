"""Saves objects to files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import ClassVar, Self

from cloakwork.base.arguments import file_path
from cloakwork.base.record import Fields, Record
from cloakwork.base.secret_bytes import SecretBytes
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import InvalidArgumentError, PassphraseError
from cloakwork.runtime import container
from cloakwork.runtime.ledger import require_no_key
from cloakwork.runtime.storage import named_full_disk
from cloakwork.schemes.base import ReadLimits


class Saved:
    """What has files of its own: a class says what is in them, this how they come about."""

    __slots__ = ()

    # What a file says that it holds.
    _kind: ClassVar[str]

    def _record(self) -> Record:
        """What a file holds."""
        raise NotImplementedError

    @classmethod
    def _of(cls, fields: Fields, limits: ReadLimits) -> Self:
        """What a record is of, as far as the limits accept it."""
        raise NotImplementedError

    def _settle(self, path: Path) -> None:
        """Take notice of the file that this was loaded from."""

    def _saving(self, path: Path) -> AbstractContextManager[None]:
        """What is around the writing of the file; it refuses what must not be replaced."""
        require_no_key(path)
        return nullcontext()

    @names_memory("save")
    def save(
        self, path: str | os.PathLike[str], *, passphrase: str | bytes | bytearray | None = None
    ) -> None:
        """Write to a file that only its owner may read; `cloakwork.load` reads it as this class.

        Args:
            path: The file; one that exists is replaced, unless it is of another client or session.
            passphrase: What a secret key in it is sealed by, by scrypt and XChaCha20-Poly1305. By
                default it is unprotected.

        Raises:
            PassphraseError: A passphrase is given, and it is empty, or text that has no bytes.
            NotReplaceableError: The file of another client or session is there, or a device.
            InvalidArgumentError: The path is invalid, or a session in the clear has no key to save.
            StorageFullError: There is no space left for it.
            FileMissingError: There is no folder for it.
            FileAccessError: It cannot be made there.

        Example:
            >>> import tempfile
            >>> import cloakwork as cw
            >>> client, _ = cw.compile(lambda x: x.sum(), (4,)).keygen()
            >>> path = f"{tempfile.mkdtemp()}/client"
            >>> client.save(path)
            >>> cw.load(path, cw.Client).program.name
            '<lambda>'
        """
        secret = read_passphrase(passphrase, f"save to {path}")
        target = file_path(path, "write")
        with named_full_disk(f"{path}", "give another path"), self._saving(target):
            container.write(target, self._kind, self._record(), secret)


@names_memory("save")
def save_all(things: Mapping[Path, Saved], passphrases: Mapping[Path, SecretBytes | None]) -> None:
    """Save several things that belong together: all of them, or none where one cannot be written.

    Args:
        things: The things, by their files.
        passphrases: What secret keys in some of the files are sealed by.

    Raises:
        CloakworkError: What `Saved.save` raises.
    """
    with _named_full_disk(things):
        container.write_all(_contents(things, passphrases))


@names_memory("save")
def save_new(things: Mapping[Path, Saved], passphrases: Mapping[Path, SecretBytes | None]) -> None:
    """Save as `save_all` does, where no files are.

    Raises:
        NotReplaceableError: A file is there.
        CloakworkError: What `Saved.save` raises.
    """
    with _named_full_disk(things):
        container.write_new(_contents(things, passphrases))


def _contents(
    things: Mapping[Path, Saved], passphrases: Mapping[Path, SecretBytes | None]
) -> dict[Path, container.Content]:
    return {
        path: container.Content(each._kind, each._record(), passphrases.get(path))
        for path, each in things.items()
    }


def _named_full_disk(things: Mapping[Path, Saved]) -> AbstractContextManager[None]:
    return named_full_disk(", ".join(map(str, things)), "give other paths")


def read_passphrase(given: object, action: str) -> SecretBytes | None:
    """A passphrase as bytes that are wiped; None where none is given."""
    match given:
        case None:
            return None
        case str() | bytes() | bytearray():
            return stated_passphrase(given, action)
        case _:
            raise InvalidArgumentError(
                f"cannot {action}: expected a passphrase as text or bytes, got "
                f"{type(given).__name__}"
            )


def stated_passphrase(given: str | bytes | bytearray, action: str) -> SecretBytes:
    """A passphrase that is given, as bytes that are wiped.

    Raises:
        PassphraseError: It is empty, or text that has no bytes.
    """
    try:
        made = SecretBytes(given.encode() if isinstance(given, str) else given)
    except UnicodeEncodeError:
        # The error of the codec has the passphrase.
        raise PassphraseError(
            f"cannot {action}: expected a passphrase of Unicode characters, got text with half of "
            "a surrogate pair; give another, or give it as bytes"
        ) from None
    if not made:
        raise PassphraseError(
            f"cannot {action}: expected a passphrase, got an empty one; give another"
        )
    return made
