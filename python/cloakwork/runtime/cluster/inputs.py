"""Inputs of jobs as workers read them: a file when it is needed, and the last ones kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

from cloakwork.base.record import Fields
from cloakwork.errors import ClusterFolderError, ValueOutOfRangeError
from cloakwork.runtime.cluster.job import Job
from cloakwork.runtime.cluster.stored import Source, StoredRun, opened
from cloakwork.runtime.program import Program


class InputFiles:
    """The values of files, the last ones that were asked for.

    Args:
        most_bytes: What they may take.

    Attributes:
        read_bytes: Bytes of all values that were read.
    """

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.read_bytes = 0
        self._kept: OrderedDict[tuple[Source, int], Mapping[int, Any]] = OrderedDict()
        self._kept_bytes = 0
        self._runs: OrderedDict[Source, StoredRun] = OrderedDict()
        self._taking = threading.Lock()

    def values(self, job: Job, program: Program, numbers: Sequence[int]) -> dict[int, Any]:
        """Inputs of a job by number.

        Raises:
            ClusterFolderError: A file is not seen from here.
            MalformedBytesError: One is damaged.
            ValueOutOfRangeError: A ciphertext may hold larger numbers than the program was
                compiled for.
        """
        wanted = set(numbers)
        found: dict[int, Any] = {}
        with self._taking:
            for source in job.inputs:
                run = self._run(source)
                places = {
                    run.files.file_of[number] for number in wanted if number in run.files.file_of
                }
                for place in sorted(places):
                    held = self._part(source, run, place, program)
                    found.update({number: held[number] for number in held.keys() & wanted})
        missing = wanted - found.keys()
        if missing:
            raise ClusterFolderError(
                f"cannot read the inputs of {program.name}: {len(missing)} of them are in none of "
                "its folders, as if these were changed during the run; encrypt anew"
            )
        return found

    def forget(self) -> None:
        """Keep nothing of what was read."""
        with self._taking:
            self._kept.clear()
            self._kept_bytes = 0
            self._runs.clear()

    def _run(self, source: Source) -> StoredRun:
        if source not in self._runs:
            stored = opened(source.folder, source.head)
            self._runs[source] = stored.stored_run(source.run)
            if len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)
        return self._runs[source]

    def _part(
        self, source: Source, run: StoredRun, place: int, program: Program
    ) -> Mapping[int, Any]:
        key = (source, place)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        held = {
            number: _read(program, number, record) for number, record in run.part(place).items()
        }
        nbytes = _nbytes(held)
        self.read_bytes += nbytes
        while self._kept and self._kept_bytes + nbytes > self.most_bytes:
            _, gone = self._kept.popitem(last=False)
            self._kept_bytes -= _nbytes(gone)
        if nbytes <= self.most_bytes:
            self._kept[key] = held
            self._kept_bytes += nbytes
        return held


# Heads that are kept: a job has one or two.
_MOST_RUNS = 16


def _nbytes(values: Mapping[int, Any]) -> int:
    return sum(int(value.nbytes) for value in values.values())


def _read(program: Program, number: int, record: Any) -> Any:
    """An input of a program, which promises no more than the program was planned for."""
    fields = Fields(record, f"input {number}")
    value = program.scheme.read_value(fields, program.body, number, "inputs")
    promised = program.input_bounds
    if promised is not None and value.bound > promised[number]:
        raise ValueOutOfRangeError(
            f"cannot run {program.name}: expected ciphertext {number} to hold numbers of absolute "
            f"value up to {promised[number]:g}, and it was encrypted with a bound of "
            f"{value.bound:g}; encrypt it with the client of this program"
        )
    return value
