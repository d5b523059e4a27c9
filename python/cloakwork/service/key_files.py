"""Evaluators of the files of evaluation keys that a server has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cloakwork.runtime.evaluation_keys import EvaluationKeys
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.load import load
from cloakwork.runtime.program import Program


def evaluator_of_files(program: Program, keys: Sequence[Path], *, insecure: bool) -> Evaluator:
    """An evaluator of a program with the evaluation keys of all of some files.

    Args:
        program: The program.
        keys: The files.
        insecure: Whether keys may be of parameters below 128-bit security.

    Raises:
        MalformedBytesError: A file is damaged, or holds something else.
        KeyMismatchError: They are of several secret keys.
        MissingKeyError: The program needs others.
    """
    made, *further = (load(each, EvaluationKeys, insecure=insecure) for each in keys)
    if further:
        # Other programs of the same secret key have keys among them.
        first = made.needed_by(program)
        for each in further:
            first.extend(each.needed_by(program))
        made = first if first.names else made
    return program.evaluator(made)
