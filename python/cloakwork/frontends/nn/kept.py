"""Programs of networks that are kept in a folder, so that none is planned twice."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from cloakwork.base import cache
from cloakwork.base.arguments import file_path, shown
from cloakwork.errors import FileMissingError, InvalidArgumentError, MalformedBytesError
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.samples import Samples
from cloakwork.programs.ir import layers as g
from cloakwork.runtime import container
from cloakwork.runtime.costs import comparable
from cloakwork.runtime.program import Program
from cloakwork.runtime.storage import named_reading, named_writing
from cloakwork.schemes.base import ReadLimits

_MAX_LOG_N = 17


def kept(
    folder: str | os.PathLike[str],
    graph: g.Graph,
    given: Any,
    options: NetworkOptions,
    make: Callable[[Any], Program],
) -> Program:
    """The program that is kept for the same network, samples and options, or one that is made.

    A file that is damaged is made anew.

    Args:
        folder: Where programs are kept; it is made. It is this user's alone: a program that others
            may have written might be of another network.
        graph: The network.
        given: What it is calibrated on, in any form that `Samples` takes; in which order is one.
        options: What is asked of the program.
        make: Makes the program, of what it is calibrated on.

    Raises:
        InvalidArgumentError: The folder is no path, or costs are a function of one's own, which
            nothing tells from another.
        StorageFullError: There is no space left for the program.
        FileAccessError: The folder cannot be made or written, or others may write there.
    """
    if options.costs is not comparable:
        raise InvalidArgumentError(
            f"cannot keep programs: expected the costs of the model, got {shown(options.costs)}; "
            "leave `cache=` or `costs=` out"
        )
    given = given if Samples(graph, given).are_repeatable else list(given)
    path = _folder(folder) / f"{_digest(graph, Samples(graph, given), options)}.cloakwork"
    with (
        contextlib.suppress(FileMissingError, MalformedBytesError),
        named_reading(path),
        cache.opened(path) as file,
    ):
        fields = container.read_open(file, str(path), Program._kind)
        return Program._of(fields, ReadLimits(options.insecure, _MAX_LOG_N))
    program = make(given)
    program.save(path)
    return program


def _folder(given: str | os.PathLike[str]) -> Path:
    path = file_path(given, "keep programs in")
    with named_writing(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


def _digest(graph: g.Graph, samples: Samples, options: NetworkOptions) -> str:
    """A name that no other network, samples, options or version of Cloakwork have."""
    # Nodes are all that a graph is made of; costs are those of the model.
    of_options = [getattr(options, each.name) for each in fields(options) if each.name != "costs"]
    content = hashlib.sha256()
    for part in _parts([version("cloakwork"), graph.nodes, graph.form, of_options]):
        content.update(part)
    # A DataLoader may shuffle.
    for row in sorted(hashlib.sha256(row).digest() for rows in samples for row in rows):
        content.update(row)
    return content.hexdigest()


def _parts(value: Any) -> Iterator[bytes]:
    """The bytes that a value is told from others by, each with its kind and length."""
    match value:
        case np.ndarray():
            yield f"{value.dtype.str} {value.shape}:".encode()
            yield np.ascontiguousarray(value).tobytes()
        case Mapping():
            yield f"mapping {len(value)}:".encode()
            for name in sorted(value):
                yield from _parts((name, value[name]))
        case list() | tuple():
            yield f"sequence {len(value)}:".encode()
            for each in value:
                yield from _parts(each)
        case bool() | int() | float() | str() | None:
            text = repr(value).encode()
            yield b"%d %b" % (len(text), text)
        case _ if is_dataclass(value):
            yield f"{type(value).__qualname__}:".encode()
            yield from _parts([getattr(value, each.name) for each in fields(value)])
        case _:
            raise TypeError(f"{type(value).__qualname__} is no part of a network")
