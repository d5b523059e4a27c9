"""Runs a program for as long as whoever asked for it lives: a script of its own, without Cloakwork.

Its arguments are a folder and the program's command. Whoever asked holds the other end of its
standard input: when that is closed, or its holder has died in any way, the program is ended with
all that it started, and the folder is removed.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress

# What the shell returns where a program cannot be run.
CANNOT_RUN = 126


def main(folder: str, command: list[str]) -> int:
    """Run the command to its end, and give what it returned."""
    try:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, process_group=0)
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}".encode())
        return CANNOT_RUN

    def watch() -> None:
        # Nothing is ever written: this returns where the other end is closed.
        os.read(0, 1)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    code = child.wait()
    if code == -signal.SIGKILL:
        # By the watcher, which is to remove the folder, or else by another.
        watcher.join(timeout=1)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    # A thread that waits for standard input would keep the interpreter from its end.
    os._exit(main(sys.argv[1], sys.argv[2:]))
