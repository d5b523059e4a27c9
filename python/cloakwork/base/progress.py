"""The bar that long work shows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, NoReturn, TypeAlias

if TYPE_CHECKING:
    from tqdm import tqdm

# Seconds before a bar appears.
_PATIENCE = 2.0
# Seconds after which a bar of steps is drawn again.
_INTERVAL = 0.5


Bar: TypeAlias = "tqdm[NoReturn]"


@cache
def _bars() -> type[Bar]:
    """What makes bars, loaded with the first of them."""
    from tqdm import tqdm  # noqa: PLC0415

    class OwnBar(tqdm):  # type: ignore[type-arg]  # tqdm is generic in its stubs alone
        """A bar that starts neither a thread nor a process of its own."""

        monitor_interval = 0

    OwnBar.set_lock(threading.RLock())
    return OwnBar


@cache
def _silent() -> Bar:
    """A bar that shows nothing and counts nothing.

    All who show nothing share it: making one costs as much as running a small program's operation.
    """
    return _bars()(disable=True)


def shows_bars() -> bool:
    """Whether there is a terminal to show bars on."""
    # Where the interpreter has no standard error, it is None; others may put anything there.
    return sys.stderr is not None and (not hasattr(sys.stderr, "isatty") or sys.stderr.isatty())


def progress_bar(title: str, *, total: int, unit: str) -> Bar:
    """A bar on a terminal, when the work takes longer than a moment; elsewhere nothing."""
    if not shows_bars():
        return _silent()
    return _bars()(desc=title, total=total, unit=unit, delay=_PATIENCE, leave=False)


def work_bar(title: str) -> Bar:
    """A bar of work that adds up to 1, whose parts take time as they are large, with time to go."""
    bar = progress_bar(title, total=1, unit="run")
    bar.bar_format = "{desc}: {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
    # However small a part is, it is drawn once it is time.
    bar.miniters, bar.dynamic_miniters = 0, False
    return bar


def no_announcement(step: str) -> None:
    """Announce nothing."""


@contextmanager
def announced_steps(title: str, total: int) -> Iterator[Callable[[str], None]]:
    """A bar for a few long steps, and what is called with each, in words, as it begins."""
    with progress_bar(title, total=total, unit="step") as bar:
        if bar.disable:
            yield no_announcement
            return
        # Every update is drawn, those of no step, too.
        bar.miniters, bar.dynamic_miniters = 0, False
        finished = threading.Event()

        def redraw() -> None:
            while not finished.wait(_INTERVAL):
                bar.update(0)

        def announce(step: str) -> None:
            bar.set_postfix_str(step, refresh=False)
            bar.update()

        thread = threading.Thread(target=redraw, name="progress", daemon=True)
        thread.start()
        try:
            yield announce
        finally:
            finished.set()
            thread.join()
