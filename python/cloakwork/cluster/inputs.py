"""Inputs of jobs as workers read them: a file when it is needed, and the last ones kept."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from cloakwork.base.record import Fields
from cloakwork.cluster.job import Job
from cloakwork.errors import ClusterFolderError, MalformedBytesError, ValueOutOfRangeError
from cloakwork.runtime.program import Program
from cloakwork.runtime.stored import Source, StoredRun, stored_values


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

    def values(
        self, job: Job, program: Program, numbers: Sequence[int], threads: int
    ) -> dict[int, Any]:
        """Inputs of a job by number.

        Args:
            job: The job.
            program: Its program.
            numbers: Which inputs.
            threads: How many files may be read at once.

        Raises:
            ClusterFolderError: A file is not seen from here.
            MalformedBytesError: One is damaged, or the folder has been written anew.
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
                for held in self._parts(source, run, sorted(places), program, threads):
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
            stored = stored_values(source.folder, source.head)
            if source.digest and stored.digest != source.digest:
                raise MalformedBytesError(
                    f"cannot read the inputs in {source.folder.url}: expected those that were "
                    "there when the folder was opened, got others, written since; open it once "
                    "more by cloakwork.load"
                )
            self._runs[source] = stored.stored_run(source.run)
            if len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)
        return self._runs[source]

    def _parts(
        self, source: Source, run: StoredRun, places: Sequence[int], program: Program, threads: int
    ) -> Iterator[Mapping[int, Any]]:
        """The values of files of a run, those first that are kept."""
        known = [place for place in places if (source, place) in self._kept]
        for place in known:
            self._kept.move_to_end((source, place))
            yield self._kept[source, place]
        # Their numbers are made from bytes by the engine, which several threads do at once.
        with ThreadPoolExecutor(threads) as pool:
            unknown = sorted({*places} - {*known})
            read = pool.map(partial(_read_part, run, program), unknown)
            for place, held in zip(unknown, read, strict=True):
                self._keep((source, place), held)
                yield held

    def _keep(self, key: tuple[Source, int], held: Mapping[int, Any]) -> None:
        nbytes = _nbytes(held)
        self.read_bytes += nbytes
        while self._kept and self._kept_bytes + nbytes > self.most_bytes:
            _, gone = self._kept.popitem(last=False)
            self._kept_bytes -= _nbytes(gone)
        if nbytes <= self.most_bytes:
            self._kept[key] = held
            self._kept_bytes += nbytes


# Heads that are kept: a job has one or two.
_MOST_RUNS = 16


def _nbytes(values: Mapping[int, Any]) -> int:
    return sum(int(value.nbytes) for value in values.values())


def _read_part(run: StoredRun, program: Program, place: int) -> dict[int, Any]:
    """The values of one file."""
    return {number: _read(program, number, record) for number, record in run.part(place).items()}


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
