"""A process that runs the jobs of a server, one after the other: python -m cloakwork.service.worker

Each line that comes names the files of a run, each that goes says how it went. What kills it, for
memory, say, ends the one run and nothing else.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
from collections import OrderedDict
from contextlib import suppress
from pathlib import Path
from typing import Any

from cloakwork.errors import CloakworkError
from cloakwork.runtime import container
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.load import load
from cloakwork.runtime.program import Program
from cloakwork.runtime.state import EncryptedState
from cloakwork.service.problems import problem_of
from cloakwork.service.run_inputs import RunInputs
from cloakwork.service.store import blocks_of, evaluator_of_files, hash_of

# Of the processes of a machine whose memory is used up the system kills this one first.
_FIRST_TO_GO = "1000"


class Worker:
    """Runs jobs, and keeps evaluators for the next ones.

    Args:
        insecure: Whether programs may be below 128-bit security.
    """

    def __init__(self, *, insecure: bool) -> None:
        self._insecure = insecure
        # And what each takes.
        self._evaluators: OrderedDict[tuple[str, ...], tuple[Evaluator, int]] = OrderedDict()

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
    ) -> str:
        """Run a program on inputs, all of them files; write the results to one, return its hash.

        Args:
            program: The program's file.
            keys: Those of evaluation keys.
            inputs: That of the inputs.
            results: Where the results go.
            state: Of a step, where its state is, and where the next one goes.
            takes: What an evaluator of it takes, and what its run takes.
            most: What the process may take.
        """
        kept_bytes, run_bytes = takes
        evaluator = self._evaluator((program, *keys), kept_bytes, most - run_bytes)
        given = load(inputs, RunInputs)
        kept = load(state[0], EncryptedState) if state else None
        made = evaluator.run(given.encrypted, given.clear(evaluator.program), state=kept)
        if state and kept:
            kept.save(state[1])
        container.write(Path(results), made._kind, made._record())
        return hash_of(blocks_of(Path(results)))

    def _evaluator(self, files: tuple[str, ...], kept_bytes: int, most_of_others: int) -> Evaluator:
        """The evaluator of a program's file and those of keys; those used last stay beside it."""
        made, _ = self._evaluators.pop(files, (None, 0))
        while self._evaluators and self.kept_bytes > most_of_others:
            self._evaluators.popitem(last=False)
        if made is None:
            program, *keys = files
            whole = load(program, Program, insecure=self._insecure)
            paths = [Path(each) for each in keys]
            made = evaluator_of_files(whole, paths, insecure=self._insecure)
        self._evaluators[files] = made, kept_bytes
        return made


def main() -> None:
    """Run what standard input asks for until it ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--insecure", action="store_true")
    parser.add_argument("--memory", type=int, required=True)
    asked = parser.parse_args()
    hold(asked.memory)
    worker = Worker(insecure=asked.insecure)
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"results": worker.run(**json.loads(line))}
        except CloakworkError as error:
            answer = {"problem": problem_of(error)}
        sys.stdout.write(json.dumps({**answer, "kept": worker.kept_bytes}) + "\n")
        sys.stdout.flush()


def hold(nbytes: int) -> None:
    """Give this process so much memory and no more, and let the system end it before others."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_FIRST_TO_GO)
    used = re.search(r"VmData:\s*(\d+) kB", Path("/proc/self/status").read_text())
    # What is only reserved, such as the stacks of threads, counts from here on as well.
    most = nbytes + (0 if used is None else int(used[1]) << 10)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


if __name__ == "__main__":
    main()
