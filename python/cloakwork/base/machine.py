"""What the machine has."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from functools import cache

# As malloc.h has it.
_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 1 << 20


@cache
def physical_bytes() -> int:
    """Bytes of memory that the machine has.

    Example:
        >>> physical_bytes() > 10**8
        True
    """
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@cache
def return_large_blocks() -> None:
    """Let the process give blocks of a megabyte, allocated from now on, back once they are freed.

    Of itself glibc keeps ever larger ones, up to 32 MiB, between others that are in use: a network
    that bootstraps took 9 percent more memory so. It is for the whole process, and cannot be
    undone. C libraries without `mallopt` are left as they are.
    """
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
