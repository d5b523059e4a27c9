"""What the stages of bert share: sizes and files."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import cloakwork as cw

_NAMES = "single", "small", "medium", "large"


@dataclass(frozen=True)
class Workload:
    """One size of the workload, in the folder that the harness runs in.

    Args:
        size: Its number.
    """

    size: int

    @property
    def name(self) -> str:
        """The name of the size."""
        return _NAMES[self.size]

    def data(self, *parts: str) -> Path:
        """A file of the harness's data."""
        return Path("datasets", self.name, *parts)

    def file(self, *parts: str) -> Path:
        """A file by which stages meet, in a folder that is there."""
        path = Path("io", self.name, *parts)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def client(self) -> cw.Client:
        """The client's keys."""
        return cw.load(self.file("secret_key", "client"), cw.Client)


def asked() -> Workload:
    """The workload that the harness's arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(_NAMES)))
    known, _ = parser.parse_known_args()
    return Workload(known.size)
