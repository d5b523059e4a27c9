"""Gate programs as text: round trips and hostile text."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.gates_text import from_text, to_text
from tests.programs.random_gates import facts, gate_programs
from tests.programs.random_programs import damage

TEXT = """cloakwork gate program 1
title "majority of a, of each pair"
input "a" bits 3
input "b" unsigned 1 x 2

%5 = lut3 0xe8 %0 %1 %2
%6 = and %5 %3
%7 = and %5 %4

output "y" unsigned 1 x 2 = %6 %7"""


@given(gate_programs())
@settings(deadline=None)
def test_round_trip(program: GateProgram) -> None:
    assert facts(from_text(to_text(program))) == facts(program)


def test_text_is_kept() -> None:
    assert to_text(from_text(TEXT)) == TEXT


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("program 1", "program 2", 1, "expected 'cloakwork gate program 1'"),
        ("title", "name", 2, "expected title"),
        ('"a" bits 3', '"a" bits', 3, "expected an integer"),
        ('"a" bits 3', '"a" words 3', 3, "expected a kind"),
        ('"a" bits 3', '"a" bits 99999999999', 3, "expected up to 1048576 bits"),
        ('"b"', '"a"', 6, "the name 'a' comes twice"),
        ("%5 =", "%6 =", 6, "expected '%5 ='"),
        ("lut3", "lut7", 6, "expected a kind of gate, got 'lut7'"),
        ("0xe8", "0x1e8", 6, "the table 0x1e8 does not fit"),
        ("0xe8", "232", 6, "expected a table"),
        ("%1 %2", "%1", 6, "expected 3 operands, got 2"),
        ("and %5 %3", "and %5 %6", 7, "%6 is not among the 6 values"),
        ("and %5 %3", "and %5 3", 7, "expected a value"),
        ("and %5 %3", f"and %5 %{'9' * 5000}", 7, "expected a value"),
        ("%6 %7", "%6", 10, "expected 2 values, one per bit, got 1"),
        ("= %6 %7", "%6 %7", 10, "expected '='"),
        ("%7 = and %5 %4", 'input "c" bits 1', 8, "an input comes after a gate"),
    ],
)
def test_hostile_text_is_refused_by_line(old: str, new: str, line: int, reason: str) -> None:
    assert old in TEXT
    with pytest.raises(InvalidProgramError, match=f"line {line}: .*{reason}"):
        from_text(TEXT.replace(old, new, 1))


def test_an_empty_text_is_no_program() -> None:
    with pytest.raises(InvalidProgramError, match="ends before its title"):
        from_text("")
    with pytest.raises(InvalidProgramError, match="expected text"):
        from_text(b"")  # type: ignore[arg-type]


@given(gate_programs(), st.integers(0, 2**32))
@settings(deadline=None)
def test_damaged_text_is_refused_or_legal(program: GateProgram, seed: int) -> None:
    try:
        read = from_text(damage(to_text(program), random.Random(seed)))
    except InvalidProgramError:
        return
    assert facts(from_text(to_text(read))) == facts(read)
