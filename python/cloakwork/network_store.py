"""Saves and loads compiled networks, and what is encrypted for them.

The files of a client and an evaluator are those of `cloakwork.store`. A network's file is
public to both: program, parameters, packings, and what its layers expect.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from cloakwork._native import Ciphertext, Parameters
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    MalformedBytesError,
    ProgramMismatchError,
)
from cloakwork.network import Network
from cloakwork.network_program import Port
from cloakwork.network_roles import Encrypted
from cloakwork.plan.observed import Watch
from cloakwork.plan.packing import Packing
from cloakwork.programs import file as program_file
from cloakwork.programs.slots import Constant
from cloakwork.runtime.arguments import integer, positive, shown
from cloakwork.runtime.files import read, write

_Path: TypeAlias = str | os.PathLike[str]
_PLACE = np.dtype("<i8")
_ACTION = "read a network"


def save_network(network: Network, path: _Path) -> None:
    """Save a compiled network.

    Raises:
        InvalidArgumentError: It is no compiled network, or the path is none.
        OSError: The file cannot be written.
    """
    if not isinstance(network, Network):
        raise InvalidArgumentError(
            f"cannot save the network: expected one that nn.compile has made, got {shown(network)}"
        )
    ports = (network.input, network.output)
    packings = [port.packing for port in ports] + [each.packing for each in network.watches]
    facts = {
        "title": network.title,
        "batch": network.batch,
        "error": network.error,
        "bounds": list(network.bounds),
        "ports": [[list(port.shape), port.bound] for port in ports],
        "packings": [[packing.slots, packing.name] for packing in packings],
        "watches": [
            [watch.layer, list(watch.values), watch.low, watch.high, watch.scale, watch.shift]
            for watch in network.watches
        ],
    }
    parts = {
        "parameters": network.parameters.to_bytes(),
        "program": program_file.to_bytes(network.program),
        **{
            f"places{number}": packing.places.astype(_PLACE).tobytes()
            for number, packing in enumerate(packings)
        },
    }
    write(path, "network", facts, parts)


def load_network(path: _Path, *, insecure: bool = False) -> Network:
    """Load what `save_network` saved.

    Args:
        path: The file.
        insecure: Whether less than 128-bit security is accepted.

    Raises:
        InsecureParametersError: Its parameters fall short of 128-bit security.
        MalformedBytesError: The file is damaged or no network's.
        InvalidArgumentError: The path is none.
        OSError: The file cannot be opened.
    """
    facts, parts = read(path, "network")
    try:
        return _network(facts, parts, insecure=insecure)
    except InsecureParametersError:
        raise
    except (LookupError, OverflowError, TypeError, ValueError) as error:
        raise MalformedBytesError(f"cannot read {path}: {error}") from error


def _network(facts: Mapping[str, Any], parts: Mapping[str, bytes], *, insecure: bool) -> Network:
    program = program_file.from_bytes(parts["program"])
    packings = [
        Packing(
            integer(slots, "slots", "read a packing", least=1, most=program.slots),
            np.frombuffer(parts[f"places{number}"], dtype=_PLACE).astype(np.int64),
            str(name),
        )
        for number, (slots, name) in enumerate(facts["packings"])
    ]
    ports = [
        Port(_shape(shape, packing), packing, positive(bound, "the bound", _ACTION))
        for (shape, bound), packing in zip(facts["ports"], packings[:2], strict=True)
    ]
    watches = [
        _watch(str(layer), _values(values, len(program.operations)), packing, numbers)
        for (layer, values, *numbers), packing in zip(facts["watches"], packings[2:], strict=True)
    ]
    if any(watch.packing.slots != ports[0].packing.slots for watch in watches):
        raise ValueError("layers are packed into other slots than the input")
    bounds = tuple(
        None if isinstance(operation, Constant) else positive(bound, "the bound", _ACTION)
        for operation, bound in zip(program.operations, facts["bounds"], strict=True)
    )
    return Network(
        str(facts["title"]),
        program,
        Parameters.from_bytes(parts["parameters"], insecure=insecure),
        ports[0],
        ports[1],
        integer(facts["batch"], "batch", _ACTION, least=1, most=program.slots),
        bounds,
        positive(facts["error"], "the error", _ACTION),
        watches,
    )


def _shape(shape: Sequence[Any], packing: Packing) -> tuple[int, ...]:
    sizes = tuple(integer(size, "size", "read a shape", least=1, most=1 << 40) for size in shape)
    if np.prod(sizes) != len(packing.places):
        raise ValueError(f"a shape of {sizes} has not as many elements as its packing")
    return sizes


def _watch(layer: str, values: tuple[int, ...], packing: Packing, numbers: Sequence[Any]) -> Watch:
    low, high, scale, shift = map(float, numbers)
    if len(values) != packing.ciphertexts:
        raise ValueError(
            f"layer {layer!r} has {len(values)} ciphertexts, its packing {packing.ciphertexts}"
        )
    if not (np.isfinite([low, high, shift]).all() and low <= high):
        raise ValueError(
            f"layer {layer!r} has a range from {low:g} to {high:g}, shifted by {shift:g}"
        )
    return Watch(layer, values, packing, low, high, positive(scale, "the scale", _ACTION), shift)


def _values(values: Sequence[Any], most: int) -> tuple[int, ...]:
    return tuple(integer(value, "value", _ACTION, least=0, most=most - 1) for value in values)


def save_encrypted(encrypted: Encrypted, path: _Path) -> None:
    """Save encrypted inputs or results of a network.

    Raises:
        InvalidArgumentError: They are none, or the path is none.
        OSError: The file cannot be written.
    """
    if not isinstance(encrypted, Encrypted):
        raise InvalidArgumentError(
            f"cannot save: expected what encrypt or run of a network gave, got {shown(encrypted)}"
        )
    facts = {
        "side": encrypted.side,
        "network": encrypted.network,
        "count": encrypted.count,
        "single": encrypted.single,
    }
    values = enumerate(encrypted.values)
    write(path, "encrypted", facts, {f"ciphertext{n}": value.to_bytes() for n, value in values})


def load_encrypted(path: _Path, network: Network) -> Encrypted:
    """Load what `save_encrypted` saved, for a client or an evaluator of a network.

    Raises:
        MalformedBytesError: The file is damaged or holds something else.
        ProgramMismatchError: It is of another network.
        InvalidArgumentError: The network is none, or the path is none.
        OSError: The file cannot be opened.
    """
    if not isinstance(network, Network):
        raise InvalidArgumentError(
            f"cannot read {path}: expected the network that it is for, got {shown(network)}"
        )
    facts, parts = read(path, "encrypted")
    match facts:
        case {"count": bool()}:
            raise MalformedBytesError(f"cannot read {path}: a truth value is no number")
        case {
            "side": "inputs" | "results" as side,
            "network": str(of),
            "count": int(count),
            "single": bool(single),
        }:
            pass
        case _:
            raise MalformedBytesError(f"cannot read {path}: it has no encrypted inputs or results")
    if of != network.fingerprint:
        raise ProgramMismatchError(
            f"cannot read {path}: its {side} belong to another network than {network.title!r}"
        )
    if not 1 <= count <= network.batch or (single and count > 1):
        raise MalformedBytesError(f"cannot read {path}: {count} {side} of {network.batch}")
    port = network.input if side == "inputs" else network.output
    names = [f"ciphertext{number}" for number in range(port.packing.ciphertexts)]
    if parts.keys() != set(names):
        raise MalformedBytesError(f"cannot read {path}: expected ciphertexts {names}")
    values = [Ciphertext.from_bytes(network.parameters, parts[name]) for name in names]
    return Encrypted(side, tuple(values), count, single, of)
