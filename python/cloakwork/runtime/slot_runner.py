"""Runs slot programs with one key: within a limit of memory, on the CPU or a device."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from cloakwork.base.system_memory import physical_bytes
from cloakwork.errors import MemoryBudgetError
from cloakwork.programs.keys import KeyExpansion
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.executor import run
from cloakwork.runtime.held_memory import HeldMemory, caching
from cloakwork.runtime.memory import require_memory
from cloakwork.runtime.on_device import run_on_device
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.device.devices import CPU, open_device
from cloakwork.schemes.encoded_cache import default_cache_bytes

# The peak of a run on several threads is below this many times that in program order.
_SPREAD = 2


@dataclass(frozen=True, slots=True)
class RunMemory:
    """The bytes that a run takes by prediction.

    Args:
        peak: Those of its ciphertexts at once.
        held: Those beside them.
    """

    peak: int
    held: HeldMemory = field(default_factory=HeldMemory)


@dataclass(eq=False, repr=False)
class SlotRunner:
    """Runs slot programs with one key; an evaluator and a session hold one each.

    Args:
        scheme: What values are encrypted by.
        key: The evaluation keys, or what is in their place in the clear.
        device: The name of the device that programs run on.
        own_cache: Bytes that encoded transforms and constants may take; None for the default.
        own_limit: Bytes that a run may take; None for all that the machine has.

    Example:
        >>> runner = SlotRunner(scheme=None, key=None, own_limit=100)
        >>> runner.threads(RunMemory(peak=50), 4, "run"), runner.threads(RunMemory(51), 4, "run")
        (4, 1)
    """

    scheme: Any
    key: Any
    device: str = CPU
    own_cache: int | None = None
    own_limit: int | None = None
    # With what it was made for.
    _backend: tuple[tuple[Any, ...], Any] = field(default=((), None), init=False)
    _making: threading.Lock = field(default_factory=threading.Lock, init=False)

    @property
    def memory_limit(self) -> int:
        """Bytes that a run may take."""
        return physical_bytes() if self.own_limit is None else self.own_limit

    @property
    def cache_bytes(self) -> int:
        """Bytes that encoded transforms and constants may take."""
        if self.own_cache is not None:
            return self.own_cache
        on_cpu = self.device == CPU
        return default_cache_bytes() if on_cpu else open_device(self.device).native.budget // 2

    def backend(self, program: SlotProgram | None = None, memory: RunMemory = RunMemory(0)) -> Any:
        """What programs run on, made for the first one within what its memory leaves."""
        settings = self.device, self.own_cache, self.own_limit
        with self._making:
            if self._backend[0] != settings:
                # What another one has encoded goes first.
                self._backend = (), None
                self._backend = settings, self._made(program, memory)
            return self._backend[1]

    def _made(self, program: SlotProgram | None, memory: RunMemory) -> Any:
        kept, expansion = self.cache_bytes, None
        if self.device != CPU:
            device = open_device(self.device)
            return self.scheme.device_backend(self.key, device, cache_bytes=kept)
        if memory.held.least:
            left = self.memory_limit - memory.peak
            held = memory.held.within(left)
            # The program's own transforms take what bootstraps leave.
            kept = min(kept, held.left_to_transforms(left))
            if held.uniform < memory.held.uniform:
                used = self.scheme.rotations_used(program)
                expansion = KeyExpansion(held.uniform, Counter(step for step, _ in used))
        return self.scheme.backend(self.key, cache_bytes=kept, expansion=expansion)

    def threads(self, memory: RunMemory, threads: int | None, action: str) -> int | None:
        """How many threads a run may have.

        Raises:
            MemoryBudgetError: By prediction the run takes more memory than it may.
        """
        held, peak = memory.held, memory.peak
        least = held.least + peak
        if held.least and self.memory_limit < least:
            raise MemoryBudgetError(
                f"cannot {action}: expected it to take up to {self.memory_limit} bytes, and it "
                f"takes {least} at least: keys {held.keys - held.uniform}, numbers {held.numbers}, "
                f"work {held.work}, ciphertexts {peak}; allow memory_limit={least}"
            )
        left, advice = self.memory_limit - held.least, "or compute it in smaller parts"
        require_memory(peak, left, action, f"allow memory_limit={peak}, {advice}")
        return 1 if peak * _SPREAD > left else threads

    def run(
        self,
        program: SlotProgram,
        inputs: Sequence[Any],
        memory: RunMemory,
        *,
        threads: int | None,
        profile: Profile | None = None,
        cancel: threading.Event | None = None,
        bounds: Sequence[float | None] | None = None,
        work: Sequence[float] | None = None,
    ) -> list[Any]:
        """Run a program; see `runtime.executor.run`. What a device makes stays there."""
        backend = self.backend(program, memory)
        if self.device != CPU:
            return run_on_device(
                program, backend, inputs, profile=profile, cancel=cancel, bounds=bounds
            )
        # Modelled errors are the same in every run.
        threads = threads if self.scheme.encrypts else 1
        with self._within_engine_cache(program, memory):
            return run(
                program,
                backend,
                inputs,
                threads=threads,
                profile=profile,
                cancel=cancel,
                bounds=bounds,
                work=work,
            )

    def _within_engine_cache(
        self, program: SlotProgram, memory: RunMemory
    ) -> AbstractContextManager[None]:
        """The engine caches as much as the limit leaves to it, where one counts."""
        if not memory.held.least:
            return nullcontext()
        if self.own_limit is None and not refreshes(program):
            return nullcontext()
        return caching(memory.held.within(self.memory_limit - memory.peak).cached)
