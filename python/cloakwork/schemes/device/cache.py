"""What is encoded for a device and stays there, to be used again."""

from __future__ import annotations

import weakref
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from cloakwork.programs.slots import SlotProgram


@dataclass(slots=True, eq=False)
class _Kept:
    """One thing that stays.

    Args:
        sent: What is on the device.
        nbytes: Bytes of that.
        program: The program that used it last.
    """

    sent: Any
    nbytes: int
    program: weakref.ref[SlotProgram]


class DeviceCache:
    """Constants and linear transforms on a device, as many as fit.

    What the program at hand uses stays until another program runs; then it gives way to what that
    one uses, the least recently used first.

    Args:
        budget: Bytes at most.

    Example:
        >>> from cloakwork.programs.slots import Input, Neg, Output
        >>> program = SlotProgram("", 8, (Input("x", 1), Neg(0), Output(1)), (None,) * 3)
        >>> cache = DeviceCache(100)
        >>> cache.begin(program, spare=60)
        >>> cache.free_up(50), cache.free_up(70)
        (True, False)
        >>> cache.keep(("ones", 1), "on the device", 50)
        >>> cache.find(("ones", 1)), cache.free_up(20)
        ('on the device', False)
    """

    def __init__(self, budget: int) -> None:
        self._left = budget
        self._spare = 0
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._program: weakref.ref[SlotProgram] | None = None

    def begin(self, program: SlotProgram, spare: int) -> None:
        """A program is about to run."""
        self._program = weakref.ref(program)
        self._spare = spare

    def find(self, key: Hashable) -> Any:
        """What is kept by a key; None where nothing is."""
        found = self._kept.get(key)
        if found is None:
            return None
        assert self._program is not None, "a program runs"
        found.program = self._program
        self._kept.move_to_end(key)
        return found.sent

    def free_up(self, nbytes: int) -> bool:
        """Whether so many bytes fit, once what other programs have left is given up."""
        others = [key for key, each in self._kept.items() if each.program is not self._program]
        freed = sum(self._kept[key].nbytes for key in others)
        if nbytes > min(self._left, self._spare) + freed:
            return False
        for key in others:
            if nbytes <= min(self._left, self._spare):
                break
            gone = self._kept.pop(key)
            self._left += gone.nbytes
            self._spare += gone.nbytes
        return True

    def keep(self, key: Hashable, sent: Any, nbytes: int) -> None:
        """Keep what was sent to the device, where `free_up` found so many bytes."""
        assert self._program is not None, "a program runs"
        self._kept[key] = _Kept(sent, nbytes, self._program)
        self._left -= nbytes
        self._spare -= nbytes

    def clear(self) -> None:
        """Give up all that is kept, but what stays to the end."""
        freed = sum(each.nbytes for each in self._kept.values())
        self._kept.clear()
        self._left += freed
        self._spare += freed

    def reserve(self, nbytes: int) -> None:
        """Take bytes for what stays to the end, which `free_up` found."""
        self._left -= nbytes
        self._spare -= nbytes
