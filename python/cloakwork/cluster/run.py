"""Runs in grains, as an evaluator asks for them: jobs, outputs, and how this process does them.

What goes in and what comes out are files of a folder. A run that was lost goes on at the files
that are missing, and no more is in memory than grains take.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import uuid4

from cloakwork.base.record import Record, digest_of
from cloakwork.cluster.evaluator_files import file_name, own_folder, require_all_keys
from cloakwork.cluster.here import run_jobs_here
from cloakwork.cluster.job import Job, job_digest, own_version
from cloakwork.cluster.placing import ReadyJob, place
from cloakwork.errors import ClusterFolderError, MalformedBytesError
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.folder import Folder
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.stored import (
    HEAD,
    RunFiles,
    Source,
    StoredEncrypted,
    parts_of,
    record_bytes,
    stored_values,
    write_head,
    write_part,
    write_values,
)

# Of a run in this process the part of its memory that inputs may take, as a divisor.
_KEPT_PART = 4


@dataclass(frozen=True, slots=True)
class Asked:
    """Runs of a program in grains.

    Args:
        evaluator: The evaluator.
        inputs: The inputs, in memory or in folders, of each as many runs.
        folder: A folder for the evaluator's file.
        jobs: One for all else; what it has of an earlier attempt is taken from there.
        profile: Filled with what the runs took.
        cancel: Set from another thread, it stops the runs after the grains under way.
    """

    evaluator: Evaluator
    inputs: Sequence[Encrypted]
    folder: Folder
    jobs: Folder
    profile: Profile
    cancel: threading.Event | None

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return self.inputs[0].runs


@dataclass(frozen=True, slots=True)
class Ran:
    """Runs that are done.

    Args:
        asked: What was asked.
        placed: The jobs.
        root: The folder that all of their folders are in, or that one of them is.
    """

    asked: Asked
    placed: Sequence[ReadyJob]
    root: Folder

    def results(self, *, stay: bool) -> Encrypted:
        """The results, which may stay in their files."""
        evaluator, count = self.asked.evaluator, self.asked.inputs[0].count
        if stay:
            return self.stored(evaluator._results([], count))
        return evaluator._results([dict(enumerate(each)) for each in self.outputs()], count)

    def outputs(self) -> list[list[Any]]:
        """The outputs of every run, read from their files; what led to them is removed."""
        found = [self._outputs(run) for run in range(len(self.placed))]
        for each in self.placed:
            each.remove_kept()
        return found

    def _outputs(self, run: int) -> list[Any]:
        placed = self.placed[run]
        values = placed.results()
        if not values.keys() >= {*placed.form.work.results}:
            # Some inputs are results as they are.
            program = self.asked.evaluator.program
            for each in self.asked.inputs:
                for number, value in each.values(program.scheme, program.body)[run].items():
                    values.update(placed.form.opened(number, value))
        return placed.form.outputs(values)

    def stored(self, like: Encrypted) -> StoredEncrypted:
        """The outputs as files, where they are; what led to them is removed.

        Args:
            like: What is known of them beside their values.
        """
        runs: list[RunFiles] = []
        nbytes = 0
        for run, each in enumerate(self.placed):
            files = self._result_files(run)
            if files is None:
                name = f"results-{run}"
                made = [each.form.scheme.dump(value) for value in self._outputs(run)]
                mark = each.job.digest
                write_part(self.root, name, mark, {"values": made})
                files = RunFiles("", (name,), (tuple(range(len(made))),), mark)
            runs.append(files)
            nbytes += each.form.work.bytes_of(each.form.work.results)
            each.remove_kept()
        digest = digest_of({"jobs": [each.job.digest for each in self.placed]})[:32]
        return write_head(self.root, HEAD, like, runs, nbytes, digest)

    def _result_files(self, run: int) -> RunFiles | None:
        """The files of results as those of outputs, where each value is one output."""
        placed = self.placed[run]
        with_results = [each for each in placed.orders if each.grain.results]
        numbers = [
            [placed.form.outputs_of(value) for value in each.grain.results] for each in with_results
        ]
        of_all = [own for of_file in numbers for own in of_file]
        whole = len(of_all) == len(placed.form.work.results)
        if not whole or any(len(own) != 1 for own in of_all):
            return None
        folder = "" if len(self.placed) == 1 else placed.job.digest
        return RunFiles(
            folder,
            tuple(each.results_file for each in with_results),
            tuple(tuple(own for (own,) in of_file) for of_file in numbers),
            placed.job.digest,
        )


def results(
    done: Callable[[Asked], Ran],
    evaluator: Evaluator,
    inputs: Sequence[Encrypted],
    folder: str | os.PathLike[str] | None,
    profile: Profile,
    cancel: threading.Event | None,
    action: str,
) -> Encrypted:
    """What runs by the files of a folder give, or without one by those of a temporary one.

    Where inputs are in folders, results stay in the one that was given.
    """
    is_own = folder is None
    place = Folder.made(own_folder(evaluator) if folder is None else folder, action)
    jobs = place.within(uuid4().hex) if is_own else place
    try:
        ran = done(Asked(evaluator, inputs, place, jobs, profile, cancel))
        are_stored = any(isinstance(each, StoredEncrypted) for each in inputs)
        return ran.results(stay=are_stored and not is_own)
    finally:
        if is_own:
            jobs.remove_all()


def run_here(asked: Asked, threads: int) -> Ran:
    """Do the runs in this process, one grain after the other.

    Args:
        asked: What is to be done.
        threads: How many operations may run at once.

    Raises:
        CloakworkError: What `Evaluator.run` raises.
    """
    evaluator = asked.evaluator
    action = f"run {evaluator.program.name} by files"
    require_all_keys(evaluator, action)
    kept, most = shared_out(evaluator.memory_limit)
    ran = placed_jobs(asked, file_name(evaluator), 1, most, partial(advice_on_limit, 1), action)
    run_jobs_here(evaluator, ran.placed, most, kept, threads, asked.cancel, asked.profile)
    return ran


def shared_out(memory_limit: int) -> tuple[int, int]:
    """The part of a limit for inputs that further grains take, and that for what grains make."""
    kept = memory_limit // _KEPT_PART
    return kept, memory_limit - kept


def advice_on_limit(threads: int, least: int) -> str:
    """What to do where no grain fits that takes at least so many bytes on each of the threads."""
    needed = math.ceil(threads * least * _KEPT_PART / (_KEPT_PART - 1))
    return (
        f"a part of memory_limit is for inputs: allow memory_limit={needed} or more, or compile "
        "for smaller matrices, and multiply in parts"
    )


def placed_jobs(
    asked: Asked,
    keys: str,
    lanes: int,
    most_bytes: int | None,
    advice: Callable[[int], str],
    action: str,
) -> Ran:
    """The runs as jobs whose inputs are in files."""
    evaluator = asked.evaluator
    program = evaluator.program
    named = [each.digest if isinstance(each, StoredEncrypted) else None for each in asked.inputs]
    records = [
        None if isinstance(each, StoredEncrypted) else each.records() for each in asked.inputs
    ]
    digests: list[str] = []
    for run in range(asked.runs):
        parts = [
            f"{name} {run}" if held is None else digest_of(_by_name(held[run]))
            for name, held in zip(named, records, strict=True)
        ]
        digests.append(job_digest(program.fingerprint, keys, parts))
    root = asked.jobs
    root = root.within(digests[0] if len(digests) == 1 else digest_of({"jobs": digests})[:32])
    placed: list[ReadyJob] = []
    for run, digest in enumerate(digests):
        files = root if len(digests) == 1 else root.within(digest)
        sources = tuple(
            each.source(run)
            if isinstance(each, StoredEncrypted)
            else Source(files, f"{_input_prefix(number)}head", 0, "")
            for number, each in enumerate(asked.inputs)
        )
        insecure = bool(program.scheme.insecure)
        job = Job(
            digest,
            keys,
            asked.folder,
            files,
            insecure,
            own_version(),
            sources,
            memory_limit=evaluator._runner.own_limit,
        )
        placed.append(place(job, program, lanes, run * lanes, most_bytes, advice, action))
        if placed[-1].missing():
            for number, held in enumerate(records):
                if held is not None:
                    _write_inputs(asked, job, number, held[run], action)
    return Ran(asked, placed, root)


def _input_prefix(number: int) -> str:
    return f"input-{number}-"


def _by_name(records: Mapping[int, Record]) -> Record:
    return {str(number): record for number, record in sorted(records.items())}


def _write_inputs(
    asked: Asked, job: Job, number: int, records: Mapping[int, Record], action: str
) -> None:
    """Write inputs that are in memory, where they are not there.

    Whoever writes them for a job of this digest writes the same bytes.
    """
    files, prefix = job.files, _input_prefix(number)
    if _are_whole(files, f"{prefix}head"):
        return
    files.require_space(sum(map(record_bytes, records.values())), action)
    parts = [
        (numbers, partial(_picked, records, numbers))
        for numbers in parts_of(asked.evaluator.program, records)
    ]
    write_values(files, prefix, job.digest, asked.inputs[number], [parts])


def _are_whole(files: Folder, head: str) -> bool:
    """Whether there are values whose files can all be read."""
    if not files.has(head):
        return False
    try:
        for part in stored_values(files, head).stored_run(0).parts():
            del part
    except (ClusterFolderError, MalformedBytesError):
        return False
    return True


def _picked(records: Mapping[int, Record], numbers: Sequence[int]) -> list[Record]:
    return [records[number] for number in numbers]
