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

import re
from collections.abc import Sequence
from typing import cast

from cloakwork.errors import CloakworkError, InvalidProgramError
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port, PortKind
from cloakwork.programs.tokens import Tokens, quote

_FIRST_LINE = "cloakwork gate program 1"
_KINDS = {kind.name.lower(): kind for kind in GateKind}

# What fits 64 bits whatever the digits.
_VALUE = re.compile(r"%[0-9]{1,18}", re.ASCII)
_TABLE = re.compile(r"0x[0-9a-f]{1,16}", re.ASCII)


def to_text(program: GateProgram) -> str:
    """A gate program as text from which `from_text` makes it again.

    Example:
        >>> builder = GateBuilder("both", (Port("a", "bits", 2),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.AND, 0, 1),))
        >>> print(to_text(builder.finish()))
        cloakwork gate program 1
        title "both"
        input "a" bits 2
        <BLANKLINE>
        %2 = and %0 %1
        <BLANKLINE>
        output "y" bits 1 = %2
    """
    lines = [_FIRST_LINE, f"title {quote(program.title)}"]
    lines += [f"input {port_text(port)}" for port in program.inputs]
    lines.append("")
    for number, (kind, operands, table) in enumerate(program.gates(), start=program.input_bits):
        words = [f"%{number} =", kind.name.lower()]
        words += [f"{table:#x}"] if kind >= GateKind.LUT1 else []
        lines.append(" ".join([*words, *(f"%{operand}" for operand in operands)]))
    lines += [""] if program.gate_count else []
    values = [f"%{value}" for value in program.output_values.tolist()]
    end = 0
    for port in program.outputs:
        start, end = end, end + port.bits
        lines.append(f"output {port_text(port)} = {' '.join(values[start:end])}")
    return "\n".join(lines)


def from_text(text: str) -> GateProgram:
    """Read a gate program from its text.

    Args:
        text: What `to_text` made, or a person wrote.

    Raises:
        InvalidProgramError: The text is no program, or a gate of it is not legal; the message
            names the line.

    Example:
        >>> text = 'cloakwork gate program 1\\ntitle "t"\\ninput "a" bits 1\\n%1 = not %0'
        >>> from_text(text).gate_count
        1
    """
    if not isinstance(text, str):
        raise InvalidProgramError(f"cannot read a program: expected text, got {type(text)}")
    reader = _Reader()
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            reader.read(line)
        except CloakworkError as error:
            raise InvalidProgramError(f"cannot read the program: line {number}: {error}") from error
    return reader.finish()


def port_text(port: Port) -> str:
    """A port as `read_port` reads it.

    Example:
        >>> port_text(Port("a", "signed", 8, shape=(3,)))
        '"a" signed 8 x 3'
        >>> port_text(Port("b", "unsigned", 8, fraction=2))
        '"b" unsigned 8 fraction 2'
    """
    times = "".join(f" x {size}" for size in port.shape)
    point = f" fraction {port.fraction}" if port.fraction else ""
    return f"{quote(port.name)} {port.kind} {port.width}{times}{point}"


def read_port(tokens: Tokens) -> Port:
    """Take a port.

    Raises:
        InvalidProgramError: Something else comes.

    Example:
        >>> print(read_port(Tokens('"a" signed 8 x 3')))
        a: 3 x signed, 8 bits
    """
    name, kind, width = tokens.quoted(), tokens.word(), tokens.integer()
    shape: list[int] = []
    while tokens.accept("x"):
        shape.append(tokens.integer())
    fraction = tokens.integer() if tokens.accept("fraction") else 0
    # The port itself refuses other kinds.
    return Port(name, cast(PortKind, kind), width, tuple(shape), fraction=fraction)


class _Reader:
    """Takes the lines of a text one by one."""

    def __init__(self) -> None:
        self._has_first_line = False
        self._title: str | None = None
        self._inputs: list[Port] = []
        self._builder: GateBuilder | None = None

    def read(self, line: str) -> None:
        line = line.strip()
        if not line:
            return
        if not self._has_first_line:
            if line != _FIRST_LINE:
                raise InvalidProgramError(f"expected {_FIRST_LINE!r}, got {line[:40]!r}")
            self._has_first_line = True
        elif self._title is None:
            tokens = Tokens(line)
            tokens.expect("title")
            self._title = tokens.quoted()
            tokens.end()
        elif line.startswith("%"):
            _read_gate(line.split(), self._gates())
        elif line.startswith("output"):
            self._read_output(line)
        else:
            self._read_input(line)

    def finish(self) -> GateProgram:
        if self._title is None:
            raise InvalidProgramError("cannot read the program: it ends before its title")
        return self._gates().finish()

    def _gates(self) -> GateBuilder:
        if self._builder is None:
            self._builder = GateBuilder(self._title or "", self._inputs)
        return self._builder

    def _read_input(self, line: str) -> None:
        tokens = Tokens(line)
        tokens.expect("input")
        if self._builder is not None:
            raise InvalidProgramError("an input comes after a gate or an output")
        self._inputs.append(read_port(tokens))
        tokens.end()

    def _read_output(self, line: str) -> None:
        head, equals, values = line.rpartition("=")
        if not equals:
            raise InvalidProgramError("expected '=' and the values of the bits")
        tokens = Tokens(head)
        tokens.expect("output")
        port = read_port(tokens)
        tokens.end()
        self._gates().output(port, [_value(word) for word in values.split()])


def _read_gate(words: Sequence[str], builder: GateBuilder) -> None:
    number = len(builder)
    if words[0] != f"%{number}" or words[1:2] != ["="]:
        raise InvalidProgramError(f"expected '%{number} =', got {' '.join(words[:2])[:20]!r}")
    kind = _KINDS.get(words[2]) if len(words) > 2 else None
    if kind is None:
        raise InvalidProgramError(f"expected a kind of gate, got {' '.join(words[2:3])[:20]!r}")
    if kind < GateKind.LUT1:
        builder.append(kind, *[_value(word) for word in words[3:]])
        return
    if not _TABLE.fullmatch(words[3] if len(words) > 3 else ""):
        raise InvalidProgramError(f"expected a table such as 0x8, got {words[3:4]}")
    builder.append(kind, *[_value(word) for word in words[4:]], table=int(words[3], 16))


def _value(word: str) -> int:
    if not _VALUE.fullmatch(word):
        raise InvalidProgramError(f"expected a value such as %3, got {word[:20]!r}")
    return int(word[1:])
