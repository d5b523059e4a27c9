"""Which line of the user's program is running, as a message says it and as programs hold it."""

from __future__ import annotations

import os
import sys
import sysconfig
from functools import lru_cache
from pathlib import Path
from types import FrameType, TracebackType

import numpy as np

_INSTALLED = ("site-packages", "dist-packages")
_LIBRARY = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
# What lies here is no user's: this package, and numpy, which calls back into it.
_PACKAGES = (str(Path(__file__).parents[1]), str(Path(np.__file__).parent))


def users_line() -> str:
    """File and line of the innermost caller that is the user's; empty where there is none.

    This package, numpy and Python's own library are not.

    Example:
        >>> users_line().rpartition(":")[2].isdigit()
        True
    """
    frame = _users_frame()
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def users_origin() -> str:
    """Name and line of the file of `users_line`, without its folders.

    Programs hold it, and whoever runs them reads it: folders tell who made them, and where.

    Example:
        >>> "/" in users_origin()
        False
    """
    frame = _users_frame()
    return f"{_file_name(frame.f_code.co_filename)}:{frame.f_lineno}" if frame else ""


def _users_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


@lru_cache(maxsize=1024)
def _file_name(path: str) -> str:
    return os.path.basename(path)


def users_line_in(traceback: TracebackType | None) -> str:
    """File and line of the innermost place of a traceback that is the user's, likewise.

    Example:
        >>> try:
        ...     1 // 0
        ... except ZeroDivisionError as error:
        ...     users_line_in(error.__traceback__).rpartition(":")[2]
        '2'
    """
    line = ""
    while traceback is not None:
        file = traceback.tb_frame.f_code.co_filename
        if is_users(file):
            line = f"{file}:{traceback.tb_lineno}"
        traceback = traceback.tb_next
    return line


@lru_cache(maxsize=1024)
def is_users(file: str) -> bool:
    """Whether a file of Python is the user's.

    Example:
        >>> is_users("/home/me/network.py"), is_users(__file__)
        (True, False)
    """
    if file.startswith(("<frozen ", *_PACKAGES)):
        return False
    rest = next((file.removeprefix(root) for root in _LIBRARY if file.startswith(root)), None)
    # Packages are installed below the library where there is no virtual environment.
    return rest is None or any(folder in Path(rest).parts for folder in _INSTALLED)
