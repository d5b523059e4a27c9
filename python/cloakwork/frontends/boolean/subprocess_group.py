"""A program run as a child that never outlives the call, nor do its own children."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

# Eleven days: waiting for more than 2^31 milliseconds is refused by the system.
_LONGEST_SECONDS = 1e6


def run_child(
    command: Sequence[str],
    folder: Path,
    timeout: float,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, whatever it returns.

    Args:
        command: The program and its arguments.
        folder: Where it runs.
        timeout: Seconds, of which 10^6 count.
        environment: Variables set for it beside those of this process.

    Returns:
        What it returned and wrote. Bytes that are no UTF-8 are replaced.

    Raises:
        subprocess.TimeoutExpired: It took longer, and was ended.
        OSError: It cannot be started.

    Example:
        >>> run_child(["echo", "hello"], Path(), 60).stdout
        'hello\\n'
    """
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        # A group of its own, so that all of it can be ended.
        start_new_session=True,
    ) as child:
        try:
            written, told = child.communicate(timeout=min(timeout, _LONGEST_SECONDS))
        except BaseException:
            # The group is gone where its first process has been waited for.
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(command, child.returncode, written, told)
