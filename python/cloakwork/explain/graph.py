"""A program's graph as a drawing needs it: where each piece of work stands, and its time."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cloakwork.explain.stages import stages_of_program, strands_of
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.slots import Input, Output, SlotProgram

# Programs of more operations are drawn by strands: what happens to one ciphertext in one stage.
_MOST_OPERATIONS = 400
# A strand is known by the first of these that it does.
_WEIGHTIEST = (
    "linear",
    "polynomial",
    "mul",
    "rotate_sum",
    "rotate",
    "rescale",
    "add",
    "sub",
    "neg",
)


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One operation, or several that are drawn as one.

    Args:
        numbers: The numbers of the operations.
        kind: The name of the operation, the weightiest of several.
        level: Level of its value.
        track: Which place it has among the values that live at its level at one time.
        stage: The number of its stage, from 1; 0 for inputs and outputs.
        parents: The nodes that it works on.
    """

    numbers: tuple[int, ...]
    kind: str
    level: int
    track: int
    stage: int
    parents: tuple[int, ...]


def nodes_of(program: SlotProgram, *, most: int = _MOST_OPERATIONS) -> list[GraphNode]:
    """The nodes of a program in order; constants are left out.

    Example:
        >>> from cloakwork.programs.slots import Add, Rotate
        >>> operations = (Input("x", 1), Rotate(0, 1), Add(0, 1), Output(2))
        >>> program = SlotProgram("", 4, operations, (None,) * 4)
        >>> [(node.kind, node.track, node.parents) for node in nodes_of(program)]
        [('input', 0, ()), ('rotate', 1, (0,)), ('add', 2, (0, 1)), ('output', 0, (2,))]
        >>> [node.numbers for node in nodes_of(program, most=3)]
        [(0,), (1, 2), (3,)]
    """
    groups = _groups(program, one_by_one=len(program.operations) <= most)
    node_of = {number: place for place, (_, numbers) in enumerate(groups) for number in numbers}
    parents: list[tuple[int, ...]] = []
    for place, (_, numbers) in enumerate(groups):
        used = {
            node_of[operand]
            for number in numbers
            for operand in program.operations[number].operands
            if operand in node_of
        }
        parents.append(tuple(sorted(used - {place})))
    levels = [program.states[numbers[-1]].level or 0 for _, numbers in groups]
    tracks = _tracks(levels, parents)
    return [
        GraphNode(numbers, _kind(program, numbers), level, track, stage, above)
        for (stage, numbers), level, track, above in zip(
            groups, levels, tracks, parents, strict=True
        )
    ]


def nodes_of_bootstraps(
    program: BootstrapProgram, *, most: int = _MOST_OPERATIONS
) -> list[GraphNode]:
    """The bootstraps of a program over bits, in order; of long ones those of a level are one node.

    Example:
        >>> from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("and", (Port("a", "bits", 2),))
        >>> terms = [(builder.input(0, QUARTER), 1), (builder.input(1, QUARTER), 1)]
        >>> made = builder.bootstrap(terms, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
        >>> builder.output(Port("y", "bits", 1), made, [QUARTER])
        >>> [(node.kind, node.level) for node in nodes_of_bootstraps(builder.finish())]
        [('bootstrap', 0)]
    """
    levels = program.levels.astype(int).tolist()
    kinds = program.kinds.tolist()
    top = max(levels, default=0)
    groups: dict[tuple[int, int], list[int]] = {}
    for node, level in enumerate(levels):
        groups.setdefault((level, node if len(kinds) <= most else -1), []).append(node)
    ordered = sorted(groups.items(), key=lambda group: group[1][-1])
    place_of = {node: place for place, (_, nodes) in enumerate(ordered) for node in nodes}
    parents = [
        _makers(program, nodes, place_of) - {place} for place, (_, nodes) in enumerate(ordered)
    ]
    tracks = _tracks([top - level for (level, _), _ in ordered], [sorted(p) for p in parents])
    return [
        GraphNode(
            tuple(nodes),
            "bootstrap" if any(kinds[node] for node in nodes) else "add",
            top - level,
            track,
            level,
            tuple(sorted(above)),
        )
        for ((level, _), nodes), track, above in zip(ordered, tracks, parents, strict=True)
    ]


def _makers(
    program: BootstrapProgram, nodes: Sequence[int], place_of: Mapping[int, int]
) -> set[int]:
    """The places of the nodes whose outputs these nodes use."""
    starts = program.term_starts
    used = [program.term_signals[starts[node] : starts[node + 1]] for node in nodes]
    signals = np.concatenate([*used, np.empty(0, np.uint32)]).astype(np.int64)
    made = signals[signals >= program.input_count] - program.input_count
    makers = np.searchsorted(program.output_starts, made, side="right") - 1
    return {place_of[node] for node in makers.tolist() if node in place_of}


def _groups(program: SlotProgram, *, one_by_one: bool) -> list[tuple[int, tuple[int, ...]]]:
    """Stage and operations of every node, in an order in which parents come first."""
    groups: list[tuple[int, tuple[int, ...]]] = [
        (0, (number,))
        for number, operation in enumerate(program.operations)
        if isinstance(operation, Input | Output)
    ]
    for place, stage in enumerate(stages_of_program(program), start=1):
        strands: list[tuple[int, ...]] = (
            [(number,) for number in stage.numbers] if one_by_one else strands_of(program, stage)
        )
        groups += [(place, strand) for strand in strands]
    return sorted(groups, key=lambda group: group[1][-1])


def _kind(program: SlotProgram, numbers: Sequence[int]) -> str:
    kinds = {program.operations[number].kind for number in numbers}
    return next((kind for kind in _WEIGHTIEST if kind in kinds), min(kinds))


def _tracks(levels: Sequence[int], parents: Sequence[Sequence[int]]) -> list[int]:
    """For every node the lowest track of its level that no living value has."""
    last_use = list(range(len(levels)))
    for node, above in enumerate(parents):
        for parent in above:
            last_use[parent] = node
    free: dict[int, list[int]] = {}
    taken: dict[int, int] = {}
    ending: dict[int, list[int]] = {}
    tracks: list[int] = []
    for node, level in enumerate(levels):
        for ended in ending.pop(node - 1, []):
            heapq.heappush(free.setdefault(levels[ended], []), tracks[ended])
        if free.get(level):
            tracks.append(heapq.heappop(free[level]))
        else:
            tracks.append(taken.get(level, 0))
            taken[level] = tracks[-1] + 1
        ending.setdefault(last_use[node], []).append(node)
    return tracks


def seconds_of_nodes(nodes: Sequence[GraphNode], seconds: Mapping[int, float]) -> list[float]:
    """The seconds of every node, given those of operations; what is not given took nothing.

    Example:
        >>> seconds_of_nodes([GraphNode((1, 2), "add", 0, 0, 1, ())], {1: 0.5, 2: 0.25})
        [0.75]
    """
    return [sum(seconds.get(number, 0.0) for number in node.numbers) for node in nodes]
