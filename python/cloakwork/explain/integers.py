"""A compiled circuit as text: inputs, slots, operations, levels, keys, memory, modelled time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Protocol, runtime_checkable

from cloakwork._native import BgvParameters
from cloakwork.explain.integer_slots import strip_lines
from cloakwork.explain.modelled import modelled_integer_seconds
from cloakwork.explain.quantities import counted, duration, listed, signed, size
from cloakwork.plan.circuits.ranges import fits
from cloakwork.programs.integers import IntegerProgram
from cloakwork.programs.keys import demand_of
from cloakwork.programs.slots import (
    Add,
    Constant,
    DropLevel,
    Mul,
    Neg,
    Program,
    Rescale,
    Rotate,
    RotateSum,
    State,
    Sub,
    name_of,
)
from cloakwork.runtime.memory import ciphertext_bytes, predicted_peak_bytes

_SHOWN_RESULTS = 6
_LONGEST_LISTING = 40


@runtime_checkable
class Exact(Protocol):
    """A program over integers, and the parameters of every prime."""

    @property
    def integers(self) -> IntegerProgram: ...
    @property
    def parameter_sets(self) -> tuple[BgvParameters, ...]: ...


def explain_integers(x: Exact) -> str:
    """What a compiled circuit takes, does and costs; see `explain.slots.explain`."""
    program, sets = x.integers, x.parameter_sets
    slots = program.program
    lines = [f"{program.title}, exact results of {program.bits} bits"]
    lines += [f"  {port}" for port in program.ports]
    lines += _result_lines(program)
    lines += ["", *strip_lines(program), ""]
    found = operation_counts(slots)
    work = [counted(found[kind], kind) for kind in ("product", "rotation", "mask", "addition")]
    work.append(counted(found["rescale"], "modulus switch"))
    work += [counted(found["drop_level"], "level drop")] if found["drop_level"] else []
    lines.append(f"  work    {', '.join(work)}")
    levels = [state.level for state in slots.states if state.level is not None]
    lines.append(f"  levels  {max(levels)} to {levels[-1]}")
    lines.append(f"  keys    {_keys(slots, sets)}")
    lines += _parameters(sets)
    peak = sum(predicted_peak_bytes(slots, partial(_bytes_at, each)) for each in sets)
    lines.append(f"  memory  {size(peak)} at the peak as predicted")
    lines += _time(slots, sets)
    if len(slots.operations) <= _LONGEST_LISTING:
        lines += ["", str(slots)]
    return "\n".join(lines)


def operation_counts(program: Program) -> Counter[str]:
    """How many operations there are of each kind, as the literature counts them.

    Returns:
        Counts of products of ciphertexts, rotations, masks (products with clear vectors),
        additions (subtractions and negations among them), modulus switches as "rescale", and
        levels dropped without one as "drop_level".

    Example:
        >>> from cloakwork.programs.slots import Input
        >>> operations = (Input("x", 0), Mul(0, 0), Rotate(1, 1), Add(1, 2))
        >>> program = Program("", 4, operations, (None,) * 4, numbers="integer")
        >>> sorted(operation_counts(program).items())
        [('addition', 1), ('product', 1), ('rotation', 1)]
    """
    found: Counter[str] = Counter()
    for operation in program.operations:
        match operation:
            case Add() | Sub() | Neg():
                found["addition"] += 1
            case Rotate():
                found["rotation"] += 1
            case RotateSum(added=added, subtracted=subtracted, moving=moving):
                found["rotation"] += len(moving)
                found["addition"] += len(added) + len(subtracted) - 1
            case Mul(left=left, right=right):
                factors = (program.operations[left], program.operations[right])
                clear = any(isinstance(factor, Constant) for factor in factors)
                found["mask" if clear else "product"] += 1
            case Rescale():
                found["rescale"] += 1
            case DropLevel():
                found["drop_level"] += 1
            case _:
                pass
    return found


def _result_lines(program: IntegerProgram) -> list[str]:
    lines: list[str] = []
    for number, (low, high) in enumerate(program.ranges[:_SHOWN_RESULTS]):
        within = "" if fits((low, high), program.bits) else f"; may exceed {program.bits} bits"
        lines.append(f"  result r{number}: {_number(low)} to {_number(high)}{within}")
    more = len(program.ranges) - _SHOWN_RESULTS
    if more > 0:
        wide = sum(not fits(each, program.bits) for each in program.ranges[_SHOWN_RESULTS:])
        lines.append(f"  and {more} more results, {wide} of which may exceed the bits")
    return lines


def _bytes_at(parameters: BgvParameters, state: State) -> int:
    return ciphertext_bytes(parameters, state.level or 0)


def _number(value: int) -> str:
    if value.bit_length() <= 64:
        return str(value)
    return f"{'-' if value < 0 else ''}2^{value.bit_length() - 1} and more"


def _keys(program: Program, sets: Sequence[BgvParameters]) -> str:
    demand = demand_of(program)
    steps = sorted((signed(steps, program.slots) for steps in demand.rotations), key=abs)
    keys = [f"{counted(len(steps), 'rotation')} (by {listed(steps)})"] if steps else []
    keys += ["relinearisation"] if demand.relinearisation_level is not None else []
    total = sum(demand.nbytes(each.evaluation_key_bytes) for each in sets)
    return ", ".join([*keys, size(total)]) if demand else "none"


def _parameters(sets: Sequence[BgvParameters]) -> list[str]:
    return [f"  modulo  {each.plaintext_modulus}: {each}" for each in sets]


def _time(program: Program, sets: Sequence[BgvParameters]) -> list[str]:
    totals: dict[str, float] = {}
    for parameters in sets:
        seconds = modelled_integer_seconds(program, parameters)
        for operation, each in zip(program.operations, seconds, strict=True):
            if each:
                totals[name_of(operation)] = totals.get(name_of(operation), 0.0) + each
    by_kind = ", ".join(f"{kind} {duration(each)}" for kind, each in totals.items())
    return [f"  time    {duration(sum(totals.values()))} modelled: {by_kind}"] if totals else []
