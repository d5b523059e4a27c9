"""Bootstrap programs made before, in the user's cache folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from cloakwork.base import cache
from cloakwork.base.record import digest_of, record_of
from cloakwork.errors import CloakworkError
from cloakwork.plan.boolean.map import MappedProgram, map_gates
from cloakwork.plan.cost.tfhe import BitCosts
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.gates import GateProgram
from cloakwork.runtime import container

# Of what the mapper makes: another number where it makes better programs.
_VERSION = 5
_KIND = "mapped circuit file"


def cached_mapping(program: GateProgram, sets: Sequence[BitCosts], threads: int) -> MappedProgram:
    """What `map_gates` makes, from the cache where it made the same before.

    Args:
        program: The gate program.
        sets: The parameter sets to choose from.
        threads: Threads that the program is to run on.

    Raises:
        InvalidArgumentError, NoiseBudgetError: As `map_gates`.
    """
    path = _path(program, sets, threads)
    known = _read(path, program, sets, threads)
    if known is not None:
        return known
    made = map_gates(program, sets, threads)
    record = {"name": made.costs.name, "program": record_of(made.program)}
    cache.keep(path, container.to_bytes(_KIND, record))
    return made


def _path(program: GateProgram, sets: Sequence[BitCosts], threads: int) -> Path:
    facts = {
        "version": _VERSION,
        "gates": record_of(program),
        "sets": [repr(asdict(each)) for each in sets],
        "threads": threads,
    }
    return cache.folder() / f"mapping-{digest_of(facts)[:32]}"


def _read(
    path: Path, program: GateProgram, sets: Sequence[BitCosts], threads: int
) -> MappedProgram | None:
    try:
        fields = container.read_bytes(path.read_bytes(), _KIND)
        name, made = fields.text("name"), fields.value("program", BootstrapProgram)
    except (OSError, CloakworkError):
        return None
    costs = next((each for each in sets if each.name == name), None)
    if costs is None or not _fits(made, program):
        return None
    mapped = MappedProgram.of(made, costs, threads)
    return None if mapped.failure.worst > -costs.noise.failure_bits else mapped


def _fits(made: BootstrapProgram, program: GateProgram) -> bool:
    return (made.inputs, made.outputs) == (program.inputs, program.outputs)
