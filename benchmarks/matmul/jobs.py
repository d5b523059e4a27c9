"""The products that are measured, and what FHE4DMM takes for some of them.

FHE4DMM's figures are its authors', on machines of 64 threads of EPYC 7452.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_SEED = 16384
_GIGABYTE = 10**9


@dataclass(frozen=True, slots=True)
class Job:
    """A product of `rows` x `inner` by `inner` x `columns`, both encrypted.

    Args:
        name: What the report calls it.
        rows: Rows of the left matrix.
        inner: The inner dimension.
        columns: Columns of the right matrix.
        part: What part it is of one that takes more memory than most machines have.
        fhe4dmm_seconds: What FHE4DMM takes.
        fhe4dmm_machines: The machines that it takes for that.
        memory_limit: Bytes that ciphertexts may take, of one that is streamed through folders;
            None where they are all in memory.
    """

    name: str
    rows: int
    inner: int
    columns: int
    part: float = 1.0
    fhe4dmm_seconds: float | None = None
    fhe4dmm_machines: int = 1
    memory_limit: int | None = None

    @property
    def multiplications(self) -> int:
        """Of numbers, in the clear."""
        return self.rows * self.inner * self.columns

    def matrices(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both operands, uniform in [-1, 1] and the same each time."""
        generator = np.random.default_rng(_SEED)
        left = generator.uniform(-1, 1, (self.rows, self.inner))
        return left, generator.uniform(-1, 1, (self.inner, self.columns))


def _square(size: int, seconds: float | None = None, machines: int = 1) -> Job:
    return Job(str(size), size, size, size, 1.0, seconds, machines)


# Those of FHE4DMM's Table V that are large are done in part, unless they are asked for whole.
JOBS = (
    _square(128),
    _square(256),
    _square(512, 401.42),
    _square(1024),
    _square(2048),
    _square(4096, 172.234, 256),
    Job("1/16 of LargeM", 65536, 16, 64, 1 / 16),
    Job("1/4 of Slim", 16384, 4096, 16, 1 / 4),
    Job("1/16 of Flat", 4096, 16, 4096, 1 / 16),
)
WHOLE = (
    Job("LargeM", 1048576, 16, 64, memory_limit=2 * _GIGABYTE),
    Job("Slim", 16384, 16384, 16),
    Job("Flat", 16384, 16, 16384, memory_limit=4 * _GIGABYTE),
)
