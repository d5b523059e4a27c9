"""A program over integers as text: inputs, slots, totals, parameters, memory, modelled time."""

from __future__ import annotations

import math
from typing import Any

from cloakwork.explain.quantities import size
from cloakwork.explain.slots import time_lines
from cloakwork.explain.strips import strip_lines
from cloakwork.explain.totals import fact, peak_bytes, total_lines
from cloakwork.plan.circuits.ranges import fits
from cloakwork.programs.packing.scalar import ScalarPacking
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.profile import Profile

_SHOWN_RESULTS = 6
_LONGEST_LISTING = 40


def explain_circuit(
    program: SlotProgram,
    packing: ScalarPacking,
    scheme: Any,
    *,
    warning: str = "",
    profile: Profile | None = None,
) -> str:
    """What a program over integers takes, does and costs.

    Args:
        program: The operations.
        packing: Inputs and results.
        scheme: What it runs under.
        warning: Why numbers are not safe.
        profile: What a run of it took.
    """
    lines = [f"{program.title}, exact results of {packing.bits} bits"]
    lines += [f"  {warning}"] if warning else []
    lines += [f"  {port}" for port in packing.inputs]
    lines += _result_lines(packing)
    lines += ["", *strip_lines(packing), "", *total_lines(program, scheme)]
    lines += [f"  modulo  {each.plaintext_modulus}: {each}" for each in scheme.parameter_sets]
    pieces = [f"{size(peak_bytes(program, scheme))} at the peak as predicted"]
    pieces += [f"{size(profile.peak_bytes)} as measured"] if profile is not None else []
    lines += fact("memory", pieces)
    lines += time_lines(program, scheme, profile)
    if scheme.encrypts:
        chance = math.ceil(scheme.log2_failure(program))
        lines += fact("failure", [f"2^{chance} at most that noise changes a result of a run"])
    if len(program.operations) <= _LONGEST_LISTING:
        lines += ["", str(program)]
    return "\n".join(lines)


def _result_lines(packing: ScalarPacking) -> list[str]:
    lines: list[str] = []
    for number, (low, high) in enumerate(packing.ranges[:_SHOWN_RESULTS]):
        within = "" if fits((low, high), packing.bits) else f"; may exceed {packing.bits} bits"
        lines.append(f"  result r{number}: {_number(low)} to {_number(high)}{within}")
    more = len(packing.ranges) - _SHOWN_RESULTS
    if more > 0:
        wide = sum(not fits(each, packing.bits) for each in packing.ranges[_SHOWN_RESULTS:])
        lines.append(f"  and {more} more results, {wide} of which may exceed the bits")
    return lines


def _number(value: int) -> str:
    if value.bit_length() <= 64:
        return str(value)
    return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1} and more"
