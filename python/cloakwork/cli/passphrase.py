"""Passphrases of files with a secret key: from a file descriptor, the environment or a prompt."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from cloakwork.base.secret_bytes import SecretBytes
from cloakwork.errors import PassphraseError
from cloakwork.runtime import container

VARIABLE = "CLOAKWORK_PASSPHRASE"


def new_passphrase(descriptor: int | None) -> SecretBytes:
    """The passphrase that a file is to be sealed by; who types it types it twice."""
    return _given(descriptor, "seal the client's file", twice=True)


def passphrase_of(path: Path, descriptor: int | None) -> SecretBytes | None:
    """The passphrase of a file; None where it has none.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> path = Path(tempfile.mkdtemp()) / "client"
        >>> cw.compile(lambda x: x.sum(), (4,)).keygen()[0].save(path)
        >>> passphrase_of(path, None) is None
        True
    """
    if not container.is_sealed(path):
        return None
    return _given(descriptor, f"open {path}", twice=False)


def _given(descriptor: int | None, action: str, *, twice: bool) -> SecretBytes:
    if descriptor is not None:
        try:
            with open(descriptor, "rb", buffering=0) as file:
                return SecretBytes(file.read().rstrip(b"\r\n"))
        except OSError as error:
            raise PassphraseError(
                f"cannot {action}: expected a passphrase in file descriptor {descriptor}, got: "
                f"{error.strerror}; give an open one"
            ) from error
    if VARIABLE in os.environ:
        return SecretBytes(os.fsencode(os.environ[VARIABLE]))
    if not sys.stdin.isatty():
        raise PassphraseError(
            f"cannot {action}: expected a passphrase, got nowhere to ask for it; give "
            f"--passphrase-fd, or set {VARIABLE}"
        )
    typed = click.prompt("Passphrase", hide_input=True, confirmation_prompt=twice, err=True)
    return SecretBytes(str(typed).encode())
