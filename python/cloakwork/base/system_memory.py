"""Names what the system refuses memory for."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from cloakwork.errors import CloakworkError, MemoryBudgetError

P = ParamSpec("P")
R = TypeVar("R")

# What Python and the loader of libraries say where there is no memory for a thread, or a library.
_OF_THREADS = "can't start new thread"
_OF_LIBRARIES = ("failed to map segment", "cannot allocate memory")


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
