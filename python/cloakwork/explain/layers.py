"""A network's program as a table: each layer's packing, rotations, levels, keys and time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cloakwork.explain.modelled import costs_with_bootstraps, modelled_seconds
from cloakwork.explain.quantities import duration, rate, size
from cloakwork.explain.work_levels_keys import counted_operations
from cloakwork.plan.analysis.memory import kept_transforms, process_memory
from cloakwork.programs.keys import KeyRequirements, required_keys
from cloakwork.programs.slots import Input, Output, SlotProgram
from cloakwork.runtime.costs import Costs
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Program
from cloakwork.schemes.encoded_cache import default_cache_bytes

_HEAD = ("layer", "packing", "rotations", "diagonals", "levels", "keys", "time")


@dataclass(frozen=True, slots=True)
class Layer:
    """What one layer, or several that are one product, takes, from its first level to its last."""

    name: str
    packing: str
    rotations: int
    diagonals: int
    first_level: int
    last_level: int
    keys: KeyRequirements
    seconds: float


def layers_of(program: SlotProgram, seconds: Sequence[float]) -> list[Layer]:
    """The layers of a network's program, whose stages name layers and packings, in order."""
    numbers: dict[str, list[int]] = {}
    for number, operation in enumerate(program.operations):
        if not isinstance(operation, Input | Output):
            numbers.setdefault(program.stages[number], []).append(number)
    layers: list[Layer] = []
    for stage, of_it in numbers.items():
        name, _, packing = stage.partition(" | ")
        found = counted_operations(program, of_it)
        levels = [program.states[number].level for number in reversed(of_it)]
        layers.append(
            Layer(
                name,
                packing,
                found["rotation"],
                found["diagonal"],
                max(program.context(number).level for number in of_it),
                next((level for level in levels if level is not None), 0),
                required_keys(program, of_it),
                sum(seconds[number] for number in of_it),
            )
        )
    return layers


def explain_layers(body: SlotProgram, program: Program, profile: Profile | None) -> str:
    """The table of a network's layers and its totals, as text."""
    scheme, batch = program.scheme, program.batch
    parameters, refreshing = scheme.parameters, scheme.refreshing
    costs = costs_with_bootstraps(scheme)
    cache_bytes = default_cache_bytes()
    memory = process_memory(body, parameters, cache_bytes, refreshing)
    kept = kept_transforms(body, parameters, cache_bytes, refreshing)
    layers = layers_of(body, modelled_seconds(body, scheme, kept))
    key_bytes = parameters.evaluation_key_bytes
    rows = [_HEAD]
    for layer in layers:
        rows.append(
            (
                layer.name,
                layer.packing,
                str(layer.rotations),
                str(layer.diagonals),
                f"{layer.first_level} to {layer.last_level}",
                f"{len(layer.keys)}, {size(layer.keys.nbytes(key_bytes))}",
                duration(layer.seconds),
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    table = [map(str.ljust, row, widths) for row in rows]
    seconds = sum(layer.seconds for layer in layers) + costs.run
    inputs = sum(isinstance(each, Input) for each in body.operations)
    found, bound = counted_operations(body), program.error_bound
    lines = [
        f"{body.title} on {parameters}",
        *([f"  {program.warning}"] if program.warning else []),
        *(f"  {'  '.join(cells)}".rstrip() for cells in table),
        f"rotations   {found['rotation']}, diagonals {found['diagonal']}, "
        f"levels {scheme.top_level}, input ciphertexts {inputs}",
        *_bootstraps(found["bootstrap"], found["paired bootstrap"], costs),
        f"keys        {len(scheme.required_keys(body))}, {size(memory.keys)}",
        f"memory      {size(memory.total)} at the peak of an evaluator's process: keys "
        f"{size(memory.keys)}, layers encoded {size(memory.layers)}, as numbers "
        f"{size(memory.numbers)}, work {size(memory.workspace)}, the rest "
        f"{size(memory.interpreter)}",
        f"time        {duration(seconds)} of CPU by the model for {batch} input(s), "
        f"{rate(batch / seconds if seconds else math.inf)} inputs a second",
        f"error       up to {program.error or 0.0:.2g} of inputs such as the calibration's, "
        + ("no bound for any" if bound is None else f"up to {bound:.2g} of any"),
    ]
    if profile is not None:
        total = sum(each.seconds for each in profile.operations)
        lines.append(
            f"measured    {duration(total)} over threads, {duration(profile.seconds)} from start "
            f"to end, ciphertexts {size(profile.peak_bytes)} at the peak"
        )
    return "\n".join(lines)


def _bootstraps(single: int, paired: int, costs: Costs) -> list[str]:
    """The line about bootstraps, of programs that have any."""
    if not single + paired:
        return []
    seconds = single * costs.bootstrap + paired / 2 * costs.bootstrap_pair
    pairs = f", {paired} of them two at once" if paired else ""
    return [f"bootstraps  {single + paired}{pairs}, {duration(seconds)} of CPU by the model"]
