"""Devices that tests run on."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from cloakwork._native import Device
from cloakwork.errors import DeviceUnavailableError
from cloakwork.schemes.device.devices import OpenDevice


@cache
def _is_there(make: Callable[[], Device]) -> bool:
    try:
        make()
    except DeviceUnavailableError:
        return False
    return True


def software(budget: int = 1 << 32) -> OpenDevice:
    """A software device of its own, of which so many bytes may be used."""
    return OpenDevice("software", Device.software(budget))


needs_software = pytest.mark.skipif(
    not _is_there(lambda: Device.software(0)),
    reason="the native module was built without the software device, which takes a C compiler",
)
without_gpu = pytest.mark.skipif(_is_there(Device.cuda), reason="there is a GPU")
