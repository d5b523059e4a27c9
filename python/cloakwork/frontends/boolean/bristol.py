"""Circuits in the Bristol formats, the old one and Bristol Fashion, read and written.

Both begin with the numbers of gates and wires. In the old one a line with the bits of two
inputs and of the output follows, in Bristol Fashion a line for the inputs and one for the
outputs, each a count and the bits of each. Then come the gates: numbers of wires in and
out, the wires, the gate's name. Inputs are the first wires, outputs the last ones.

The formats: https://nigelsmart.github.io/MPC-Circuits/
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from cloakwork.base.arguments import file_path
from cloakwork.errors import BristolSyntaxError, CloakworkError, InvalidArgumentError
from cloakwork.frontends.boolean.bristol_gates import in_bristol_gates, in_old_bristol_gates
from cloakwork.frontends.boolean.given_ports import ports_as_given
from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from cloakwork.runtime.storage import named_full_disk, named_reading, named_writing

_KINDS = {"AND": GateKind.AND, "XOR": GateKind.XOR, "INV": GateKind.NOT, "EQW": GateKind.BUF}
_NAMES = {kind: name for name, kind in _KINDS.items()}
_CONSTANTS = {"0": GateKind.ZERO, "1": GateKind.ONE}

# What stands behind it on a line is for readers.
_COMMENT = "#"

# The numbers of a hostile file could have any number of digits.
_MAX_DIGITS = 10

_Line = tuple[int, list[str]]


def from_bristol(
    path: str | Path,
    inputs: Sequence[Port] | None = None,
    outputs: Sequence[Port] | None = None,
) -> GateProgram:
    """Read a circuit in the old Bristol format or in Bristol Fashion.

    Arguments and errors are those of `circuit.from_bristol`.
    """
    path = file_path(path, "read")
    # A character that is not ASCII is refused where it stands.
    with named_reading(path), path.open(encoding="ascii", errors="replace") as file:
        words = (line.partition(_COMMENT)[0].split() for line in file)
        reader = _Reader(path.name, (line for line in enumerate(words, start=1) if line[1]))
        return reader.read(inputs, outputs)


def to_bristol(program: GateProgram, path: str | Path) -> None:
    """Write a circuit in Bristol Fashion; names and kinds of its ports are lost.

    Other gates than AND, XOR and NOT are made of these.

    Raises:
        FileMissingError: There is no folder for it.
        FileAccessError: It cannot be made there.
        StorageFullError: There is no space left for it.
    """
    lowered = in_bristol_gates(program)
    widths = [
        " ".join(str(number) for number in (len(ports), *(port.bits for port in ports)))
        for ports in (program.inputs, program.outputs)
    ]
    _write(lowered, widths, path)


def to_old_bristol(program: GateProgram, path: str | Path) -> None:
    """Write a circuit in the old Bristol format, all outputs as one.

    Raises:
        InvalidArgumentError: The program has no input, or more than the two that the format has.
        FileMissingError: There is no folder for it.
        FileAccessError: It cannot be made there.
        StorageFullError: There is no space left for it.
    """
    if not 1 <= len(program.inputs) <= 2:
        raise InvalidArgumentError(
            f"cannot write {program.title!r} in the old Bristol format: expected one or two "
            f"inputs, got {len(program.inputs)}; write it in Bristol Fashion"
        )
    lowered = in_old_bristol_gates(in_bristol_gates(program))
    bits = [port.bits for port in program.inputs] + [0] * (2 - len(program.inputs))
    _write(lowered, [" ".join(str(number) for number in (*bits, program.output_bits))], path)


def _write(program: GateProgram, widths: list[str], path: str | Path) -> None:
    values = program.input_bits + program.gate_count
    outputs = program.output_values.tolist()
    is_output = set(outputs)
    # Outputs are the last wires, wherever their gates stand.
    inner = (value for value in range(values) if value not in is_output)
    wire_of = {value: wire for wire, value in enumerate(chain(inner, outputs))}
    target = file_path(path, "write")
    with (
        named_full_disk(f"{target}", "give another path"),
        named_writing(target),
        target.open("w", encoding="ascii") as file,
    ):
        file.write("\n".join([f"{program.gate_count} {values}", *widths, "", ""]))
        for value, (kind, operands, _) in enumerate(program.gates(), start=program.input_bits):
            if kind in _NAMES:
                used = " ".join(str(wire_of[operand]) for operand in operands)
                line = f"{len(operands)} 1 {used} {wire_of[value]} {_NAMES[kind]}"
            else:
                line = f"1 1 {int(kind == GateKind.ONE)} {wire_of[value]} EQ"
            file.write(f"{line}\n")


class _Reader:
    """Reads one file, of which it knows the name and the lines that are not empty."""

    def __init__(self, name: str, lines: Iterator[_Line]) -> None:
        self._name = name
        self._lines = lines
        self._line = 0
        self._input_bits = 0
        # Of what gates make; the first wires are the inputs, as the first values are.
        self._values: dict[int, int] = {}

    def read(
        self, given_inputs: Sequence[Port] | None, given_outputs: Sequence[Port] | None
    ) -> GateProgram:
        try:
            return self._read(given_inputs, given_outputs)
        except InvalidArgumentError:
            raise
        except CloakworkError as error:
            raise BristolSyntaxError(
                f"cannot read {self._name}: line {self._line}: {error}"
            ) from error

    def _read(
        self, given_inputs: Sequence[Port] | None, given_outputs: Sequence[Port] | None
    ) -> GateProgram:
        gates, wires = self._numbers(2, "the numbers of gates and wires")
        inputs: Sequence[Port]
        outputs: Sequence[Port]
        inputs, outputs = self._ports()
        refused = f"cannot read {self._name} with these"
        inputs = ports_as_given(inputs, given_inputs, f"{refused} inputs")
        outputs = ports_as_given(outputs, given_outputs, f"{refused} outputs")
        builder = GateBuilder(self._name, inputs)
        output_bits = sum(port.bits for port in outputs)
        if max(len(builder), output_bits) > wires:
            raise BristolSyntaxError(
                f"inputs of {len(builder)} and outputs of {output_bits} bits do not fit "
                f"{wires} wires"
            )
        self._input_bits = len(builder)
        count = 0
        for line, words in self._lines:
            self._line = line
            count += 1
            if count > gates:
                raise BristolSyntaxError(f"expected {gates} gates, got more")
            self._gate(words, wires, builder)
        if count < gates:
            raise BristolSyntaxError(f"expected {gates} gates, got {count}")
        first = wires - output_bits
        for port in outputs:
            builder.output(port, [self._used(str(first + bit)) for bit in range(port.bits)])
            first += port.bits
        return builder.finish()

    def _ports(self) -> tuple[list[Port], list[Port]]:
        """The ports as the second line tells, and the third where that is no gate."""
        first = self._next("the bits of the inputs")
        third = next(self._lines, None)
        if third is None or third[1][-1].isalpha():
            self._lines = chain([] if third is None else [third], self._lines)
            widths = self._integers(first, 3, "the bits of two inputs and the output")
            # A circuit of one input has a second one of no bits.
            inputs, outputs = ([each for each in part if each] for part in (widths[:2], widths[2:]))
            return _numbered("x", inputs), _numbered("y", outputs)
        ports = [_numbered("x", self._widths(first))]
        self._line, second = third
        ports.append(_numbered("y", self._widths(second)))
        return ports[0], ports[1]

    def _widths(self, words: list[str]) -> list[int]:
        """What stands behind a count of as much."""
        count = _integer(words[0])
        return self._integers(words, count + 1, f"{count} and the bits of as many ports")[1:]

    def _gate(self, words: list[str], wires: int, builder: GateBuilder) -> None:
        name = words[-1]
        if name not in _KINDS and name not in ("EQ", "MAND"):
            raise BristolSyntaxError(
                f"expected a gate AND, XOR, INV, EQ, EQW or MAND, got {name[:20]!r}"
            )
        if len(words) < 3:
            raise BristolSyntaxError("expected numbers of wires, wires and a gate")
        used_count, made_count = _integer(words[0]), _integer(words[1])
        if len(words) != used_count + made_count + 3:
            raise BristolSyntaxError(
                f"expected {used_count} + {made_count} wires, got {len(words) - 3}"
            )
        used, made = words[2 : 2 + used_count], words[2 + used_count : -1]
        arity = 2 if name in ("AND", "XOR", "MAND") else 1
        if used_count != arity * made_count or (made_count != 1 and name != "MAND"):
            raise BristolSyntaxError(f"{name} has not {used_count} wires in and {made_count} out")
        for place, wire in enumerate(made):
            number = _integer(wire)
            if number >= wires:
                raise BristolSyntaxError(f"wire {number} is not among the {wires} wires")
            if number < self._input_bits or number in self._values:
                raise BristolSyntaxError(f"wire {number} is made twice")
            self._values[number] = self._made(name, used[place::made_count], builder)

    def _made(self, name: str, used: list[str], builder: GateBuilder) -> int:
        if name == "EQ":
            if used[0] not in _CONSTANTS:
                raise BristolSyntaxError(f"expected a constant 0 or 1, got {used[0][:20]!r}")
            return builder.append(_CONSTANTS[used[0]])
        kind = GateKind.AND if name == "MAND" else _KINDS[name]
        return builder.append(kind, *[self._used(wire) for wire in used])

    def _used(self, wire: str) -> int:
        number = _integer(wire)
        value = number if number < self._input_bits else self._values.get(number)
        if value is None:
            raise BristolSyntaxError(f"wire {wire} is used and was not made before")
        return value

    def _next(self, expected: str) -> list[str]:
        line = next(self._lines, None)
        if line is None:
            raise BristolSyntaxError(f"expected {expected}, got the end")
        self._line, words = line
        return words

    def _numbers(self, count: int, expected: str) -> list[int]:
        return self._integers(self._next(expected), count, expected)

    def _integers(self, words: list[str], count: int, expected: str) -> list[int]:
        if len(words) != count:
            raise BristolSyntaxError(f"expected {expected}, got {len(words)} numbers")
        return [_integer(word) for word in words]


def _numbered(letter: str, widths: list[int]) -> list[Port]:
    return [Port(f"{letter}{number}", "unsigned", width) for number, width in enumerate(widths)]


def _integer(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) <= _MAX_DIGITS):
        raise BristolSyntaxError(
            f"expected a number from 0 up, of up to {_MAX_DIGITS} digits, got {word[:20]!r}"
        )
    return int(word)
