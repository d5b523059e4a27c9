"""What client and server know things by: hashes of files and of requests."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

_BLOCK = 1 << 20


def request_of(program: str, keys: str, inputs: bytes) -> str:
    """The hash of all that a result depends on: runs are deterministic.

    Args:
        program: The fingerprint of the program.
        keys: The hash of the evaluation keys.
        inputs: The encrypted inputs.
    """
    made = hashlib.sha256()
    for part in (program.encode(), keys.encode(), hashlib.sha256(inputs).digest()):
        made.update(len(part).to_bytes(8, "little") + part)
    return made.hexdigest()


def job_name(user: str, request: str) -> str:
    """What a job is called: nobody else's can be."""
    return hashlib.sha256(f"{user}\n{request}".encode()).hexdigest()[:32]


def blocks_of(path: Path, start: int = 0) -> Iterator[bytes]:
    """A file piece by piece."""
    with path.open("rb") as file:
        file.seek(start)
        while block := file.read(_BLOCK):
            yield block


def hash_of(blocks: Iterable[bytes]) -> str:
    """The hash of bytes that come piece by piece.

    Example:
        >>> hash_of([b"a", b"b"])[:8]
        'fb8e20fc'
    """
    made = hashlib.sha256()
    for block in blocks:
        made.update(block)
    return made.hexdigest()


def first_version(origin: str, data: bytes) -> str:
    """The version of a state before its first step.

    Args:
        origin: What its owner drew for this start, 64 hexadecimal digits.
        data: The state.
    """
    return hashlib.sha256(f"{origin}\n{hashlib.sha256(data).hexdigest()}".encode()).hexdigest()
