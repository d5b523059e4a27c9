"""The bar that long work shows."""

from __future__ import annotations

import sys
import threading
from typing import NoReturn, TypeAlias

from tqdm import tqdm

# Seconds before a bar appears.
_PATIENCE = 2.0


class _Bar(tqdm):  # type: ignore[type-arg]  # tqdm is generic in its stubs alone
    """A bar that starts neither a thread nor a process of its own."""

    monitor_interval = 0


_Bar.set_lock(threading.RLock())

Bar: TypeAlias = "tqdm[NoReturn]"


def progress_bar(title: str, *, total: int, unit: str) -> Bar:
    """A bar on a terminal, when the work takes longer than a moment; elsewhere nothing.

    Args:
        title: What is being done.
        total: How many steps there are.
        unit: What one step is.

    Example:
        >>> with progress_bar("counting", total=3, unit="number") as bar:
        ...     _ = bar.update()
    """
    # Where the interpreter has no standard error, it is None; elsewhere tqdm asks it.
    disable = True if sys.stderr is None else None
    return _Bar(desc=title, total=total, unit=unit, delay=_PATIENCE, leave=False, disable=disable)
