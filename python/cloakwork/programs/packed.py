"""Compressed parts of a file, unpacked to no more bytes than they say."""

from __future__ import annotations

import zlib

from cloakwork.errors import MalformedBytesError

# The most that zlib makes out of one byte.
_MAX_RATIO = 1032


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
