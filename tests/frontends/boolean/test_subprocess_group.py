"""Programs run as children."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cloakwork.frontends.boolean.subprocess_group import run_child

# A caller whose child starts another child, names both, and never ends of itself.
CALLER = """
import sys
from pathlib import Path
from cloakwork.frontends.boolean.subprocess_group import run_child

folder = Path(sys.argv[1])
script = "sleep 1000 & echo $! $$ > pids.new; mv pids.new pids; wait"
run_child(["sh", "-c", script], folder, folder / "scratch", 1000)
"""
PATIENCE = 30.0


def until(found: object, reason: str) -> None:
    """Wait until something holds."""
    assert callable(found)
    end = time.monotonic() + PATIENCE
    while not found():
        assert time.monotonic() < end, reason
        time.sleep(0.02)


def has_ended(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    # One that nobody has waited for yet has ended, too.
    return status.rpartition(")")[2].split()[0] == "Z"


@pytest.mark.parametrize("seconds", [60, 1e9, 1e300])
def test_any_time_may_be_given(seconds: float, tmp_path: Path) -> None:
    assert run_child(["echo", "hello"], Path(), tmp_path, timeout=seconds).stdout == "hello\n"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_children_and_folders_end_with_the_caller(how: signal.Signals, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "netlist.json").write_text("{}")
    with subprocess.Popen(
        [sys.executable, "-c", CALLER, str(tmp_path)], stderr=subprocess.DEVNULL
    ) as caller:
        pids = tmp_path / "pids"
        until(pids.exists, "the child has not begun")
        os.kill(caller.pid, how)
    children = [int(each) for each in pids.read_text().split()]
    assert len(children) == 2
    until(lambda: all(map(has_ended, children)), f"{children} outlive their caller")
    until(lambda: not scratch.exists(), "the folder is left")


def test_a_child_that_takes_too_long_is_ended_with_its_own(tmp_path: Path) -> None:
    script = "sleep 1000 & echo $! $$ > pids; wait"
    with pytest.raises(subprocess.TimeoutExpired):
        run_child(["sh", "-c", script], tmp_path, tmp_path / "scratch", timeout=2)
    children = [int(each) for each in (tmp_path / "pids").read_text().split()]
    assert len(children) == 2
    until(lambda: all(map(has_ended, children)), f"{children} are left")


def test_what_a_child_returns_and_writes_is_passed_on(tmp_path: Path) -> None:
    done = run_child(["sh", "-c", "echo out; echo told >&2; exit 3"], tmp_path, tmp_path, 60)
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "told\n")
    with pytest.raises(OSError, match="no-such-program"):
        run_child(["no-such-program"], tmp_path, tmp_path, 60)
