"""Gate programs: lists of gates over bits, kept in arrays, and what makes one legal.

The bits of the inputs are the first values; gate g makes the value after them by its
number. A gate uses values before its own only, so the order of gates is an order of
evaluation.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import printable
from cloakwork.base.arrays import owned_integers
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.port import BIT_KINDS, Port, distinct_ports, signature

# Gates that a program may have; all values have numbers of 32 bits.
MAX_GATES = 1 << 28
MAX_LUT_INPUTS = 6


class GateKind(IntEnum):
    """What a gate makes of its operands.

    `MUX` takes the bit that selects, what it makes when that is 1, and when that is 0. Bit j
    of the table of `LUT1` to `LUT6` is what it makes when the operands, the first worth 1, the
    second 2, the third 4 and so on, add up to j.
    """

    ZERO = 0
    ONE = 1
    BUF = 2
    NOT = 3
    AND = 4
    OR = 5
    XOR = 6
    NAND = 7
    NOR = 8
    XNOR = 9
    MUX = 10
    LUT1 = 11
    LUT2 = 12
    LUT3 = 13
    LUT4 = 14
    LUT5 = 15
    LUT6 = 16


# The number of operands by kind.
ARITIES: NDArray[np.uint8] = np.array([0, 0, 1, 1, *[2] * 6, 3, 1, 2, 3, 4, 5, 6], dtype=np.uint8)
ARITIES.setflags(write=False)

_ARITY_OF = ARITIES.tolist()


def lut(inputs: int) -> GateKind:
    """The kind of a look-up table.

    Example:
        >>> lut(4).name
        'LUT4'
    """
    if not 1 <= inputs <= MAX_LUT_INPUTS:
        raise InvalidProgramError(
            f"cannot make a look-up table of {inputs} inputs: expected 1 to {MAX_LUT_INPUTS}"
        )
    return GateKind(GateKind.LUT1 + inputs - 1)


@dataclass(frozen=True, eq=False)
class GateProgram:
    """A legal list of gates between named inputs and outputs.

    Args:
        title: What the program computes, in the words of who wrote it.
        inputs: The inputs; their bits are the first values.
        outputs: The outputs.
        kinds: The `GateKind` of every gate.
        operands: The values that the gates use, those of one gate after those of another.
        tables: The table of every gate that is a look-up table, 0 for the others.
        output_values: The value of every bit of the outputs.

    Raises:
        InvalidProgramError: A gate is of no kind, uses a value that is not before it or has a
            table that does not fit, or the ports do not fit the gates.

    Example:
        >>> a, y = Port("a", "bits", 2), Port("y", "bits", 1)
        >>> print(GateProgram("both", (a,), (y,), [GateKind.AND], [0, 1], [0], [2]))
        both
          input a: bits, 2 bits
          output y: bits, 1 bit
          1 gate
    """

    title: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    kinds: NDArray[np.uint8]
    operands: NDArray[np.uint32]
    tables: NDArray[np.uint64]
    output_values: NDArray[np.uint32]

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            _refuse(f"its title is of type {type(self.title).__name__}, not text")
        object.__setattr__(self, "title", printable(self.title))
        for name in ("inputs", "outputs"):
            object.__setattr__(self, name, distinct_ports(getattr(self, name), BIT_KINDS, name))
        for name, dtype in (
            ("kinds", np.uint8),
            ("operands", np.uint32),
            ("tables", np.uint64),
            ("output_values", np.uint32),
        ):
            object.__setattr__(self, name, owned_integers(getattr(self, name), dtype, name))
        self._require_kinds_and_tables()
        self._require_operands()
        self._require_outputs()

    @property
    def input_bits(self) -> int:
        """Bits of all inputs."""
        return sum(port.bits for port in self.inputs)

    @property
    def output_bits(self) -> int:
        """Bits of all outputs."""
        return len(self.output_values)

    @property
    def gate_count(self) -> int:
        """Gates of all kinds."""
        return len(self.kinds)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the operands of each gate begin, and where those of the last one end."""
        starts = np.zeros(self.gate_count + 1, dtype=np.int64)
        np.cumsum(ARITIES[self.kinds], out=starts[1:])
        starts.setflags(write=False)
        return starts

    @cached_property
    def levels(self) -> NDArray[np.uint32]:
        """For every value the most gates on a way to it from inputs and constants, both 0."""
        levels = [0] * self.input_bits
        operands = self.operands.tolist()
        level_of = levels.__getitem__
        end = 0
        # A loop over gates takes no longer on a deep program than on a wide one.
        for arity in ARITIES[self.kinds].tolist():
            start, end = end, end + arity
            levels.append(1 + max(map(level_of, operands[start:end])) if arity else 0)
        made = np.array(levels, dtype=np.uint32)
        made.setflags(write=False)
        return made

    def gates(self) -> Iterator[tuple[GateKind, list[int], int]]:
        """Kind, operands and table of every gate in order."""
        operands = self.operands.tolist()
        kind_of = list(GateKind)
        end = 0
        for kind, table in zip(self.kinds.tolist(), self.tables.tolist(), strict=True):
            start, end = end, end + _ARITY_OF[kind]
            yield kind_of[kind], operands[start:end], table

    def __str__(self) -> str:
        gates = "1 gate" if self.gate_count == 1 else f"{self.gate_count} gates"
        ports = [f"  input {port}" for port in self.inputs]
        ports += [f"  output {port}" for port in self.outputs]
        return "\n".join([self.title, *ports, f"  {gates}"])

    def __repr__(self) -> str:
        ports = signature(self.inputs, self.outputs)
        return f"GateProgram({self.title}: {ports}; {self.gate_count} gates)"

    def _require_kinds_and_tables(self) -> None:
        if self.gate_count > MAX_GATES:
            _refuse(f"expected up to {MAX_GATES} gates, got {self.gate_count}")
        unknown = np.flatnonzero(self.kinds >= len(ARITIES))
        if unknown.size:
            gate = int(unknown[0])
            _refuse(f"gate {gate} is of the unknown kind {int(self.kinds[gate])}")
        if len(self.tables) != self.gate_count:
            _refuse(f"expected {self.gate_count} tables, one per gate, got {len(self.tables)}")
        rows = np.where(self.kinds >= GateKind.LUT1, 1 << ARITIES[self.kinds].astype(np.int64), 0)
        # numpy leaves a shift by all 64 bits open.
        short = rows < 64
        excess = np.flatnonzero(
            short & (self.tables >> np.where(short, rows, 0).astype(np.uint64) > 0)
        )
        if excess.size:
            gate = int(excess[0])
            _refuse(
                f"gate {gate}, {GateKind(self.kinds[gate]).name.lower()}, has a table of "
                f"{int(rows[gate])} bits, got {int(self.tables[gate]):#x}"
            )

    def _require_operands(self) -> None:
        wanted = int(self.starts[-1])
        if len(self.operands) != wanted:
            _refuse(f"expected {wanted} operands by the kinds, got {len(self.operands)}")
        own = np.repeat(
            np.arange(self.gate_count, dtype=np.int64) + self.input_bits, ARITIES[self.kinds]
        )
        late = np.flatnonzero(self.operands >= own)
        if late.size:
            place = int(late[0])
            _refuse(
                f"gate {int(own[place]) - self.input_bits} makes %{int(own[place])} of "
                f"%{int(self.operands[place])}, which is not before it"
            )

    def _require_outputs(self) -> None:
        wanted = sum(port.bits for port in self.outputs)
        if self.output_bits != wanted:
            _refuse(f"expected {wanted} bits of outputs by the ports, got {self.output_bits}")
        values = self.input_bits + self.gate_count
        if wanted and int(self.output_values.max()) >= values:
            _refuse(f"an output is %{int(self.output_values.max())}, of {values} values")


class GateBuilder:
    """Collects gates into a program.

    Args:
        title: What the program computes.
        inputs: The inputs; their bits are values 0 and on.

    Example:
        >>> builder = GateBuilder("half adder", (Port("a", "bits", 2),))
        >>> total, carry = builder.append(GateKind.XOR, 0, 1), builder.append(GateKind.AND, 0, 1)
        >>> builder.output(Port("s", "unsigned", 2), (total, carry))
        >>> builder.finish().gate_count
        2
    """

    def __init__(self, title: str, inputs: Sequence[Port]) -> None:
        self._title = title
        self._inputs = distinct_ports(inputs, BIT_KINDS, "inputs")
        self._next = sum(port.bits for port in self._inputs)
        self._kinds = array("B")
        self._operands = array("I")
        self._tables = array("Q")
        self._outputs: list[Port] = []
        self._output_values = array("I")

    def __len__(self) -> int:
        """The number of values so far."""
        return self._next

    def append(self, kind: GateKind, *operands: int, table: int = 0) -> int:
        """Add a gate and return the number of its value."""
        arity = _ARITY_OF[kind]
        if len(operands) != arity:
            raise InvalidProgramError(
                f"cannot append {kind.name.lower()}: expected {arity} operands, got {len(operands)}"
            )
        for operand in operands:
            if not 0 <= operand < self._next:
                raise InvalidProgramError(
                    f"cannot append {kind.name.lower()}: %{operand} is not among the "
                    f"{self._next} values so far"
                )
        if not 0 <= table < 1 << (1 << arity if kind >= GateKind.LUT1 else 0):
            raise InvalidProgramError(
                f"cannot append {kind.name.lower()}: the table {table:#x} does not fit it"
            )
        self._kinds.append(kind)
        self._operands.extend(operands)
        self._tables.append(table)
        self._next += 1
        return self._next - 1

    def output(self, port: Port, values: Sequence[int]) -> None:
        """Add an output with the values of its bits."""
        if len(values) != port.bits:
            raise InvalidProgramError(
                f"cannot append the output {port.name!r}: expected {port.bits} values, one per "
                f"bit, got {len(values)}"
            )
        for value in values:
            if not 0 <= value < self._next:
                raise InvalidProgramError(
                    f"cannot append the output {port.name!r}: %{value} is not among the "
                    f"{self._next} values so far"
                )
        self._outputs.append(port)
        self._output_values.extend(values)

    def finish(self) -> GateProgram:
        """The program so far."""
        return GateProgram(
            self._title,
            self._inputs,
            tuple(self._outputs),
            np.array(self._kinds, dtype=np.uint8),
            np.array(self._operands, dtype=np.uint32),
            np.array(self._tables, dtype=np.uint64),
            np.array(self._output_values, dtype=np.uint32),
        )


def _refuse(reason: str) -> NoReturn:
    raise InvalidProgramError(f"cannot make the gate program: {reason}")


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

    def __repr__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.gates.items())
        widest = max(self.widths, default=0)
        return f"GateStatistics({kinds or 'no gates'}; depth {self.depth}, at most {widest} beside)"


def statistics_of(program: GateProgram) -> GateStatistics:
    """Count the gates of a program.

    Example:
        >>> builder = GateBuilder("nor", (Port("a", "bits", 2),))
        >>> _ = builder.append(GateKind.NOT, builder.append(GateKind.OR, 0, 1))
        >>> statistics_of(builder.finish())
        GateStatistics(1 not, 1 or; depth 2, at most 1 beside)
    """
    counts = np.bincount(program.kinds, minlength=len(ARITIES)).tolist()
    gates = {kind.name.lower(): counts[kind] for kind in GateKind if counts[kind]}
    levels = program.levels[program.input_bits :][ARITIES[program.kinds] > 0]
    widths = tuple(np.bincount(levels, minlength=1)[1:].tolist())
    return GateStatistics(gates, len(widths), widths)
