"""The bar shows on a terminal, late, and nowhere else."""

import io
import multiprocessing
import sys
import threading
import time

import pytest

from cloakwork.base import progress
from cloakwork.base.progress import in_turn, progress_bar, telling, work_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(stream: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("the work", total=2, unit="step") as bar:
        bar.update()
        time.sleep(0.2)
        bar.update()
    return stream.getvalue()


def test_long_work_shows_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 1e-9)
    assert "the work" in shown(Terminal(), monkeypatch)
    assert not shown(io.StringIO(), monkeypatch)


def test_a_bar_of_work_tells_its_part_and_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 1e-9)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with work_bar("the network") as bar:
        bar.set_postfix_str("conv1", refresh=False)
        time.sleep(0.2)
        bar.update(0.25)
    assert "the network:  25%|" in terminal.getvalue()
    assert "conv1" in terminal.getvalue()


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not shown(Terminal(), monkeypatch)


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_without_a_terminal_the_bar_is_off(
    stream: io.StringIO | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress_bar("the work", total=2, unit="step") as bar:
        bar.update()
    assert bar.disable


def test_a_bar_starts_neither_threads_nor_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_PATIENCE", 1e-9)
    threads, children = threading.active_count(), multiprocessing.active_children()
    shown(Terminal(), monkeypatch)
    assert threading.active_count() == threads
    assert multiprocessing.active_children() == children


def test_who_follows_work_is_told_and_nothing_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_TELLING", 1e-9)
    terminal, told = Terminal(), list[tuple[float, float, str]]()
    monkeypatch.setattr(sys, "stderr", terminal)
    with telling(lambda *each: told.append(each)):
        for _ in in_turn("ab"):
            for total in in_turn([2, 2]):
                with progress_bar("the work", total=total, unit="step") as bar:
                    bar.set_postfix_str("first", refresh=False)
                    bar.update()
                    bar.update()
    assert told == [(done, 8, "first") for done in range(1, 9)]
    assert not terminal.getvalue()
    with telling(lambda *each: told.append(each)), work_bar("the network") as bar:
        bar.update(0.25)
    assert told[-1] == (0.25, 1, "")


def test_small_work_is_not_told() -> None:
    told = list[tuple[float, float, str]]()
    with telling(lambda *each: told.append(each)), work_bar("the network") as bar:
        bar.update(1)
    assert not told
