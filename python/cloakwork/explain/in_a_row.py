"""What programs in a row take, one after the other and together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from cloakwork.explain.modelled import modelled_seconds, returning_seconds
from cloakwork.explain.quantities import counted, duration, size
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.after import programs_before, stated_error
from cloakwork.runtime.program import Program
from cloakwork.runtime.returning import Returning
from cloakwork.runtime.row import key_bytes_of
from cloakwork.schemes.base import levels_of


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
    yield f"levels {max(levels_of(body, 'inputs'))} to {min(levels_of(body, 'outputs'))}"
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
        seconds += sum(modelled_seconds(each.body, each.scheme)) + returning_seconds(each)
    yield f"{duration(seconds)} modelled"
