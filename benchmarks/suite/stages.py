"""What the stages of all workloads share: files by which they meet, keys, and a server's runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import cloakwork as cw

# What most harnesses call their sizes, by number.
SIZES = "single", "small", "medium", "large"


@dataclass(frozen=True)
class Stages:
    """One size of a workload, in the folder that the harness runs in.

    Args:
        name: The name of the size.
    """

    # Where the harness has secret keys.
    secrets: ClassVar[str] = "secret_key"

    name: str

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
        return cw.load(self.file(self.secrets, "client"), cw.Client)

    def evaluator(self) -> cw.Evaluator:
        """The server's keys."""
        return cw.load(self.file("public_keys", "evaluator"), cw.Evaluator)

    def save_keys(self, program: cw.Program) -> None:
        """Make keys for a program: the client's, and the server's."""
        client, evaluator = program.keygen()
        client.save(self.file(self.secrets, "client"))
        evaluator.save(self.file("public_keys", "evaluator"))

    def run(self, evaluator: cw.Evaluator) -> None:
        """Compute on all that was sent."""
        for sent in sorted(self.file("ciphertexts_upload").iterdir()):
            answer = evaluator.run(cw.load(sent, cw.Encrypted))
            answer.save(self.file("ciphertexts_download", sent.name))

    def answers(self) -> Iterator[Any]:
        """What the server computed of all that was sent, decrypted, in the same order."""
        client = self.client()
        for answer in sorted(self.file("ciphertexts_download").iterdir()):
            yield client.decrypt(cw.load(answer, cw.Encrypted))


def asked() -> Stages:
    """The size that the harness's arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(SIZES)))
    known, _ = parser.parse_known_args()
    return Stages(SIZES[known.size])
