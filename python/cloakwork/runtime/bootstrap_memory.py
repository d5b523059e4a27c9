"""What bootstraps make an evaluator hold, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from cloakwork._native import cached_bytes, set_cached_bytes
from cloakwork.programs.keys import required_keys
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Bootstrap, SlotProgram
from cloakwork.runtime.workspace import Workspace

# What the engine caches at most where programs bootstrap: keys and diagonals take much already.
_MOST_CACHED_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class BootstrapMemory:
    """The bytes that a program with bootstraps takes beside its ciphertexts.

    Args:
        keys: All its evaluation keys, both halves expanded.
        numbers: The diagonals of a bootstrap as complex numbers.
        encoded: The same encoded. They may be encoded whenever they are used instead, which takes
            longer.
        work: The polynomials that a bootstrap uses at once.
        cached: Those that are no longer in use, which the engine caches for others. They may be
            given back instead, which takes longer, too.
    """

    keys: int = 0
    numbers: int = 0
    encoded: int = 0
    work: int = 0
    cached: int = 0

    @property
    def least(self) -> int:
        """What they take where nothing is encoded ahead, and nothing cached."""
        return self.keys + self.numbers + self.work

    @property
    def most(self) -> int:
        """What they take where diagonals stay encoded, and polynomials are cached."""
        return self.least + self.encoded + self.cached

    def within(self, limit: int) -> BootstrapMemory:
        """The same with as much encoded ahead and cached as a limit allows.

        Args:
            limit: Bytes. Below the least it is the least.

        Example:
            >>> memory = BootstrapMemory(keys=50, numbers=1, encoded=20, work=5, cached=15)
            >>> [memory.within(limit).most for limit in (91, 90, 76, 75, 70, 55)]
            [91, 90, 76, 71, 70, 56]
        """
        left = max(0, limit - self.least)
        encoded = self.encoded if self.encoded <= left else 0
        return replace(self, encoded=encoded, cached=min(self.cached, left - encoded))


@contextmanager
def caching(nbytes: int) -> Iterator[None]:
    """The engine, which is that of the process, caches so many bytes at most meanwhile.

    Args:
        nbytes: The bytes.

    Example:
        >>> with caching(0):
        ...     cached_bytes()
        0
    """
    before = cached_bytes()
    set_cached_bytes(min(before, nbytes))
    try:
        yield
    finally:
        set_cached_bytes(before)


def bootstrap_memory(program: SlotProgram, refreshing: Refreshing | None) -> BootstrapMemory:
    """What the bootstraps of a program take; nothing where it has none.

    Args:
        program: The program.
        refreshing: What a bootstrap under its parameters does; None where they have none.

    Example:
        >>> from cloakwork._native import BootstrappingParameters
        >>> from cloakwork.programs.slots import Input, Output
        >>> refreshing = Refreshing(BootstrappingParameters(8, insecure=True))
        >>> operations = (Input("x", 3), Bootstrap(0, 3, 13), Output(1))
        >>> memory = bootstrap_memory(SlotProgram("", 128, operations, (None,) * 3), refreshing)
        >>> memory.keys == refreshing.key_bytes, memory.encoded == refreshing.encoded_bytes
        (True, True)
    """
    if refreshing is None or not any(isinstance(each, Bootstrap) for each in program.operations):
        return BootstrapMemory()
    chain = refreshing.chain
    switching = required_keys(program).joined(refreshing.keys)
    workspace = Workspace(chain, program.slots)
    workspace.bootstrap(refreshing)
    return BootstrapMemory(
        switching.nbytes(chain.evaluation_key_bytes) + chain.encapsulation_key_bytes,
        refreshing.circuit.nbytes,
        refreshing.encoded_bytes,
        workspace.in_use,
        min(workspace.nbytes, _MOST_CACHED_BYTES),
    )
