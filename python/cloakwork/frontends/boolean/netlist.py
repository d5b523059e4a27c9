"""Netlists as gate programs: cells between wires, in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from cloakwork.errors import (
    CloakworkError,
    InvalidProgramError,
    NetlistError,
    SequentialCircuitError,
)
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port

# A wire as the file calls it.
Wire = int | str

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Cell:
    """What makes one wire of others.

    Args:
        place: What messages call it.
        used: The wires that it uses.
        made: The wire that it makes.
        append: Adds its gates, given the values of the wires used, and returns the value made.
    """

    place: str
    used: Sequence[Wire]
    made: Wire
    append: Callable[[GateBuilder, Sequence[int]], int]


@dataclass(frozen=True, slots=True)
class WiredPort:
    """A port, and the wires of its bits."""

    port: Port
    wires: Sequence[Wire]


def gate_program(
    title: str,
    inputs: Sequence[WiredPort],
    outputs: Sequence[WiredPort],
    cells: Sequence[Cell],
    constants: Mapping[Wire, GateKind],
) -> GateProgram:
    """The gates of cells, each after those whose wires it uses.

    Args:
        title: What it computes.
        inputs: The inputs.
        outputs: The outputs.
        cells: The cells.
        constants: The wires that nothing needs to make.

    Raises:
        NetlistError: There is no output, the cells form a loop, nothing makes a wire, or several
            things do.
        InvalidProgramError: The ports are illegal.

    Example:
        >>> a, y = (Port(name, "unsigned", 1) for name in "ay")
        >>> append = lambda builder, used: builder.append(GateKind.NOT, *used)
        >>> cells = [Cell("line 3", ["a"], "y", append)]
        >>> inputs, outputs = [WiredPort(a, ["a"])], [WiredPort(y, ["y"])]
        >>> print(gate_program("inverter", inputs, outputs, cells, {}))
        inverter
          input a: unsigned, 1 bit
          output y: unsigned, 1 bit
          1 gate
    """
    if not outputs:
        raise NetlistError("it has no outputs; expected a module that computes something")
    builder = GateBuilder(title, [each.port for each in inputs])
    values: dict[Wire, int] = {}
    for number, wire in enumerate(wire for each in inputs for wire in each.wires):
        if values.setdefault(wire, number) != number or wire in constants:
            raise NetlistError(f"the wire {wire} is an input twice, or a constant")

    def value(wire: Wire, place: str) -> int:
        if wire not in values:
            if wire not in constants:
                raise NetlistError(f"nothing drives the wire {wire}, which {place} uses")
            values[wire] = builder.append(constants[wire])
        return values[wire]

    for cell in _in_order(cells, values.keys() | constants.keys()):
        operands = [value(wire, cell.place) for wire in cell.used]
        values[cell.made] = cell.append(builder, operands)
    for each in outputs:
        builder.output(
            each.port, [value(wire, f"the output {each.port.name}") for wire in each.wires]
        )
    return builder.finish()


def _in_order(cells: Sequence[Cell], driven: Iterable[Wire]) -> Iterator[Cell]:
    """The cells, each after those whose wires it uses."""
    others = set(driven)
    driver: dict[Wire, int] = {}
    for number, cell in enumerate(cells):
        if driver.setdefault(cell.made, number) != number or cell.made in others:
            raise NetlistError(f"{cell.place}: the wire {cell.made} is driven twice")
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for number, cell in enumerate(cells):
        sorter.add(number, *(driver[wire] for wire in cell.used if wire in driver))
    try:
        yield from (cells[number] for number in sorter.static_order())
    except CycleError as error:
        places = ", ".join(cells[number].place for number in error.args[1][:_SHOWN])
        raise NetlistError(f"its gates form a loop: {places}") from error


@contextmanager
def told_of(name: str, kind: type[CloakworkError]) -> Iterator[None]:
    """Say which file or module it is that a refusal is about.

    Args:
        name: The file or module.
        kind: The error for whatever is not a netlist of gates.
    """
    try:
        yield
    except SequentialCircuitError as error:
        raise SequentialCircuitError(f"cannot read {name}: {error}") from error
    except (NetlistError, InvalidProgramError) as error:
        raise kind(f"cannot read {name}: {error}") from error
