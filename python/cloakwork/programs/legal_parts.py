"""What programs over bits are made of, checked: ports of distinct names, arrays of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.port import MAX_PORT_BITS, Port

# Raises for a reason, in the words of the program that is made.
Refuse: TypeAlias = Callable[[str], NoReturn]


def distinct_ports(given: Any, what: str, refuse: Refuse) -> tuple[Port, ...]:
    """The ports given, where no two have one name and all have no more bits than a program may.

    Args:
        given: What is to be ports.
        what: "inputs" or "outputs".
        refuse: Called with the reason where they are not.
    """
    ports = tuple(given)
    if not all(isinstance(port, Port) for port in ports):
        refuse(f"expected its {what} to be ports")
    names = [port.name for port in ports]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        refuse(f"the name {twice!r} comes twice among its {what}")
    bits = sum(port.bits for port in ports)
    if bits > MAX_PORT_BITS:
        refuse(f"expected up to {MAX_PORT_BITS} bits of {what}, got {bits}")
    return ports


def owned(given: Any, dtype: type[np.integer[Any]], what: str, refuse: Refuse) -> NDArray[Any]:
    """A copy of a list of integers that nobody else can change.

    Args:
        given: What is to be one.
        dtype: What each of its integers has to fit.
        what: Its name.
        refuse: Called with the reason where it is none.
    """
    array = np.asarray(given)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        refuse(f"expected {what} to be a list of integers, got {array.dtype} {array.shape}")
    if array.dtype != dtype and array.size:
        low, high = int(array.min()), int(array.max())
        limits = np.iinfo(dtype)
        if low < limits.min or high > limits.max:
            worst = low if low < limits.min else high
            refuse(f"expected {what} to fit {np.dtype(dtype)}, got {worst}")
    copy = array.astype(dtype)
    copy.setflags(write=False)
    return copy
