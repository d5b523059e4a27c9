"""A server in a process of its own, and what it takes."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.service.programs import Case

_PAGE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Served:
    """A server that is there.

    Args:
        url: Where.
        process: The number of its process.
    """

    url: str
    process: int

    @property
    def memory_bytes(self) -> int:
        """What the server itself takes, without the processes of runs."""
        return int(Path(f"/proc/{self.process}/statm").read_text().split()[1]) * _PAGE

    @property
    def cpu_seconds(self) -> dict[str, float]:
        """The time of processors that the server took, and all of its workers."""
        children = Path(f"/proc/{self.process}/task/{self.process}/children").read_text().split()
        workers = sum(_cpu_seconds(int(each)) for each in children)
        return {"server": _cpu_seconds(self.process), "workers": workers}


def _cpu_seconds(process: int) -> float:
    # What a process calls itself may have spaces and stands between brackets.
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / _TICKS


@contextmanager
def served(cases: Mapping[str, Case], *options: str) -> Iterator[Served]:
    """A server of some programs, each of whose runs has one thread."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "programs").mkdir()
        for name, case in cases.items():
            case.compiled().save(Path(folder) / "programs" / f"{name}.cw")
        command = [sys.executable, "-m", "cloakwork", "serve", folder, "--insecure", "--port", "0"]
        environment = {**os.environ, "CLOAKWORK_THREADS": "1"}
        with subprocess.Popen(
            [*command, *options], stdout=subprocess.PIPE, text=True, env=environment
        ) as process:
            try:
                assert process.stdout is not None
                yield Served(process.stdout.readline().split()[-1], process.pid)
            finally:
                process.terminate()
