"""Parts of bootstrap programs: some nodes, to be run by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import _native
from cloakwork.programs.bootstraps import BootstrapProgram


@dataclass(frozen=True, slots=True, eq=False)
class BootstrapPart:
    """Some nodes of a program as the engine runs them.

    Args:
        native: The nodes as a program of their own.
        needs: The signals of the whole program that are its inputs, in order.
        nodes: The nodes, by their numbers in the whole program.
    """

    native: _native.BootstrapProgram
    needs: NDArray[np.int64]
    nodes: NDArray[np.int64]


def part_of(program: BootstrapProgram, nodes: Sequence[int], gives: Sequence[int]) -> BootstrapPart:
    """Some nodes of a program, in the same order.

    Example:
        >>> from cloakwork.programs.bootstraps import HALF, BootstrapBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("twice", (Port("a", "bits", 1),))
        >>> first = builder.linear([(builder.input(0, HALF), 1)], 0)
        >>> second = builder.linear([(first, 1)], 0)
        >>> builder.output(Port("y", "bits", 1), [second], [HALF])
        >>> part = part_of(builder.finish(), [1], [2])
        >>> part.needs.tolist(), part.native.outputs
        ([1], 1)
    """
    chosen = np.array(nodes, dtype=np.int64)
    terms = _within(program.term_starts, chosen)
    outputs = _within(program.output_starts, chosen)
    tables = _within(program.table_starts, chosen)
    used = program.term_signals[terms].astype(np.int64)
    made = outputs + program.input_count
    needs = np.setdiff1d(used, made)
    # Of the whole program's signals the numbers in the part.
    number = np.zeros(program.signal_count, dtype=np.uint32)
    number[np.concatenate([needs, made])] = np.arange(len(needs) + len(made))
    native = _native.BootstrapProgram(
        inputs=len(needs),
        kinds=program.kinds[chosen],
        term_starts=_starts(program.term_starts, chosen),
        term_signals=number[used],
        term_weights=program.term_weights[terms],
        constants=program.constants[chosen],
        message_bits=program.message_bits[chosen],
        output_starts=_starts(program.output_starts, chosen),
        tables=program.tables[tables],
        output_constants=program.output_constants[outputs],
        output_signals=number[np.array(gives, dtype=np.int64)],
    )
    return BootstrapPart(native, needs, chosen)


def _counts(starts: NDArray[np.integer[Any]], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    return starts[nodes + 1].astype(np.int64) - starts[nodes].astype(np.int64)


def _within(starts: NDArray[np.integer[Any]], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """The places of all that belongs to nodes, where that of each begins at these starts."""
    counts = _counts(starts, nodes)
    ends = np.cumsum(counts)
    own = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    return np.asarray(np.repeat(starts[nodes].astype(np.int64), counts) + own, dtype=np.int64)


def _starts(starts: NDArray[np.integer[Any]], nodes: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Where what belongs to each node begins when nothing else is there, and where it ends."""
    return np.concatenate([[0], np.cumsum(_counts(starts, nodes))]).astype(np.uint32)
