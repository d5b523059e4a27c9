"""Saves and loads what the parties of a computation on bits hold and what moves between them.

A program's file is public. A client's file has the secret key. An evaluator's file has the
evaluation key and the program, nothing that decrypts. A file of bits has ciphertexts.

Example:
    >>> import tempfile
    >>> import cloakwork as cw
    >>> folder = tempfile.mkdtemp()
    >>> client, evaluator = cw.boolean.from_bristol("examples/boolean/adder.txt").keygen()
    >>> save_client(client, f"{folder}/client")
    >>> save_evaluator(evaluator, f"{folder}/evaluator")
    >>> save_bits(client.encrypt(x0=20, x1=22), f"{folder}/x")
    >>> evaluator = load_evaluator(f"{folder}/evaluator")
    >>> save_bits(evaluator.run(load_bits(f"{folder}/x", evaluator)), f"{folder}/y")
    >>> client = load_client(f"{folder}/client")
    >>> client.decrypt(load_bits(f"{folder}/y", client))
    {'y0': 42}
"""

from __future__ import annotations

import os
from typing import Any, Literal, TypeAlias

from cloakwork._native import (
    BooleanCiphertexts,
    BooleanEvaluationKey,
    BooleanSecretKey,
    boolean_parameter_sets,
)
from cloakwork.base.arguments import integer, shown
from cloakwork.errors import (
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    NoiseBudgetError,
    ParametersMismatchError,
    ProgramMismatchError,
)
from cloakwork.plan.boolean.map import MappedProgram
from cloakwork.plan.cost.measured_tfhe import measured_target
from cloakwork.plan.cost.tfhe import LOG2_FAILURE
from cloakwork.programs import bootstraps_file
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.port import Port
from cloakwork.runtime.boolean_roles import (
    MOST_THREADS,
    BooleanClient,
    BooleanEvaluator,
    EncryptedBits,
    signals_of,
)
from cloakwork.runtime.container import read, write

_Path: TypeAlias = str | os.PathLike[str]


def save_program(program: MappedProgram, path: _Path) -> None:
    """Save a mapped program: its bootstraps and the name of its parameter set.

    Raises:
        InvalidArgumentError: It is no mapped program, or the path is none.
        OSError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> path = f"{tempfile.mkdtemp()}/program"
        >>> program = cw.boolean.from_bristol("examples/boolean/adder.txt")
        >>> save_program(program.mapped(threads=1), path)
        >>> load_program(path).program.bootstrap_count
        32
    """
    if not isinstance(program, MappedProgram):
        raise InvalidArgumentError(
            "cannot save the program: expected a mapped one such as program.mapped(), "
            f"got {shown(program)}"
        )
    facts = {"parameters": program.target.name, "threads": program.threads}
    write(path, "program on bits", facts, {"program": bootstraps_file.to_bytes(program.program)})


def load_program(path: _Path) -> MappedProgram:
    """Load what `save_program` saved; costs are this machine's.

    Raises:
        MalformedBytesError: The file is damaged or no mapped program's.
        NoiseBudgetError: The program would go wrong too often with its parameters.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    facts, parts = read(path, "program on bits")
    program = _program(parts, path)
    name = facts.get("parameters")
    if name not in boolean_parameter_sets():
        raise MalformedBytesError(
            f"cannot read {path}: expected parameters of "
            f"{', '.join(boolean_parameter_sets())}, got {shown(name)}"
        )
    try:
        threads = integer(
            facts.get("threads"), "threads", f"read {path}", least=1, most=MOST_THREADS
        )
    except InvalidArgumentError as error:
        raise MalformedBytesError(str(error)) from error
    target = measured_target(name)
    if int(program.boxes_log.max(initial=0)) > target.max_boxes_log:
        raise MalformedBytesError(
            f"cannot read {path}: its bootstraps tell more boxes apart than those under {name}"
        )
    mapped = MappedProgram.of(program, target, threads)
    if mapped.failure.worst > LOG2_FAILURE:
        raise NoiseBudgetError(
            f"cannot read {path}: expected bootstraps that go wrong under {name} with a "
            f"probability of 2^{LOG2_FAILURE:g} or less, got 2^{mapped.failure.worst:.1f}"
        )
    return mapped


def save_client(client: BooleanClient, path: _Path) -> None:
    """Save a client: its secret key, unprotected, in a file only its owner may read.

    Raises:
        InvalidArgumentError: It is no client for bits, or the path is none.
        OSError: The file cannot be written.
    """
    if not isinstance(client, BooleanClient):
        raise InvalidArgumentError(
            "cannot save the client: expected a client for bits, the first that keygen gives, "
            f"got {shown(client)}"
        )
    parts = {
        "secret_key": client.secret.to_bytes(),
        "program": bootstraps_file.to_bytes(client.program),
    }
    write(path, "client for bits", {}, parts)


def load_client(path: _Path) -> BooleanClient:
    """Load what `save_client` saved.

    Raises:
        MalformedBytesError: The file is damaged or no client's for bits.
        ParametersMismatchError: Its program is for other parameters than its key.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    _, parts = read(path, "client for bits")
    program = _program(parts, path)
    return BooleanClient(BooleanSecretKey.from_bytes(_part(parts, "secret_key", path)), program)


def save_evaluator(evaluator: BooleanEvaluator, path: _Path) -> None:
    """Save an evaluator: its evaluation key and its program, no secret.

    Raises:
        InvalidArgumentError: It is no evaluator for bits, or the path is none.
        OSError: The file cannot be written.
    """
    if not isinstance(evaluator, BooleanEvaluator):
        raise InvalidArgumentError(
            "cannot save the evaluator: expected an evaluator for bits, the second that keygen "
            f"gives, got {shown(evaluator)}"
        )
    parts = {
        "evaluation_key": evaluator.key.to_bytes(),
        "program": bootstraps_file.to_bytes(evaluator.program),
    }
    write(path, "evaluator for bits", {}, parts)


def load_evaluator(path: _Path) -> BooleanEvaluator:
    """Load what `save_evaluator` saved.

    Raises:
        MalformedBytesError: The file is damaged or no evaluator's for bits.
        ParametersMismatchError: Its program is for other parameters than its key.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    _, parts = read(path, "evaluator for bits")
    program = _program(parts, path)
    key = BooleanEvaluationKey.from_bytes(_part(parts, "evaluation_key", path))
    return BooleanEvaluator(key, program)


def save_bits(bits: EncryptedBits, path: _Path) -> None:
    """Save encrypted bits: their ciphertexts, and of which ports of which program they are.

    Raises:
        InvalidArgumentError: They are no encrypted bits, or the path is none.
        OSError: The file cannot be written.
    """
    if not isinstance(bits, EncryptedBits):
        raise InvalidArgumentError(
            f"cannot save the bits: expected encrypted bits, got {shown(bits)}"
        )
    facts = {
        "side": bits.side,
        "ports": [port.name for port in bits.ports],
        "program": bits.program,
    }
    write(path, "encrypted bits", facts, {"ciphertexts": bits.ciphertexts.to_bytes()})


def load_bits(path: _Path, holder: BooleanClient | BooleanEvaluator) -> EncryptedBits:
    """Load what `save_bits` saved, for a client to decrypt or an evaluator to work on.

    Raises:
        MalformedBytesError: The file is damaged or has no encrypted bits.
        ProgramMismatchError: They belong to another program than the holder's.
        ParametersMismatchError: They were encrypted under other parameters.
        KeyMismatchError: They were encrypted with another key.
        InvalidArgumentError: The holder is no client or evaluator for bits, or the path is none.
        OSError: The file cannot be opened.
    """
    if not isinstance(holder, BooleanClient | BooleanEvaluator):
        raise InvalidArgumentError(
            f"cannot read {path}: expected a client or an evaluator to hold the bits, "
            f"got {shown(holder)}"
        )
    facts, parts = read(path, "encrypted bits")
    match facts:
        case {"side": "inputs" | "outputs" as side, "ports": list(names), "program": str(of)}:
            pass
        case _:
            raise MalformedBytesError(f"cannot read {path}: it has no side, ports and program")
    program = holder.program
    if of != program.fingerprint:
        raise ProgramMismatchError(
            f"cannot read {path}: its bits belong to another program than {program.title!r}, or to "
            "one mapped for other threads"
        )
    ports, wanted = _ports(program, side, names, path)
    ciphertexts = BooleanCiphertexts.from_bytes(_part(parts, "ciphertexts", path))
    key = holder.secret if isinstance(holder, BooleanClient) else holder.key
    if ciphertexts.parameters.name != key.parameters.name:
        raise ParametersMismatchError(
            f"cannot read {path}: its bits were encrypted under {ciphertexts.parameters.name}, "
            f"not under {key.parameters.name}"
        )
    if ciphertexts.label != key.label:
        raise KeyMismatchError(f"cannot read {path}: its bits were encrypted with another key")
    if len(ciphertexts) != wanted:
        raise MalformedBytesError(
            f"cannot read {path}: expected {wanted} ciphertexts of its ports, "
            f"got {len(ciphertexts)}"
        )
    return EncryptedBits(side, ports, ciphertexts, of)


def _ports(
    program: BootstrapProgram, side: Literal["inputs", "outputs"], names: list[Any], path: _Path
) -> tuple[tuple[Port, ...], int]:
    """The ports of these names, and how many ciphertexts they have."""
    if side == "inputs":
        ports = tuple(port for port in program.inputs if port.name in names)
        wanted = len(signals_of(program, ports))
    else:
        ports, wanted = program.outputs, len(program.output_signals)
    if names != [port.name for port in ports]:
        raise MalformedBytesError(f"cannot read {path}: its ports are none of the program's")
    return ports, wanted


def _program(parts: dict[str, bytes], path: _Path) -> BootstrapProgram:
    return bootstraps_file.from_bytes(_part(parts, "program", path))


def _part(parts: dict[str, bytes], name: str, path: _Path) -> bytes:
    if name not in parts:
        raise MalformedBytesError(f"cannot read {path}: it has no {name}")
    return parts[name]
