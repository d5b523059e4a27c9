"""A program run as a child that never outlives the call, nor do its own children."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from cloakwork.frontends.boolean.watched_child import CANNOT_RUN

# Eleven days: waiting for more than 2^31 milliseconds is refused by the system.
_LONGEST_SECONDS = 1e6
_WATCHED = Path(__file__).with_name("watched_child.py")


def run_child(
    command: Sequence[str],
    folder: Path,
    scratch: Path,
    timeout: float,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, whatever it returns.

    However this process ends, the program ends with it.

    Args:
        command: The program and its arguments.
        folder: Where it runs.
        scratch: A folder of its own, which is removed where this process dies meanwhile.
        timeout: Seconds, of which 10^6 count.
        environment: Variables set for it beside those of this process.

    Returns:
        What it returned and wrote. Bytes that are no UTF-8 are replaced.

    Raises:
        subprocess.TimeoutExpired: It took longer, and was ended.
        OSError: It cannot be started.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as scratch:
        ...     run_child(["echo", "hello"], Path(), Path(scratch), 60).stdout
        'hello\\n'
    """
    if shutil.which(command[0]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), command[0])
    watched, held = os.pipe()
    try:
        # -I and -S: nothing of the user's is loaded by what watches.
        with subprocess.Popen(
            [sys.executable, "-I", "-S", str(_WATCHED), str(scratch), *command],
            cwd=folder,
            env={**os.environ, **(environment or {})},
            stdin=watched,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            # An interrupt from the keyboard is this process's to answer.
            start_new_session=True,
        ) as child:
            os.close(watched)
            watched = -1
            try:
                written, told = child.communicate(timeout=min(timeout, _LONGEST_SECONDS))
            except BaseException:
                os.close(held)
                held = -1
                raise
    finally:
        for end in (watched, held):
            if end >= 0:
                os.close(end)
    if child.returncode == CANNOT_RUN:
        raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC), command[0])
    return subprocess.CompletedProcess(command, child.returncode, written, told)
