"""A network between a client and an evaluator process that share a folder."""

from __future__ import annotations

import ctypes
import gc
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

import cloakwork as cw
from cloakwork.runtime.held_memory import caching

_EVALUATOR = Path(__file__).with_name("evaluator.py")


@dataclass(frozen=True)
class Answers:
    """What the client decrypts, and what the evaluator's process took.

    Args:
        outputs: The results, one for each input.
        cpu: CPU seconds of every run; the first encodes the layers.
        wall: Wall seconds of every run.
        peak_bytes: The most memory that the process took.
    """

    outputs: NDArray[np.float64]
    cpu: Sequence[float]
    wall: Sequence[float]
    peak_bytes: int


def answers(
    network: cw.Program,
    inputs: NDArray[np.float64],
    device: str = "cpu",
    memory_limit: int | None = None,
) -> Answers:
    """Encrypt inputs, as many at once as the network takes; evaluate; decrypt.

    Args:
        network: The network.
        inputs: Inputs along the first axis.
        device: Where the evaluator runs it.
        memory_limit: Bytes that a run of the evaluator may take; None for those of the machine.
    """
    client, evaluator = network.keygen()
    starts = range(0, len(inputs), network.batch)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        evaluator.save(folder / "evaluator")
        # The other process needs the memory that its keys take here.
        del evaluator
        for number, start in enumerate(tqdm(starts, "encrypt", disable=None, leave=False)):
            encrypted = client.encrypt(inputs[start : start + network.batch])
            encrypted.save(folder / f"input{number}")
        _release_memory()
        limits = [] if memory_limit is None else [str(memory_limit)]
        took = _evaluated(folder, [device, *limits])
        results = [
            client.decrypt(cw.load(folder / f"result{number}", cw.Encrypted))
            for number in range(len(starts))
        ]
    return Answers(np.concatenate(results), took["cpu"], took["wall"], took["peak_bytes"])


def _release_memory() -> None:
    """Return the unused memory of the engine and of the C library to the system."""
    with caching(0):
        gc.collect()
    # Only glibc has it, and only glibc needs it.
    with suppress(AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def _evaluated(folder: Path, options: Sequence[str]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(_EVALUATOR), str(folder), *options],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    took: dict[str, Any] = json.loads(done.stdout)
    return took
