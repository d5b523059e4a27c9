"""The bar shows on a terminal, late, and nowhere else."""

import io
import sys
import time

import pytest

from cloakwork.runtime import progress
from cloakwork.runtime.progress import progress_bar


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


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not shown(Terminal(), monkeypatch)
