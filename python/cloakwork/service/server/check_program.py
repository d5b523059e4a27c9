"""A process that reads a program of a user, held to seconds and memory, and ends.

python -m cloakwork.service.server.check_program FILE --seconds 10 --memory 1000000000
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
from typing import Any

from cloakwork.errors import CloakworkError
from cloakwork.runtime.interface import Interface
from cloakwork.runtime.load import load
from cloakwork.runtime.program import Program
from cloakwork.service.problems import problem_of
from cloakwork.service.server.predicted import Prediction
from cloakwork.service.server.worker import hold


def main() -> None:
    """Say the fingerprint of a program, or what is wrong with it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--seconds", type=int, required=True)
    parser.add_argument("--memory", type=int, required=True)
    parser.add_argument("--insecure", action="store_true")
    asked = parser.parse_args()
    hold(asked.memory)
    resource.setrlimit(resource.RLIMIT_CPU, (asked.seconds, asked.seconds))
    try:
        told: dict[str, Any] = {"fingerprint": _read(asked.file, insecure=asked.insecure)}
    except CloakworkError as error:
        told = problem_of(error)
    sys.stdout.write(json.dumps(told) + "\n")


def _read(file: str, *, insecure: bool) -> str:
    """Do with a program what a server does before a run."""
    program = load(file, Program, insecure=insecure)
    Interface.of(program)
    Prediction.of(program)
    return program.fingerprint


if __name__ == "__main__":
    main()
