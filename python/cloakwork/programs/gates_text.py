"""The text of a gate program: a person can read it, and it reads back exactly.

Title, inputs, then one line per gate, then outputs with the values of their bits, bit 0
first. Ports of several elements say how many, those of numbers with a fixed point how many of their
bits come after it (`fraction 4`); look-up tables stand before their operands:

    cloakwork gate program 1
    title "majority of a, of each pair"
    input "a" bits 3
    input "b" unsigned 1 x 2

    %5 = lut3 0xe8 %0 %1 %2
    %6 = and %5 %3
    %7 = and %5 %4

    output "y" unsigned 1 x 2 = %6 %7

`str(program)` is the summary for people only.
"""

from __future__ import annotations

from itertools import islice
from typing import cast

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port, PortKind
from cloakwork.programs.tokens import Tokens, program_lines, quote

_FIRST_LINE = "cloakwork gate program 1"
_KINDS = {kind.name.lower(): kind for kind in GateKind}


def to_text(program: GateProgram) -> str:
    """A gate program as text from which `from_text` makes it again."""
    lines = [_FIRST_LINE, f"title {quote(program.title)}"]
    lines += [f"input {_port_text(port)}" for port in program.inputs]
    lines.append("")
    for number, (kind, operands, table) in enumerate(program.gates(), start=program.input_bits):
        words = [f"%{number} =", kind.name.lower()]
        words += [f"{table:#x}"] if kind >= GateKind.LUT1 else []
        lines.append(" ".join([*words, *(f"%{operand}" for operand in operands)]))
    lines += [""] if program.gate_count else []
    values = (f"%{value}" for value in program.output_values.tolist())
    for port in program.outputs:
        lines.append(f"output {_port_text(port)} = {' '.join(islice(values, port.bits))}")
    return "\n".join(lines)


def from_text(text: str) -> GateProgram:
    """Read a gate program from the text that `to_text` made, or a person wrote."""
    inputs: list[Port] = []
    builder: GateBuilder | None = None
    with program_lines(text, _FIRST_LINE) as (title, lines):
        for tokens in lines:
            if tokens.accept("input"):
                if builder is not None:
                    raise InvalidProgramError("an input comes after a gate or an output")
                inputs.append(_read_port(tokens))
                continue
            if builder is None:
                builder = GateBuilder(title, inputs)
            if tokens.accept("output"):
                port = _read_port(tokens)
                tokens.expect("=")
                builder.output(port, _read_values(tokens))
            else:
                _read_gate(tokens, builder)
    return (GateBuilder(title, inputs) if builder is None else builder).finish()


def _port_text(port: Port) -> str:
    times = "".join(f" x {size}" for size in port.shape)
    point = f" fraction {port.fraction}" if port.fraction else ""
    return f"{quote(port.name)} {port.kind} {port.width}{times}{point}"


def _read_port(tokens: Tokens) -> Port:
    name, kind, width = tokens.quoted(), tokens.word(), tokens.integer()
    shape: list[int] = []
    while tokens.accept("x"):
        shape.append(tokens.integer())
    fraction = tokens.integer() if tokens.accept("fraction") else 0
    # The port itself refuses other kinds.
    return Port(name, cast(PortKind, kind), width, tuple(shape), fraction=fraction)


def _read_gate(tokens: Tokens, builder: GateBuilder) -> None:
    tokens.expect(f"%{len(builder)}")
    tokens.expect("=")
    name = tokens.word()
    kind = _KINDS.get(name)
    if kind is None:
        raise InvalidProgramError(f"expected a kind of gate, got {name[:20]!r}")
    table = tokens.table() if kind >= GateKind.LUT1 else 0
    builder.append(kind, *_read_values(tokens), table=table)


def _read_values(tokens: Tokens) -> list[int]:
    values: list[int] = []
    while tokens.peek():
        values.append(tokens.numbered("%"))
    return values
