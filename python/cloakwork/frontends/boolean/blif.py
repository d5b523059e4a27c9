"""Circuits in the Berkeley Logic Interchange Format, read.

A model has inputs and outputs, and tables that each make one net of others: a row tells bits of
these, with - for both, and whether the net is 1 or 0 where they are so. Yosys and ABC write it.

The format: https://people.eecs.berkeley.edu/~alanmi/publications/other/blif.pdf
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from cloakwork.base.arguments import file_path
from cloakwork.errors import NetlistError, SequentialCircuitError
from cloakwork.frontends.boolean.given_ports import ports_as_given
from cloakwork.frontends.boolean.netlist import Cell, WiredPort, gate_program, told_of
from cloakwork.frontends.boolean.yosys_cells import GATES, OUTPUT, STATE, append_gate, pins_of
from cloakwork.programs.gates import MAX_LUT_INPUTS, GateBuilder, GateKind, GateProgram, lut
from cloakwork.programs.port import Port
from cloakwork.runtime.storage import named_reading

_BIT = re.compile(r"(.+)\[(0|[1-9]\d{0,8})\]", re.ASCII)
_STATE = (".latch", ".mlatch", ".clock")
# Delays, loads and names of what others drew.
_WITHOUT_EFFECT = re.compile(
    r"\.(end|attr|cname|area|delay|wire|wire_load_slope|input_arrival|default_input_arrival"
    r"|output_required|default_output_required|input_drive|default_input_drive|output_load"
    r"|default_output_load|max_input_load|default_max_input_load|search)"
)
# Tables of one and two inputs that are gates.
_KINDS = {
    (0, 0b0): GateKind.ZERO,
    (0, 0b1): GateKind.ONE,
    (1, 0b10): GateKind.BUF,
    (1, 0b01): GateKind.NOT,
    (2, 0b1000): GateKind.AND,
    (2, 0b1110): GateKind.OR,
    (2, 0b0110): GateKind.XOR,
    (2, 0b0111): GateKind.NAND,
    (2, 0b0001): GateKind.NOR,
    (2, 0b1001): GateKind.XNOR,
}

# The number of a line, and its words.
_Line = tuple[int, list[str]]


@dataclass(frozen=True, slots=True)
class _Command:
    """A command: its line, its words, and the rows of a table."""

    line: int
    name: str
    words: list[str]
    rows: list[list[str]]


def from_blif(
    path: str | Path,
    inputs: Sequence[Port] | None = None,
    outputs: Sequence[Port] | None = None,
) -> GateProgram:
    """Read a circuit in BLIF.

    Arguments and errors are those of `circuit.from_blif`.
    """
    path = file_path(path, "read")
    model = _Model()
    with (
        named_reading(path),
        told_of(path.name, NetlistError),
        path.open(encoding="utf-8", errors="replace") as file,
    ):
        for command in _commands(_lines(file)):
            model.take(command)
        refused = f"cannot read {path.name} with these"
        read = _given(_ports(model.inputs), inputs, f"{refused} inputs")
        made = _given(_ports(model.outputs), outputs, f"{refused} outputs")
        return gate_program(path.name, read, made, model.cells, {})


def _lines(file: Iterable[str]) -> Iterator[_Line]:
    """The lines with anything on them; one that ends in a backslash goes on in the next."""
    words: list[str] = []
    for number, line in enumerate(file, start=1):
        text = line.partition("#")[0].rstrip()
        words += text.removesuffix("\\").split()
        if words and not text.endswith("\\"):
            yield number, words
            words = []
    if words:
        yield number, words


def _commands(lines: Iterable[_Line]) -> Iterator[_Command]:
    command: _Command | None = None
    for number, words in lines:
        if words[0].startswith("."):
            if command:
                yield command
            command = _Command(number, words[0], words[1:], [])
        elif command and command.name == ".names":
            command.rows.append(words)
        else:
            raise NetlistError(f"line {number}: expected a command, got {words[0][:20]!r}")
    if command:
        yield command


def _given(
    wired: Sequence[WiredPort], given: Sequence[Port] | None, refused: str
) -> list[WiredPort]:
    """The ports given, or those of the file, on its nets in their order."""
    nets = iter([net for each in wired for net in each.wires])
    ports = ports_as_given([each.port for each in wired], given, refused)
    return [WiredPort(port, list(islice(nets, port.bits))) for port in ports]


class _Model:
    """The one model of a file."""

    def __init__(self) -> None:
        self.inputs: list[str] = []
        self.outputs: list[str] = []
        self.cells: list[Cell] = []
        self._count = 0

    def take(self, command: _Command) -> None:
        """Add what a command declares."""
        try:
            self._take(command.name, command.words, command.rows, f"line {command.line}")
        except (NetlistError, SequentialCircuitError) as error:
            raise type(error)(f"line {command.line}: {error}") from error

    def _take(self, name: str, words: list[str], rows: list[list[str]], place: str) -> None:
        match name:
            case ".model":
                self._count += 1
                if self._count > 1:
                    raise NetlistError("expected one model, got another; flatten the design")
            case ".inputs":
                self.inputs += words
            case ".outputs":
                self.outputs += words
            case ".names":
                self.cells.append(_table(place, words, rows))
            case ".conn":
                self.cells.append(_table(place, words, [["1", "1"]]))
            case ".subckt" | ".gate":
                self.cells.append(_gate(place, words))
            case _ if name in _STATE:
                _refuse_state(name)
            case _ if not _WITHOUT_EFFECT.fullmatch(name):
                raise NetlistError(f"expected a command of BLIF, got {name[:20]!r}")


def _refuse_state(kind: str) -> None:
    raise SequentialCircuitError(
        f"it keeps state ({kind[:20]}); expected a circuit whose outputs follow from its inputs "
        "alone, without clocks and latches"
    )


def _gate(place: str, names: list[str]) -> Cell:
    """A gate of Yosys with the nets at its pins, such as `$_AND_ A=a B=b Y=y`."""
    kind = names[0] if names else ""
    if STATE.match(kind):
        _refuse_state(kind)
    if kind not in GATES:
        raise NetlistError(
            f"expected a gate of Yosys, such as $_AND_, got {kind[:40]!r}; flatten the design, and "
            "turn it into gates"
        )
    nets = dict(name.partition("=")[::2] for name in names[1:])
    expression = GATES[kind]
    pins = pins_of(expression)
    if not all(nets.get(pin) for pin in (*pins, OUTPUT)):
        raise NetlistError(f"expected a net at each of the pins {', '.join(pins)}, {OUTPUT}")

    def append(builder: GateBuilder, used: Sequence[int]) -> int:
        return append_gate(builder, expression, dict(zip(pins, used, strict=True)))

    return Cell(place, [nets[pin] for pin in pins], nets[OUTPUT], append)


def _table(place: str, names: list[str], rows: list[list[str]]) -> Cell:
    """A table of rows, each of bits of the inputs and of what they make."""
    if not names:
        raise NetlistError("expected the names of nets, got none")
    *used, made = names
    patterns: list[str] = []
    results: set[str] = set()
    for row in rows:
        pattern, result = ("", row[0]) if not used else (row[0], row[-1])
        if (
            len(row) != (2 if used else 1)
            or len(pattern) != len(used)
            or set(pattern) - set("01-")
            or result not in ("0", "1")
        ):
            raise NetlistError(
                f"expected rows of {len(used)} bits 0, 1 or - and a result, "
                f"got {' '.join(row)[:40]!r}"
            )
        patterns.append(pattern)
        results.add(result)
    if len(results) > 1:
        raise NetlistError("expected rows of one result, got some of 0 and some of 1")
    inverted = results == {"0"}

    def append(builder: GateBuilder, values: Sequence[int]) -> int:
        if len(values) > MAX_LUT_INPUTS:
            return _sum_of_products(builder, values, patterns, inverted=inverted)
        return _look_up(builder, values, patterns, inverted=inverted)

    return Cell(place, used, made, append)


def _look_up(
    builder: GateBuilder, values: Sequence[int], patterns: Sequence[str], *, inverted: bool
) -> int:
    every = (1 << (1 << len(values))) - 1
    table = every if inverted else 0
    for pattern in patterns:
        choices = [(0, 1) if each == "-" else (int(each),) for each in pattern]
        for bits in product(*choices):
            row = 1 << sum(bit << place for place, bit in enumerate(bits))
            table = table & ~row if inverted else table | row
    if kind := _KINDS.get((len(values), table)):
        return builder.append(kind, *values)
    if table in (0, every):
        return builder.append(GateKind.ONE if table else GateKind.ZERO)
    return builder.append(lut(len(values)), *values, table=table)


def _sum_of_products(
    builder: GateBuilder, values: Sequence[int], patterns: Sequence[str], *, inverted: bool
) -> int:
    products: list[int] = []
    for pattern in patterns:
        literals = [
            value if each == "1" else builder.append(GateKind.NOT, value)
            for value, each in zip(values, pattern, strict=True)
            if each != "-"
        ]
        products.append(_joined(builder, GateKind.AND, literals, GateKind.ONE))
    total = _joined(builder, GateKind.OR, products, GateKind.ZERO)
    return builder.append(GateKind.NOT, total) if inverted else total


def _joined(builder: GateBuilder, kind: GateKind, values: list[int], empty: GateKind) -> int:
    """All values joined pairwise, in as few levels as there may be."""
    while len(values) > 1:
        pairs = zip(values[::2], values[1::2], strict=False)
        odd = values[len(values) & ~1 :]
        values = [builder.append(kind, *pair) for pair in pairs] + odd
    return values[0] if values else builder.append(empty)


def _ports(nets: Sequence[str]) -> list[WiredPort]:
    """The ports of nets: `a[0]`, `a[1]` and so on are one number, whose bit 0 has the least index.

    Nets whose indices have gaps are numbers of one bit each.
    """
    vectors: dict[str, dict[int, str]] = {}
    for net in nets:
        found = _BIT.fullmatch(net)
        name, index = (found[1], int(found[2])) if found else (net, -1)
        bits = vectors.setdefault(name, {})
        if index in bits:
            raise NetlistError(f"the net {net[:40]} is twice among the inputs or the outputs")
        bits[index] = net
    ports: list[WiredPort] = []
    for name, bits in vectors.items():
        indices = sorted(bits)
        if indices == list(range(indices[0], indices[0] + len(indices))) and indices[0] >= 0:
            wires = [bits[index] for index in indices]
            ports.append(WiredPort(Port(name, "unsigned", len(wires)), wires))
        else:
            ports += [WiredPort(Port(net, "unsigned", 1), [net]) for net in bits.values()]
    return ports
