"""The bytes of one gate program: compact, versioned, and no longer than they say.

A fixed header with all lengths, then four compressed parts: title and ports as in
`programs.gates_text`; the kinds; how far before each gate its operands stand; the tables
of look-up tables only, then the values of the outputs' bits.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import CloakworkError, MalformedBytesError
from cloakwork.programs.gates import ARITIES, MAX_GATES, GateKind, GateProgram
from cloakwork.programs.packed import parts_after, read_header, require_within, unpack
from cloakwork.programs.port import MAX_PORT_BITS
from cloakwork.programs.port_lines import port_lines, read_port_lines
from cloakwork.programs.text import MEMORY

_MAGIC = b"cw.gates"
_VERSION = 1
# Magic, version, gates, operands, look-up tables, outputs' bits, bytes of the text when plain;
# bytes of the four parts when packed.
_HEADER = struct.Struct("<8sIQQQQQ4Q")

# Numbers stand in the file in one byte order, whatever the machine's.
_NUMBER = np.dtype("<u4")
_TABLE = np.dtype("<u8")

# Bytes that a gate and an operand take in memory while they are read and checked.
_GATE_WEIGHT = 64
_OPERAND_WEIGHT = 32
_TEXT_WEIGHT = 64


def to_bytes(program: GateProgram) -> bytes:
    """A gate program as bytes from which `from_bytes` makes it again.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("both", (Port("a", "bits", 2),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.AND, 0, 1),))
        >>> from_bytes(to_bytes(builder.finish())).kinds.tolist() == [GateKind.AND]
        True
    """
    text = port_lines(program.title, program.inputs, program.outputs)
    tables = program.tables[program.kinds >= GateKind.LUT1]
    # Operands are mostly near, so distances pack better than numbers.
    distances = _own_numbers(program.kinds, program.input_bits) - program.operands
    numbers = tables.astype(_TABLE).tobytes() + program.output_values.astype(_NUMBER).tobytes()
    plain = text, program.kinds.tobytes(), distances.astype(_NUMBER).tobytes(), numbers
    parts = [zlib.compress(part) for part in plain]
    header = _HEADER.pack(
        _MAGIC,
        _VERSION,
        program.gate_count,
        len(program.operands),
        len(tables),
        program.output_bits,
        len(text),
        *(len(part) for part in parts),
    )
    return b"".join([header, *parts])


def from_bytes(data: bytes, *, memory: int = MEMORY) -> GateProgram:
    """Read a gate program from its bytes.

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
        raise MalformedBytesError(f"cannot read the gate program's bytes: {error}") from error


def _read(data: bytes, memory: int) -> GateProgram:
    data, facts = read_header(data, _HEADER, _MAGIC, _VERSION, "gate program")
    gates, operands, tables, output_bits, text_size, *sizes = facts
    packed = parts_after(data, _HEADER, sizes)
    if gates > MAX_GATES or tables > gates or output_bits > MAX_PORT_BITS:
        raise MalformedBytesError(f"{gates} gates, {tables} tables, {output_bits} output bits")
    weight = _GATE_WEIGHT * gates + _OPERAND_WEIGHT * operands + _TEXT_WEIGHT * text_size
    require_within(weight, memory)
    title, inputs, outputs = read_port_lines(unpack(packed[0], text_size))
    kinds = np.frombuffer(unpack(packed[1], gates), dtype=np.uint8)
    if gates and int(kinds.max()) >= len(ARITIES):
        raise MalformedBytesError(f"a gate is of the unknown kind {int(kinds.max())}")
    distances = np.frombuffer(unpack(packed[2], operands * _NUMBER.itemsize), dtype=_NUMBER)
    own = _own_numbers(kinds, sum(port.bits for port in inputs))
    if len(own) != operands:
        raise MalformedBytesError(f"expected {len(own)} operands by the kinds, got {operands}")
    if np.any(distances > own):
        raise MalformedBytesError("an operand stands before the first value")
    used = (own - distances).astype(np.uint32)
    numbers_size = tables * _TABLE.itemsize + output_bits * _NUMBER.itemsize
    numbers = unpack(packed[3], numbers_size)
    is_lut = kinds >= GateKind.LUT1
    if int(is_lut.sum()) != tables:
        raise MalformedBytesError(f"expected {int(is_lut.sum())} tables, got {tables}")
    all_tables = np.zeros(gates, dtype=np.uint64)
    all_tables[is_lut] = np.frombuffer(numbers, dtype=_TABLE, count=tables)
    values = np.frombuffer(numbers, dtype=_NUMBER, offset=tables * _TABLE.itemsize)
    return GateProgram(title, inputs, outputs, kinds, used, all_tables, values)


def _own_numbers(kinds: NDArray[np.uint8], input_bits: int) -> NDArray[np.int64]:
    """For every operand the number of the value made of it."""
    return np.repeat(np.arange(len(kinds), dtype=np.int64) + input_bits, ARITIES[kinds])
