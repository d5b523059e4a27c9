"""Runs slot programs on a device: inputs go there, results come back."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from cloakwork._native import Ciphertext, DeviceCiphertext
from cloakwork.base.itself import Itself
from cloakwork.errors import DeviceLostError, DeviceOperationError, MemoryBudgetError
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.executor import run
from cloakwork.runtime.memory import LiveValues, Size, value_bytes
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.schedule import schedule
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.device.backend import CkksDeviceBackend, require_device_operations
from cloakwork.schemes.device.devices import CPU, open_device
from cloakwork.schemes.device.staying import StayingCiphertext, all_leave

if TYPE_CHECKING:
    from cloakwork.runtime.program import Program


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
    inputs: Sequence[Ciphertext | StayingCiphertext],
    *,
    profile: Profile | None = None,
    cancel: threading.Event | None = None,
    bounds: Sequence[float | None] | None = None,
) -> list[Ciphertext | StayingCiphertext]:
    """Run a program with all its values on a device, where its results stay.

    See `runtime.executor.run`. The device does one operation after the other, those of one program
    at a time. What has run before is launched as a whole, unless its operations are to be measured
    or may be cancelled. Where there is too little memory, what earlier programs made is copied to
    the host first.

    Raises:
        DeviceOperationError: The program has an operation which devices lack.
        MemoryBudgetError: The device has too little memory; nothing has run.
        DeviceLostError: The device failed on the way, or before an input was copied from it.
        RunCancelledError: The run was cancelled.
    """
    backend.reopen_if_lost()
    device = backend.device
    for each in inputs:
        if isinstance(each, StayingCiphertext) and each.on(device) is None:
            # From another device, whose failure is not that of this one.
            each.here()
    with _turn(backend) as sent:
        needed = device_bytes(program, backend)
        try:
            backend.require(program, needed)
        except MemoryBudgetError:
            all_leave(device)
            backend.require(program, needed)
        sent += [_there(each, backend) for each in inputs]
        made = _made(program, backend, sent, profile, cancel, bounds)
        # What went in and comes out again keeps the form that it had, which may be a seed's.
        unchanged = {Itself(there): value for there, value in zip(sent, inputs, strict=True)}
        return [unchanged.get(Itself(each)) or StayingCiphertext(each, device) for each in made]


def _made(
    program: SlotProgram,
    backend: CkksDeviceBackend,
    inputs: Sequence[DeviceCiphertext],
    profile: Profile | None,
    cancel: threading.Event | None,
    bounds: Sequence[float | None] | None,
) -> list[DeviceCiphertext]:
    """The results of a program, which is launched as a whole where nothing asks for its steps."""
    step_by_step = partial(
        run, program, backend, threads=1, profile=profile, cancel=cancel, bounds=bounds
    )
    if profile is not None or cancel is not None:
        return step_by_step(inputs)
    return backend.recorded.made(program, inputs, bounds, step_by_step, backend.spare)


def _there(value: Ciphertext | StayingCiphertext, backend: CkksDeviceBackend) -> DeviceCiphertext:
    """An input on the backend's device, sent there where it is not."""
    if isinstance(value, StayingCiphertext):
        return value.there(backend.device, backend.send)
    return backend.send(value)


@contextmanager
def _turn(backend: CkksDeviceBackend) -> Iterator[list[DeviceCiphertext]]:
    """A list for what is sent to the device, which is this program's alone meanwhile."""
    sent: list[DeviceCiphertext] = []
    with backend.device.turn:
        try:
            yield sent
        except DeviceLostError:
            backend.device.lost.set()
            raise
        finally:
            # Whoever keeps an error keeps its frames, too, but need not keep device memory.
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
        working = max(
            backend.working_bytes(program, program.operations[number], len(numbers))
            for number in numbers
        )
        most = max(most, live.nbytes + working)
        live.finish(task)
    return inputs + most
