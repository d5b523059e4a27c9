"""Key files as commands take them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import overload

from cloakwork.cli.passphrase import passphrase_of
from cloakwork.errors import InvalidArgumentError, MalformedBytesError
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.runtime import container
from cloakwork.runtime.client import ENCRYPTOR_KIND, Client, Encryptor
from cloakwork.runtime.client import KIND as CLIENT_KIND
from cloakwork.runtime.evaluation_keys import EvaluationKeys
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.interface import KIND as INTERFACE_KIND
from cloakwork.runtime.interface import Interface
from cloakwork.runtime.load import load
from cloakwork.runtime.program import Program


def load_encrypting(
    path: Path, insecure: bool, passphrase_fd: int | None = None
) -> Client | Encryptor:
    """The client or the public key of a file, either of which encrypts.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> client, _ = cw.compile(lambda x: x.sum(), (4,), public_inputs=True).keygen()
        >>> path = Path(tempfile.mkdtemp()) / "k"
        >>> client.public_key().save(path)
        >>> type(load_encrypting(path, insecure=False)).__name__
        'Encryptor'
    """
    kind = container.kind_of(path)
    if kind == ENCRYPTOR_KIND:
        return load(path, Encryptor, insecure=insecure)
    if kind == CLIENT_KIND:
        passphrase = passphrase_of(path, passphrase_fd)
        return load(path, Client, insecure=insecure, passphrase=passphrase)
    raise MalformedBytesError(
        f"cannot encrypt with {path}: expected a {CLIENT_KIND} or a {ENCRYPTOR_KIND}, which "
        f"keygen writes, got the {kind} of this name"
    )


@overload
def serving(holder: Evaluator, program: Path | None, insecure: bool) -> Evaluator: ...
@overload
def serving(holder: Client, program: Path | None, insecure: bool) -> Client: ...
@overload
def serving(
    holder: Client | Encryptor, program: Path | None, insecure: bool
) -> Client | Encryptor: ...
def serving(
    holder: Client | Encryptor | Evaluator, program: Path | None, insecure: bool
) -> Client | Encryptor | Evaluator:
    """A key's holder for another program, if one is named, of the same parameters.

    Raises:
        InvalidArgumentError: It is a public key, which is for one program.
        CloakworkError: What `serving` of the holder raises.

    Example:
        >>> import cloakwork as cw
        >>> client, evaluator = cw.compile(lambda x: x.sum(), (4,)).keygen()
        >>> serving(evaluator, None, insecure=False) is evaluator
        True
    """
    if program is None:
        return holder
    if isinstance(holder, Encryptor):
        raise InvalidArgumentError(
            f"cannot encrypt for {program}: expected a client's file with --program, got a public "
            f"key, which is for {holder.program.name} alone; have one made for that program"
        )
    return holder.serving(load(program, Program, insecure=insecure))


def keys_of(client: Client, others: Sequence[Path], insecure: bool) -> EvaluationKeys:
    """The evaluation keys of a client's program and of others, or of their interfaces.

    Example:
        >>> import cloakwork as cw
        >>> client, _ = cw.compile(lambda x: x.sum(), (4,)).keygen()
        >>> sorted(keys_of(client, [], insecure=False).names)
        ['rotation 1', 'rotation 2']
    """
    made, served = client.evaluation_keys(), [client.program]
    for path in others:
        program = load_for_clients(path, insecure)
        made.extend(client.serving(program).evaluation_keys(*served))
        served.append(program)
    return made


def evaluator_of(client: Client, others: Sequence[Path], insecure: bool) -> Evaluator:
    """An evaluator of a client's program and of others, with the keys of all, each once.

    Example:
        >>> import cloakwork as cw
        >>> client, _ = cw.compile(lambda x: x.sum(), (4,)).keygen()
        >>> evaluator_of(client, [], insecure=False).program is client.program
        True
    """
    made, served = client.evaluator(), [client.program]
    for path in others:
        program = load(path, Program, insecure=insecure)
        made = made.serving(program, client.serving(program).evaluation_keys(*served))
        served.append(program)
    return made


def load_for_clients(path: Path, insecure: bool) -> Program | Interface:
    """The program of a file, or the interface of one, for either of which keys are made.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> path = Path(tempfile.mkdtemp()) / "p"
        >>> cw.Interface.of(cw.compile(lambda x: x.sum(), (4,))).save(path)
        >>> type(load_for_clients(path, insecure=False)).__name__
        'Interface'
    """
    if container.kind_of(path) == INTERFACE_KIND:
        return load(path, Interface, insecure=insecure)
    return load(path, Program, insecure=insecure)


def require_profiled(program: Program) -> None:
    """Refuse to print what a run took whose steps are not measured one by one."""
    if program.row or program.repeated is not None:
        several = "a row of them" if program.row else "one that is repeated"
        raise InvalidArgumentError(
            f"cannot run {program.name} with --profile: expected one program that runs once, got "
            f"{several}; leave --profile out"
        )


def require_layers(program: Program) -> None:
    """Refuse to cache encoded layers of a program over bits, which has none."""
    if isinstance(program.body, BootstrapProgram):
        raise InvalidArgumentError(
            f"cannot run {program.name}: a program over bits has no encoded layers; leave "
            "--cache-bytes out"
        )
