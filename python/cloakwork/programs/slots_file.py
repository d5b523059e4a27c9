"""The bytes of one program: compact, versioned, and no longer than they say.

A fixed header with all lengths; the title and the operations as in
`programs.text`, compressed; the distinct vectors as float64 or int64, compressed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from cloakwork.errors import CloakworkError, MalformedBytesError
from cloakwork.programs.layout import MAX_SLOTS
from cloakwork.programs.packed import read_header, require_within, unpack
from cloakwork.programs.slots import DTYPES, Builder, Numbers, Program
from cloakwork.programs.text import MEMORY, operation_lines, read_operation
from cloakwork.programs.tokens import Tokens, quote
from cloakwork.programs.vectors import DistinctVectors

_MAGIC = b"cw.slots"
_VERSION = 1
# Magic, version, slots, vectors; bytes of the text, plain and packed, and of the vectors, packed.
_HEADER = struct.Struct("<8sIIQQQQ")

# Numbers stand in the file in one byte order, whatever the machine's.
_TYPES: Mapping[Numbers, np.dtype[Any]] = {"real": np.dtype("<f8"), "integer": np.dtype("<i8")}
_NUMBER_BYTES = 8

# An operation takes up to this many times its text in memory.
_TEXT_WEIGHT = 64


def to_bytes(program: Program) -> bytes:
    """A program as bytes from which `from_bytes` makes it again, bit for bit.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Output
        >>> program = Program("double", 4, (Input("x", 1), Add(0, 0), Output(1)), (None,) * 3)
        >>> print(from_bytes(to_bytes(program)))
        double, 4 slots
          %0 = input x        level 1
          %1 = add %0 %0      level 1
          %2 = output %1      level 1
    """
    distinct = DistinctVectors()
    kind = "" if program.numbers == "real" else f" {program.numbers}"
    lines = [quote(program.title) + kind, *operation_lines(program, distinct)]
    text = "\n".join(lines).encode("utf-8", "surrogatepass")
    packer = zlib.compressobj()
    number = _TYPES[program.numbers]
    vectors = [packer.compress(vector.astype(number).tobytes()) for vector in distinct.vectors]
    packed_vectors = b"".join([*vectors, packer.flush()])
    packed_text = zlib.compress(text)
    header = _HEADER.pack(
        _MAGIC,
        _VERSION,
        program.slots,
        len(distinct.vectors),
        len(text),
        len(packed_text),
        len(packed_vectors),
    )
    return header + packed_text + packed_vectors


def from_bytes(data: bytes, *, memory: int = MEMORY) -> Program:
    """Read a program from its bytes.

    Args:
        data: What `to_bytes` made.
        memory: Bytes that the program may take.

    Raises:
        MalformedBytesError: The bytes are damaged, of another version or kind, or hold a program
            that is not legal or takes more memory.
    """
    try:
        return _read(data, memory)
    except CloakworkError as error:
        raise MalformedBytesError(f"cannot read the program's bytes: {error}") from error


def _read(data: bytes, memory: int) -> Program:
    data, facts = read_header(data, _HEADER, _MAGIC, _VERSION, "slot program")
    slots, count, text_size, packed_text_size, packed_vectors_size = facts
    if not 1 <= slots <= MAX_SLOTS:
        raise MalformedBytesError(f"expected 1 to {MAX_SLOTS} slots, got {slots}")
    text_end = _HEADER.size + packed_text_size
    if len(data) != text_end + packed_vectors_size:
        raise MalformedBytesError(
            f"expected {text_end + packed_vectors_size} bytes, got {len(data)}"
        )
    vectors_size = count * slots * _NUMBER_BYTES
    require_within(vectors_size + _TEXT_WEIGHT * text_size, memory)
    text = unpack(data[_HEADER.size : text_end], text_size)
    return _program(text, slots, unpack(data[text_end:], vectors_size))


def _program(text: bytes, slots: int, packed: bytes) -> Program:
    try:
        first, *lines = text.decode("utf-8", "surrogatepass").split("\n")
    except UnicodeDecodeError as error:
        raise MalformedBytesError(f"the operations are no text: {error}") from error
    head = Tokens(first)
    title = head.quoted()
    numbers: Numbers = "integer" if head.accept("integer") else "real"
    head.end()
    builder = Builder(title, slots, numbers)
    read = np.frombuffer(packed, dtype=_TYPES[numbers])
    vectors = list(read.astype(DTYPES[numbers], copy=False).reshape(-1, slots))
    for line in lines:
        read_operation(line, vectors, builder)
    return builder.finish()
