"""Saves objects to files, and loads them as what they are asked for and nothing else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import ClassVar, Self, TypeVar

from cloakwork.base.arguments import file_path, integer, shown, truth
from cloakwork.base.record import Fields, Record
from cloakwork.base.secret_bytes import SecretBytes
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import InvalidArgumentError, PassphraseError
from cloakwork.runtime import container
from cloakwork.runtime.storage import named_full_disk
from cloakwork.schemes.base import ReadLimits

T = TypeVar("T")


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
        """Take notice of the file that this was saved to or loaded from."""

    @names_memory("save")
    def save(
        self, path: str | os.PathLike[str], *, passphrase: str | bytes | bytearray | None = None
    ) -> None:
        """Write to a file that only its owner may read; `cloakwork.load` reads it as this class.

        Args:
            path: The file; one that exists is replaced.
            passphrase: What a secret key in it is sealed by, by scrypt and XChaCha20-Poly1305. By
                default it is unprotected.

        Raises:
            PassphraseError: A passphrase is given, and it is empty.
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
        secret = _passphrase(passphrase, f"save to {path}")
        with named_full_disk(f"{path}", "give another path"):
            container.write(path, self._kind, self._record(), secret)
        self._settle(file_path(path, "write"))


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


@names_memory("load")
def load(
    path: str | os.PathLike[str],
    kind: type[T],
    *,
    insecure: bool = False,
    max_log_n: int = 16,
    passphrase: str | bytes | bytearray | None = None,
) -> T:
    """Load what a `save` wrote, where it is of the kind asked for.

    Args:
        path: The file.
        kind: What it has to hold: `Program`, `Client`, `Encryptor`, `Evaluator`, `Encrypted`,
            `Session` or `SessionEvaluator`. A server that asks for an evaluator never gets a
            client.
        insecure: Whether parameters below 128-bit security are allowed, and schemes that hide
            nothing, for tests; a file never decides that.
        max_log_n: Base-2 logarithm of the largest ring degree that is accepted. A server that
            knows its programs takes less: parameters of the largest rings cost a second and
            hundreds of megabytes.
        passphrase: What a secret key in it was sealed by, where it was.

    Raises:
        PassphraseError: The secret key in it was sealed by a passphrase, which is not this one.
        KeyExposedError: It holds a secret key, and others than its owner may read or write it.
        MalformedBytesError: The file is damaged or holds something else.
        InvalidParametersError: Its ring is larger than accepted.
        InsecureParametersError: Its parameters fall short of 128-bit security.
        NoiseBudgetError, NoiseExhaustedError: Noise would destroy the results of its program.
        InvalidArgumentError: The path is invalid, or nothing is saved as such a kind.
        FileMissingError: There is no such file.
        FileAccessError: It cannot be opened.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> program = cw.compile(lambda x: x.sum(), (10,))
        >>> path = f"{tempfile.mkdtemp()}/program"
        >>> program.save(path)
        >>> load(path, cw.Program).fingerprint == program.fingerprint
        True
        >>> load(path, cw.Client)
        Traceback (most recent call last):
        cloakwork.errors.MalformedBytesError: ... expected a client file, got a program file
    """
    if not (isinstance(kind, type) and issubclass(kind, Saved)):
        raise InvalidArgumentError(
            f"cannot load {path}: expected a kind such as cloakwork.Evaluator, got {shown(kind)}"
        )
    action = f"load {path}"
    insecure = truth(insecure, "insecure", action)
    max_log_n = integer(max_log_n, "max_log_n", action, least=5, most=17)
    fields = container.read(path, kind._kind, _passphrase(passphrase, action))
    made = kind._of(fields, ReadLimits(insecure, max_log_n))
    made._settle(file_path(path, "read"))
    return made


def _passphrase(given: object, action: str) -> SecretBytes | None:
    """A passphrase as bytes that are wiped."""
    match given:
        case None:
            return None
        case str():
            given = given.encode()
        case bytes() | bytearray():
            pass
        case _:
            raise InvalidArgumentError(
                f"cannot {action}: expected a passphrase as text or bytes, got "
                f"{type(given).__name__}"
            )
    if not given:
        raise PassphraseError(
            f"cannot {action}: expected a passphrase, got an empty one; give another"
        )
    return SecretBytes(given)
