"""Loads what was saved as what it is asked for and nothing else."""

from __future__ import annotations

import os
from typing import TypeVar, cast

from cloakwork.base.arguments import file_path, integer, shown, truth
from cloakwork.base.record import Fields
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import InvalidArgumentError
from cloakwork.runtime import container
from cloakwork.runtime.encrypted import Encrypted, require_files
from cloakwork.runtime.interface import Interface
from cloakwork.runtime.key_holder import KeyHolder
from cloakwork.runtime.program import Program
from cloakwork.runtime.saved import Saved, read_passphrase
from cloakwork.schemes.base import ReadLimits

T = TypeVar("T")


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
        path: The file; of `Encrypted` also the folder that `Client.encrypt_into` or a run wrote
            them to, a path or a URL of fsspec's, in which they stay.
        kind: What it has to hold: `Program`, `Interface`, `Client`, `Encryptor`, `Evaluator`,
            `EvaluationKeys`, `RekeyingKey`, `Encrypted`, `EncryptedState`, `Session`,
            `SessionEvaluator`, `Index` or `nn.Lookup`. A server that asks for an evaluator never
            gets a client.
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
        NewerFormatError: A later release wrote it, in a format of its own.
        InvalidParametersError: Its ring is larger than accepted.
        InsecureParametersError: Its parameters fall short of 128-bit security.
        NoiseBudgetError, NoiseExhaustedError: Noise would destroy the results of its program.
        InvalidArgumentError: The path is invalid, or nothing is saved as such a kind.
        FileMissingError: There is no such file.
        FileAccessError: It cannot be opened.
        ClusterFolderError: The folder has no such values.
        MissingDependencyError: It is a folder, and fsspec is not installed.

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
    if kind is Encrypted and is_folder(path):
        require_files(action)
        from cloakwork.runtime.stored import in_folder  # noqa: PLC0415

        return cast(T, in_folder(path, action))
    fields = container.read(path, kind._kind, read_passphrase(passphrase, action))
    limits = ReadLimits(insecure, max_log_n)
    if issubclass(kind, KeyHolder):
        made: Saved = kind._with(program_of(fields, limits), fields)
    else:
        made = kind._of(fields, limits)
    made._settle(file_path(path, "read"))
    return cast(T, made)


def program_of(fields: Fields, limits: ReadLimits) -> Program | Interface:
    """The program that a key holder's file has, or the interface of one."""
    if fields.has(Interface.held_as):
        return Interface.from_fields(fields.within(Interface.held_as), limits)
    return Program.from_fields(fields.within(Program.held_as), limits)


def is_folder(path: str | os.PathLike[str]) -> bool:
    """Whether a path is a folder of this machine's, or a URL.

    Example:
        >>> is_folder("s3://bucket/inputs"), is_folder("/"), is_folder("inputs.cw")
        (True, True, False)
    """
    place = os.fspath(path) if isinstance(path, os.PathLike) else path
    # Of a name that is too long, Path.is_dir raises an error.
    return isinstance(place, str) and ("://" in place or os.path.isdir(place))
