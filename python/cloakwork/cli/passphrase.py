"""Passphrases of files with a secret key: from a file descriptor, the environment or a prompt."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from cloakwork.base.arguments import integer
from cloakwork.base.secret_bytes import SecretBytes
from cloakwork.errors import PassphraseError
from cloakwork.runtime import container
from cloakwork.runtime.saved import stated_passphrase
from cloakwork.runtime.storage import DirectFile

VARIABLE = "CLOAKWORK_PASSPHRASE"
# A descriptor may give bytes without end.
_MOST_BYTES = 1 << 20
# File descriptors are integers of C.
_MOST_DESCRIPTOR = (1 << 31) - 1


def new_passphrase(descriptor: int | None) -> SecretBytes:
    """The passphrase that a file is to be sealed by, not empty; who types it types it twice."""
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
        return stated_passphrase(_in_descriptor(descriptor, action), action)
    if VARIABLE in os.environ:
        return stated_passphrase(os.fsencode(os.environ[VARIABLE]), action)
    if not sys.stdin.isatty():
        raise PassphraseError(
            f"cannot {action}: expected a passphrase, got nowhere to ask for it; give "
            f"--passphrase-fd, or set {VARIABLE}"
        )
    typed = click.prompt("Passphrase", hide_input=True, confirmation_prompt=twice, err=True)
    return stated_passphrase(str(typed), action)


def _in_descriptor(descriptor: int, action: str) -> bytes:
    """What is left to read of an open file, without the end of its line."""
    integer(descriptor, "--passphrase-fd", action, least=0, most=_MOST_DESCRIPTOR)
    try:
        with DirectFile(descriptor, "rb") as file:
            found = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise PassphraseError(
            f"cannot {action}: expected a passphrase in file descriptor {descriptor}, got: "
            f"{error.strerror}; give an open one"
        ) from error
    if len(found) > _MOST_BYTES:
        raise PassphraseError(
            f"cannot {action}: expected a passphrase of up to {_MOST_BYTES} bytes in file "
            f"descriptor {descriptor}, got more; give a shorter one"
        )
    return found.rstrip(b"\r\n")
