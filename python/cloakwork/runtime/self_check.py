"""Compares a program that was just planned with what it was planned from, on a few inputs.

The clear backend runs the very operations of the program, so a wrong range, polynomial, layout or
rewrite shows there. What the program should compute is asked of the user's own function, which
shares none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import CloakworkError, PlanMismatchError, ResultOverflowError
from cloakwork.programs.packing.results import arrays_in
from cloakwork.programs.slots import Linear, SlotProgram
from cloakwork.runtime.program import Program

# Numbers of slots that a comparison may read, which takes a second or so; what is larger is not
# compared.
_MOST_WORK = 1 << 28
# Inputs that are compared, and that are tried for them.
_COMPARED, _TRIED = 2, 6
# Doubles are off by this part of the largest number on the way.
_ROUNDING = 2.0**-44

Meaning = Callable[[Mapping[str, Any]], Any]


def require_agreement(
    program: Program, draws: Iterable[Mapping[str, Any]], meaning: Meaning, error: float
) -> None:
    """Refuse a program whose results in the clear are not those that it should have.

    Args:
        program: The program.
        draws: Inputs by name. What a client would refuse to encrypt is passed over.
        meaning: What results should be for inputs, in the program's own form; None where nobody
            can say.
        error: How far results may be off.

    Raises:
        PlanMismatchError: They are further off, of another shape, or refused.
    """
    if _work(program) > _MOST_WORK:
        return
    compared = (
        (expected, found)
        for arguments in islice(draws, _TRIED)
        if (expected := meaning(arguments)) is not None
        and (found := _results(program, arguments)) is not None
    )
    allowed = error + _ROUNDING * _largest(program)
    for expected, found in islice(compared, _COMPARED):
        for number, (right, made) in enumerate(
            zip(arrays_in(expected), arrays_in(found), strict=True), start=1
        ):
            _require_near(program, number, np.asarray(right), np.asarray(made), allowed)


def _work(program: Program) -> int:
    """How many numbers of slots a run in the clear reads."""
    body = program.body
    if not isinstance(body, SlotProgram):
        return body.bootstrap_count
    reads = (
        len(each.diagonals) if isinstance(each, Linear) else len(each.operands)
        for each in body.operations
    )
    return body.slots * sum(reads)


def _results(program: Program, arguments: Mapping[str, Any]) -> Any:
    """The results in the clear; None where a client refuses to encrypt such inputs."""
    client, evaluator = program.in_clear().keygen()
    try:
        sent = client.encrypt(**arguments)
    except CloakworkError:
        return None
    try:
        return client.decrypt(evaluator.run(sent))
    except ResultOverflowError:
        return None
    except CloakworkError as refusal:
        raise PlanMismatchError(
            f"cannot compile {program.name}: its plan refuses inputs that are in their ranges: "
            f"{refusal}; {_ADVICE}"
        ) from refusal


_ADVICE = (
    "this is a defect of Cloakwork: please report it with the function; until it is mended, write "
    "the function in another way"
)


def _largest(program: Program) -> float:
    """The largest number on the way, by the bounds of the inputs."""
    bounds = [each for each in program.value_bounds or () if each is not None]
    return max(filter(math.isfinite, bounds), default=0.0)


def _require_near(
    program: Program, number: int, right: NDArray[Any], made: NDArray[Any], allowed: float
) -> None:
    if right.shape != made.shape:
        raise PlanMismatchError(
            f"cannot compile {program.name}: result {number} is of shape {right.shape} where the "
            f"function runs without encryption, and {made.shape} by its plan; {_ADVICE}"
        )
    if not right.size or (right == made).all():
        return
    off = float(np.abs(made.astype(np.float64) - right.astype(np.float64)).max())
    if not off <= allowed:
        raise PlanMismatchError(
            f"cannot compile {program.name}: by its plan result {number} is off by {off:.3g} from "
            f"what the function gives without encryption, where {allowed:.3g} is stated; {_ADVICE}"
        )
