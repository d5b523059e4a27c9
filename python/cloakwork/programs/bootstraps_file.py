"""The bytes of one bootstrap program: compact, versioned, and no longer than they say.

A fixed header with all lengths, then a compressed part for title and ports as in
`programs.gates_text`, and one for each array: kinds and logarithms of boxes as they are, starts as
lengths, signals as how far before the node they stand, all else as numbers of 32 bits.
"""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import CloakworkError, MalformedBytesError
from cloakwork.programs.bootstraps import (
    BOOTSTRAP,
    MAX_BOXES_LOG,
    MAX_NODES,
    BootstrapProgram,
    counts_between,
)
from cloakwork.programs.packed import parts_after, read_header, require_within, unpack
from cloakwork.programs.port import MAX_PORT_BITS
from cloakwork.programs.port_lines import port_lines, read_port_lines
from cloakwork.programs.text import MEMORY

_MAGIC = b"cw.boots"
_VERSION = 1
# Magic, version; inputs, nodes, terms, numbers in tables, outputs of nodes, bits of outputs,
# bytes of the text when plain; bytes of the parts when packed.
_PARTS = 14
_HEADER = struct.Struct(f"<8sI7Q{_PARTS}Q")

_NUMBER = np.dtype("<u4")

# Bytes that these take in memory while they are read and checked.
_NODE_WEIGHT = 128
_TERM_WEIGHT = 48
_TEXT_WEIGHT = 64


def to_bytes(program: BootstrapProgram) -> bytes:
    """A bootstrap program as bytes from which `from_bytes` makes it again.

    Example:
        >>> from cloakwork.programs.bootstraps import HALF, BootstrapBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = BootstrapBuilder("copy", (Port("a", "bits", 1),))
        >>> builder.output(Port("y", "bits", 1), [builder.input(0, HALF)], [HALF])
        >>> from_bytes(to_bytes(builder.finish())).input_encodings.tolist() == [HALF]
        True
    """
    text = port_lines(program.title, program.inputs, program.outputs)
    term_counts = counts_between(program.term_starts)
    output_counts = counts_between(program.output_starts)
    own = _own_numbers(program.input_count, output_counts, term_counts)
    plain = [
        text,
        program.kinds.tobytes(),
        program.boxes_log.tobytes(),
        *(
            numbers.astype(_NUMBER).tobytes()
            for numbers in (
                program.input_bits,
                program.input_encodings,
                term_counts,
                own - program.term_signals,
                program.term_weights.view(np.uint32),
                program.constants,
                output_counts,
                program.tables,
                program.output_constants,
                program.output_signals,
                program.output_encodings,
            )
        ),
    ]
    parts = [zlib.compress(part) for part in plain]
    header = _HEADER.pack(
        _MAGIC,
        _VERSION,
        program.input_count,
        program.node_count,
        len(program.term_signals),
        len(program.tables),
        len(program.output_constants),
        len(program.output_signals),
        len(text),
        *(len(part) for part in parts),
    )
    return b"".join([header, *parts])


def from_bytes(data: bytes, *, memory: int = MEMORY) -> BootstrapProgram:
    """Read a bootstrap program from its bytes.

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
        raise MalformedBytesError(f"cannot read the bootstrap program's bytes: {error}") from error


def _read(data: bytes, memory: int) -> BootstrapProgram:
    data, facts = read_header(data, _HEADER, _MAGIC, _VERSION, "bootstrap program")
    inputs, nodes, terms, table_numbers, made, output_bits, text_size, *sizes = facts
    packed = parts_after(data, _HEADER, sizes)
    if nodes > MAX_NODES or output_bits > MAX_PORT_BITS:
        raise MalformedBytesError(f"{nodes} nodes, {output_bits} output bits")
    weight = _NODE_WEIGHT * (nodes + inputs + made + output_bits) + _TEXT_WEIGHT * text_size
    require_within(weight + _TERM_WEIGHT * (terms + table_numbers), memory)
    title, input_ports, output_ports = read_port_lines(unpack(packed[0], text_size))
    kinds, boxes_log = (np.frombuffer(unpack(part, nodes), np.uint8) for part in packed[1:3])
    if nodes and (int(kinds.max()) > BOOTSTRAP or int(boxes_log.max()) > MAX_BOXES_LOG):
        raise MalformedBytesError("a node is of an unknown kind, or has too many boxes")
    lengths = [inputs, inputs, nodes, terms, terms, nodes, nodes, table_numbers]
    lengths += [made, output_bits, output_bits]
    (
        input_bits,
        input_encodings,
        term_counts,
        distances,
        weights,
        constants,
        output_counts,
        tables,
        output_constants,
        output_signals,
        output_encodings,
    ) = (
        np.frombuffer(unpack(part, length * _NUMBER.itemsize), _NUMBER)
        for part, length in zip(packed[3:], lengths, strict=True)
    )
    for counts, total, what in ((term_counts, terms, "terms"), (output_counts, made, "outputs")):
        if int(counts.sum(dtype=np.uint64)) != total:
            raise MalformedBytesError(f"expected {total} {what} of all nodes together")
    own = _own_numbers(inputs, output_counts, term_counts)
    if np.any(distances > own):
        raise MalformedBytesError("a term stands before the first signal")
    return BootstrapProgram(
        title,
        input_ports,
        output_ports,
        input_bits,
        input_encodings,
        kinds,
        _starts(term_counts),
        (own - distances).astype(np.uint32),
        weights.astype(np.uint32).view(np.int32),
        constants,
        boxes_log,
        _starts(output_counts),
        tables,
        output_constants,
        output_signals,
        output_encodings,
    )


def _own_numbers(
    inputs: int, output_counts: NDArray[np.integer[Any]], term_counts: NDArray[np.integer[Any]]
) -> NDArray[np.int64]:
    """For every term the number of the first signal that its node makes."""
    return np.repeat(_starts(output_counts)[:-1] + inputs, term_counts)


def _starts(counts: NDArray[np.integer[Any]]) -> NDArray[Any]:
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=starts[1:])
    return starts
