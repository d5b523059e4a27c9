"""A slot program as text: tensors and stages, or integers and their slots; then what it takes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cloakwork.explain.picture import picture
from cloakwork.explain.quantities import error_below, size
from cloakwork.explain.stage_text import stage_lines
from cloakwork.explain.stages import stages_of_program
from cloakwork.explain.strips import strip_lines
from cloakwork.explain.tensors import ProgramTensor, input_tensors, results_in_text
from cloakwork.explain.work_levels_keys import WIDTH, fact, memory_lines, time_lines, total_lines
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.packing.scalar import ScalarPacking, fits_signed
from cloakwork.programs.slots import AnyLayout, SlotProgram
from cloakwork.runtime.profile import Profile

_SHOWN_TENSORS = 12
_SHOWN_STAGES = 40
_SHOWN_RESULTS = 6
_SHOWN_RANGES = 12
# Programs of no more operations are printed whole, those over integers have no stages.
_LONGEST_LISTING = 25
_LONGEST_INTEGER_LISTING = 40
# Twice the same is told twice: that is shorter to read than what would say so.
_FEWEST = 3
_LONGEST = 8


def explain_tensor(tensor: Tensor) -> str:
    """The program that made a tensor and what it took; of one that was encrypted, its slots."""
    if tensor.program is not None:
        return explain_slots(
            tensor.program,
            tensor.scheme,
            warning=tensor.warning,
            profile=tensor.profile,
            result_bytes=tensor.nbytes,
            error=_error_of(tensor),
        )
    lines = [f"{'encrypted' if tensor.encrypted else 'made'} here, not computed"]
    lines += [f"  {tensor.warning}"] if tensor.warning else []
    lines += _tensor("tensor", tensor.layout)
    lines += [f"  memory  {size(tensor.nbytes)}", _error(_error_of(tensor), tensor.scheme)]
    return "\n".join(lines)


def explain_slots(
    program: SlotProgram,
    scheme: Any,
    *,
    warning: str = "",
    profile: Profile | None = None,
    result_bytes: int | None = None,
    error: str = "",
    ranges: Sequence[ActivationRange] = (),
    way: str = "",
) -> str:
    """A program over tensors as text: its tensors, its plan stage by stage, and what it takes.

    The error is how far results are off, in words; the ranges are those that the user gives of
    numbers on the way. The way is which one was planned, and why no quicker one.
    """
    lines = [program.title, *([f"  {warning}"] if warning else [])]
    lines += _tensors(input_tensors(program)) + _tensors(results_in_text(program))
    lines += _plan(program)
    lines += ["", *total_lines(program, scheme)]
    lines += fact("way", [way]) if way else []
    lines += memory_lines(program, scheme, profile, result_bytes)
    if error:
        lines.append(_error(error, scheme))
    lines += _claims(ranges)
    lines += time_lines(program, scheme, profile)
    if len(program.operations) <= _LONGEST_LISTING:
        lines += ["", str(program)]
    return "\n".join(lines)


def explain_circuit(
    program: SlotProgram,
    packing: ScalarPacking,
    scheme: Any,
    warning: str,
    profile: Profile | None,
    way: str = "",
) -> str:
    """A program over integers as text: its inputs, results and slots, and what it takes."""
    lines = [f"{program.title}, exact results of {packing.bits} bits"]
    lines += [f"  {warning}"] if warning else []
    lines += [f"  {port}" for port in packing.inputs]
    lines += _result_lines(packing)
    lines += ["", *strip_lines(packing), "", *total_lines(program, scheme)]
    lines += fact("way", [way]) if way else []
    lines += [f"  modulo  {each.plaintext_modulus}: {each}" for each in scheme.parameter_sets]
    lines += memory_lines(program, scheme, profile)
    lines += time_lines(program, scheme, profile)
    if scheme.encrypts:
        chance = math.ceil(scheme.log2_failure(program))
        lines += fact("failure", [f"2^{chance} at most that noise changes a result of a run"])
    if len(program.operations) <= _LONGEST_INTEGER_LISTING:
        lines += ["", str(program)]
    return "\n".join(lines)


def _tensors(tensors: Sequence[ProgramTensor]) -> list[str]:
    placed = [(each.name, each.layout) for each in tensors if each.layout is not None]
    lines = [line for name, layout in placed[:_SHOWN_TENSORS] for line in _tensor(name, layout)]
    more = len(placed) - _SHOWN_TENSORS
    return lines + [f"  and {more} more"] * (more > 0)


def _tensor(name: str, layout: AnyLayout) -> list[str]:
    head = textwrap.wrap(f"  {name}  {layout.shape}  {layout}", WIDTH, subsequent_indent=" " * 4)
    return head + [f"    {line}" for line in picture(layout)]


def _plan(program: SlotProgram) -> list[str]:
    stages = stages_of_program(program)
    if not stages:
        return []
    lines = ["", f"plan (rotating by k brings slot i + k to slot i, modulo {program.slots})"]
    several_origins = len({stage.origin for stage in stages}) > 1
    origin = ""
    shown = 0
    # The same stage has the same text under any number.
    for run in runs_of(["\n".join(stage_lines(program, stage, 0)) for stage in stages]):
        if shown >= _SHOWN_STAGES:
            return [*lines, f"  and {len(stages) - run.start} more stages"]
        for place in range(run.start, run.start + run.length):
            if several_origins and stages[place].origin != origin:
                origin = stages[place].origin
                lines.append(f"  {origin}")
            lines += stage_lines(program, stages[place], place + 1)
        shown += run.length
        lines += [_again(run)] * (run.times > 1)
    return lines


def _again(run: Repeat) -> str:
    first, last = run.start + 1, run.start + run.length
    which = f"{first}" if first == last else f"{first} to {last}"
    more = run.times - 1
    return f"    {which} again {more} times, as {last + 1} to {last + more * run.length}"


def _error_of(tensor: Tensor) -> str:
    return error_below(2.0**-tensor.precision, of_all=True)


def _error(told: str, scheme: Any) -> str:
    told = f"  error   {told}"
    return f"{told}, but for a chance of 2^-20" if scheme.encrypts else told


def _claims(ranges: Sequence[ActivationRange]) -> list[str]:
    if not ranges:
        return []
    told = [f"{each.layer}: {_claim(each)}" for each in ranges[:_SHOWN_RANGES]]
    more = len(ranges) - _SHOWN_RANGES
    told += [f"and {more} more"] if more > 0 else []
    checked = "beyond them results are wrong; whoever encrypts all inputs checks it"
    return fact("ranges", [", ".join(told) + f" ({checked})"])


def _claim(claimed: ActivationRange) -> str:
    text = f"{claimed.low:g} to {claimed.high:g}"
    return f"{text}, no closer to 0 than {claimed.gap:.3g}" if claimed.gap else text


def _result_lines(packing: ScalarPacking) -> list[str]:
    lines: list[str] = []
    then = ", unseen" if packing.wrapping else ", which encrypt refuses"
    for number, (low, high) in enumerate(packing.ranges[:_SHOWN_RESULTS]):
        within = (
            ""
            if fits_signed((low, high), packing.bits)
            else f"; may exceed {packing.bits} bits{then}"
        )
        lines.append(f"  result r{number}: {_number(low)} to {_number(high)}{within}")
    more = packing.ranges[_SHOWN_RESULTS:]
    if more:
        wide = sum(not fits_signed(each, packing.bits) for each in more)
        lines.append(f"  and {len(more)} more results, {wide} of which may exceed the bits{then}")
    return lines


def _number(value: int) -> str:
    if value.bit_length() <= 64:
        return str(value)
    return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1} and more"


@dataclass(frozen=True, slots=True)
class Repeat:
    """Neighbours that come again and again.

    Args:
        start: The first of them.
        length: How many they are.
        times: How often they come, one after the other.
    """

    start: int
    length: int
    times: int


def runs_of(things: Sequence[str]) -> list[Repeat]:
    """Split a row into runs, each as long as it goes on repeating; a single thing is a run too.

    Example:
        >>> [(run.length, run.times) for run in runs_of("cababab")]
        [(1, 1), (2, 3)]
    """
    runs: list[Repeat] = []
    start = 0
    while start < len(things):
        most = min(_LONGEST, (len(things) - start) // _FEWEST)
        found = [
            Repeat(start, length, _times(things, start, length)) for length in range(1, most + 1)
        ]
        repeated = [run for run in found if run.times >= _FEWEST]
        # Of those that reach as far the shortest, which says the same in less.
        run = max(repeated, key=lambda run: run.length * run.times, default=Repeat(start, 1, 1))
        runs.append(run)
        start += run.length * run.times
    return runs


def _times(things: Sequence[str], start: int, length: int) -> int:
    first = things[start : start + length]
    times = 1
    while things[start + times * length : start + (times + 1) * length] == first:
        times += 1
    return times
