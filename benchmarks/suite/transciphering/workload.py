"""What the stages of transciphering share: sizes, files, and what is enciphered."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import cloakwork as cw
from benchmarks.suite.stages import Stages
from benchmarks.suite.transciphering.cipher import BYTES
from benchmarks.suite.transciphering.programs import Enciphered, Programs, programs_before

_SIZES = "toy", "small", "medium", "large"


@dataclass(frozen=True)
class Workload(Stages):
    """One size of the workload."""

    @property
    def enciphered(self) -> Enciphered:
        """The harness's blocks, which the smallest size enciphers by themselves."""
        text = self.data("db.hex").read_text()
        blocks = [
            bytes.fromhex(text[start : start + 2 * BYTES])
            for start in range(0, len(text), 2 * BYTES)
        ]
        if self.name == _SIZES[0]:
            return Enciphered(blocks, None)
        first = int(self.data("aes_iv.hex").read_text(), 16)
        counters = [(first + number) % (1 << 8 * BYTES) for number in range(len(blocks))]
        return Enciphered(blocks, [counter.to_bytes(BYTES, "big") for counter in counters])

    @property
    def key(self) -> bytes:
        """The harness's key, which the client has."""
        return bytes.fromhex(self.data("aes_key.hex").read_text())

    def programs(self) -> Programs:
        """What key generation planned."""
        return programs_before(cw.load(self.file("public_keys", "program"), cw.Program))

    def deciphered(self) -> Iterator[cw.Encrypted]:
        """The deciphered blocks, encrypted, in their order."""
        for path in sorted(self.file("ciphertext_aes_download").iterdir()):
            yield cw.load(path, cw.Encrypted)


def asked() -> Workload:
    """The workload that the harness's arguments name."""
    parser = argparse.ArgumentParser()
    parser.add_argument("size", type=int, choices=range(len(_SIZES)))
    known, _ = parser.parse_known_args()
    return Workload(_SIZES[known.size])
