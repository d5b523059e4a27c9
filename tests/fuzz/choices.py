"""Where the decisions of fuzz targets come from: a fuzzer's bytes, or a random generator."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Protocol


class Choices(Protocol):
    """Where decisions come from."""

    def number(self, below: int) -> int:
        """A number from 0 up."""

    def octets(self, most: int) -> bytes:
        """Some bytes."""


class Drawn:
    """Choices of a random generator.

    Args:
        seed: What it begins with.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def number(self, below: int) -> int:
        return self._random.randrange(below)

    def octets(self, most: int) -> bytes:
        return self._random.randbytes(self.number(most + 1))


def feed(attempt: Callable[[Choices], None]) -> None:
    """Feed a target by atheris, whose options are those of the command line."""
    import atheris  # noqa: PLC0415

    class Bytes:
        def __init__(self, data: bytes) -> None:
            self._data = atheris.FuzzedDataProvider(data)

        def number(self, below: int) -> int:
            return int(self._data.ConsumeIntInRange(0, below - 1))

        def octets(self, most: int) -> bytes:
            return bytes(self._data.ConsumeBytes(self.number(most + 1)))

    atheris.Setup(sys.argv, lambda data: attempt(Bytes(data)))
    atheris.Fuzz()
