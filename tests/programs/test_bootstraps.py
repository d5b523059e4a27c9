"""Bootstrap programs: what makes one legal, their counts, and their bytes."""

import random
import struct
from typing import Any

import numpy as np
import pytest
from cloakwork.programs.bootstraps_file import from_bytes, to_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import InvalidProgramError, MalformedBytesError
from cloakwork.plan.boolean.gate_by_gate import gate_by_gate
from cloakwork.programs.bootstraps import (
    BOOTSTRAP,
    EIGHTH,
    HALF,
    LINEAR,
    QUARTER,
    BootstrapProgram,
    bootstrap_statistics_of,
)
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.port import Port
from tests.programs.random_gates import gate_programs

PORTS = {"title": "t", "inputs": (Port("a", "bits", 2),), "outputs": (Port("y", "bits", 2),)}
# A bootstrap of both inputs with two outputs, the first of which is then turned.
ARRAYS: dict[str, Any] = {
    "input_bits": [0, 1],
    "input_encodings": [QUARTER, QUARTER],
    "kinds": [BOOTSTRAP, LINEAR],
    "term_starts": [0, 2, 3],
    "term_signals": [0, 1, 2],
    "term_weights": [1, 1, -1],
    "constants": [0, QUARTER],
    "boxes_log": [2, 0],
    "output_starts": [0, 2, 3],
    "tables": [-EIGHTH % 2**32, -EIGHTH % 2**32, 0, QUARTER],
    "output_constants": [EIGHTH, 0, 0],
    "output_signals": [4, 3],
    "output_encodings": [QUARTER, QUARTER],
}


def facts(program: BootstrapProgram) -> list[Any]:
    """What two programs must share to be the same."""
    arrays = [getattr(program, name).tolist() for name in ARRAYS]
    return [program.title, program.inputs, program.outputs, *arrays]


def made(**changed: Any) -> BootstrapProgram:
    return BootstrapProgram(**{**PORTS, **ARRAYS, **changed})


def test_counts_and_levels() -> None:
    program = made()
    found = bootstrap_statistics_of(program)
    assert (found.bootstraps, found.linear, found.terms) == (1, 1, 3)
    assert (dict(found.by_outputs), found.depth, found.widths) == ({2: 1}, 1, (1,))
    assert program.levels.tolist() == [1, 1]
    assert program.signal_count == 5
    assert program.table_starts.tolist() == [0, 4, 4]


def test_arrays_cannot_be_changed() -> None:
    program = made()
    with pytest.raises(ValueError, match="read-only"):
        program.tables[0] = 1


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"title": 1}, "title"),
        ({"inputs": ("a",)}, "to be ports"),
        ({"inputs": (Port("a", "bits", 1),) * 2}, "comes twice"),
        ({"inputs": (Port("a", "bits", 1),)}, "bit 1, of 1 bits"),
        ({"input_encodings": [QUARTER]}, "2 encodings of inputs"),
        ({"input_encodings": [QUARTER, 3]}, "in the encoding 3"),
        ({"input_encodings": [QUARTER, 0]}, "in the encoding 0"),
        ({"kinds": [BOOTSTRAP, 2]}, "unknown kind 2"),
        ({"kinds": [[BOOTSTRAP, LINEAR]]}, "list of integers"),
        ({"kinds": [1.0, 0.0]}, "list of integers"),
        ({"kinds": [1, 256]}, "to fit uint8"),
        ({"kinds": [LINEAR, LINEAR]}, "node 0 has 2 outputs"),
        ({"constants": [0]}, "2 constants"),
        ({"boxes_log": [2, 0, 0]}, "2 boxes_log"),
        ({"boxes_log": [0, 0]}, "node 0 has 2.0 boxes"),
        ({"boxes_log": [9, 0]}, "node 0 has 2.9 boxes"),
        ({"boxes_log": [2, 1]}, "node 1 has 2.1 boxes"),
        ({"boxes_log": [3, 0]}, "8 numbers in the tables"),
        ({"term_starts": [0, 3]}, "3 starts of terms"),
        ({"term_starts": [0, 4, 3]}, "rise from 0 to 3"),
        ({"term_starts": [1, 2, 3]}, "rise from 0 to 3"),
        ({"term_weights": [1, 1]}, "3 weights"),
        ({"term_weights": [1, 1, 2**31]}, "to fit int32"),
        ({"term_signals": [0, 2, 2]}, "uses %2, which is not before it"),
        ({"term_signals": [0, 1, 4]}, "uses %4, which is not before it"),
        ({"output_starts": [0, 3, 3]}, "node 1 has 0 outputs"),
        ({"output_constants": [0, 0, 1]}, "a linear node adds a constant"),
        ({"output_signals": [4, 5]}, "an output is %5, of 5 signals"),
        ({"output_signals": [4]}, "2 output_signals"),
        ({"output_encodings": [HALF, 2**31 + 1]}, "an output is in the encoding"),
    ],
)
def test_what_is_not_legal_is_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        made(**changed)


@given(gate_programs())
@settings(deadline=None)
def test_bytes_make_the_same_program(gates: GateProgram) -> None:
    program = gate_by_gate(gates)
    assert facts(from_bytes(to_bytes(program))) == facts(program)


HEADER = struct.Struct("<8sI7Q14Q")


def with_header(place: int, value: object) -> bytes:
    """The bytes of a program, one entry of their header changed."""
    data = to_bytes(made())
    entries = list(HEADER.unpack_from(data))
    entries[place] = value
    return HEADER.pack(*entries) + data[HEADER.size :]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "expected a header"),
        ("text", "expected bytes"),
        (with_header(0, b"cw.gates"), "they are no bootstrap program"),
        (with_header(1, 2), "expected version 1, got 2"),
        (with_header(2, 2**40), "takes more than"),
        (with_header(2, 3), "when unpacked"),
        (with_header(3, 2**40), "nodes"),
        (with_header(3, 3), "when unpacked"),
        (with_header(4, 2**20), "cannot hold"),
        (with_header(5, 3), "when unpacked"),
        (with_header(6, 2), "when unpacked"),
        (with_header(7, 2**40), "output bits"),
        (with_header(8, 2**40), "takes more than"),
        (with_header(9, 1), "bytes, got"),
        (to_bytes(made())[:-1], "bytes, got"),
        (to_bytes(made()) + b"x", "bytes, got"),
    ],
)
def test_hostile_bytes_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedBytesError, match=reason):
        from_bytes(data)


def test_more_memory_must_be_asked_for() -> None:
    with pytest.raises(MalformedBytesError, match="more than 100 bytes"):
        from_bytes(to_bytes(made()), memory=100)


@given(gate_programs(), st.integers(0, 2**32))
@settings(deadline=None)
def test_damaged_bytes_are_refused_or_legal(gates: GateProgram, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(to_bytes(gate_by_gate(gates)))
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    try:
        read = from_bytes(bytes(data))
    except MalformedBytesError:
        return
    assert facts(from_bytes(to_bytes(read))) == facts(read)


def test_numbers_are_wide_enough_whatever_they_come_as() -> None:
    narrow = made(term_weights=np.array([1, 1, -1], dtype=np.int8))
    assert facts(narrow) == facts(made())
