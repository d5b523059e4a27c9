"""Ciphertexts that stay on a device between the programs of a session."""

from __future__ import annotations

import threading
from collections.abc import Callable

from cloakwork._native import Ciphertext, CkksEstimate, DeviceCiphertext
from cloakwork.errors import DeviceLostError
from cloakwork.schemes.device.devices import OpenDevice

# Of all devices: held where what stays there is listed.
_listing = threading.Lock()


class StayingCiphertext:
    """A ciphertext on a device, which is copied to the host when it is needed there.

    Args:
        there: The ciphertext on the device.
        device: The device.

    Example:
        >>> import numpy as np
        >>> from cloakwork._native import DeviceParameters, Parameters, SecretKey
        >>> from cloakwork.schemes.device.devices import open_device
        >>> device, p = open_device("software"), Parameters(levels=1, log_n=10, insecure=True)
        >>> secret = SecretKey.generate(p)
        >>> x = secret.encrypt(p.encode(np.array([0.5]), level=1, bound=1.0))
        >>> staying = StayingCiphertext(DeviceParameters(device.native, p).send(x), device)
        >>> staying.level, staying.here().to_bytes() == x.to_bytes()
        (1, False)
        >>> round(float(secret.decrypt(staying.here(), staying.estimate).decode_real()[0]), 3)
        0.5
    """

    __slots__ = ("__weakref__", "_device", "_fetching", "_here", "_there", "estimate", "nbytes")

    def __init__(self, there: DeviceCiphertext, device: OpenDevice) -> None:
        self._begin(there)
        self._stay(there, device)

    @classmethod
    def sent_when_used(cls, here: Ciphertext) -> StayingCiphertext:
        """One that is on the host, and on a device from its first use there."""
        made = cls.__new__(cls)
        made._begin(here)
        made._here = here
        return made

    def _begin(self, copy: Ciphertext | DeviceCiphertext) -> None:
        """Know what a copy says of itself, and stand nowhere yet."""
        self.estimate: CkksEstimate = copy.estimate
        self.nbytes = copy.nbytes
        self._here: Ciphertext | None = None
        self._there: DeviceCiphertext | None = None
        self._device: OpenDevice | None = None
        self._fetching = threading.Lock()

    def _stay(self, there: DeviceCiphertext | None, device: OpenDevice | None) -> None:
        """Stand on this device from now on, or on none."""
        with _listing:
            if self._device is not None:
                self._device.staying.discard(self)
            self._there, self._device = there, device
            if device is not None:
                device.staying.add(self)

    @property
    def level(self) -> int:
        """How many times it can still be rescaled."""
        return self.estimate.level

    @property
    def scale(self) -> float:
        """The factor between coefficients and values."""
        return self.estimate.scale

    @property
    def slots(self) -> int:
        """How many numbers."""
        return self.estimate.slots

    @property
    def bound(self) -> float:
        """No number exceeds this in absolute value."""
        return self.estimate.bound

    @property
    def precision(self) -> float:
        """Bits after the binary point that are right."""
        return self.estimate.precision

    def with_bound(self, bound: float) -> StayingCiphertext:
        """The same ciphertext where no number exceeds `bound`; see `Ciphertext.with_bound`."""
        there, device = self._there, self._device
        if there is None or device is None:
            return self.sent_when_used(self.here().with_bound(bound))
        return StayingCiphertext(there.with_bound(bound), device)

    def on(self, device: OpenDevice) -> DeviceCiphertext | None:
        """What is on a device; None where it is not there."""
        return self._there if self._device is device else None

    def there(
        self, device: OpenDevice, send: Callable[[Ciphertext], DeviceCiphertext]
    ) -> DeviceCiphertext:
        """What is on a device, sent there where it is not."""
        found = self.on(device)
        if found is None:
            found = send(self.here())
            self._stay(found, device)
        return found

    def here(self) -> Ciphertext:
        """A copy on the host, made once."""
        with self._fetching:
            if self._here is None:
                self._here = self._fetched()
            return self._here

    def _fetched(self) -> Ciphertext:
        there, device = self._there, self._device
        if there is None or device is None:
            raise DeviceLostError(
                "cannot copy a tensor from its device: the device failed while the only copy stood "
                "there; compute the tensor again, and save or decrypt what is to outlast a device"
            )
        try:
            return there.fetch()
        except DeviceLostError:
            device.lost.set()
            raise

    def leave(self) -> None:
        """Give up its memory on the device, for a copy on the host."""
        self.here()
        self._stay(None, None)

    def lose(self) -> None:
        """Give up its memory on a device that has failed, with or without a copy on the host."""
        self._stay(None, None)


def all_leave(device: OpenDevice) -> None:
    """Give up the memory of everything that stays on a device, for copies on the host."""
    for each in _staying_on(device):
        each.leave()


def give_up(device: OpenDevice) -> None:
    """Give up the memory of everything that stays on a device which has failed."""
    for each in _staying_on(device):
        each.lose()


def _staying_on(device: OpenDevice) -> list[StayingCiphertext]:
    with _listing:
        return list(device.staying)


def on_host(value: Ciphertext | StayingCiphertext) -> Ciphertext:
    """A ciphertext, copied from a device where it is there."""
    return value.here() if isinstance(value, StayingCiphertext) else value
