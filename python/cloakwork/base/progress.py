"""The bar that long work shows, or by which it is followed from elsewhere."""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NoReturn, Self, TypeAlias, TypeVar

if TYPE_CHECKING:
    from tqdm import tqdm

# Seconds before a bar appears.
_PATIENCE = 2.0
# Seconds after which a bar of steps is drawn again.
_INTERVAL = 0.5
# Seconds before whoever follows work hears of it, and between what they hear.
_TELLING = 0.3

T = TypeVar("T")
Shown: TypeAlias = "tqdm[NoReturn]"
Bar: TypeAlias = "Shown | SilentBar"
# Hears how much is done, of how much, and of which part.
Tell: TypeAlias = Callable[[float, float, str], None]


@dataclass(slots=True)
class _Follower:
    """Who hears of bars, and of how many in turn the one at work is which."""

    tell: Tell
    before: int = 0
    count: int = 1


_follower: ContextVar[_Follower | None] = ContextVar("follower", default=None)


@cache
def _bars() -> type[Shown]:
    """What makes bars, loaded with the first of them."""
    from tqdm import tqdm  # noqa: PLC0415

    class OwnBar(tqdm):  # type: ignore[type-arg]  # tqdm is generic in its stubs alone
        """A bar that starts neither a thread nor a process of its own."""

        monitor_interval = 0

    OwnBar.set_lock(threading.RLock())
    return OwnBar


class SilentBar:
    """A bar that shows nothing and counts nothing, for which nothing is loaded.

    Example:
        >>> with SilentBar() as bar:
        ...     bar.update()
        >>> bar.n
        0
    """

    disable = True
    n = 0

    def update(self, n: float = 1) -> None:
        """Count nothing."""

    def set_postfix_str(self, s: str = "", refresh: bool = True) -> None:
        """Show nothing."""

    def set_description_str(self, desc: str | None = None, refresh: bool = True) -> None:
        """Show nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass


@cache
def _told_bars() -> type[Any]:
    """What makes bars that are told, and shown nowhere."""

    class ToldBar(_bars()):  # type: ignore[misc]  # made when it is needed
        """A bar that says how far it is where another one is drawn, and as often."""

        follower: _Follower

        def display(self, msg: str | None = None, **_: Any) -> None:
            # One that ends is cleared by an empty message.
            if msg is None:
                own = self.follower
                done, of = own.before * self.total + self.n, own.count * self.total
                own.tell(done, of, self.postfix or "")

    return ToldBar


@contextmanager
def telling(tell: Tell) -> Iterator[None]:
    """Have the bars of this thread's work tell how far it is, a few times a second, not show it.

    Args:
        tell: Called with how much is done, of how much, and with the name of the part at work. Each
            may come from any thread.
    """
    before = _follower.set(_Follower(tell))
    try:
        yield
    finally:
        _follower.reset(before)


def in_turn(works: Sequence[T]) -> Iterator[T]:
    """Works that are done one after the other, each with a bar: who follows them hears of one."""
    follower = _follower.get()
    if follower is None:
        yield from works
        return
    before, count = follower.before, follower.count
    try:
        for number, work in enumerate(works):
            follower.before, follower.count = before * len(works) + number, count * len(works)
            yield work
    finally:
        follower.before, follower.count = before, count


def shows_bars() -> bool:
    """Whether there is a terminal to show bars on, or someone who follows them."""
    if _follower.get() is not None:
        return True
    # Where the interpreter has no standard error, it is None; others may put anything there.
    return sys.stderr is not None and (not hasattr(sys.stderr, "isatty") or sys.stderr.isatty())


def progress_bar(title: str, *, total: int, unit: str) -> Bar:
    """A bar on a terminal, when the work takes longer than a moment; elsewhere nothing.

    Work that is `followed` shows none, and is told of.
    """
    follower = _follower.get()
    if follower is not None:
        options = {"delay": _TELLING, "mininterval": _TELLING, "leave": False}
        # What clears a bar goes nowhere.
        told: Shown = _told_bars()(
            desc=title, total=total, unit=unit, file=io.StringIO(), **options
        )
        told.follower = follower  # type: ignore[attr-defined]  # its class is made when needed
        return told
    if not shows_bars():
        return SilentBar()
    return _bars()(desc=title, total=total, unit=unit, delay=_PATIENCE, leave=False)


def work_bar(title: str) -> Bar:
    """A bar of work that adds up to 1, whose parts take time as they are large, with time to go."""
    bar = progress_bar(title, total=1, unit="run")
    if isinstance(bar, SilentBar):
        return bar
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
        if isinstance(bar, SilentBar) or bar.disable:
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
