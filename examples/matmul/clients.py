"""Clients that share a folder with an evaluator: one holds the keys, others have data."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw

_EVALUATOR = Path(__file__).with_name("evaluator.py")


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step took."""
    start = time.perf_counter()
    yield
    print(f"  {name:<52} {time.perf_counter() - start:7.2f} s", flush=True)


@dataclass(frozen=True)
class Answer:
    """What the holder of the keys decrypts, and what the evaluator's process took.

    Args:
        result: The numbers.
        wall: Seconds of the run.
        cpu: CPU seconds of the run.
        peak_bytes: The most memory that the evaluator's process took.
    """

    result: NDArray[np.float64]
    wall: float
    cpu: float
    peak_bytes: int

    def report(self) -> None:
        """Print what it took."""
        print(f"  time of the run                     {self.wall:.2f} s")
        print(f"  its CPU time                        {self.cpu:.2f} s")
        print(f"  peak memory of the evaluator        {self.peak_bytes / 2**20:.0f} MiB")


def answer(
    program: cw.Program, by_client: Mapping[str, Mapping[str, NDArray[np.float64]]]
) -> Answer:
    """Let every client encrypt what is its own, evaluate, decrypt.

    Only files go from one to the other: the public key to the clients, their ciphertexts and
    the evaluation keys to the evaluator's process, the result back.

    Args:
        program: What is computed.
        by_client: Names of clients, and of each the arguments that it has.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with step("make keys"):
            client, evaluator = program.keygen()
            client.public_key().save(folder / "public")
            evaluator.save(folder / "evaluator")
        for client_name, arguments in by_client.items():
            with step(f"{client_name} encrypts {' and '.join(arguments)}"):
                public = cw.load(folder / "public", cw.Encryptor)
                public.encrypt(**arguments).save(folder / f"from-{client_name}")
        with step("evaluate in another process"):
            took = evaluated(folder)
        with step("decrypt"):
            result = client.decrypt(cw.load(folder / "result", cw.Encrypted))
    return Answer(np.asarray(result), took["wall"], took["cpu"], took["peak_bytes"])


def evaluated(folder: Path) -> dict[str, Any]:
    """Run the evaluator of a folder in a process of its own.

    Args:
        folder: Where the evaluator and its inputs are, and the result will be.

    Returns:
        The seconds and the memory that it took, see `evaluator.py`.
    """
    done = subprocess.run(
        [sys.executable, str(_EVALUATOR), str(folder)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    took: dict[str, Any] = json.loads(done.stdout)
    return took
