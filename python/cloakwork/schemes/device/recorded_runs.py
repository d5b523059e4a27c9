"""Programs that a device has run before, recorded there and launched as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary, ref

from cloakwork._native import DeviceCiphertext, DeviceRecorded, DeviceRecording
from cloakwork.errors import MemoryBudgetError
from cloakwork.programs.slots import Input, Output, SlotProgram
from cloakwork.schemes.device.devices import OpenDevice

# A program whose recordings served no later run so often is not recorded again.
_ATTEMPTS = 3
# What all recordings of a device may take of its memory.
_PART_OF_MEMORY = 1 / 8

_Run = Callable[[Sequence[DeviceCiphertext]], list[DeviceCiphertext]]
_Bounds = Sequence[float | None] | None


@dataclass(slots=True, eq=False, weakref_slot=True)
class _KnownRun:
    """What has been seen of a program.

    Args:
        bounds: With which it ran last.
        attempts: How often it was to be recorded since a recording of it was launched.
        recorded: Its recording.
    """

    bounds: tuple[float | None, ...] | None
    attempts: int = 0
    recorded: DeviceRecorded | None = None


class RecordedRuns:
    """The programs of a backend that have run on its device.

    The first run of a program sends its keys and constants. The second is recorded, and from then
    on it is launched as a whole, for as long as what it used stays on the device and all that is
    known of its inputs is the same. Many small kernels take a GPU less time than the host takes to
    launch them one by one.

    Recordings give way to programs that lack the memory, those used longest ago to others.

    Args:
        device: The device.

    Example:
        >>> import numpy as np
        >>> from cloakwork._native import DeviceEvaluator, DeviceParameters, Parameters, SecretKey
        >>> from cloakwork.programs.slots import Add
        >>> from cloakwork.schemes.device.devices import open_device
        >>> device, p = open_device("software"), Parameters(levels=1, log_n=10, insecure=True)
        >>> secret = SecretKey.generate(p)
        >>> there = DeviceParameters(device.native, p)
        >>> keys = secret.evaluation_keys(
        ...     relinearisation_level=None, rotations={}, conjugation_level=None)
        >>> add = DeviceEvaluator(there, keys).add
        >>> program = SlotProgram("2x", 512, (Input("x", 1), Add(0, 0), Output(1)), (None,) * 3)
        >>> runs, ran = RecordedRuns(device), []
        >>> def double(x):
        ...     ran.append(1)
        ...     return [add(x[0], x[0])]
        >>> for value in 0.25, 0.5, -0.75:
        ...     x = secret.encrypt(p.encode(np.array([value]), level=1, bound=1.0))
        ...     (made,) = runs.made(program, [there.send(x)], None, double, 1 << 20)
        ...     decrypted = secret.decrypt(made.fetch(), made.estimate).decode_real()
        ...     print(round(float(decrypted[0]), 3), len(ran))
        0.5 1
        1.0 2
        -1.5 2
    """

    def __init__(self, device: OpenDevice) -> None:
        self._device = device
        self._known: WeakKeyDictionary[SlotProgram, _KnownRun] = WeakKeyDictionary()

    def made(
        self,
        program: SlotProgram,
        inputs: Sequence[DeviceCiphertext],
        bounds: _Bounds,
        run: _Run,
        spare: int,
    ) -> list[DeviceCiphertext]:
        """What a program makes of its inputs."""
        bounds = None if bounds is None else tuple(bounds)
        known = self._known.get(program)
        if known is None or known.bounds != bounds:
            self._known[program] = _KnownRun(bounds)
            return run(inputs)
        if known.recorded is not None:
            found = known.recorded.run(inputs)
            if found is not None:
                known.attempts = 0
                self._move_to_end(known)
                return found
            # It has to be recorded anew, and its memory is free for that.
            known.recorded = None
        if known.attempts == _ATTEMPTS or _returns_inputs(program):
            return run(inputs)
        known.attempts += 1
        try:
            return self._recorded(known, inputs, run, min(spare, self._most_bytes))
        except MemoryBudgetError:
            # A recording has its memory to itself: one by one, operations may take less.
            return run(inputs)

    def _recorded(
        self, known: _KnownRun, inputs: Sequence[DeviceCiphertext], run: _Run, limit: int
    ) -> list[DeviceCiphertext]:
        recording = DeviceRecording.begin(self._device.native, inputs, limit)
        if recording is None:
            return run(inputs)
        copies = recording.inputs
        try:
            # Nothing else may have them when the recording ends.
            recording.keep_results(run(copies))
            copies.clear()
            results, known.recorded = recording.finish()
        finally:
            # Whoever keeps an error keeps its frames, too, but need not keep device memory.
            copies.clear()
            recording.abandon()
        if known.recorded is not None:
            self._move_to_end(known)
            self._keep_within_memory()
        return results

    @property
    def _most_bytes(self) -> int:
        return int(self._device.native.budget * _PART_OF_MEMORY)

    def _move_to_end(self, known: _KnownRun) -> None:
        """Note that a program has run last of all on the device."""
        others = [each for each in self._device.recorded if each() not in (None, known)]
        self._device.recorded[:] = [*others, ref(known)]

    def _keep_within_memory(self) -> None:
        """Give up recordings of the device beyond what they may take, those used longest ago."""
        left = self._most_bytes
        for each in reversed(self._device.recorded):
            known = each()
            if known is not None and known.recorded is not None:
                left -= known.recorded.nbytes
                if left < 0:
                    known.recorded = None


def give_up_recordings(device: OpenDevice) -> None:
    """Give up the memory of all recordings of a device, whose programs are recorded anew."""
    for each in device.recorded:
        known = each()
        if known is not None:
            known.recorded = None
    device.recorded.clear()


def _returns_inputs(program: SlotProgram) -> bool:
    """Whether a result is an input: it keeps the form that it had."""
    operations = program.operations
    return any(
        isinstance(each, Output) and isinstance(operations[each.operand], Input)
        for each in operations
    )
