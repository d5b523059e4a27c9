"""A slot program over tensors as text: tensors, stages, totals, memory, error, time."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from cloakwork.explain.modelled import modelled_seconds
from cloakwork.explain.picture import picture
from cloakwork.explain.quantities import duration, size
from cloakwork.explain.stage_text import stage_lines
from cloakwork.explain.stages import stages_of
from cloakwork.explain.tensors import ProgramTensor, inputs_of, results_of
from cloakwork.explain.totals import WIDTH, by_kind, fact, kinds_text, peak_bytes, total_lines
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.programs.layout import Layout
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.profile import Profile

_SHOWN_TENSORS = 12
_SHOWN_STAGES = 40
# Programs of no more operations are printed whole, below their stages.
_LONGEST_LISTING = 25


def explain_tensor(tensor: Tensor) -> str:
    """The program that made a tensor and what it took; of one that was encrypted, its slots."""
    if tensor.program is not None:
        return explain_slots(
            tensor.program,
            tensor.scheme,
            warning=tensor.warning,
            profile=tensor.profile,
            result=tensor,
            precision=tensor.precision,
        )
    lines = [f"{'encrypted' if tensor.encrypted else 'made'} here, not computed"]
    lines += [f"  {tensor.warning}"] if tensor.warning else []
    lines += _tensor("tensor", tensor.layout)
    lines += [f"  memory  {size(tensor.nbytes)}", _error(tensor.precision, tensor.scheme)]
    return "\n".join(lines)


def explain_slots(
    program: SlotProgram,
    scheme: Any,
    *,
    warning: str = "",
    profile: Profile | None = None,
    result: Tensor | None = None,
    precision: float | None = None,
) -> str:
    """A program as text: its tensors, its plan stage by stage, and what it takes.

    Args:
        program: The program.
        scheme: What it runs under.
        warning: Why numbers are not safe.
        profile: What a run of it took.
        result: What that run made.
        precision: Bits after the binary point that are right in every result; None where nobody
            knows.

    Raises:
        InvalidArgumentError: The program has a level that the parameters lack.

    Example:
        >>> from cloakwork._native import Parameters
        >>> from cloakwork.programs.slots import Input, Output, Rotate
        >>> from cloakwork.schemes.clear_real import ClearReal
        >>> operations = (Input("x", 1), Rotate(0, 1), Output(1))
        >>> program = SlotProgram("turn", 512, operations, (None,) * 3)
        >>> scheme = ClearReal(Parameters(levels=1, log_n=10, insecure=True))
        >>> print(explain_slots(program, scheme))
        turn
        <BLANKLINE>
        plan (rotating by k brings slot i + k to slot i, modulo 512)
         1. operations, level 1
              rotate by 1
        <BLANKLINE>
          work    1 rotation
          levels  1 to 1
          keys    1 rotation (by 1), 64.0 KiB
          memory  8.0 KiB at the peak as predicted
        <BLANKLINE>
        turn, 512 slots
          %0 = input x             level 1
          %1 = rotate %0 by 1      level 1
          %2 = output %1           level 1
    """
    lines = [program.title, *([f"  {warning}"] if warning else [])]
    lines += _tensors(inputs_of(program)) + _tensors(results_of(program))
    lines += _plan(program)
    lines += ["", *total_lines(program, scheme)]
    lines += _memory(program, scheme, profile, result)
    if precision is not None:
        lines.append(_error(precision, scheme))
    lines += time_lines(program, scheme, profile)
    if len(program.operations) <= _LONGEST_LISTING:
        lines += ["", str(program)]
    return "\n".join(lines)


def _tensors(tensors: Sequence[ProgramTensor]) -> list[str]:
    placed = [(each.name, each.layout) for each in tensors if each.layout is not None]
    lines = [line for name, layout in placed[:_SHOWN_TENSORS] for line in _tensor(name, layout)]
    more = len(placed) - _SHOWN_TENSORS
    return lines + [f"  and {more} more"] * (more > 0)


def _tensor(name: str, layout: Layout) -> list[str]:
    head = textwrap.wrap(f"  {name}  {layout.shape}  {layout}", WIDTH, subsequent_indent=" " * 4)
    return head + [f"    {line}" for line in picture(layout)]


def _plan(program: SlotProgram) -> list[str]:
    stages = stages_of(program)
    if not stages:
        return []
    lines = ["", f"plan (rotating by k brings slot i + k to slot i, modulo {program.slots})"]
    several_origins = len({stage.origin for stage in stages}) > 1
    origin = ""
    for number, stage in enumerate(stages[:_SHOWN_STAGES], start=1):
        if several_origins and stage.origin != origin:
            origin = stage.origin
            lines.append(f"  {origin}")
        lines += stage_lines(program, stage, number)
    more = len(stages) - _SHOWN_STAGES
    return lines + [f"  and {more} more stages"] * (more > 0)


def _memory(
    program: SlotProgram, scheme: Any, profile: Profile | None, result: Tensor | None
) -> list[str]:
    pieces = [f"{size(peak_bytes(program, scheme))} at the peak as predicted"]
    pieces += [f"{size(profile.peak_bytes)} as measured"] if profile is not None else []
    pieces += [f"{size(result.nbytes)} for the result"] if result is not None else []
    return fact("memory", pieces)


def _error(precision: float, scheme: Any) -> str:
    told = f"  error   below 2^{math.ceil(-precision)}, even with every input at its bound"
    return f"{told}, but for a chance of 2^-20" if scheme.encrypts else told


def time_lines(program: SlotProgram, scheme: Any, profile: Profile | None) -> list[str]:
    """The time of a program, measured where it has run and modelled where it is encrypted."""
    measured = {} if profile is None else profile.totals()
    modelled: dict[str, float] = {}
    if scheme.encrypts:
        modelled = by_kind(program, modelled_seconds(program, scheme))
    pieces: list[str] = []
    if profile is not None and measured:
        total = sum(each.seconds for each in measured.values())
        pieces += [f"{duration(total)} measured", f"{duration(profile.seconds)} from start to end"]
    pieces += [f"{duration(sum(modelled.values()))} modelled"] if modelled else []
    if not pieces:
        return []
    kinds = kinds_text({kind: each.seconds for kind, each in measured.items()} or modelled)
    if measured and modelled:
        kinds = [
            f"{text} ({duration(modelled[kind])})"
            for kind, text in zip(measured, kinds, strict=True)
        ]
        kinds[0] = f"by kind (modelled): {kinds[0]}"
    if not scheme.encrypts:
        pieces.append("not modelled, as nothing is encrypted")
    return fact("time", pieces) + fact("", kinds)
