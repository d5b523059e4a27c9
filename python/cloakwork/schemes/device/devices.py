"""Devices that programs may run on, by their names."""

from __future__ import annotations

import os
import re
import threading
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakSet

from cloakwork._native import Device
from cloakwork.base.arguments import shown
from cloakwork.errors import DeviceLostError, InvalidArgumentError

CPU = "cpu"
# The kernels of a GPU on the processor, for tests; slower than the engine of the processor.
SOFTWARE = "software"
_CUDA = re.compile(r"cuda(?::(\d{1,4}))?")
_BUDGET = "CLOAKWORK_DEVICE_BYTES"
# More than a test uses.
_SOFTWARE_BYTES = 1 << 34


@dataclass(frozen=True, slots=True, eq=False)
class OpenDevice:
    """A device of this process.

    Args:
        name: What it was asked for by.
        native: The device.
        turn: Held by the one program that runs there.
        staying: What programs of sessions have left there; see `schemes.device.staying`.
        recorded: The programs that are recorded there, the one that ran last at the end; see
            `schemes.device.recorded_runs`.
        lost: Set once it has failed: nothing that was there can be used.
    """

    name: str
    native: Device
    turn: threading.Lock = field(default_factory=threading.Lock)
    staying: WeakSet[Any] = field(default_factory=WeakSet)
    recorded: list[Any] = field(default_factory=list)
    lost: threading.Event = field(default_factory=threading.Event)


def device_name(value: object, action: str) -> str:
    """The name of a device, where it is one; whether the device is there is not asked.

    Example:
        >>> device_name("cuda:1", "run")
        'cuda:1'
    """
    if isinstance(value, str) and (value in {CPU, SOFTWARE} or _CUDA.fullmatch(value)):
        return value
    raise InvalidArgumentError(
        f"cannot {action}: expected a device to be cpu, cuda, or cuda:1 for the second GPU, got "
        f"{shown(value)}"
    )


def open_device(name: str) -> OpenDevice:
    """A device by its name, opened once for each process.

    Of its memory nine tenths of what is free may be used, or as many bytes as the environment
    variable CLOAKWORK_DEVICE_BYTES says.

    Example:
        >>> open_device("software").native.name
        'software device'
    """
    # A forked process cannot use what its parent has opened.
    key = (os.getpid(), name)
    with _opening:
        if key in _opened and not _is_alive(_opened[key]):
            # A GPU that has failed works again once nothing holds on to it.
            del _opened[key]
        if key not in _opened:
            _opened[key] = OpenDevice(name, _made(name))
        return _opened[key]


_opening = threading.Lock()
_opened: dict[tuple[int, str], OpenDevice] = {}


def _is_alive(device: OpenDevice) -> bool:
    try:
        device.native.synchronize()
    except DeviceLostError:
        return False
    return not device.lost.is_set()


def _made(name: str) -> Device:
    budget = _budget()
    if name == SOFTWARE:
        return Device.software(_SOFTWARE_BYTES if budget is None else budget)
    found = _CUDA.fullmatch(name)
    assert found is not None
    return Device.cuda(int(found[1] or 0), budget)


def _budget() -> int | None:
    asked = os.environ.get(_BUDGET, "").strip()
    if not asked:
        return None
    if not re.fullmatch(r"\d{1,18}", asked):
        raise InvalidArgumentError(
            f"cannot open a device: expected {_BUDGET} to be a number of bytes, got {asked!r:.40}"
        )
    return int(asked)
