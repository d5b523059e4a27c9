"""Runs slot programs on a device: inputs go there, results come back."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from cloakwork._native import Ciphertext, DeviceCiphertext
from cloakwork.errors import DeviceLostError, DeviceOperationError
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.executor import run
from cloakwork.runtime.memory import LiveValues, Size, value_bytes
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Program
from cloakwork.runtime.schedule import schedule
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.ckks_device import CkksDeviceBackend, require_device_operations
from cloakwork.schemes.devices import CPU, open_device


def require_device(program: Program, name: str) -> None:
    """Refuse a device that is missing, or a program that does not run there; the CPU runs all.

    Raises:
        DeviceUnavailableError: The device is missing.
        DeviceOperationError: The program has an operation that devices lack, or is not over reals.

    Example:
        >>> import cloakwork as cw
        >>> require_device(cw.compile(lambda x: x * x, (3,)), "cpu")
    """
    if name == CPU:
        return
    open_device(name)
    body = program.body
    if not (isinstance(program.scheme, Ckks) and isinstance(body, SlotProgram)):
        raise DeviceOperationError(
            f"cannot run {program.name} on a device: expected a program over reals that is "
            f"encrypted by ckks, got one by {program.scheme.name}; run it on the CPU, device='cpu'"
        )
    require_device_operations(body)


def run_on_device(
    program: SlotProgram,
    backend: CkksDeviceBackend,
    inputs: Sequence[Ciphertext],
    *,
    profile: Profile | None = None,
    cancel: threading.Event | None = None,
    bounds: Sequence[float | None] | None = None,
) -> list[Ciphertext]:
    """Run a program with all its values on a device; see `runtime.executor.run`.

    The device does one operation after the other, those of one program at a time.

    Raises:
        DeviceOperationError: The program has an operation which devices lack.
        MemoryBudgetError: The device has too little memory; nothing has run.
        DeviceLostError: The device failed on the way.
        RunCancelledError: The run was cancelled.
    """
    backend.reopen_if_lost()
    sent: list[DeviceCiphertext] = []
    with backend.device.turn:
        try:
            backend.require(program, device_bytes(program, backend))
            sent += [backend.send(each) for each in inputs]
            unchanged = {id(there): here for there, here in zip(sent, inputs, strict=True)}
            made = run(
                program,
                backend,
                sent,
                threads=1,
                profile=profile,
                cancel=cancel,
                bounds=bounds,
            )
            # What went in and comes out again keeps the form that it had, which may be a seed's.
            return [unchanged.get(id(each)) or backend.fetch(each) for each in made]
        except DeviceLostError:
            backend.lost = True
            raise
        finally:
            # Whoever keeps an error keeps this frame with it, but need not keep device memory.
            sent.clear()


def device_bytes(program: SlotProgram, backend: CkksDeviceBackend) -> int:
    """The most bytes that values and the operation at work take at once; keys do not count.

    Inputs count to the end. It is counted once for each program.
    """
    needed = backend.needed.get(program)
    if needed is None:
        needed = backend.needed[program] = _counted_bytes(program, backend)
    return needed


def _counted_bytes(program: SlotProgram, backend: CkksDeviceBackend) -> int:
    plan = schedule(program)
    sizes = [Size(nbytes) for nbytes in value_bytes(program, backend.bytes_at)]
    live: LiveValues[Size] = LiveValues(plan)
    inputs = sum(sizes[number].nbytes for number in plan.inputs)
    live.add(plan.inputs, [Size(0) for _ in plan.inputs])
    most = 0
    for task, numbers in enumerate(plan.tasks):
        live.add(numbers, [sizes[number] for number in numbers])
        working = backend.working_bytes(program, program.operations[numbers[0]])
        most = max(most, live.nbytes + working)
        live.finish(task)
    return inputs + most
