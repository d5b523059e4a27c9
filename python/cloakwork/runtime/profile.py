"""What a run took: time and memory of every operation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from cloakwork.programs.bootstraps import BootstrapProgram


class Measurement(NamedTuple):
    """One operation as it was run.

    Args:
        number: The number of the operation.
        kind: Its name in the text of a program.
        start: Seconds from the start of the run.
        seconds: Seconds that it took; rotations made together share theirs evenly.
        thread: Which thread ran it, from 0.
        nbytes: Bytes of its result.
    """

    number: int
    kind: str
    start: float
    seconds: float
    thread: int
    nbytes: int


def bootstrap_measurements(
    body: BootstrapProgram, run: Any, bytes_of_bit: int
) -> list[Measurement]:
    """The measurements of a run of a program over bits.

    Args:
        body: The program.
        run: A `schemes.base.BitRun`, whose nodes are the program's.
        bytes_of_bit: Bytes of an LWE ciphertext.
    """
    sizes = np.diff(body.output_starts)[run.nodes] * bytes_of_bit
    columns = (run.nodes, run.starts, run.seconds, run.threads, sizes)
    return [
        Measurement(node, "bootstrap", *measured)
        for node, *measured in zip(*(each.tolist() for each in columns), strict=True)
    ]


class Total(NamedTuple):
    """All operations of one kind.

    Args:
        operations: How many there were.
        seconds: Seconds that they took, added up over threads.
        nbytes: Bytes of their results, added up whether or not they lived at one time.
    """

    operations: int
    seconds: float
    nbytes: int


@dataclass(slots=True, eq=False)
class Profile:
    """What a run measures: hand it to the run, read it afterwards.

    A run that fails or is cancelled leaves what it has measured so far. Inputs, constants
    and outputs take no work and are left out.

    Args:
        operations: The operations in the order in which they finished.
        seconds: Seconds from start to end of the run.
        peak_bytes: The most bytes that all values took at once: inputs and results included,
            keys and what an operation takes while it works left out.
        key_bytes: Of a run on a cluster, bytes of the evaluation keys that were read for each
            thread, which are those of its tasks that its worker did not have.

    Example:
        >>> from cloakwork.schemes.clear_real import ClearBackend, ClearVector
        >>> from cloakwork.programs.slots import Add, Input, Output, SlotProgram
        >>> from cloakwork.runtime.executor import run
        >>> import numpy as np
        >>> program = SlotProgram("x+x", 2, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
        >>> profile = Profile()
        >>> _ = run(program, ClearBackend(), [ClearVector(np.ones(2), 0)], profile=profile)
        >>> profile.peak_bytes, profile.totals()["add"].operations
        (32, 1)
    """

    operations: list[Measurement] = field(default_factory=list)
    seconds: float = 0.0
    peak_bytes: int = 0
    key_bytes: dict[int, int] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget what was measured."""
        self.operations.clear()
        self.seconds = 0.0
        self.peak_bytes = 0
        self.key_bytes.clear()

    def append(self, later: Profile) -> None:
        """Take in what a run measured that came after those so far."""
        before = self.seconds
        # After nothing nothing moves; most profiles are of one run, whose operations may be many.
        self.operations += (
            [each._replace(start=each.start + before) for each in later.operations]
            if before
            else later.operations
        )
        self.seconds += later.seconds
        self.peak_bytes = max(self.peak_bytes, later.peak_bytes)

    def totals(self) -> Mapping[str, Total]:
        """The totals of every kind of operation, the kind that took longest first."""
        totals: dict[str, Total] = {}
        for operation in self.operations:
            count, seconds, nbytes = totals.get(operation.kind, Total(0, 0.0, 0))
            totals[operation.kind] = Total(
                count + 1, seconds + operation.seconds, nbytes + operation.nbytes
            )
        return dict(sorted(totals.items(), key=lambda total: -total[1].seconds))
