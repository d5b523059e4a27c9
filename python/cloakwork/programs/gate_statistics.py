"""What a gate program consists of: gates by kind, depth, gates by level."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cloakwork.programs.gates import ARITIES, GateKind, GateProgram


@dataclass(frozen=True, slots=True)
class GateStatistics:
    """Counts of a gate program.

    Args:
        gates: How many gates there are of each kind that there is, by name.
        depth: The most gates on a way from an input to an output or an unused value.
        widths: How many gates stand at level 1, 2, ... depth; constants have no level.
    """

    gates: Mapping[str, int]
    depth: int
    widths: tuple[int, ...]


def statistics_of(program: GateProgram) -> GateStatistics:
    """Count the gates of a program.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("nor", (Port("a", "bits", 2),))
        >>> _ = builder.append(GateKind.NOT, builder.append(GateKind.OR, 0, 1))
        >>> statistics_of(builder.finish())
        GateStatistics(gates={'not': 1, 'or': 1}, depth=2, widths=(1, 1))
    """
    counts = np.bincount(program.kinds, minlength=len(ARITIES)).tolist()
    gates = {kind.name.lower(): counts[kind] for kind in GateKind if counts[kind]}
    levels = program.levels[program.input_bits :][ARITIES[program.kinds] > 0]
    widths = tuple(np.bincount(levels, minlength=1)[1:].tolist())
    return GateStatistics(gates, len(widths), widths)
