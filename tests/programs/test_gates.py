"""Gate programs: what is legal, levels, and their size."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.gates import ARITIES, GateBuilder, GateKind, GateProgram, lut, statistics_of
from cloakwork.programs.port import MAX_PORT_BITS, Port
from tests.programs.random_gates import ARITY, gate_programs

A, Y = Port("a", "bits", 2), Port("y", "bits", 1)


def made(
    kinds: list[int],
    operands: list[int],
    tables: list[int] | None = None,
    outputs: list[int] | None = None,
) -> GateProgram:
    """A program of these gates over two bits."""
    return GateProgram(
        "t",
        (A,),
        (Y,),
        np.array(kinds, dtype=np.int64),
        np.array(operands, dtype=np.int64),
        np.array(tables if tables is not None else [0] * len(kinds), dtype=object).astype("u8"),
        np.array(outputs if outputs is not None else [0], dtype=np.int64),
    )


def test_arities_fit_the_kinds() -> None:
    assert ARITIES.tolist() == [ARITY.get(kind, 2) for kind in GateKind]


@pytest.mark.parametrize(
    ("kinds", "operands", "tables", "outputs", "reason"),
    [
        ([17], [], None, None, "unknown kind 17"),
        ([300], [], None, None, "fit uint8, got 300"),
        ([GateKind.AND], [0], None, None, "expected 2 operands by the kinds, got 1"),
        ([GateKind.AND], [0, 2], None, None, "gate 0 makes %2 of %2"),
        ([GateKind.AND], [0, -1], None, None, "fit uint32, got -1"),
        ([GateKind.BUF, GateKind.BUF], [3, 0], None, None, "gate 0 makes %2 of %3"),
        ([GateKind.AND], [0, 1], [1], None, "gate 0, and, has a table of 0 bits, got 0x1"),
        ([lut(2)], [0, 1], [16], None, "a table of 4 bits, got 0x10"),
        ([lut(5)], [0, 1, 0, 1, 0], [1 << 32], None, "a table of 32 bits"),
        ([GateKind.ONE], [], [], None, "expected 1 tables"),
        ([], [], None, [2], "an output is %2, of 2 values"),
        ([], [], None, [0, 1], "expected 1 bits of outputs by the ports, got 2"),
    ],
)
def test_illegal_programs_are_refused(
    kinds: list[int],
    operands: list[int],
    tables: list[int] | None,
    outputs: list[int] | None,
    reason: str,
) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        made(kinds, operands, tables, outputs)


def test_the_largest_tables_are_legal() -> None:
    program = made([lut(6), lut(5)], [0, 1] * 3 + [0, 1, 0, 1, 0], [2**64 - 1, 2**32 - 1])
    assert program.tables.tolist() == [2**64 - 1, 2**32 - 1]


def test_names_of_ports_differ() -> None:
    with pytest.raises(InvalidProgramError, match="the name 'a' comes twice among its inputs"):
        GateBuilder("t", (A, A))
    builder = GateBuilder("t", (A,))
    builder.output(Y, [0])
    builder.output(Y, [1])
    with pytest.raises(InvalidProgramError, match="the name 'y' comes twice among its outputs"):
        builder.finish()


@pytest.mark.parametrize(
    ("kind", "width", "shape", "reason"),
    [
        ("float", 8, (), "expected a kind"),
        ("bits", 0, (), "expected a width"),
        ("bits", True, (), "expected a width"),
        ("bits", 1.0, (), "expected a width"),
        ("real", 1, (), "expected a width of 0"),
        ("bits", 1, (0,), "expected sizes from 1 on, got 0"),
        ("bits", 1, (-1,), "expected sizes from 1 on, got -1"),
        ("bits", 1, (1.0,), "expected sizes from 1 on, got 1.0"),
        ("bits", 1, (True,), "expected sizes from 1 on, got True"),
        ("bits", 1, [2], "expected a shape of up to 64 axes"),
        ("bits", 1, (1,) * 65, "expected a shape of up to 64 axes"),
        ("bytes", 12, (), "expected whole bytes"),
        ("bits", MAX_PORT_BITS // 2, (3,), "bits, got"),
    ],
)
def test_illegal_ports_are_refused(kind: str, width: int, shape: Any, reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=f"cannot make the port 'p': .*{reason}"):
        Port("p", kind, width, shape)  # type: ignore[arg-type]


def test_gate_programs_have_no_ports_of_numbers() -> None:
    with pytest.raises(InvalidProgramError, match=r"its inputs to be of .*, got 'x' of kind real"):
        GateBuilder("t", (Port("x", "real"),))
    builder = GateBuilder("t", ())
    builder.output(Port("y", "integer"), [])
    with pytest.raises(
        InvalidProgramError, match=r"its outputs to be of .*, got 'y' of kind integ"
    ):
        builder.finish()


@pytest.mark.parametrize(
    ("kind", "fraction", "reason"),
    [
        ("signed", 9, "expected 0 to 8 bits after the point, got 9"),
        ("unsigned", -1, "got -1"),
        ("unsigned", True, "got True"),
        ("unsigned", 1.0, r"got 1\.0"),
        ("bytes", 4, "expected a point in a number, got one in bytes"),
        ("bits", 1, "expected a point in a number, got one in bits"),
    ],
)
def test_illegal_points_are_refused(kind: str, fraction: int, reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=f"cannot make the port 'p': .*{reason}"):
        Port("p", kind, 8, fraction=fraction)  # type: ignore[arg-type]


def test_ports_have_bounded_bits_together() -> None:
    half = MAX_PORT_BITS // 2 + 1
    with pytest.raises(InvalidProgramError, match="bits of inputs"):
        GateBuilder("t", [Port("a", "bits", half), Port("b", "bits", half)])


def test_the_builder_refuses_at_once() -> None:
    builder = GateBuilder("t", (A,))
    with pytest.raises(InvalidProgramError, match="expected 2 operands, got 1"):
        builder.append(GateKind.AND, 0)
    with pytest.raises(InvalidProgramError, match="%2 is not among the 2 values so far"):
        builder.append(GateKind.NOT, 2)
    with pytest.raises(InvalidProgramError, match="the table 0x4 does not fit"):
        builder.append(lut(1), 0, table=4)
    with pytest.raises(InvalidProgramError, match="expected 1 values, one per bit, got 2"):
        builder.output(Y, [0, 1])
    with pytest.raises(InvalidProgramError, match="expected 1 to 6"):
        lut(7)


def test_nobody_else_can_change_a_program() -> None:
    kinds = np.array([GateKind.AND], dtype=np.uint8)
    nothing = np.zeros(1, dtype=np.uint64)
    used = np.array([0, 1], dtype=np.uint32)
    program = GateProgram("t", (A,), (Y,), kinds, used, nothing, used[:1])
    kinds[0] = GateKind.OR
    assert program.kinds.tolist() == [GateKind.AND]
    with pytest.raises(ValueError, match="read-only"):
        program.kinds[0] = GateKind.OR


@given(gate_programs())
@settings(deadline=None)
def test_levels_are_the_longest_ways(program: GateProgram) -> None:
    levels = [0] * program.input_bits
    for _, operands, _ in program.gates():
        levels.append(max((levels[operand] + 1 for operand in operands), default=0))
    assert program.levels.tolist() == levels
    found = statistics_of(program)
    assert found.depth == max(levels, default=0) == len(found.widths)
    assert sum(found.gates.values()) == program.gate_count
    of_level = [levels[program.input_bits :].count(level + 1) for level in range(found.depth)]
    assert list(found.widths) == of_level


def test_a_million_gates() -> None:
    """As deep as can be, which is the worst for what works level by level."""
    gates, window = 1_000_000, 8
    rng = np.random.default_rng(0)
    kinds = rng.integers(GateKind.AND, GateKind.MUX, gates, dtype=np.uint8)
    own = np.repeat(np.arange(gates) + window, 2)
    operands = (own - rng.integers(1, window + 1, own.size)).astype(np.uint32)
    outputs = np.arange(gates, gates + window, dtype=np.uint32)
    ends = Port("a", "bits", window), Port("y", "bits", window)
    tables = np.zeros(gates, dtype=np.uint64)
    program = GateProgram("t", ends[:1], ends[1:], kinds, operands, tables, outputs)
    assert int(program.levels[gates:].min()) > gates // window
