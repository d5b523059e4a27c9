"""What a server allows, and where its files are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from cloakwork.service.server.memory import machine_bytes


@dataclass(frozen=True, slots=True)
class Settings:
    """What the operator of a server says.

    Args:
        folder: The server's: programs are in `programs` there, each in a file `NAME.cw`.
        tokens: The file of tokens; None where everyone may ask.
        workers: How many processes run jobs.
        attempts: How often a job is begun whose process is killed.
        kept_seconds: How long results are kept.
        most_key_bytes: What the evaluation keys of one user may take.
        most_state_bytes: What the states of one user may take.
        most_input_bytes: What the inputs of one job may take.
        uploads: Whether users may put programs.
        most_programs: How many programs of one user there may be.
        most_program_bytes: What the programs of one user may take.
        check_seconds: How many seconds of a processor's time reading one of them may take.
        check_bytes: How much memory that may take.
        most_jobs: How many jobs of one user may wait and run at once.
        most_memory_bytes: What all that run at once may take; by default what this machine has,
            less a margin.
        most_seconds: How long a run may take by what is known before it.
        kept_key_seconds: How long evaluation keys are kept that no job is run with.
        plans: Whether users see how programs are planned; whoever needs no token does.
        cluster: The address of a Dask scheduler on whose workers programs run; None for here. They
            see the server's folder.
        metrics_user: Who alone is told figures, by a token; None for everyone.
        insecure: Whether programs may be below 128-bit security, for tests.
    """

    folder: Path
    tokens: Path | None = None
    workers: int = 1
    attempts: int = 2
    kept_seconds: float = 24 * 3600.0
    most_key_bytes: int = 16 << 30
    most_state_bytes: int = 1 << 30
    most_input_bytes: int = 1 << 30
    uploads: bool = False
    most_programs: int = 32
    most_program_bytes: int = 256 << 20
    check_seconds: int = 10
    check_bytes: int = 4 << 30
    most_jobs: int = 100
    most_memory_bytes: int | None = None
    most_seconds: float = math.inf
    kept_key_seconds: float = 30 * 24 * 3600.0
    plans: bool = False
    cluster: str | None = None
    metrics_user: str | None = None
    insecure: bool = False

    @property
    def shows_plans(self) -> bool:
        """Whether who asks sees how programs are planned."""
        return self.plans or self.tokens is None

    @property
    def memory_bytes(self) -> int:
        """What all that run at once may take."""
        return machine_bytes() if self.most_memory_bytes is None else self.most_memory_bytes
