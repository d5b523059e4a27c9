"""The bar that long work shows."""

from __future__ import annotations

import sys
from typing import NoReturn, TypeAlias

from tqdm import tqdm

# Seconds before a bar appears.
_PATIENCE = 2.0


class NoBar:
    """Stands for the bar where there is no terminal to show one on, and costs nothing.

    Example:
        >>> with NoBar() as bar:
        ...     bar.update()
    """

    n = 0

    def __enter__(self) -> NoBar:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def update(self, steps: float = 1) -> None:
        """Show nothing."""

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        """Show nothing."""


Bar: TypeAlias = "tqdm[NoReturn] | NoBar"


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
    # Where the interpreter has no standard error, it is None.
    isatty = getattr(sys.stderr, "isatty", None)
    if isatty is None or not isatty():
        return NoBar()
    return tqdm(desc=title, total=total, unit=unit, delay=_PATIENCE, leave=False)
