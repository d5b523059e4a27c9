"""Random legal gate programs, their meaning gate by gate, and what makes two the same."""

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port, PortKind

MAX_GATES = 30
KINDS: tuple[PortKind, ...] = ("unsigned", "signed", "bytes", "bits")

RULES: dict[GateKind, Callable[..., int]] = {
    GateKind.ZERO: lambda: 0,
    GateKind.ONE: lambda: 1,
    GateKind.BUF: lambda a: a,
    GateKind.NOT: lambda a: 1 - a,
    GateKind.AND: lambda a, b: a & b,
    GateKind.OR: lambda a, b: a | b,
    GateKind.XOR: lambda a, b: a ^ b,
    GateKind.NAND: lambda a, b: 1 - (a & b),
    GateKind.NOR: lambda a, b: 1 - (a | b),
    GateKind.XNOR: lambda a, b: int(a == b),
    GateKind.MUX: lambda select, when_one, when_zero: when_one if select else when_zero,
}
ARITY = {GateKind.ZERO: 0, GateKind.ONE: 0, GateKind.BUF: 1, GateKind.NOT: 1, GateKind.MUX: 3}
ARITY |= {GateKind[f"LUT{inputs}"]: inputs for inputs in range(1, 7)}


@st.composite
def ports(draw: st.DrawFn, name: str, least: int = 1) -> list[Port]:
    """A few ports of all kinds; `least` of them at least."""
    made = []
    for number in range(draw(st.integers(least, 3))):
        kind: PortKind = draw(st.sampled_from(KINDS))
        width = draw(st.integers(1, 5)) if kind != "bytes" else 8 * draw(st.integers(1, 2))
        shape = draw(st.sampled_from([(), (), (1,), (3,), (2, 2)]))
        fraction = draw(st.integers(0, width)) if kind in ("unsigned", "signed") else 0
        made.append(Port(f"{name} {number}", kind, width, shape, fraction=fraction))
    return made


@st.composite
def gate_programs(draw: st.DrawFn, least_inputs: int = 0) -> GateProgram:
    """A program of any ports and gates."""
    builder = GateBuilder(draw(st.text(max_size=5)), draw(ports("in", least_inputs)))
    for _ in range(draw(st.integers(0, MAX_GATES))):
        kind = draw(st.sampled_from(list(GateKind)))
        arity = ARITY.get(kind, 2)
        if arity and not len(builder):
            kind, arity = GateKind.ONE, 0
        operands = [draw(st.integers(0, len(builder) - 1)) for _ in range(arity)]
        table = draw(st.integers(0, 2**2**arity - 1)) if kind >= GateKind.LUT1 else 0
        builder.append(kind, *operands, table=table)
    if len(builder):
        for port in draw(ports("out", 0)):
            builder.output(port, [draw(st.integers(0, len(builder) - 1)) for _ in range(port.bits)])
    return builder.finish()


def evaluated(program: GateProgram, bits: Sequence[int]) -> list[int]:
    """The bits of the outputs, gate by gate in Python."""
    values = [int(bit) for bit in bits]
    for kind, operands, table in program.gates():
        used = [values[operand] for operand in operands]
        if kind in RULES:
            values.append(RULES[kind](*used))
        else:
            values.append(table >> sum(bit << place for place, bit in enumerate(used)) & 1)
    return [values[value] for value in program.output_values.tolist()]


def facts(program: GateProgram) -> tuple[Any, ...]:
    """What two programs must share to be the same."""
    arrays = (program.kinds, program.operands, program.tables, program.output_values)
    return program.title, program.inputs, program.outputs, *(each.tolist() for each in arrays)
