"""The command line as a process of its own.

Each is forked off one that has loaded the package and done nothing: to load it takes longer than
most commands do.
"""

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cloakwork.cli.main import main

_FORKED = multiprocessing.get_context("forkserver")
_FORKED.set_forkserver_preload(["cloakwork.cli.commands", __name__])
_SECONDS = 300


def _run(arguments: Sequence[str], folder: Path, environment: dict[str, str], ends: Path) -> None:
    """Run the command line as a new process does; what it writes goes to two files."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    for number, name in ((1, "stdout"), (2, "stderr")):
        os.dup2(os.open(ends / name, os.O_WRONLY | os.O_CREAT), number)
    sys.argv = ["cloakwork", *arguments]
    main()


@dataclass(frozen=True)
class Cloakwork:
    """Runs `cloakwork` in a folder."""

    folder: Path

    def __call__(self, *arguments: str) -> str:
        """What a command prints, which must succeed."""
        done = self.done(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refusal(self, *arguments: str) -> str:
        """The one line that a command refuses its arguments by."""
        done = self.done(*arguments)
        assert done.returncode == 2, (done.returncode, done.stdout, done.stderr)
        assert not done.stdout
        assert "Traceback" not in done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    def done(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """What a command ended with."""
        with tempfile.TemporaryDirectory() as ends:
            process = _FORKED.Process(
                target=_run, args=(arguments, self.folder, {**os.environ}, Path(ends))
            )
            process.start()
            process.join(_SECONDS)
            if process.exitcode is None:
                process.kill()
                raise subprocess.TimeoutExpired(["cloakwork", *arguments], _SECONDS)
            written, said = ((Path(ends) / name).read_text() for name in ("stdout", "stderr"))
        return subprocess.CompletedProcess(arguments, process.exitcode, written, said)
