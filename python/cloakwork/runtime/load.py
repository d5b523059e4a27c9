"""Loads what was saved, as what it is asked for and nothing else."""

from __future__ import annotations

import os
from typing import Any, TypeVar

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError

T = TypeVar("T")


def load(path: str | os.PathLike[str], kind: type[T], *, insecure: bool = False) -> T:
    """Load what a `save` wrote, where it is of the kind asked for.

    Args:
        path: The file.
        kind: What it has to hold: `Program`, `Client`, `Encryptor`, `Evaluator`, `Encrypted`,
            `Session` or `SessionEvaluator`. A server that asks for an evaluator never gets a
            client.
        insecure: Whether parameters below 128-bit security are allowed, and schemes that hide
            nothing, for tests; a file never decides that.

    Raises:
        MalformedBytesError: The file is damaged or holds something else.
        InsecureParametersError: Its parameters fall short of 128-bit security.
        NoiseBudgetError, NoiseExhaustedError: Noise would destroy the results of its program.
        InvalidArgumentError: The path is invalid, or nothing is saved as such a kind.
        OSError: The file cannot be opened.

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
    reader: Any = getattr(kind, "_load", None)
    if reader is None or not isinstance(kind, type):
        raise InvalidArgumentError(
            f"cannot load {path}: expected a kind such as cloakwork.Evaluator, got {shown(kind)}"
        )
    if not isinstance(insecure, bool):
        raise InvalidArgumentError(
            f"cannot load {path}: expected insecure to be True or False, got {shown(insecure)}"
        )
    loaded: T = reader(path, insecure=insecure)
    return loaded
