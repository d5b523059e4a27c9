"""Which line of the user's program is running."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).parents[1])


def users_line() -> str:
    """File and line of the innermost caller outside this package; empty where there is none.

    Example:
        >>> users_line().rpartition(":")[2].isdigit()
        True
    """
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            return f"{frame.f_code.co_filename}:{frame.f_lineno}"
        if frame.f_back is None:
            return ""
        frame = frame.f_back
    return ""
