"""Gate programs in the gates that Bristol formats have: AND, XOR, NOT, constants, copies."""

from __future__ import annotations

from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram


def in_bristol_gates(program: GateProgram) -> GateProgram:
    """The same function in AND, XOR, NOT, ZERO, ONE and BUF, each output bit a gate of its own.

    Each other gate takes one AND at most; look-up tables are split at their last operand until
    nothing is left to look up.

    Example:
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("or", (Port("a", "bits", 2),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.OR, 0, 1),))
        >>> [GateKind(kind).name for kind in in_bristol_gates(builder.finish()).kinds]
        ['NOT', 'NOT', 'AND', 'NOT']
    """
    lowering = _BristolGates(program)
    for kind, operands, table in program.gates():
        lowering.gate(kind, [lowering.values[operand] for operand in operands], table)
    return lowering.finish()


def in_old_bristol_gates(program: GateProgram) -> GateProgram:
    """What `in_bristol_gates` made, in AND, XOR and NOT only.

    Args:
        program: A program of at least one input bit, from which constants are made.

    Example:
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("one", (Port("a", "bits", 1),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.ONE),))
        >>> [GateKind(kind).name for kind in in_old_bristol_gates(builder.finish()).kinds]
        ['XOR', 'NOT']
    """
    builder = GateBuilder(program.title, program.inputs)
    values = list(range(program.input_bits))
    for kind, operands, _ in program.gates():
        used = [values[operand] for operand in operands]
        match kind:
            case GateKind.ZERO:
                made = builder.append(GateKind.XOR, 0, 0)
            case GateKind.ONE:
                made = builder.append(GateKind.NOT, builder.append(GateKind.XOR, 0, 0))
            case GateKind.BUF:
                made = builder.append(GateKind.NOT, builder.append(GateKind.NOT, *used))
            case _:
                made = builder.append(kind, *used)
        values.append(made)
    _append_outputs(builder, program, [values[value] for value in program.output_values.tolist()])
    return builder.finish()


def _append_outputs(builder: GateBuilder, program: GateProgram, values: list[int]) -> None:
    end = 0
    for port in program.outputs:
        start, end = end, end + port.bits
        builder.output(port, values[start:end])


class _BristolGates:
    def __init__(self, program: GateProgram) -> None:
        self._program = program
        self._builder = GateBuilder(program.title, program.inputs)
        self._constants: dict[GateKind, int] = {}
        self.values = list(range(program.input_bits))

    def gate(self, kind: GateKind, operands: list[int], table: int) -> None:
        """Append what makes the value of one gate."""
        self.values.append(self._made(kind, operands, table))

    def finish(self) -> GateProgram:
        outputs: dict[int, None] = {}
        for value in self._program.output_values.tolist():
            made = self.values[value]
            if made < self._program.input_bits or made in outputs:
                made = self._builder.append(GateKind.BUF, made)
            outputs[made] = None
        _append_outputs(self._builder, self._program, list(outputs))
        return self._builder.finish()

    def _made(self, kind: GateKind, operands: list[int], table: int) -> int:
        append = self._builder.append
        match kind:
            case GateKind.BUF | GateKind.NOT | GateKind.AND | GateKind.XOR:
                return append(kind, *operands)
            case GateKind.ZERO | GateKind.ONE:
                return self._constant(kind)
            case GateKind.OR:
                return self._not(self._nor(*operands))
            case GateKind.NOR:
                return self._nor(*operands)
            case GateKind.NAND:
                return self._not(append(GateKind.AND, *operands))
            case GateKind.XNOR:
                return self._not(append(GateKind.XOR, *operands))
            case GateKind.MUX:
                return self._mux(*operands)
            case _:
                return self._looked_up(table, operands)

    def _constant(self, kind: GateKind) -> int:
        if kind not in self._constants:
            self._constants[kind] = self._builder.append(kind)
        return self._constants[kind]

    def _not(self, value: int) -> int:
        return self._builder.append(GateKind.NOT, value)

    def _nor(self, a: int, b: int) -> int:
        return self._builder.append(GateKind.AND, self._not(a), self._not(b))

    def _mux(self, select: int, when_one: int, when_zero: int) -> int:
        append = self._builder.append
        differ = append(GateKind.XOR, when_one, when_zero)
        return append(GateKind.XOR, when_zero, append(GateKind.AND, select, differ))

    def _looked_up(self, table: int, operands: list[int]) -> int:
        """A table split by its last operand, whose halves are the tables of the others."""
        size = 1 << len(operands)
        if table == 0:
            return self._constant(GateKind.ZERO)
        if table == (1 << size) - 1:
            return self._constant(GateKind.ONE)
        half = size // 2
        when_zero, when_one = table & ((1 << half) - 1), table >> half
        *others, last = operands
        if when_one == when_zero:
            return self._looked_up(when_one, others)
        inverse = (1 << half) - 1
        if when_one == when_zero ^ inverse:
            if when_zero == 0:
                return last
            if when_one == 0:
                return self._not(last)
            return self._builder.append(GateKind.XOR, last, self._looked_up(when_zero, others))
        return self._mux(
            last, self._looked_up(when_one, others), self._looked_up(when_zero, others)
        )
