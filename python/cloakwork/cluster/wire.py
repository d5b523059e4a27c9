"""Messages of Dask's protocol, of which nothing is ever unpickled.

Dask's own clients unpickle results, errors, and whatever part of a message says that it is a
pickle. So whoever controls a scheduler or a worker would run code in a process that asked for a
run. Here a message is read as numbers, text, bytes, and lists and mappings of these. What is
serialised in it stays the bytes that came, and nobody opens it.
"""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import msgpack
from distributed.comm.addressing import parse_address, parse_host_port
from distributed.protocol.core import dumps
from distributed.protocol.pickle import HIGHEST_PROTOCOL
from distributed.security import Security

from cloakwork.errors import InvalidArgumentError, MalformedBytesError

# Bytes of a message, and of the part that becomes objects; there are fewer.
_MOST_BYTES = 1 << 28
_MOST_PLAIN_BYTES = 1 << 26
_MOST_FRAMES = 1 << 20
_COUNT = struct.Struct("Q")
_CONNECT_SECONDS = 10.0
# Seconds in which a message that has begun has to arrive, or to be taken.
_MESSAGE_SECONDS = 120.0
# Seconds of silence before the system asks whether the other side is there, and between its
# questions; after so many without an answer it is not.
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 10), (socket.TCP_KEEPINTVL, 5), (socket.TCP_KEEPCNT, 4))

_OF_DAMAGE = (
    struct.error,
    msgpack.UnpackException,
    LookupError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True, eq=False)
class Sealed:
    """What was serialised, as it came.

    Args:
        frames: Its bytes, in parts.
        is_compressed: Whether a part is compressed.
    """

    frames: Sequence[memoryview]
    is_compressed: bool


def plain_bytes(value: Any, place: str) -> bytes:
    """Bytes that a worker has given, which Dask moves as they are.

    Raises:
        MalformedBytesError: It has given something else, or they are compressed.

    Example:
        >>> plain_bytes(Sealed([memoryview(b"ab"), memoryview(b"c")], False), "an answer")
        b'abc'
        >>> plain_bytes(3, "an answer")
        Traceback (most recent call last):
        cloakwork.errors.MalformedBytesError: cannot read an answer: expected bytes, got int; ...
    """
    if isinstance(value, Sealed) and value.is_compressed:
        raise MalformedBytesError(
            f"cannot read {place}: expected bytes that are not compressed; set "
            "distributed.comm.compression to null, as cloakwork.cluster.settings does"
        )
    if not isinstance(value, Sealed):
        raise MalformedBytesError(
            f"cannot read {place}: expected bytes, got {type(value).__name__}; look which version "
            "of Dask and what else runs on the cluster"
        )
    return b"".join(value.frames)


class Connection:
    """A connection to a server of Dask's.

    Args:
        address: Where it is, such as tcp://machine:8786, or tls://.
        security: Certificates and keys.

    Raises:
        InvalidArgumentError: It is no such address, or the security does not go with it.
        OSError: Nothing answers there.
        MalformedBytesError: What answers does not speak Dask's protocol.
    """

    def __init__(self, address: str, security: Security) -> None:
        self._socket = _connected(address, security)
        try:
            for option, value in _KEEPALIVE:
                self._socket.setsockopt(socket.IPPROTO_TCP, option, value)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            python = tuple(sys.version_info)[:3]
            self.send({"compression": None, "python": python, "pickle-protocol": HIGHEST_PROTOCOL})
            if not isinstance(self.received(), Mapping):
                raise MalformedBytesError(
                    f"cannot connect to {address}: expected a scheduler of Dask to answer"
                )
        except BaseException:
            self._socket.close()
            raise

    def send(self, message: Any) -> None:
        """Send a message, in which functions and graphs are pickled.

        Raises:
            OSError: The other side is gone.
        """
        framed: Callable[[Any], list[Any]] = dumps
        frames = [memoryview(each).cast("B") for each in framed(message)]
        counts = struct.pack(f"{len(frames) + 1}Q", len(frames), *(each.nbytes for each in frames))
        total = len(counts) + sum(each.nbytes for each in frames)
        self._socket.settimeout(_MESSAGE_SECONDS)
        self._socket.sendall(_COUNT.pack(total) + counts)
        for each in frames:
            self._socket.sendall(each)

    def received(self, seconds: float = _MESSAGE_SECONDS) -> Any:
        """The next message; None where none begins within some seconds.

        Raises:
            OSError: The other side is gone, or a message does not go on.
            MalformedBytesError: It is not a message, or is longer than any.
        """
        self._socket.settimeout(seconds)
        try:
            first = self._socket.recv(_COUNT.size)
        except TimeoutError:
            return None
        by = monotonic() + _MESSAGE_SECONDS
        if not first:
            raise ConnectionError("the connection was closed by the other side")
        start = first + self._bytes(_COUNT.size - len(first), by)
        try:
            return _message(self._frames(_COUNT.unpack(start)[0], by))
        except _OF_DAMAGE as error:
            raise MalformedBytesError(
                "cannot read what a scheduler sent: expected a message of Dask's protocol, got "
                f"other bytes ({type(error).__name__}); look what is at its address"
            ) from error

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def _frames(self, first_bytes: int, by: float) -> list[memoryview]:
        """The frames of a message, the first of which come in one piece of so many bytes."""
        (count,) = _COUNT.unpack(self._bytes(_COUNT.size, by))
        if not 1 <= count <= _MOST_FRAMES:
            raise ValueError("there are too many frames")
        sizes = struct.unpack(f"{count}Q", self._bytes(count * _COUNT.size, by))
        # What does not come in the first piece follows it at once.
        if sum(sizes) > _MOST_BYTES or first_bytes > (1 + count) * _COUNT.size + sum(sizes):
            raise ValueError("it is too long")
        if sizes[0] > _MOST_PLAIN_BYTES:
            raise ValueError("its plain part is too long")
        return [memoryview(self._bytes(size, by)) for size in sizes]

    def _bytes(self, count: int, by: float) -> bytearray:
        """So many bytes, all of which arrive by a time."""
        data = bytearray(count)
        left = memoryview(data)
        while left:
            self._socket.settimeout(max(1e-3, by - monotonic()))
            got = self._socket.recv_into(left)
            if not got:
                raise ConnectionError("the connection was closed in a message")
            left = left[got:]
        return data


def _connected(address: str, security: Security) -> socket.socket:
    """A socket, through TLS where the address says so."""
    scheme, location = parse_address(address)
    if scheme not in ("tcp", "tls"):
        raise InvalidArgumentError(
            f"cannot connect to {address!r:.100}: expected an address such as tcp://machine:8786 "
            "or tls://machine:8786, of a scheduler whose workers are processes of their own"
        )
    try:
        host, port = parse_host_port(location)
    except ValueError as error:
        raise InvalidArgumentError(
            f"cannot connect to {address!r:.100}: expected a host and a port, such as "
            f"tcp://machine:8786, got: {error}"
        ) from error
    arguments: Callable[[str], dict[str, Any]] = security.get_connection_args
    given = arguments("client")
    context = given["ssl_context"] if scheme == "tls" else None
    if scheme == "tls" and context is None:
        raise InvalidArgumentError(
            f"cannot connect to {address}: expected certificates for TLS; give a Client that was "
            "made with security=, or set distributed.comm.tls in Dask's configuration"
        )
    if scheme == "tcp" and given["require_encryption"]:
        raise InvalidArgumentError(
            f"cannot connect to {address}: encryption is required by Dask's configuration; give "
            "an address that begins with tls://"
        )
    plain = socket.create_connection((host, port), timeout=_CONNECT_SECONDS)
    if context is None:
        return plain
    name = (given["extra_conn_args"] or {}).get("server_hostname")
    try:
        secured: socket.socket = context.wrap_socket(plain, server_hostname=name)
    except BaseException:
        plain.close()
        raise
    return secured


def _message(frames: Sequence[memoryview]) -> Any:
    """What frames are, everything that was serialised being left so."""

    def plain(entries: dict[Any, Any]) -> Any:
        for name in ("__Serialized__", "__Pickled__"):
            if name in entries:
                return _sealed(frames, entries[name])
        if "__Set__" in entries:
            return entries["as-list"]
        return entries

    return msgpack.unpackb(
        frames[0], object_hook=plain, use_list=False, strict_map_key=False, raw=False
    )


def _sealed(frames: Sequence[memoryview], place: Any) -> Sealed:
    """What was serialised in the frames from a place on, the first of which says how many."""
    if type(place) is not int or not 0 < place < len(frames):
        raise ValueError("a part is not where it should be")
    header = msgpack.unpackb(frames[place], use_list=False, strict_map_key=False, raw=False)
    count = header["num-sub-frames"]
    if type(count) is not int or not 0 <= count < len(frames) - place:
        raise ValueError("a part has more frames than there are")
    is_compressed = any(header.get("compression") or ())
    return Sealed(frames[place + 1 : place + 1 + count], is_compressed)
