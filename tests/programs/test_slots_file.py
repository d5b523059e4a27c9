"""Programs as bytes: round trips and damaged bytes."""

import random
import struct
import zlib

import numpy as np
import pytest
from cloakwork.programs.slots_file import from_bytes, to_bytes
from hypothesis import given, settings
from hypothesis import strategies as st

from cloakwork.errors import MalformedBytesError
from cloakwork.programs.slots import Builder, Input, Linear, Output, Rescale, SlotProgram
from tests.programs.random_programs import damage, facts, programs

HEADER = struct.Struct("<8sIIQQQQ")


def packed(
    text: str = '"t"\n%0 = input "x" at 1',
    *,
    version: int = 1,
    slots: int = 4,
    count: int = 0,
    vectors: bytes = b"",
    text_size: int | None = None,
    cut: int = 0,
    tail: bytes = b"",
) -> bytes:
    """The bytes of these parts, whether they make a program or not."""
    text_part = zlib.compress(text.encode())
    parts = text_part[: len(text_part) - cut] + tail, zlib.compress(vectors)
    size = len(text.encode()) if text_size is None else text_size
    sizes = (len(part) for part in parts)
    return HEADER.pack(b"cw.slots", version, slots, count, size, *sizes) + b"".join(parts)


@given(programs())
def test_round_trip(program: SlotProgram) -> None:
    assert facts(from_bytes(to_bytes(program))) == facts(program)


def test_vectors_are_kept_once_and_packed() -> None:
    slots = 4096
    builder = Builder("", slots)
    x = builder.append(Input("x", 1))
    for _ in range(10):
        diagonals = {d: np.tile([1.0, 0.0], slots // 2) for d in range(10)}
        builder.append(Rescale(builder.append(Linear(x, diagonals, 4))))
    program = builder.finish()
    assert len(to_bytes(program)) < slots
    first = from_bytes(to_bytes(program)).operations[1]
    assert isinstance(first, Linear)
    assert first.diagonals[0] is first.diagonals[9]


def test_bytes_read_are_bytes_that_were_written() -> None:
    assert from_bytes(packed()).title == "t"
    vectors = np.arange(8.0).tobytes()
    program = from_bytes(packed('"t"\n%0 = constant v1', count=2, vectors=vectors))
    assert "constant" in str(program)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "header"),
        ("text", "expected bytes, got str"),
        (b"PK" + packed()[2:], "no slot program"),
        (packed(version=2), "version"),
        (packed(slots=0), "slots"),
        (packed(slots=65537), "slots"),
        (packed()[:-1], "bytes, got"),
        (packed() + b"0", "bytes, got"),
        (packed(count=1), "cannot hold|other than that"),
        (packed(count=1, vectors=bytes(33)), "other than that"),
        (packed(count=1, vectors=b"\xff" * 32, text='"t"\n%0 = constant v0'), "not finite"),
        (packed(count=2**60), "more memory"),
        (packed(text_size=2**60), "more memory"),
        (packed(text_size=2**22), "cannot hold"),
        (packed(text_size=3), "other than that"),
        (packed(cut=1), "other than that"),
        (packed(tail=b"0"), "other than that"),
        (packed(""), "text in double quotes"),
        (packed('"t"\n'), "expected %0"),
        (packed('"t" 4'), "end of the line"),
        (packed('"t"\n%0 = constant v0'), "v0 is not given"),
        (packed('"t"\n%0 = neg %0'), "comes later"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedBytesError, match=reason):
        from_bytes(data)


def test_a_program_takes_no_more_memory_than_allowed() -> None:
    data = to_bytes(from_bytes(packed('"t"\n%0 = constant v0', count=1, vectors=bytes(32))))
    from_bytes(data, memory=2000)
    with pytest.raises(MalformedBytesError, match="more than 1000 bytes"):
        from_bytes(data, memory=1000)


@settings(max_examples=60)
@given(programs(), st.integers(0, 2**32))
def test_damaged_bytes_are_refused_or_legal(program: SlotProgram, seed: int) -> None:
    rng = random.Random(seed)
    data = to_bytes(program)
    for _ in range(10):
        at = rng.randrange(len(data))
        flipped = bytes([data[at] ^ 1 << rng.randrange(8)])
        for instead in (b"", flipped, data[at : at + 1] + flipped):
            try:
                read = from_bytes(data[:at] + instead + data[at + 1 :])
            except MalformedBytesError:
                continue
            assert facts(from_bytes(to_bytes(read))) == facts(read)


@settings(max_examples=60)
@given(programs(), st.integers(0, 2**32))
def test_damage_under_the_packing_is_refused_or_legal(program: SlotProgram, seed: int) -> None:
    rng = random.Random(seed)
    data = to_bytes(program)
    text_end = HEADER.size + HEADER.unpack_from(data)[5]
    text = zlib.decompress(data[HEADER.size : text_end]).decode()
    vectors = bytearray(zlib.decompress(data[text_end:]))
    for _ in range(10):
        vectors[rng.randrange(len(vectors))] ^= 1 << rng.randrange(8)
        slots, count = program.slots, len(vectors) // (8 * program.slots)
        damaged = packed(damage(text, rng), slots=slots, count=count, vectors=bytes(vectors))
        try:
            read = from_bytes(damaged)
        except MalformedBytesError:
            continue
        assert facts(from_bytes(to_bytes(read))) == facts(read)


def test_any_text_comes_back() -> None:
    builder = Builder("é", 2)
    builder.append(Output(builder.append(Input("\ud800", 0))))
    program = builder.finish()
    assert facts(from_bytes(to_bytes(program))) == facts(program)
