"""The memory of the machine: how much there is, and for what the system refuses it."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from cloakwork.base.control_groups import most_bytes
from cloakwork.errors import CloakworkError, MemoryBudgetError

P = ParamSpec("P")
R = TypeVar("R")

# What Python and the loader of libraries say where there is no memory for a thread, or a library.
_OF_THREADS = "can't start new thread"
_OF_LIBRARIES = ("failed to map segment", "cannot allocate memory")
# As malloc.h has it.
_M_MMAP_THRESHOLD = -3
_LARGE_BYTES = 1 << 20


def names_memory(attempt: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function raise `MemoryBudgetError` where the system gives no memory.

    Example:
        >>> @names_memory("count")
        ... def count():
        ...     return bytearray(1 << 62)
        >>> count()
        Traceback (most recent call last):
        cloakwork.errors.MemoryBudgetError: cannot count: the system gives this process no more ...
    """

    def named(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if not _is_refused_memory(error):
                    raise
                raise MemoryBudgetError(
                    f"cannot {attempt}: the system gives this process no more memory; free "
                    "memory, raise the limit of the process, or compute less at once"
                ) from error

        return wrapper

    return named


def _is_refused_memory(error: Exception) -> bool:
    match error:
        case CloakworkError():
            return False
        case MemoryError():
            return True
        case OSError():
            return error.errno == errno.ENOMEM
        case RuntimeError():
            return _OF_THREADS in str(error)
        case ImportError():
            return any(words in str(error) for words in _OF_LIBRARIES)
        case _:
            return False


@cache
def physical_bytes() -> int:
    """Bytes of memory that the machine has, or that the container may take that this runs in.

    Example:
        >>> physical_bytes() > 10**8
        True
    """
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(min(whole, most_bytes()))


@cache
def return_large_blocks() -> None:
    """Let the process give blocks of a megabyte, allocated from now on, back once they are freed.

    Of itself glibc keeps ever larger ones, up to 32 MiB, between others that are in use: a network
    that bootstraps took 9 percent more memory so. It is for the whole process, and cannot be
    undone. C libraries without `mallopt` are left as they are.
    """
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
