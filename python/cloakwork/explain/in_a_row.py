"""What programs in a row take, one after the other and together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from cloakwork.explain.modelled import run_seconds
from cloakwork.explain.quantities import counted, duration, error_below, size
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.after import error_is_bound, programs_before, stated_error
from cloakwork.runtime.program import Program
from cloakwork.runtime.repeated import steps
from cloakwork.runtime.returning import Returning
from cloakwork.runtime.row import key_bytes_of
from cloakwork.schemes.base import levels_of

# Levels that are shown one by one.
_MOST_SHOWN = 6


def row_lines(program: Program) -> list[str]:
    """A line for each program of a row that ends in this one, and one for all; none of one alone.

    Example:
        >>> import cloakwork as cw
        >>> row_lines(cw.compile(lambda x: x + 1, (4,)))
        []
    """
    if not program.after:
        return []
    programs = [*programs_before(program), program]
    lines = [
        f"  {number}. {', '.join([each.name, *_facts(each)])}"
        for number, each in enumerate(programs, start=1)
    ]
    if all(each.scheme.key_set == program.scheme.key_set for each in programs):
        whole = [f"{size(key_bytes_of(programs))} of keys", *_seconds(programs)]
        lines.append(f"  together {', '.join(whole)}")
    return ["", "in a row", *lines]


def repeated_lines(program: Program) -> list[str]:
    """How a program is repeated, and what all its steps take; nothing of one that is not.

    Example:
        >>> import cloakwork as cw
        >>> halves = cw.compile(lambda x: cw.repeat(lambda x: 0.5 * x, x, 3), (4,))
        >>> print(*repeated_lines(halves)[:2], sep="\\n")
        repeated 3 times
          carried  result to x
    """
    if program.repeated is None:
        return []
    times, cycle = program.repeated.times, program.cycle
    carried = ", ".join(f"{each.result} to {each.input}" for each in program.repeated.carried)
    bootstraps = sum(refreshes(step.body) for step in steps(program))
    tops = [str(step.body.top_level) for step in cycle]
    shown = tops if len(tops) <= _MOST_SHOWN else [*tops[:2], "...", tops[-1]]
    every = f", every {len(cycle)} steps anew" if 1 < len(cycle) < times else ""
    spent = f", {counted(bootstraps, 'bootstrap')} in all" if bootstraps else ""
    return [
        f"repeated {times} times",
        f"  carried  {carried}",
        f"  levels   from {', '.join(shown)}{every}{spent}",
        *(f"  time     {each}" for each in _seconds([program])),
        f"  error    {_error_of_steps(program)}",
    ]


def _error_of_steps(program: Program) -> str:
    """How far results are off after the last step."""
    error = program.error if program.after else stated_error(program)
    if not error:
        return "none"
    told = error_below(error, of_all=error_is_bound(program))
    return f"{told}, but for a chance of 2^-20"


def _facts(program: Program) -> Iterator[str]:
    body = program.body
    if isinstance(body, BootstrapProgram):
        yield counted(body.bootstrap_count, "bootstrap")
        yield f"fails with 2^{math.ceil(program.log2_failure)} at most"
        return
    assert isinstance(body, SlotProgram)
    for link in program.after:
        if isinstance(link, Returning):
            place = link.place(program)
            how = f"{counted(place.parts, 'product')} and {counted(place.turns, 'rotation')}"
            yield f"{counted(place.count, 'bit')} of {link.result} into slots by {how}"
    last = program.body_of("outputs")
    assert isinstance(last, SlotProgram)
    yield f"levels {max(levels_of(body, 'inputs'))} to {min(levels_of(last, 'outputs'))}"
    if program.repeated is not None:
        yield f"{program.repeated.times} times"
    yield from _seconds([program])
    # What follows another program is estimated with that under parameters of both.
    error = program.error if program.after else stated_error(program)
    if error:
        yield f"error below 2^{math.ceil(math.log2(error))}"


def _seconds(programs: Sequence[Program]) -> Iterator[str]:
    """Their time by the model, where there is one for each."""
    seconds = 0.0
    for each in programs:
        if not isinstance(each.body, SlotProgram) or not each.scheme.encrypts:
            return
        seconds += run_seconds(each)
    yield f"{duration(seconds)} modelled"
