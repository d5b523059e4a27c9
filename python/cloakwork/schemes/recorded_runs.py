"""Programs that a device has run before, recorded there and launched as a whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from cloakwork._native import Device, DeviceCiphertext, DeviceRecorded, DeviceRecording
from cloakwork.programs.slots import Input, Output, SlotProgram

# A program that could not be recorded so often is not tried again: it sends something each time.
_ATTEMPTS = 3
# What one recording may take of a device's memory.
_PART_OF_MEMORY = 1 / 16

_Run = Callable[[Sequence[DeviceCiphertext]], list[DeviceCiphertext]]
_Bounds = Sequence[float | None] | None


@dataclass(slots=True)
class _Known:
    """What has been seen of a program.

    Args:
        bounds: With which it ran last.
        attempts: How often it was not to be recorded since.
        recorded: Its recording.
    """

    bounds: _Bounds
    attempts: int = 0
    recorded: DeviceRecorded | None = None


class RecordedRuns:
    """The programs of a device that have run there.

    The first run of a program sends its keys and constants. From the second on it is recorded, and
    then it is launched as a whole, for as long as what it used stays on the device. Many small
    kernels take a GPU less time than the host takes to launch them one by one.

    Args:
        device: The device.

    Example:
        >>> import numpy as np
        >>> from cloakwork._native import DeviceEvaluator, DeviceParameters, Parameters, SecretKey
        >>> from cloakwork.programs.slots import Add
        >>> from cloakwork.schemes.devices import open_device
        >>> device = open_device("software").native
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> secret = SecretKey.generate(p)
        >>> there = DeviceParameters(device, p)
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
        ...     (made,) = runs.made(program, [there.send(x)], None, double)
        ...     decrypted = secret.decrypt(made.fetch(), made.estimate).decode_real()
        ...     print(round(float(decrypted[0]), 3), len(ran))
        0.5 1
        1.0 2
        -1.5 2
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._limit = int(device.budget * _PART_OF_MEMORY)
        self._known: WeakKeyDictionary[SlotProgram, _Known] = WeakKeyDictionary()

    def made(
        self,
        program: SlotProgram,
        inputs: Sequence[DeviceCiphertext],
        bounds: _Bounds,
        run: _Run,
    ) -> list[DeviceCiphertext]:
        """What a program makes of its inputs.

        Args:
            program: The program.
            inputs: On the device.
            bounds: Of its values, as the run is told.
            run: Runs it step by step, and leaves nothing in use but what it returns.
        """
        known = self._known.get(program)
        if known is None or known.bounds != bounds:
            self._known[program] = _Known(bounds)
            return run(inputs)
        if known.recorded is not None:
            found = known.recorded.run(inputs)
            if found is not None:
                return found
            # It has to be recorded anew, and its memory is free for that.
            known.recorded = None
        if known.attempts == _ATTEMPTS or _returns_inputs(program):
            return run(inputs)
        return self._recorded(known, inputs, run)

    def _recorded(
        self, known: _Known, inputs: Sequence[DeviceCiphertext], run: _Run
    ) -> list[DeviceCiphertext]:
        recording = DeviceRecording.begin(self._device, inputs, self._limit)
        if recording is None:
            return run(inputs)
        try:
            # Nothing else may have them when the recording ends.
            recording.keep_results(run(recording.inputs))
            results, known.recorded = recording.finish()
        finally:
            recording.abandon()
        known.attempts = 0 if known.recorded is not None else known.attempts + 1
        return results

    def clear(self) -> None:
        """Give up the memory of all recordings."""
        for known in self._known.values():
            known.recorded = None


def _returns_inputs(program: SlotProgram) -> bool:
    """Whether a result is an input: it keeps the form that it had."""
    operations = program.operations
    return any(
        isinstance(each, Output) and isinstance(operations[each.operand], Input)
        for each in operations
    )
