"""Files of programs: their headers, and parts unpacked to no more bytes than they say."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

from cloakwork.errors import MalformedBytesError

# The most that zlib makes out of one byte.
_MAX_RATIO = 1032


def read_header(
    data: object, header: struct.Struct, magic: bytes, version: int, kind: str
) -> tuple[bytes, tuple[Any, ...]]:
    """The data as bytes, and what their header says after the magic and the version.

    Args:
        data: What is to be bytes.
        header: The form of the header, which starts with magic and version.
        magic: What bytes of this kind start with.
        version: The version that can be read.
        kind: What the bytes hold, in the words of the error.

    Raises:
        MalformedBytesError: They are no bytes, too few, of another kind or version.

    Example:
        >>> header = struct.Struct("<2sII")
        >>> read_header(header.pack(b"cw", 1, 7), header, b"cw", 1, "number")[1]
        (7,)
    """
    if not isinstance(data, bytes):
        raise MalformedBytesError(f"expected bytes, got {type(data).__name__}")
    if len(data) < header.size:
        raise MalformedBytesError(f"expected a header of {header.size} bytes, got {len(data)}")
    found_magic, found_version, *facts = header.unpack_from(data)
    if found_magic != magic:
        raise MalformedBytesError(f"they are no {kind}")
    if found_version != version:
        raise MalformedBytesError(f"expected version {version}, got {found_version}")
    return data, tuple(facts)


def parts_after(data: bytes, header: struct.Struct, sizes: Sequence[int]) -> list[bytes]:
    """The parts that follow a header, one after another to the end of the data.

    Raises:
        MalformedBytesError: The data have more or fewer bytes.

    Example:
        >>> parts_after(b"head" + b"abc", struct.Struct("4s"), [1, 2])
        [b'a', b'bc']
    """
    ends = list(accumulate(sizes, initial=header.size))
    if len(data) != ends[-1]:
        raise MalformedBytesError(f"expected {ends[-1]} bytes, got {len(data)}")
    return [data[start:end] for start, end in pairwise(ends)]


def require_within(needed: int, memory: int) -> None:
    """Refuse a program that would take more bytes than it may.

    Raises:
        MalformedBytesError: It would.
    """
    if needed > memory:
        raise MalformedBytesError(
            f"the program takes more than {memory} bytes; "
            "if it is to be trusted, read it with more memory"
        )


def unpack(packed: bytes, size: int) -> bytes:
    """Bytes that `zlib.compress` packed.

    Args:
        packed: All of the packed bytes.
        size: How many bytes they hold.

    Raises:
        MalformedBytesError: They are damaged, or hold more or fewer bytes.

    Example:
        >>> unpack(zlib.compress(b"abc"), 3)
        b'abc'
    """
    if size > _MAX_RATIO * len(packed):
        raise MalformedBytesError(f"{len(packed)} packed bytes cannot hold {size}")
    unpacker = zlib.decompressobj()
    try:
        # One byte more than wanted shows whether there is more.
        data = unpacker.decompress(packed, size + 1)
    except zlib.error as error:
        raise MalformedBytesError(f"the packed bytes are damaged: {error}") from error
    if len(data) != size or not unpacker.eof or unpacker.unused_data:
        raise MalformedBytesError(f"expected {size} bytes when unpacked, got other than that")
    return data
