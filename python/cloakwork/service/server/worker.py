"""A process that runs the jobs of a server: python -m cloakwork.service.server.worker

Each line that comes names the files of a run. Lines that go say how far it is, and the last of them
how it went. What kills it, for memory, say, ends the one run and nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import sys
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from weakref import WeakValueDictionary

from cloakwork.base.progress import Tell, telling
from cloakwork.cluster import Dask
from cloakwork.errors import CloakworkError
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.load import load
from cloakwork.runtime.program import Program
from cloakwork.runtime.state import EncryptedState
from cloakwork.service.key_files import evaluator_of_files
from cloakwork.service.run_inputs import RunInputs
from cloakwork.service.server.worker_answers import RunAnswers, WorkerResults

# Of the processes of a machine whose memory is used up the system kills this one first.
_FIRST_TO_GO = "1000"


class Worker:
    """Runs jobs, and keeps evaluators for the next ones.

    Args:
        insecure: Whether programs may be below 128-bit security.
        on: The cluster that runs them; None for this process.
    """

    def __init__(self, *, insecure: bool, on: Dask | None = None) -> None:
        self._insecure, self._on = insecure, on
        # And what each takes.
        self._evaluators: OrderedDict[tuple[str, ...], tuple[Evaluator, int]] = OrderedDict()
        # Those of evaluators that are kept, which users share.
        self._programs: WeakValueDictionary[tuple[str, str], Program] = WeakValueDictionary()

    @property
    def kept_bytes(self) -> int:
        """What the evaluators take that are kept."""
        return sum(kept for _, kept in self._evaluators.values())

    def run(
        self,
        program: str,
        keys: list[str],
        inputs: str,
        results: str,
        state: list[str] | None = None,
        *,
        takes: tuple[int, int],
        most: int,
        tell: Tell,
    ) -> WorkerResults:
        """Run a program on inputs, all of them files.

        Args:
            program: The program's file.
            keys: Those of evaluation keys.
            inputs: That of the inputs.
            results: Where the results are to go.
            state: Of a step, where its state is, and where the next one goes.
            takes: What an evaluator of it takes, and what its run takes.
            most: What the process may take.
            tell: Hears how far it is.
        """
        kept_bytes, run_bytes = takes
        _forget_peak()
        evaluator = self._evaluator((program, *keys), kept_bytes, most - run_bytes)
        given = load(inputs, RunInputs)
        kept = load(state[0], EncryptedState) if state else None
        with telling(tell):
            made = evaluator.run(
                given.encrypted, given.clear(evaluator.program), state=kept, on=self._on
            )
        if state and kept:
            kept.save(state[1])
        # Evaluators that are kept for other runs are not a part of this one.
        peak_bytes = max(0, _status("VmHWM") - (self.kept_bytes - kept_bytes))
        return WorkerResults(made, results, peak_bytes)

    def _evaluator(self, files: tuple[str, ...], kept_bytes: int, most_of_others: int) -> Evaluator:
        """The evaluator of a program's file and those of keys; those used last stay beside it."""
        place = Path(files[0])
        # One that its user removes may be followed by another of its name.
        since = f"{place.stat().st_mtime_ns if place.exists() else None}"
        known = (*files, since)
        made, _ = self._evaluators.pop(known, (None, 0))
        while self._evaluators and self.kept_bytes > most_of_others:
            self._evaluators.popitem(last=False)
        if made is None:
            program, *keys = files
            whole = self._program(program, since)
            paths = [Path(each) for each in keys]
            made = evaluator_of_files(whole, paths, insecure=self._insecure)
        self._evaluators[known] = made, kept_bytes
        return made

    def _program(self, file: str, since: str) -> Program:
        """The program of a file, which is there since a moment."""
        found = self._programs.get((file, since))
        if found is None:
            found = load(file, Program, insecure=self._insecure)
            self._programs[file, since] = found
        return found


def main() -> None:
    """Run what standard input asks for until it ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--memory", type=int, required=True)
    parser.add_argument("--cluster")
    parser.add_argument("--place", type=Path)
    asked = parser.parse_args()
    with RunAnswers() as answers:
        hold(asked.memory)
        on = None if asked.cluster is None else _cluster(asked.cluster, asked.place)
        worker = Worker(insecure=asked.insecure, on=on)
        for line in sys.stdin:
            try:
                made = worker.run(**json.loads(line), tell=answers.tell)
            except CloakworkError as error:
                answers.refuse(error, worker.kept_bytes)
            else:
                answers.give(made, worker.kept_bytes)


def _cluster(address: str, place: Path) -> Dask:
    """A cluster that has its files in a folder, without those that an earlier process left."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(mode=0o700, parents=True)
    return Dask(address, place)


def hold(nbytes: int) -> None:
    """Give this process so much memory and no more, and let the system end it before others."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
    # What is only reserved, such as the stacks of threads, counts from here on as well.
    most = nbytes + _status("VmData")
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _forget_peak() -> None:
    """Let the peak of this process's memory be that from here on."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def _status(name: str) -> int:
    """Bytes that the system says of this process; 0 where it does not."""
    found = re.search(rf"{name}:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return 0 if found is None else int(found[1]) << 10


if __name__ == "__main__":
    main()
