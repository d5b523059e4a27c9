"""One run of a program on a cluster: what it is called, and which files belong to it."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from cloakwork.base.record import Record, digest_of
from cloakwork.cluster.cut import Grain
from cloakwork.runtime.folder import Folder
from cloakwork.runtime.stored import Source

# Values are kept beside results where that takes a small part of the time to make them: written at
# this rate, they take at most this share.
_WRITTEN_PER_SECOND = 1e8
_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Job:
    """One run, by the content of what goes into it: the same job has the same files.

    Args:
        digest: 32 hexadecimal digits of program, keys and inputs.
        keys: The name of the evaluator's file.
        folder: Where that is.
        files: The folder of the job's own files.
        insecure: Whether the program's parameters may fall short of 128-bit security.
        version: The version of Cloakwork that asks for it.
        inputs: Where the inputs are.
        inner_parts: How many parts the inner dimension of products of matrices is cut into.
        memory_limit: Bytes that inputs and values may take on a worker; None for as many as it has.
    """

    digest: str
    keys: str
    folder: Folder
    files: Folder
    insecure: bool
    version: str
    inputs: tuple[Source, ...] = ()
    inner_parts: int = 1
    memory_limit: int | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A grain to do, as a worker gets it.

    Args:
        job: The run that it belongs to.
        grain: What it is.
        name: What tells it from every other grain of any cut.
        keeps: Whether the values that it makes for others are written.
    """

    job: Job
    grain: Grain
    name: str
    keeps: bool

    @property
    def results_file(self) -> str:
        """The file of the results that it makes."""
        return f"results-{self.name}"

    @property
    def values_file(self) -> str:
        """The file of the values that it makes for others."""
        return f"values-{self.name}"

    def is_done(self, names: Container[str]) -> bool:
        """Whether files of these names hold all that it makes."""
        results = not self.grain.results or self.results_file in names
        return results and (not self.grain.gives or (self.keeps and self.values_file in names))


def order(job: Job, grain: Grain, given_bytes: int) -> Order:
    """The order for a grain that makes values of so many bytes for others."""
    content = repr((job.inner_parts, grain.tasks, grain.gives, grain.results)).encode()
    name = hashlib.sha256(content).hexdigest()[:16]
    return Order(job, grain, name, is_kept(grain, given_bytes))


def job_digest(program: str, keys: str, inputs: Sequence[str]) -> str:
    """What a run is known by.

    Args:
        program: The fingerprint of the program.
        keys: The name of the evaluator's file, which says what is in it.
        inputs: What tells each part of the inputs from others.
    """
    return digest_of({"program": program, "keys": keys, "inputs": list(inputs)})[:32]


def is_kept(grain: Grain, given_bytes: int) -> bool:
    """Whether the values that a grain makes for others are written, to be found after a restart.

    Example:
        >>> grain = Grain(0, (0,), (), (), (1,), (), seconds=1.0)
        >>> is_kept(grain, 10**6), is_kept(grain, 10**7)
        (True, False)
    """
    return bool(grain.gives) and given_bytes / _WRITTEN_PER_SECOND <= _SHARE * grain.seconds


def own_version() -> str:
    """The version of Cloakwork here."""
    return metadata.version("cloakwork")


def values_record(values: Mapping[int, Any], scheme: Any) -> Record:
    """Values by number as a file holds them; their bytes are made one by one as it is written."""
    return {
        "numbers": list(values),
        "values": (scheme.dump(value) for value in values.values()),
    }
