"""The command line as a process of its own."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


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
        command = Path(sys.executable).with_name("cloakwork")
        return subprocess.run(
            [command, *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
