"""Saves and loads what the parties hold and what moves between them.

A program's file is public. A client's file has the secret key. An evaluator's file
has the parameters and the evaluation keys, nothing that decrypts. A tensor's file
has the ciphertexts and their layout.

Example:
    >>> import tempfile
    >>> import cloakwork as cw
    >>> folder = tempfile.mkdtemp()
    >>> session = cw.Session(depth=1, insecure=True, log_n=11)
    >>> save_client(session.client, f"{folder}/client")
    >>> save_evaluator(session.evaluator, f"{folder}/evaluator")
    >>> save_tensor(session.encrypt([1.0, 2.0]), f"{folder}/x", session.parameters)
    >>> client = load_client(f"{folder}/client")
    >>> load_tensor(f"{folder}/x", client)
    Tensor(shape=(2,), level=1, slots=1024, INSECURE)
    >>> hasattr(load_evaluator(f"{folder}/evaluator"), "decrypt")
    False
"""

from __future__ import annotations

import os
from typing import Any, TypeAlias

from cloakwork._native import Ciphertext, EvaluationKeys, Parameters, SecretKey
from cloakwork.backends.ckks import CkksBackend, CkksKey
from cloakwork.compiled import Compiled, Packing, Spec
from cloakwork.eager import EagerEvaluator
from cloakwork.errors import InvalidArgumentError, MalformedBytesError, ParametersMismatchError
from cloakwork.plan.layout import Axis, Layout
from cloakwork.programs import file as program_file
from cloakwork.runtime.arguments import positive, shown
from cloakwork.runtime.files import read, write
from cloakwork.runtime.roles import Client, Evaluator
from cloakwork.runtime.tensor import Tensor, require_tensor

_Path: TypeAlias = str | os.PathLike[str]

# The most that any version of numpy can index.
_MAX_AXES = 64
# Elements along one axis; their number is that of the ciphertexts, which must be there.
_MAX_SIZE = 1 << 40


def save_client(client: Client, path: _Path) -> None:
    """Save a client: its secret key, unprotected, in a file only its owner may read.

    Raises:
        InvalidArgumentError: It is no client, or works in the clear and has no key, or the path
            is none.
        OSError: The file cannot be written.
    """
    if not isinstance(client, Client):
        raise InvalidArgumentError(
            f"cannot save the client: expected a client such as session.client, got {shown(client)}"
        )
    if not isinstance(client.key, CkksKey):
        raise InvalidArgumentError("cannot save the client: on the clear backend it has no key")
    parts = {"parameters": client.parameters.to_bytes(), "secret_key": client.key.to_bytes()}
    write(path, "client", {"bound": client.bound}, parts)


def load_client(path: _Path, *, insecure: bool = False) -> Client:
    """Load what `save_client` saved.

    Args:
        path: The file.
        insecure: Whether less than 128-bit security is accepted.

    Raises:
        InsecureParametersError: Its parameters fall short of 128-bit security.
        MalformedBytesError: The file is damaged or no client's.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    facts, parts = read(path, "client")
    parameters = Parameters.from_bytes(_part(parts, "parameters", path), insecure=insecure)
    secret = SecretKey.from_bytes(parameters, _part(parts, "secret_key", path))
    try:
        bound = positive(facts.get("bound"), "bound", f"read {path}")
    except InvalidArgumentError as error:
        raise MalformedBytesError(str(error)) from error
    return Client(parameters, CkksKey(parameters, secret), bound=bound)


def save_evaluator(evaluator: Evaluator, path: _Path) -> None:
    """Save an evaluator: parameters and evaluation keys, no secret.

    Raises:
        InvalidArgumentError: It is no evaluator, or works in the clear and has no keys, or the
            path is none.
        OSError: The file cannot be written.
    """
    if not isinstance(evaluator, Evaluator):
        raise InvalidArgumentError(
            "cannot save the evaluator: expected an evaluator such as session.evaluator, "
            f"got {shown(evaluator)}"
        )
    if not isinstance(evaluator.backend, CkksBackend):
        raise InvalidArgumentError("cannot save the evaluator: on the clear backend it has no keys")
    parts = {
        "parameters": evaluator.parameters.to_bytes(),
        "evaluation_keys": evaluator.backend.keys.to_bytes(),
    }
    write(path, "evaluator", {}, parts)


def load_evaluator(path: _Path, *, insecure: bool = False) -> Evaluator:
    """Load what `save_evaluator` saved.

    Args:
        path: The file.
        insecure: Whether less than 128-bit security is accepted.

    Raises:
        InsecureParametersError: Its parameters fall short of 128-bit security.
        MalformedBytesError: The file is damaged or no evaluator's.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    _, parts = read(path, "evaluator")
    parameters = Parameters.from_bytes(_part(parts, "parameters", path), insecure=insecure)
    keys = EvaluationKeys.from_bytes(parameters, _part(parts, "evaluation_keys", path))
    return Evaluator(parameters, CkksBackend(parameters, keys))


def save_program(compiled: Compiled, path: _Path) -> None:
    """Save a compiled program: its operations, its parameters, and how its inputs are packed.

    Raises:
        InvalidArgumentError: It is no compiled program, or the path is none.
        OSError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> import cloakwork as cw
        >>> path = f"{tempfile.mkdtemp()}/program"
        >>> save_program(cw.compile(lambda x: x.sum(), (10,)), path)
        >>> load_program(path).specs
        (Spec(shape=(10,), bound=1.0),)
    """
    if not isinstance(compiled, Compiled):
        raise InvalidArgumentError(
            f"cannot save the program: expected one that compile has made, got {shown(compiled)}"
        )
    facts = {
        "title": compiled.title,
        "single": compiled.single,
        "specs": [[list(spec.shape), spec.bound] for spec in compiled.specs],
        "packings": [
            [packing.argument, packing.level, _layout_facts(packing.layout)]
            for packing in compiled.packings
        ],
        "outputs": [_layout_facts(layout) for layout in compiled.outputs],
    }
    parts = {
        "parameters": compiled.parameters.to_bytes(),
        "program": program_file.to_bytes(compiled.program),
    }
    write(path, "program", facts, parts)


def load_program(path: _Path, *, insecure: bool = False) -> Compiled:
    """Load what `save_program` saved.

    Args:
        path: The file.
        insecure: Whether less than 128-bit security is accepted.

    Raises:
        InsecureParametersError: Its parameters fall short of 128-bit security.
        MalformedBytesError: The file is damaged or no program's.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    facts, parts = read(path, "program")
    parameters = Parameters.from_bytes(_part(parts, "parameters", path), insecure=insecure)
    program = program_file.from_bytes(_part(parts, "program", path))
    slots = parameters.slots
    match facts:
        case {
            "title": str(title),
            "single": bool(single),
            "specs": list(specs),
            "packings": list(packings),
            "outputs": list(outputs),
        }:
            try:
                return Compiled(
                    title,
                    program,
                    parameters,
                    tuple(_spec(each) for each in specs),
                    tuple(_packing(each, slots, path) for each in packings),
                    tuple(_layout(each, slots, path) for each in outputs),
                    single,
                )
            except MalformedBytesError:
                raise
            except ValueError as error:
                raise MalformedBytesError(f"cannot read {path}: {error}") from error
        case _:
            raise MalformedBytesError(f"cannot read {path}: it has no compiled program")


def _spec(row: Any) -> Spec:
    match row:
        case [list(shape), int(bound) | float(bound)] if len(shape) <= _MAX_AXES:
            if not all(isinstance(size, int) and size <= _MAX_SIZE for size in shape):
                raise ValueError(f"an argument has a size that is no number up to {_MAX_SIZE}")
            return Spec(tuple(shape), bound)
        case _:
            raise ValueError("an argument has no shape and bound")


def _packing(row: Any, slots: int, path: _Path) -> Packing:
    match row:
        case [bool(), *_] | [_, bool(), *_]:
            raise ValueError("an input has a truth value where a number belongs")
        case [int(argument), int(level), dict(layout)]:
            return Packing(argument, _layout(layout, slots, path), level)
        case _:
            raise ValueError("an input has no argument, level and layout")


def save_tensor(tensor: Tensor, path: _Path, parameters: Parameters) -> None:
    """Save an encrypted tensor: its ciphertexts and their layout.

    Raises:
        InvalidArgumentError: It is no tensor, or on the clear backend, or the parameters or the
            path are none.
        ParametersMismatchError: The tensor was made under other parameters.
        OSError: The file cannot be written.
    """
    require_tensor(tensor, "save the tensor")
    if not isinstance(parameters, Parameters):
        raise InvalidArgumentError(
            f"cannot save the tensor: expected parameters, got {shown(parameters)}; pass "
            "session.parameters, or those of the client or evaluator"
        )
    if not tensor.hidden:
        raise InvalidArgumentError("cannot save the tensor: on the clear backend it is not hidden")
    if tensor.parameters.fingerprint != parameters.fingerprint:
        raise ParametersMismatchError(
            f"cannot save the tensor: it was made under {tensor.parameters}, not under {parameters}"
        )
    facts = {"parameters": parameters.fingerprint, **_layout_facts(tensor.layout)}
    parts = {f"ciphertext{number}": value.to_bytes() for number, value in enumerate(tensor.values)}
    write(path, "tensor", facts, parts)


def _layout_facts(layout: Layout) -> dict[str, Any]:
    return {
        "axes": [_row(axis) for axis in layout.axes],
        "replicas": [_row(axis) for axis in layout.replicas],
        "dirty": layout.dirty,
        "offset": layout.offset,
    }


def _row(axis: Axis) -> list[Any]:
    return [axis.size, axis.stride, axis.name if axis.name.isprintable() else "", axis.tile]


def load_tensor(path: _Path, holder: Client | Evaluator) -> Tensor:
    """Load what `save_tensor` saved, for a client to decrypt or an evaluator to work on.

    Raises:
        MalformedBytesError: The file is damaged or no tensor's.
        ParametersMismatchError: The tensor was made under other parameters.
        InvalidArgumentError: The holder is no client or evaluator, or works in the clear, or the
            path is none.
        OSError: The file cannot be opened.
    """
    if not isinstance(holder, Client | Evaluator):
        raise InvalidArgumentError(
            f"cannot read {path}: expected a client or an evaluator to hold the tensor, "
            f"got {shown(holder)}"
        )
    if not holder.hidden:
        raise InvalidArgumentError(
            f"cannot read {path}: its numbers are encrypted, and the holder works in the clear"
        )
    facts, parts = read(path, "tensor")
    parameters = holder.parameters
    if facts.get("parameters") != parameters.fingerprint:
        raise ParametersMismatchError(f"cannot read {path}: it was made under other parameters")
    layout = _layout(facts, parameters.slots, path)
    if layout.ciphertexts != len(parts):
        raise MalformedBytesError(
            f"cannot read {path}: its layout has {layout.ciphertexts} ciphertext(s), the file "
            f"{len(parts)}"
        )
    values = [
        Ciphertext.from_bytes(parameters, _part(parts, f"ciphertext{number}", path))
        for number in range(layout.ciphertexts)
    ]
    if len({(value.level, value.slots) for value in values}) > 1:
        raise MalformedBytesError(f"cannot read {path}: its ciphertexts stand at several levels")
    runner = EagerEvaluator(holder) if isinstance(holder, Evaluator) else None
    return Tensor(values, layout, parameters, runner)


def _layout(facts: dict[str, Any], slots: int, path: _Path) -> Layout:
    # A bool is an int to match.
    match facts:
        case {"offset": bool()}:
            raise MalformedBytesError(f"cannot read {path}: the offset is a truth value")
        case {
            "axes": list(rows),
            "replicas": list(copies),
            "dirty": bool(dirty),
            "offset": int(offset),
        }:
            if max(len(rows), len(copies)) > _MAX_AXES:
                raise MalformedBytesError(
                    f"cannot read {path}: expected at most {_MAX_AXES} axes, got {len(rows)}"
                )
            axes, replicas = (
                tuple(
                    _axis(row, slots, f"cannot read {path}: {name} {i}")
                    for i, row in enumerate(several)
                )
                for name, several in (("axis", rows), ("replica", copies))
            )
            try:
                return Layout(slots, axes, replicas, dirty, offset)
            # numpy 1 indexes fewer axes, and says so by an IndexError.
            except (IndexError, ValueError) as error:
                raise MalformedBytesError(f"cannot read {path}: {error}") from error
        case _:
            raise MalformedBytesError(f"cannot read {path}: it has no layout")


def _axis(row: Any, slots: int, where: str) -> Axis:
    match row:
        case [bool(), *_] | [_, bool(), *_] | [_, _, _, bool()]:
            raise MalformedBytesError(f"{where} has a truth value where a number belongs")
        case [int(size), int(stride), str(name), int(tile)]:
            if not (1 <= size <= _MAX_SIZE and abs(stride) < slots and 0 <= tile <= slots):
                raise MalformedBytesError(
                    f"{where}: expected a size from 1, a stride below {slots} and a tile up to "
                    f"{slots}"
                )
            if not name.isprintable():
                raise MalformedBytesError(f"{where} has a name with control characters")
            return Axis(size, stride, name, tile)
        case _:
            raise MalformedBytesError(f"{where} is no size, stride, name and tile")


def _part(parts: dict[str, bytes], name: str, path: _Path) -> bytes:
    if name not in parts:
        raise MalformedBytesError(f"cannot read {path}: it has no {name}")
    return parts[name]
