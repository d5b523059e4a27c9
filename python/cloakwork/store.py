"""Saves and loads what the parties hold and what moves between them.

A client's file has the secret key. An evaluator's file has the parameters and
the evaluation keys, nothing that decrypts. A tensor's file has the ciphertext
and its layout.

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
    Tensor(shape=(2,), level=1, slots=1024)
    >>> hasattr(load_evaluator(f"{folder}/evaluator"), "decrypt")
    False
"""

from __future__ import annotations

import math
import os
from typing import Any, TypeAlias

from cloakwork._native import Ciphertext, EvaluationKeys, Parameters, SecretKey
from cloakwork.backends.ckks import CkksBackend, CkksKey
from cloakwork.errors import InvalidArgumentError, MalformedBytesError, ParametersMismatchError
from cloakwork.plan.layout import Axis, Layout
from cloakwork.runtime.files import read, write
from cloakwork.runtime.roles import Client, Evaluator
from cloakwork.runtime.tensor import Runner, Tensor

_Path: TypeAlias = str | os.PathLike[str]


def save_client(client: Client, path: _Path) -> None:
    """Save a client: its secret key, unprotected, in a file only its owner may read.

    Raises:
        InvalidArgumentError: The client works in the clear and has no key.
    """
    if not isinstance(client.key, CkksKey):
        raise InvalidArgumentError("cannot save the client: on the clear backend it has no key")
    parts = {"parameters": client.parameters.to_bytes(), "secret_key": client.key.to_bytes()}
    write(path, "client", {"bound": client.bound}, parts)


def load_client(path: _Path) -> Client:
    """Load what `save_client` saved.

    Raises:
        MalformedBytesError: The file is damaged or no client's.
    """
    facts, parts = read(path, "client")
    parameters = Parameters.from_bytes(_part(parts, "parameters", path))
    secret = SecretKey.from_bytes(parameters, _part(parts, "secret_key", path))
    bound = facts.get("bound")
    if not isinstance(bound, int | float) or not (math.isfinite(bound) and bound > 0):
        raise MalformedBytesError(f"cannot read {path}: the bound is no positive number")
    return Client(parameters, CkksKey(parameters, secret), bound=bound)


def save_evaluator(evaluator: Evaluator, path: _Path) -> None:
    """Save an evaluator: parameters and evaluation keys, no secret.

    Raises:
        InvalidArgumentError: The evaluator works in the clear and has no keys.
    """
    if not isinstance(evaluator.backend, CkksBackend):
        raise InvalidArgumentError("cannot save the evaluator: on the clear backend it has no keys")
    parts = {
        "parameters": evaluator.parameters.to_bytes(),
        "evaluation_keys": evaluator.backend.keys.to_bytes(),
    }
    write(path, "evaluator", {}, parts)


def load_evaluator(path: _Path) -> Evaluator:
    """Load what `save_evaluator` saved.

    Raises:
        MalformedBytesError: The file is damaged or no evaluator's.
    """
    _, parts = read(path, "evaluator")
    parameters = Parameters.from_bytes(_part(parts, "parameters", path))
    keys = EvaluationKeys.from_bytes(parameters, _part(parts, "evaluation_keys", path))
    return Evaluator(parameters, CkksBackend(parameters, keys))


def save_tensor(tensor: Tensor, path: _Path, parameters: Parameters) -> None:
    """Save an encrypted tensor: its ciphertext and its layout.

    Raises:
        InvalidArgumentError: The tensor is on the clear backend.
    """
    if not isinstance(tensor.value, Ciphertext):
        raise InvalidArgumentError("cannot save the tensor: on the clear backend it is not hidden")
    layout = tensor.layout
    facts = {
        "parameters": parameters.fingerprint,
        "axes": [[axis.size, axis.stride, axis.name] for axis in layout.axes],
        "dirty": layout.dirty,
    }
    write(path, "tensor", facts, {"ciphertext": tensor.value.to_bytes()})


def load_tensor(path: _Path, holder: Client | Evaluator) -> Tensor:
    """Load what `save_tensor` saved, for a client to decrypt or an evaluator to work on.

    Raises:
        MalformedBytesError: The file is damaged or no tensor's.
        ParametersMismatchError: The tensor was made under other parameters.
    """
    facts, parts = read(path, "tensor")
    parameters = holder.parameters
    if facts.get("parameters") != parameters.fingerprint:
        raise ParametersMismatchError(f"cannot read {path}: it was made under other parameters")
    value = Ciphertext.from_bytes(parameters, _part(parts, "ciphertext", path))
    runner: Runner | None = holder if isinstance(holder, Evaluator) else None
    return Tensor(value, _layout(facts, parameters.slots, path), runner)


def _layout(facts: dict[str, Any], slots: int, path: _Path) -> Layout:
    match facts:
        case {"axes": list(rows), "dirty": bool(dirty)}:
            axes = []
            for row in rows:
                match row:
                    case [int(size), int(stride), str(name)]:
                        axes.append(Axis(size, stride, name))
                    case _:
                        raise MalformedBytesError(f"cannot read {path}: {row!r} is no axis")
            try:
                return Layout(slots, tuple(axes), dirty=dirty)
            except ValueError as error:
                raise MalformedBytesError(f"cannot read {path}: {error}") from error
        case _:
            raise MalformedBytesError(f"cannot read {path}: it has no layout")


def _part(parts: dict[str, bytes], name: str, path: _Path) -> bytes:
    if name not in parts:
        raise MalformedBytesError(f"cannot read {path}: it has no {name}")
    return parts[name]
