"""Gate programs as bytes: round trips and damaged bytes."""

import random
import struct
import zlib

import pytest
from cloakwork.programs.gates_file import from_bytes, to_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import MalformedBytesError
from cloakwork.programs.gates import GateKind, GateProgram
from tests.programs.random_gates import facts, gate_programs

HEADER = struct.Struct("<8sIQQQQQ4Q")
TEXT = '"t"\ninput "a" bits 2\noutput "y" bits 1'


def packed(
    *,
    magic: bytes = b"cw.gates",
    version: int = 1,
    counts: tuple[int, int, int, int] = (1, 2, 0, 1),
    text: bytes = TEXT.encode(),
    kinds: bytes = bytes([GateKind.AND]),
    distances: bytes = struct.pack("<2I", 2, 1),
    numbers: bytes = struct.pack("<I", 2),
    tail: bytes = b"",
) -> bytes:
    """The bytes of these parts, whether they make a program or not."""
    parts = [zlib.compress(part) for part in (text, kinds, distances, numbers)]
    sizes = (len(part) for part in parts)
    return b"".join([HEADER.pack(magic, version, *counts, len(text), *sizes), *parts, tail])


@given(gate_programs())
@settings(deadline=None)
def test_round_trip(program: GateProgram) -> None:
    assert facts(from_bytes(to_bytes(program))) == facts(program)


def test_bytes_read_are_bytes_that_were_written() -> None:
    assert to_bytes(from_bytes(packed())) == packed()


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "expected a header"),
        (packed(magic=b"cw.slots"), "they are no gate program"),
        (packed(version=2), "expected version 1, got 2"),
        (packed(tail=b"x"), "bytes, got"),
        (packed()[:-1], "bytes, got"),
        (packed(counts=(2**20, 2, 0, 1)), "cannot hold"),
        (packed(counts=(2**40, 2, 0, 1)), "gates"),
        (packed(counts=(1, 2**40, 0, 1)), "takes more than"),
        (packed(counts=(2, 2, 0, 1)), "when unpacked"),
        (packed(counts=(1, 2, 1, 1)), "when unpacked"),
        (packed(counts=(1, 1, 0, 1), distances=bytes(4)), "expected 2 operands by the kinds"),
        (packed(kinds=b"\x11"), "unknown kind 17"),
        (packed(kinds=bytes([GateKind.LUT2])), "expected 1 tables, got 0"),
        (packed(distances=struct.pack("<2I", 3, 1)), "before the first value"),
        (packed(distances=struct.pack("<2I", 0, 1)), "not before it"),
        (packed(numbers=struct.pack("<I", 3)), "an output is %3"),
        (packed(text=b"\xff"), "no text"),
        (packed(text=TEXT.replace("input", "inout").encode()), "expected an input or output"),
        (packed(text=TEXT.replace("bits 2", "bits 2 2").encode()), "the end of the line"),
    ],
)
def test_hostile_bytes_are_refused(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedBytesError, match=reason):
        from_bytes(data)


def test_more_memory_must_be_asked_for() -> None:
    with pytest.raises(MalformedBytesError, match="more than 100 bytes"):
        from_bytes(packed(), memory=100)


@given(gate_programs(), st.integers(0, 2**32))
@settings(deadline=None)
def test_damaged_bytes_are_refused_or_legal(program: GateProgram, seed: int) -> None:
    rng = random.Random(seed)
    data = bytearray(to_bytes(program))
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    try:
        read = from_bytes(bytes(data))
    except MalformedBytesError:
        return
    assert facts(from_bytes(to_bytes(read))) == facts(read)
