"""Ciphertexts that stay on a device."""

from __future__ import annotations

import numpy as np
import pytest

from cloakwork._native import Ciphertext, DeviceCiphertext, DeviceParameters, Parameters, SecretKey
from cloakwork.errors import DeviceLostError
from cloakwork.schemes.device.devices import SOFTWARE, OpenDevice, open_device
from cloakwork.schemes.device.staying import StayingCiphertext, all_leave, give_up, on_host
from tests.devices import needs_software

pytestmark = needs_software

PARAMETERS = Parameters(levels=1, log_n=10, insecure=True)
SECRET = SecretKey.generate(PARAMETERS)


def _encrypted() -> Ciphertext:
    values = np.full(PARAMETERS.slots, 0.5)
    return SECRET.encrypt(PARAMETERS.encode(values, level=1, bound=1.0))


def _device() -> OpenDevice:
    """A device of its own, so that what stays there is that of the test."""
    return OpenDevice(SOFTWARE, open_device(SOFTWARE).native)


def _sent(device: OpenDevice) -> DeviceCiphertext:
    return DeviceParameters(device.native, PARAMETERS).send(_encrypted())


def test_it_says_of_itself_what_its_copy_says() -> None:
    device = _device()
    staying = StayingCiphertext(_sent(device), device)
    here = staying.here()
    for name in ("level", "scale", "slots", "bound", "precision", "nbytes"):
        assert getattr(staying, name) == getattr(here, name), name
    assert staying.here() is here
    assert on_host(staying) is here


@pytest.mark.parametrize("leaves", [False, True])
def test_a_bound_is_tightened_where_it_stands(leaves: bool) -> None:
    device = _device()
    staying = StayingCiphertext(_sent(device), device)
    if leaves:
        staying.leave()
    tighter = staying.with_bound(0.75)
    assert tighter.bound == tighter.here().bound == 0.75
    assert (tighter.on(device) is None) == leaves


def test_it_is_sent_once_to_each_device() -> None:
    here, (one, other) = _encrypted(), (_device(), _device())
    staying, sent = StayingCiphertext.sent_when_used(here), [0]

    def send(value: Ciphertext) -> DeviceCiphertext:
        sent[0] += 1
        return DeviceParameters(one.native, PARAMETERS).send(value)

    assert staying.there(one, send) is staying.there(one, send)
    assert (sent, list(one.staying)) == ([1], [staying])
    staying.there(other, send)
    assert (sent, list(one.staying), list(other.staying)) == ([2], [], [staying])
    all_leave(other)
    assert (staying.on(other), list(other.staying), staying.here()) == (None, [], here)


def test_what_a_lost_device_had_alone_is_lost() -> None:
    device = _device()
    alone, copied = (StayingCiphertext(_sent(device), device) for _ in range(2))
    copied.here()
    give_up(device)
    assert copied.here().level == 1
    with pytest.raises(DeviceLostError, match="compute the tensor again"):
        alone.here()
    with pytest.raises(DeviceLostError):
        alone.there(_device(), lambda _: pytest.fail("there is nothing to send"))
