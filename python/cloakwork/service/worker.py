"""A process that runs the jobs of a server, one after the other: python -m cloakwork.service.worker

Each line that comes names the files of a run, each that goes says how it went. What kills it, for
memory, say, ends the one run and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections import OrderedDict
from pathlib import Path
from typing import Any

from cloakwork.errors import CloakworkError
from cloakwork.runtime import container
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.load import load
from cloakwork.runtime.program import Program
from cloakwork.service.problems import problem_of
from cloakwork.service.run_inputs import RunInputs
from cloakwork.service.store import blocks_of, evaluator_of_files, hash_of

# Evaluators that stay in memory for the next run.
_KEPT = 2


class Worker:
    """Runs jobs, and keeps the evaluators of the last ones.

    Args:
        insecure: Whether programs may be below 128-bit security.
    """

    def __init__(self, *, insecure: bool) -> None:
        self._insecure = insecure
        self._evaluators: OrderedDict[tuple[str, ...], Evaluator] = OrderedDict()

    def run(self, program: str, keys: list[str], inputs: str, results: str) -> str:
        """Run a program on inputs, all of them files; write the results to one, return its hash."""
        evaluator, given = self._evaluator(program, keys), load(inputs, RunInputs)
        made = evaluator.run(given.encrypted, given.clear(evaluator.program))
        container.write(Path(results), made._kind, made._record())
        return hash_of(blocks_of(Path(results)))

    def _evaluator(self, program: str, keys: list[str]) -> Evaluator:
        known = (program, *keys)
        if known not in self._evaluators:
            while len(self._evaluators) >= _KEPT:
                self._evaluators.popitem(last=False)
            whole = load(program, Program, insecure=self._insecure)
            files = [Path(each) for each in keys]
            made = evaluator_of_files(whole, files, insecure=self._insecure)
            self._evaluators[known] = made
        self._evaluators.move_to_end(known)
        return self._evaluators[known]


def main() -> None:
    """Run what standard input asks for until it ends."""
    worker = Worker(insecure="--insecure" in sys.argv[1:])
    for line in sys.stdin:
        try:
            answer: dict[str, Any] = {"results": worker.run(**json.loads(line))}
        except CloakworkError as error:
            answer = {"problem": problem_of(error)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
