"""The clear backend of gate programs: every gate on 64 runs at once, bit for bit.

It is the meaning of a gate program and its debugger. A word holds one bit of 64 runs; all
gates of one kind at one level are one numpy operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import ShapeMismatchError
from cloakwork.programs.gates import ARITIES, GateKind, GateProgram

Bits = NDArray[np.uint8]
Words = NDArray[np.uint64]
_Rows = NDArray[np.intp]

_WORD_BITS = 64
_ONES = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

# Words that live at one time, as far as one word per row allows: more runs come in turns.
_STATE_WORDS = 1 << 22
# Words of one operand that are worked on at one time, so that they stay near the processor.
_PIECE_WORDS = 1 << 15


@dataclass(frozen=True, slots=True)
class _ClearStep:
    """Gates of one kind at one level.

    Args:
        kind: Their kind.
        made: The row of each gate's value.
        used: The rows of their operands, one array for each place.
        tables: Their tables.
    """

    kind: GateKind
    made: _Rows
    used: tuple[_Rows, ...]
    tables: NDArray[np.uint64]


class ClearGates:
    """A gate program ready to run in the clear any number of times.

    Args:
        program: The program.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("both", (Port("a", "bits", 2),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.AND, 0, 1),))
        >>> ClearGates(builder.finish()).run(np.array([[0, 1], [1, 1]], dtype=np.uint8)).tolist()
        [[0], [1]]
    """

    def __init__(self, program: GateProgram) -> None:
        self._program = program
        order = np.lexsort((program.kinds, program.levels[program.input_bits :]))
        self._row_of, self.rows = _assigned_rows(program, order)
        self._steps = list(_steps(program, order, self._row_of))

    def run(self, inputs: Bits) -> Bits:
        """Run the program on many inputs."""
        if inputs.ndim != 2 or inputs.shape[1] != self._program.input_bits:
            raise ShapeMismatchError(
                f"cannot run the gates: expected runs of {self._program.input_bits} bits each, "
                f"got {inputs.shape}"
            )
        runs = len(inputs)
        outputs = np.empty((runs, self._program.output_bits), dtype=np.uint8)
        words = max(1, min(_STATE_WORDS // max(1, self.rows), -(-runs // _WORD_BITS)))
        state = np.empty((self.rows, words), dtype=np.uint64)
        for start in range(0, runs, words * _WORD_BITS):
            turn = slice(start, min(runs, start + words * _WORD_BITS))
            outputs[turn] = self._turn(state, inputs[turn])
        return outputs

    def _turn(self, state: Words, inputs: Bits) -> Bits:
        state[self._row_of[: self._program.input_bits]] = _packed(inputs, state.shape[1])
        for step in self._steps:
            piece = max(1, _PIECE_WORDS // state.shape[1])
            for start in range(0, len(step.made), piece):
                part = slice(start, start + piece)
                operands = tuple(state[rows[part]] for rows in step.used)
                if step.kind in _RULES:
                    state[step.made[part]] = _RULES[step.kind](*operands)
                else:
                    state[step.made[part]] = _looked_up(step.tables[part], operands)
        return _unpacked(state[self._row_of[self._program.output_values]], len(inputs))


def _zero() -> Words:
    return np.zeros(1, dtype=np.uint64)


def _one() -> Words:
    return np.full(1, _ONES)


def _same(a: Words) -> Words:
    return a


def _nand(a: Words, b: Words) -> Words:
    return ~(a & b)


def _nor(a: Words, b: Words) -> Words:
    return ~(a | b)


def _xnor(a: Words, b: Words) -> Words:
    return ~(a ^ b)


def _mux(select: Words, when_one: Words, when_zero: Words) -> Words:
    return when_zero ^ (select & (when_one ^ when_zero))


_RULES: Mapping[GateKind, Callable[..., Words]] = {
    GateKind.ZERO: _zero,
    GateKind.ONE: _one,
    GateKind.BUF: _same,
    GateKind.NOT: np.invert,
    GateKind.AND: np.bitwise_and,
    GateKind.OR: np.bitwise_or,
    GateKind.XOR: np.bitwise_xor,
    GateKind.NAND: _nand,
    GateKind.NOR: _nor,
    GateKind.XNOR: _xnor,
    GateKind.MUX: _mux,
}


def _looked_up(tables: NDArray[np.uint64], operands: tuple[Words, ...]) -> Words:
    """What tables of one size make: each operand halves what is left of them."""
    entries = np.arange(1 << len(operands), dtype=np.uint64)[:, np.newaxis]
    left: Words = (((tables >> entries) & np.uint64(1)) * _ONES)[:, :, np.newaxis]
    for operand in operands:
        left = _mux(operand, left[1::2], left[0::2])
    result: Words = left[0]
    return result


def _assigned_rows(program: GateProgram, order: NDArray[np.intp]) -> tuple[_Rows, int]:
    """The row of every value, and how many rows there are.

    A row is free again from the level after the one that uses its value last.
    """
    levels = program.levels.astype(np.intp)
    depth = int(levels.max(initial=0))
    last_use = levels.copy()
    arities = ARITIES[program.kinds]
    np.maximum.at(last_use, program.operands, np.repeat(levels[program.input_bits :], arities))
    last_use[program.output_values] = depth + 1
    made = np.concatenate([np.arange(program.input_bits), order + program.input_bits])
    made = made[np.argsort(levels[made], kind="stable")]
    made_ends = np.cumsum(np.bincount(levels, minlength=depth + 1)).tolist()
    ended = np.argsort(last_use, kind="stable")
    ended_ends = np.cumsum(np.bincount(last_use, minlength=depth + 2)).tolist()
    row_of = np.empty(len(levels), dtype=np.intp)
    free = np.empty(len(levels), dtype=np.intp)
    free_count = rows = made_start = ended_start = 0
    for made_end, ended_end in zip(made_ends, ended_ends, strict=False):
        values = made[made_start:made_end]
        reused = min(free_count, len(values))
        row_of[values[:reused]] = free[free_count - reused : free_count]
        free_count -= reused
        fresh = len(values) - reused
        row_of[values[reused:]] = np.arange(rows, rows + fresh)
        rows += fresh
        over = ended[ended_start:ended_end]
        free[free_count : free_count + len(over)] = row_of[over]
        free_count += len(over)
        made_start, ended_start = made_end, ended_end
    return row_of, rows


def _steps(program: GateProgram, order: NDArray[np.intp], row_of: _Rows) -> Iterator[_ClearStep]:
    """The gates in steps, by level and then by kind."""
    kinds = program.kinds[order]
    levels = program.levels[program.input_bits :][order]
    changes = np.flatnonzero((np.diff(kinds) != 0) | (np.diff(levels) != 0)) + 1
    bounds = [0, *changes.tolist(), len(order)] if len(order) else []
    starts = program.starts[:-1][order]
    for start, end in pairwise(bounds):
        kind = GateKind(int(kinds[start]))
        gates, first = order[start:end], starts[start:end]
        used = tuple(row_of[program.operands[first + place]] for place in range(ARITIES[kind]))
        yield _ClearStep(kind, row_of[gates + program.input_bits], used, program.tables[gates])


def _packed(runs: Bits, words: int) -> Words:
    """One row of words per bit, from one row of bits per run."""
    packed = np.zeros((runs.shape[1], words * 8), dtype=np.uint8)
    made = np.packbits(runs.T, axis=1, bitorder="little")
    packed[:, : made.shape[1]] = made
    return packed.view(np.uint64)


def _unpacked(words: Words, runs: int) -> Bits:
    """One row of bits per run, from one row of words per bit."""
    octets = np.ascontiguousarray(words).view(np.uint8)
    return np.unpackbits(octets, axis=1, count=runs, bitorder="little").T
