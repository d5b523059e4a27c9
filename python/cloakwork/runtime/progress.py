"""The bar that long work shows."""

from __future__ import annotations

from typing import NoReturn

from tqdm import tqdm

# Seconds before a bar appears.
_PATIENCE = 2.0


def progress_bar(title: str, *, total: int, unit: str) -> tqdm[NoReturn]:
    """A bar on a terminal, when the work takes longer than a moment; elsewhere nothing.

    Args:
        title: What is being done.
        total: How many steps there are.
        unit: What one step is.

    Example:
        >>> with progress_bar("counting", total=3, unit="number") as bar:
        ...     _ = bar.update()
    """
    return tqdm(desc=title, total=total, unit=unit, delay=_PATIENCE, disable=None, leave=False)
