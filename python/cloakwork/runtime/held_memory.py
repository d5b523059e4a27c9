"""What bootstraps and products with matrices make an evaluator hold, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from cloakwork._native import Parameters, cached_bytes, set_cached_bytes
from cloakwork.base.system_memory import return_large_blocks
from cloakwork.programs.keys import required_keys
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Linear, SlotProgram, WeightedSums
from cloakwork.runtime.numbers import copied_bytes, number_bytes
from cloakwork.runtime.workspace import workspace_of

# What the engine caches at most where programs bootstrap: keys and diagonals take much already.
_MOST_CACHED_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class HeldMemory:
    """The bytes that a program takes beside its ciphertexts and its own encoded transforms.

    Args:
        keys: All its evaluation keys, both halves expanded.
        numbers: The program's diagonals and constants as numbers, and those of a bootstrap.
        encoded: Those of a bootstrap, encoded. They may be encoded whenever they are used instead,
            which takes longer.
        uniform: Of the keys, the uniform halves. They may be expanded from seeds whenever they are
            used instead, which takes longer, too.
        work: The polynomials that an operation uses at once, and what of its diagonals the engine
            copies.
        cached: Those that are no longer in use, which the engine caches for others. They may be
            given back instead, which takes longer, too.
    """

    keys: int = 0
    numbers: int = 0
    encoded: int = 0
    uniform: int = 0
    work: int = 0
    cached: int = 0

    @property
    def least(self) -> int:
        """What they take where nothing is encoded or expanded ahead, and nothing cached."""
        return self.keys - self.uniform + self.numbers + self.work

    @property
    def most(self) -> int:
        """What they take where diagonals stay encoded, keys expanded, and polynomials cached."""
        return self.least + self.encoded + self.uniform + self.cached

    def within(self, limit: int) -> HeldMemory:
        """The same with as much encoded and expanded ahead, and cached, as a limit allows.

        The diagonals of bootstraps come first, whose encoding takes longest for their bytes, and
        uniform halves of keys last, some of which are better than none.

        Args:
            limit: Bytes. Below the least it is the least.

        Example:
            >>> memory = HeldMemory(
            ...     keys=50, numbers=1, encoded=20, uniform=25, work=5, cached=15)
            >>> [memory.within(limit).most for limit in (91, 90, 76, 75, 50, 31, 30)]
            [91, 90, 76, 75, 50, 31, 31]
        """
        left = max(0, limit - self.least)
        encoded = self.encoded if self.encoded <= left else 0
        left -= encoded
        cached = min(self.cached, left)
        uniform = min(self.uniform, left - cached)
        keys = self.keys - self.uniform + uniform
        return replace(self, keys=keys, uniform=uniform, encoded=encoded, cached=cached)

    def left_to_transforms(self, limit: int) -> int:
        """Bytes that encoded transforms may take within a limit, those of bootstraps among them.

        Example:
            >>> HeldMemory(keys=50, encoded=20, uniform=25).left_to_transforms(80)
            30
        """
        return max(0, self.encoded + limit - self.most)


@contextmanager
def caching(nbytes: int) -> Iterator[None]:
    """The engine, which is that of the process, caches so many bytes at most meanwhile.

    What else is freed goes back to the system from now on, see `return_large_blocks`.

    Args:
        nbytes: The bytes.

    Example:
        >>> with caching(0):
        ...     cached_bytes()
        0
    """
    return_large_blocks()
    before = cached_bytes()
    set_cached_bytes(min(before, nbytes))
    try:
        yield
    finally:
        set_cached_bytes(before)


def held_memory(
    program: SlotProgram, parameters: Parameters, refreshing: Refreshing | None
) -> HeldMemory:
    """What the bootstraps of a program take, or its matrices where it has none of them.

    Args:
        program: The program, over real numbers.
        parameters: What it runs under.
        refreshing: What a bootstrap does; None where the parameters have none.

    Example:
        >>> from cloakwork.programs.slots import Input, Output
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> copied = SlotProgram("", 512, (Input("x", 1), Output(0)), (None,) * 2)
        >>> held_memory(copied, p, None) == HeldMemory()
        True
    """
    of_bootstraps = bootstrap_memory(program, refreshing)
    return of_bootstraps if of_bootstraps.least else matrix_memory(program, parameters)


def bootstrap_memory(program: SlotProgram, refreshing: Refreshing | None) -> HeldMemory:
    """What the bootstraps of a program take; nothing where it has none.

    Args:
        program: The program.
        refreshing: What a bootstrap under its parameters does; None where they have none.

    Example:
        >>> from cloakwork._native import BootstrappingParameters
        >>> from cloakwork.programs.slots import Bootstrap, Input, Output
        >>> refreshing = Refreshing(BootstrappingParameters(8, insecure=True))
        >>> operations = (Input("x", 3), Bootstrap(0, 3, 13), Output(1))
        >>> memory = bootstrap_memory(SlotProgram("", 128, operations, (None,) * 3), refreshing)
        >>> memory.keys == refreshing.key_bytes, memory.encoded == refreshing.encoded_bytes
        (True, True)
    """
    if refreshing is None or not refreshes(program):
        return HeldMemory()
    chain = refreshing.chain
    switching = required_keys(program).joined(refreshing.keys)
    workspace = workspace_of(program, chain, refreshing)
    expanded = switching.nbytes(chain.evaluation_key_bytes)
    return HeldMemory(
        expanded + chain.encapsulation_key_bytes,
        refreshing.circuit.nbytes + number_bytes(program),
        refreshing.encoded_bytes,
        (expanded + chain.evaluation_key_bytes(chain.levels)) // 2,
        workspace.in_use + copied_bytes(program),
        min(workspace.nbytes, _MOST_CACHED_BYTES),
    )


def matrix_memory(program: SlotProgram, parameters: Parameters) -> HeldMemory:
    """What a program of products with clear matrices, such as a network, takes without bootstraps.

    Args:
        program: The program.
        parameters: What it runs under.

    Returns:
        Nothing where it has none of these: its ciphertexts take most.

    Example:
        >>> import numpy as np
        >>> from cloakwork.programs.slots import Input, Output, Rescale
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> operations = (
        ...     Input("x", 1), Linear(0, {0: np.ones(512), 1: np.ones(512)}, 1), Rescale(1),
        ...     Output(2),
        ... )
        >>> memory = matrix_memory(SlotProgram("", 512, operations, (None,) * 4), p)
        >>> memory.keys == p.evaluation_key_bytes(1) == 2 * memory.uniform
        True
    """
    if not any(isinstance(each, Linear | WeightedSums) for each in program.operations):
        return HeldMemory()
    keys = required_keys(program).nbytes(parameters.evaluation_key_bytes)
    workspace = workspace_of(program, parameters, None)
    return HeldMemory(
        keys,
        number_bytes(program),
        uniform=keys // 2,
        work=workspace.in_use + copied_bytes(program),
        cached=workspace.nbytes,
    )
