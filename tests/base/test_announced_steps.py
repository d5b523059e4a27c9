"""Steps of long work are announced on a terminal, and nowhere else."""

from __future__ import annotations

import io
import sys
import threading
import time

import pytest

from cloakwork.base import progress
from cloakwork.base.progress import announced_steps


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_the_step_while_it_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr(progress, "_PATIENCE", 0.01)
    monkeypatch.setattr(progress, "_INTERVAL", 0.01)
    with announced_steps("cooking", total=2) as announce:
        announce("boiling water")
        until = time.monotonic() + 10
        while "boiling water" not in terminal.getvalue() and time.monotonic() < until:
            time.sleep(0.01)
        assert "cooking" in terminal.getvalue()
        assert "boiling water" in terminal.getvalue()
        assert "steeping tea" not in terminal.getvalue()
        announce("steeping tea")
    assert "progress" not in [thread.name for thread in threading.enumerate()]
    # The line is cleared.
    assert terminal.getvalue().rsplit("\r", 2)[1].strip() == ""


def test_work_that_fails_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ValueError, match="burnt"), announced_steps("cooking", total=1):
        raise ValueError("burnt")
    assert "progress" not in [thread.name for thread in threading.enumerate()]


def test_nothing_is_shown_elsewhere(capfd: pytest.CaptureFixture[str]) -> None:
    with announced_steps("cooking", total=1) as announce:
        announce("boiling water")
        assert "progress" not in [thread.name for thread in threading.enumerate()]
    assert capfd.readouterr() == ("", "")
