"""What a server allows, and where its files are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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
        most_input_bytes: What the inputs of one job may take.
        most_jobs: How many jobs of one user may wait and run at once.
        insecure: Whether programs may be below 128-bit security, for tests.
    """

    folder: Path
    tokens: Path | None = None
    workers: int = 1
    attempts: int = 2
    kept_seconds: float = 24 * 3600.0
    most_key_bytes: int = 16 << 30
    most_input_bytes: int = 1 << 30
    most_jobs: int = 100
    insecure: bool = False
