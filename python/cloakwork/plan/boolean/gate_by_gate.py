"""The baseline: every gate its own bootstrap, bits in quarter encoding throughout.

Chillotti, Gama, Georgieva and Izabachene, "TFHE: fast fully homomorphic encryption over the torus",
Journal of Cryptology 33, 2020: gates of two inputs take one bootstrap each, NOT none, MUX two, the
products of both ways, which are added. Look-up tables are taken apart into gates of two inputs.
"""

from __future__ import annotations

from cloakwork.plan.boolean.xag import XorAndGraph
from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder, BootstrapProgram
from cloakwork.programs.gates import GateKind, GateProgram

_ENCODING = QUARTER
_TURN = 1 << 32

# A signal in quarter encoding, and whether it is the complement; no signal for constants.
_Bit = tuple[int | None, int]

# What gates make of the number of their operands that are 1: 0, 1 or 2.
_OF_COUNT = {
    GateKind.AND: (0, 0, 1),
    GateKind.OR: (0, 1, 1),
    GateKind.XOR: (0, 1, 0),
    GateKind.NAND: (1, 1, 0),
    GateKind.NOR: (1, 0, 0),
    GateKind.XNOR: (1, 0, 1),
}


def gate_by_gate(program: GateProgram) -> BootstrapProgram:
    """A gate program as bootstraps, one for each gate of two inputs, in its order.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("nand", (Port("a", "bits", 2),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.NAND, 0, 1),))
        >>> gate_by_gate(builder.finish()).bootstrap_count
        1
    """
    return _GateWriter(program).write()


class _GateWriter:
    def __init__(self, program: GateProgram) -> None:
        self._program = program
        self._builder = BootstrapBuilder(program.title, program.inputs)

    def write(self) -> BootstrapProgram:
        program = self._program
        values: list[_Bit] = [
            (self._builder.input(bit, _ENCODING), 0) for bit in range(program.input_bits)
        ]
        used = _used(program)
        for number, (kind, operands, table) in enumerate(program.gates(), start=len(values)):
            given = [values[operand] for operand in operands]
            # Nothing reads what stands for a gate that is not used.
            values.append(self._gate(kind, given, table) if used[number] else (None, 0))
        leaving = [self._signal(values[value]) for value in program.output_values.tolist()]
        end = 0
        for port in program.outputs:
            start, end = end, end + port.bits
            self._builder.output(port, leaving[start:end], [_ENCODING] * port.bits)
        return self._builder.finish()

    def _gate(self, kind: GateKind, used: list[_Bit], table: int) -> _Bit:
        if kind in _OF_COUNT:
            return self._bootstrap(used, _OF_COUNT[kind])
        match kind:
            case GateKind.ZERO | GateKind.ONE:
                return None, int(kind == GateKind.ONE)
            case GateKind.BUF | GateKind.NOT:
                signal, inverted = used[0]
                return signal, inverted ^ (kind == GateKind.NOT)
            case GateKind.MUX:
                return self._mux(*used)
        return self._table(used, table)

    def _bootstrap(self, used: list[_Bit], of_count: tuple[int, int, int]) -> _Bit:
        """A function of how many of two bits are 1."""
        terms, constant = [], 0
        for signal, inverted in used:
            constant += _ENCODING * inverted
            if signal is not None:
                terms.append((signal, -1 if inverted else 1))
        # Message 2 gives the negative of 0, so that the middle between them is the constant;
        # where they agree it is what they are, and the table there 0.
        middle = (of_count[0] + of_count[2]) * EIGHTH
        first, second = (count * _ENCODING - middle for count in of_count[:2])
        return self._builder.bootstrap(terms, constant, 2, [(first, second)], [middle])[0], 0

    def _mux(self, select: _Bit, when_one: _Bit, when_zero: _Bit) -> _Bit:
        turned = select[0], select[1] ^ 1
        ways = [
            self._bootstrap([select, when_one], _OF_COUNT[GateKind.AND]),
            self._bootstrap([turned, when_zero], _OF_COUNT[GateKind.AND]),
        ]
        # One of them is 0.
        return self._builder.linear([(way[0], 1) for way in ways if way[0] is not None], 0), 0

    def _table(self, used: list[_Bit], table: int) -> _Bit:
        network = XorAndGraph(len(used))
        root = network.table(table, network.inputs())
        values: list[_Bit] = [(None, 0), *used]
        for node in range(len(values), len(network)):
            operands = network.operands[node] or (0, 0)
            if network.is_and[node]:
                pair = [self._literal(values, operand) for operand in operands]
                values.append(self._bootstrap(pair, _OF_COUNT[GateKind.AND]))
            else:
                pair = [values[operand] for operand in operands]
                values.append(self._bootstrap(pair, _OF_COUNT[GateKind.XOR]))
        return self._literal(values, root)

    def _literal(self, values: list[_Bit], literal: int) -> _Bit:
        signal, inverted = values[literal >> 1]
        return signal, inverted ^ (literal & 1)

    def _signal(self, bit: _Bit) -> int:
        signal, inverted = bit
        if signal is not None and not inverted:
            return signal
        terms = [] if signal is None else [(signal, -1)]
        return self._builder.linear(terms, _ENCODING * inverted)


def _used(program: GateProgram) -> list[bool]:
    """Whether an output follows from each input bit and each gate."""
    gates = [*program.gates()]
    used = [False] * (program.input_bits + len(gates))
    for value in program.output_values.tolist():
        used[value] = True
    for number in reversed(range(len(gates))):
        if used[program.input_bits + number]:
            for operand in gates[number][1]:
                used[operand] = True
    return used
