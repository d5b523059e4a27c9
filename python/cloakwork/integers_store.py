"""Saves and loads what the parties of a computation on integers hold and what moves between them.

A program's file is public. A client's file has the secret keys. An evaluator's file has the
evaluation keys and the program, nothing that decrypts. A file of integers has ciphertexts.

Example:
    >>> import tempfile
    >>> import cloakwork as cw
    >>> folder = tempfile.mkdtemp()
    >>> @cw.circuit(a=cw.scalar(), b=cw.scalar())
    ... def product(a, b):
    ...     return a * b
    >>> client, evaluator = product.compile(bits=16).keygen()
    >>> save_client(client, f"{folder}/client")
    >>> save_evaluator(evaluator, f"{folder}/evaluator")
    >>> save_integers(client.encrypt(a=6, b=-7), f"{folder}/x")
    >>> evaluator = load_evaluator(f"{folder}/evaluator")
    >>> save_integers(evaluator.run(load_integers(f"{folder}/x", evaluator)), f"{folder}/y")
    >>> client = load_client(f"{folder}/client")
    >>> client.decrypt(load_integers(f"{folder}/y", client))
    -42
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias

from cloakwork._native import BgvCiphertext, BgvEvaluationKeys, BgvParameters, BgvSecretKey
from cloakwork.backends.bgv import BgvBackend, BgvKey, Residues
from cloakwork.compiled_circuit import CompiledCircuit
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    MalformedBytesError,
    ProgramMismatchError,
)
from cloakwork.plan.integer_parameters import require_fitting
from cloakwork.programs import file as program_file
from cloakwork.programs.integers import IntegerPort, IntegerProgram
from cloakwork.programs.lanes import Clear, PlacedScalar
from cloakwork.programs.packing import Packing, ResultPlace
from cloakwork.programs.result_form import from_facts, to_facts
from cloakwork.programs.slots import Input, Output, Program
from cloakwork.runtime.arguments import shown
from cloakwork.runtime.files import read, write
from cloakwork.runtime.integer_roles import EncryptedIntegers, IntegerClient, IntegerEvaluator

_Path: TypeAlias = str | os.PathLike[str]

# Of several that have 64 bits of result together.
_MAX_PRIMES = 64
_MAX_DIGITS = 400
_MAX_AXES = 2
_MAX_COUNT = 1 << 16


def save_program(circuit: CompiledCircuit, path: _Path) -> None:
    """Save a compiled circuit: its operations, its parameters, and how its numbers are packed.

    Raises:
        InvalidArgumentError: It is no compiled circuit, or the path is none.
        OSError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> @cw.circuit(a=cw.vector(2))
        ... def total(a):
        ...     return a[0] + a[1]
        >>> path = f"{tempfile.mkdtemp()}/program"
        >>> save_program(total.compile(bits=16), path)
        >>> load_program(path).run_clear(a=[3, 4])
        7
    """
    if not isinstance(circuit, CompiledCircuit):
        raise InvalidArgumentError(
            f"cannot save the program: expected a compiled circuit, got {shown(circuit)}"
        )
    facts, parts = _public(circuit.integers, circuit.parameter_sets)
    write(path, "program on integers", facts, parts)


def load_program(path: _Path, *, insecure: bool = False) -> CompiledCircuit:
    """Load what `save_program` saved.

    Args:
        path: The file.
        insecure: Whether less than 128-bit security is accepted.

    Raises:
        InsecureParametersError: Its parameters fall short of 128-bit security.
        MalformedBytesError: The file is damaged or no compiled circuit's.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    facts, parts = read(path, "program on integers")
    program, sets = _read_public(facts, parts, path, insecure=insecure)
    return CompiledCircuit(program, sets)


def save_client(client: IntegerClient, path: _Path) -> None:
    """Save a client: its secret keys, unprotected, in a file only its owner may read.

    Raises:
        InvalidArgumentError: It is no client for integers, or works in the clear and has no key,
            or the path is none.
        OSError: The file cannot be written.
    """
    if not isinstance(client, IntegerClient):
        raise InvalidArgumentError(
            "cannot save the client: expected a client for integers, the first that keygen gives, "
            f"got {shown(client)}"
        )
    if not isinstance(client.key, BgvKey):
        raise InvalidArgumentError("cannot save the client: on the clear backend it has no key")
    facts, parts = _public(client.program, client.key.parameter_sets)
    for number, secret in enumerate(client.key.secrets):
        parts[f"secret_key{number}"] = secret.to_bytes()
    write(path, "client for integers", facts, parts)


def load_client(path: _Path, *, insecure: bool = False) -> IntegerClient:
    """Load what `save_client` saved.

    Args:
        path: The file.
        insecure: Whether less than 128-bit security is accepted.

    Raises:
        InsecureParametersError: Its parameters fall short of 128-bit security.
        MalformedBytesError: The file is damaged or no client's for integers.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    facts, parts = read(path, "client for integers")
    program, sets = _read_public(facts, parts, path, insecure=insecure)
    secrets = [
        BgvSecretKey.from_bytes(parameters, _part(parts, f"secret_key{number}", path))
        for number, parameters in enumerate(sets)
    ]
    return IntegerClient(BgvKey(sets, secrets), program)


def save_evaluator(evaluator: IntegerEvaluator, path: _Path) -> None:
    """Save an evaluator: its evaluation keys and its program, no secret.

    Raises:
        InvalidArgumentError: It is no evaluator for integers, or works in the clear and has no
            keys, or the path is none.
        OSError: The file cannot be written.
    """
    if not isinstance(evaluator, IntegerEvaluator):
        raise InvalidArgumentError(
            "cannot save the evaluator: expected an evaluator for integers, the second that "
            f"keygen gives, got {shown(evaluator)}"
        )
    if not isinstance(evaluator.backend, BgvBackend):
        raise InvalidArgumentError("cannot save the evaluator: on the clear backend it has no keys")
    facts, parts = _public(evaluator.program, evaluator.backend.parameter_sets)
    for number, keys in enumerate(evaluator.backend.keys):
        parts[f"evaluation_keys{number}"] = keys.to_bytes()
    write(path, "evaluator for integers", facts, parts)


def load_evaluator(path: _Path, *, insecure: bool = False) -> IntegerEvaluator:
    """Load what `save_evaluator` saved.

    Args:
        path: The file.
        insecure: Whether less than 128-bit security is accepted.

    Raises:
        InsecureParametersError: Its parameters fall short of 128-bit security.
        MalformedBytesError: The file is damaged or no evaluator's for integers.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    facts, parts = read(path, "evaluator for integers")
    program, sets = _read_public(facts, parts, path, insecure=insecure)
    keys = [
        BgvEvaluationKeys.from_bytes(parameters, _part(parts, f"evaluation_keys{number}", path))
        for number, parameters in enumerate(sets)
    ]
    return IntegerEvaluator(BgvBackend(sets, keys), program, hidden=True)


def save_integers(encrypted: EncryptedIntegers, path: _Path) -> None:
    """Save encrypted integers: their ciphertexts, and of which program they are.

    Raises:
        InvalidArgumentError: They are no encrypted integers, or on the clear backend, or the path
            is none.
        OSError: The file cannot be written.
    """
    if not isinstance(encrypted, EncryptedIntegers):
        raise InvalidArgumentError(
            f"cannot save the integers: expected encrypted ones, got {shown(encrypted)}"
        )
    if not encrypted.hidden:
        raise InvalidArgumentError(
            "cannot save the integers: on the clear backend they are not hidden"
        )
    facts = {
        "side": encrypted.side,
        "evaluations": encrypted.evaluations,
        "program": encrypted.program,
    }
    parts = {
        f"ciphertext{number}.{prime}": ciphertext.to_bytes()
        for number, value in enumerate(encrypted.values)
        for prime, ciphertext in enumerate(value.ciphertexts)
    }
    write(path, "encrypted integers", facts, parts)


def load_integers(path: _Path, holder: IntegerClient | IntegerEvaluator) -> EncryptedIntegers:
    """Load what `save_integers` saved, for a client to decrypt or an evaluator to work on.

    Raises:
        MalformedBytesError: The file is damaged or has no encrypted integers.
        ProgramMismatchError: They belong to another program than the holder's.
        ParametersMismatchError: They were encrypted under other parameters.
        InvalidArgumentError: The holder is no client or evaluator for integers, or works in the
            clear, or the path is none.
        OSError: The file cannot be opened.
    """
    if not isinstance(holder, IntegerClient | IntegerEvaluator):
        raise InvalidArgumentError(
            f"cannot read {path}: expected a client or an evaluator to hold the integers, "
            f"got {shown(holder)}"
        )
    party = holder.key if isinstance(holder, IntegerClient) else holder.backend
    if not isinstance(party, BgvKey | BgvBackend):
        raise InvalidArgumentError(
            f"cannot read {path}: its integers are encrypted, and the holder works in the clear"
        )
    facts, parts = read(path, "encrypted integers")
    program = holder.program
    match facts:
        case {"evaluations": bool()}:
            raise MalformedBytesError(f"cannot read {path}: a truth value is no number")
        case {
            "side": "inputs" | "results" as side,
            "evaluations": int(evaluations),
            "program": str(of),
        }:
            pass
        case _:
            raise MalformedBytesError(f"cannot read {path}: it has no side and program")
    if of != program.fingerprint:
        raise ProgramMismatchError(
            f"cannot read {path}: its integers belong to another program than {program.title!r}"
        )
    if not 1 <= evaluations <= program.batch:
        raise MalformedBytesError(
            f"cannot read {path}: expected 1 to {program.batch} evaluations, got {evaluations}"
        )
    levels = _levels(program.program, Input if side == "inputs" else Output)
    if len(parts) != len(levels) * len(party.parameter_sets):
        raise MalformedBytesError(f"cannot read {path}: it has {len(parts)} ciphertexts")
    values = tuple(
        _residues(party.parameter_sets, parts, number, level, path)
        for number, level in enumerate(levels)
    )
    return EncryptedIntegers(side, values, evaluations, of, hidden=True)


def _levels(program: Program, kind: type[Input] | type[Output]) -> list[int]:
    return [
        state.level
        for operation, state in zip(program.operations, program.states, strict=True)
        if isinstance(operation, kind) and state.level is not None
    ]


def _residues(
    sets: tuple[BgvParameters, ...],
    parts: dict[str, bytes],
    number: int,
    level: int,
    path: _Path,
) -> Residues:
    made = tuple(
        BgvCiphertext.from_bytes(parameters, _part(parts, f"ciphertext{number}.{prime}", path))
        for prime, parameters in enumerate(sets)
    )
    if any(each.level != level for each in made):
        raise MalformedBytesError(
            f"cannot read {path}: expected ciphertext {number} at level {level}"
        )
    return Residues(made)


def _public(
    program: IntegerProgram, sets: tuple[BgvParameters, ...]
) -> tuple[dict[str, Any], dict[str, bytes]]:
    packing = program.packing
    facts = {
        "bits": program.bits,
        "batch": program.batch,
        "width": packing.width,
        "ports": [[port.name, list(port.shape), port.low, port.high] for port in program.ports],
        "inputs": [
            [[scalar.slot, scalar.input, scalar.index] for scalar in scalars]
            for scalars in packing.inputs
        ],
        "results": [_place_facts(place) for place in packing.results],
        "ranges": [[str(low), str(high)] for low, high in program.ranges],
        "form": to_facts(program.form),
    }
    parts = {f"parameters{number}": each.to_bytes() for number, each in enumerate(sets)}
    parts["program"] = program_file.to_bytes(program.program)
    return facts, parts


def _place_facts(place: ResultPlace | Clear) -> Any:
    return str(place.value) if isinstance(place, Clear) else [place.output, place.slot]


def _read_public(
    facts: dict[str, Any], parts: dict[str, bytes], path: _Path, *, insecure: bool
) -> tuple[IntegerProgram, tuple[BgvParameters, ...]]:
    slots = program_file.from_bytes(_part(parts, "program", path))
    count = sum(name.startswith("parameters") for name in parts)
    if not 1 <= count <= _MAX_PRIMES:
        raise MalformedBytesError(f"cannot read {path}: it has {count} parameter sets")
    sets = tuple(
        BgvParameters.from_bytes(_part(parts, f"parameters{number}", path), insecure=insecure)
        for number in range(count)
    )
    try:
        program = _program(facts, slots)
        require_fitting(program, sets)
    except (CloakworkError, ValueError) as error:
        raise MalformedBytesError(f"cannot read {path}: {error}") from error
    return program, sets


def _program(facts: dict[str, Any], slots: Program) -> IntegerProgram:
    match facts:
        case {
            "bits": int(bits),
            "batch": int(batch),
            "width": int(width),
            "ports": list(ports),
            "inputs": list(inputs),
            "results": list(results),
            "ranges": list(ranges),
            "form": form,
        } if not any(isinstance(each, bool) for each in (bits, batch, width)):
            packing = Packing(
                slots.slots,
                width,
                tuple(tuple(map(_scalar, _list(scalars))) for scalars in inputs),
                tuple(map(_place, results)),
            )
            return IntegerProgram(
                slots,
                packing,
                tuple(map(_port, ports)),
                from_facts(form, len(results)),
                bits,
                batch,
                tuple(map(_range, ranges)),
            )
        case _:
            raise ValueError("it has no program over integers")


def _list(row: Any) -> list[Any]:
    if not isinstance(row, list):
        raise ValueError("an input has no scalars")
    return row


def _scalar(row: Any) -> PlacedScalar:
    match row:
        case [bool(), *_] | [_, _, bool()]:
            raise ValueError("a scalar has a truth value where a number belongs")
        case [int(slot), str(name), int(index)] if abs(slot) < _MAX_COUNT:
            return PlacedScalar(slot, name, index)
        case _:
            raise ValueError("a scalar has no slot, input and number")


def _place(row: Any) -> ResultPlace | Clear:
    match row:
        case [bool(), *_] | [_, bool()]:
            raise ValueError("a result has a truth value where a number belongs")
        case [int(output), int(slot)] if abs(slot) < _MAX_COUNT:
            return ResultPlace(output, slot)
        case str(digits):
            return Clear(_integer(digits))
        case _:
            raise ValueError("a result has no output and slot")


def _port(row: Any) -> IntegerPort:
    match row:
        case [str(name), list(shape), int(low), int(high)] if (
            name.isprintable() and len(shape) <= _MAX_AXES and type(low) is type(high) is int
        ):
            if not all(type(size) is int and 1 <= size <= _MAX_COUNT for size in shape):
                raise ValueError("an input has a size that is none")
            if not -(1 << 63) <= low <= high < 1 << 63:
                raise ValueError("an input has a range that is none")
            return IntegerPort(name, tuple(shape), low, high)
        case _:
            raise ValueError("an input has no name, shape and range")


def _range(row: Any) -> tuple[int, int]:
    match row:
        case [str(low), str(high)]:
            return _integer(low), _integer(high)
        case _:
            raise ValueError("a result has no range")


def _integer(digits: str) -> int:
    body = digits.removeprefix("-")
    if not (body.isascii() and body.isdecimal() and len(body) <= _MAX_DIGITS):
        raise ValueError("a number is none")
    return int(digits)


def _part(parts: dict[str, bytes], name: str, path: _Path) -> bytes:
    if name not in parts:
        raise MalformedBytesError(f"cannot read {path}: it has no {name}")
    return parts[name]
