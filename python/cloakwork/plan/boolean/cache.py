"""Bootstrap programs made before, kept in the user's cache folder."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cloakwork.base.cache import folder, keep
from cloakwork.errors import CloakworkError
from cloakwork.plan.boolean.map import MappedProgram, map_gates
from cloakwork.plan.cost.tfhe import LOG2_FAILURE, Target
from cloakwork.programs import bootstraps_file, gates_file
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.gates import GateProgram

# Of what the mapper makes: another number where it makes better programs.
_VERSION = 4


def kept_mapping(program: GateProgram, targets: Sequence[Target], threads: int) -> MappedProgram:
    """What `map_gates` makes, from the cache where it made the same before.

    Args:
        program: The gate program.
        targets: The parameter sets to choose from.
        threads: Threads that the program is to run on.

    Raises:
        InvalidArgumentError, NoiseBudgetError: As `map_gates`.

    Example:
        >>> import os
        >>> import tempfile
        >>> from unittest import mock
        >>> from cloakwork.plan.cost.tfhe import published_target
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("and", (Port("a", "bits", 2),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.AND, 0, 1),))
        >>> gates = builder.finish()
        >>> with (
        ...     tempfile.TemporaryDirectory() as folder,
        ...     mock.patch.dict(os.environ, XDG_CACHE_HOME=folder),
        ... ):
        ...     made = kept_mapping(gates, [published_target()], 1)
        ...     kept_mapping(gates, [published_target()], 1).failure == made.failure
        True
    """
    path = _path(program, targets, threads)
    kept = _read(path, program, targets, threads)
    if kept is not None:
        return kept
    made = map_gates(program, targets, threads)
    data = bootstraps_file.to_bytes(made.program)
    keep(path, made.target.name.encode() + b"\0" + data)
    return made


def _path(program: GateProgram, targets: Sequence[Target], threads: int) -> Path:
    digest = hashlib.sha256(gates_file.to_bytes(program))
    digest.update(repr((_VERSION, [asdict(target) for target in targets], threads)).encode())
    return folder() / f"mapping-{digest.hexdigest()[:32]}"


def _read(
    path: Path, program: GateProgram, targets: Sequence[Target], threads: int
) -> MappedProgram | None:
    try:
        name, _, data = path.read_bytes().partition(b"\0")
        made = bootstraps_file.from_bytes(data)
    except (OSError, CloakworkError):
        return None
    target = next((each for each in targets if each.name.encode() == name), None)
    if target is None or not _fits(made, program):
        return None
    mapped = MappedProgram.of(made, target, threads)
    return None if mapped.failure.worst > LOG2_FAILURE else mapped


def _fits(made: BootstrapProgram, program: GateProgram) -> bool:
    return (made.inputs, made.outputs) == (program.inputs, program.outputs)
