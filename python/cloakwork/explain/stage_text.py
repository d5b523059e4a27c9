"""The stages of a plan in words from which it can be redone by hand."""

from __future__ import annotations

import itertools
import textwrap
from collections import Counter
from collections.abc import Sequence

from cloakwork.explain.quantities import counted, listed, signed
from cloakwork.explain.stages import Stage, strands_of
from cloakwork.explain.work_levels_keys import WIDTH
from cloakwork.programs.bsgs import split
from cloakwork.programs.slots import (
    Add,
    Constant,
    DropLevel,
    Linear,
    Mul,
    Polynomial,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
)

_SHOWN_STRANDS = 4
_ROTATIONS = 12
_TRANSFORMS = 3
_PARTS = 4
# A size of 2^16 takes no more than these.
_MARKED = 32


def stage_lines(program: SlotProgram, stage: Stage, number: int) -> list[str]:
    """A stage: its name, its levels, and what it does to each ciphertext.

    Equal strands are told once, with how many there are.

    Example:
        >>> from cloakwork.explain.stages import stages_of_program
        >>> from cloakwork.programs.slots import Input
        >>> operations = (Input("x", 1), Rotate(0, 1), Add(0, 1), Rotate(2, 2), Add(2, 3))
        >>> program = SlotProgram("", 8, operations, (None,) * 5, (), ("sum over i",) * 5)
        >>> print("\\n".join(stage_lines(program, stages_of_program(program)[0], 1)))
         1. sum over i, level 1
              add rotations by 1, 2
    """
    told = Counter(_told(program, strand) for strand in strands_of(program, stage))
    lines = _wrapped(f"{number:2}. {stage.name or 'operations'}, {_levels(program, stage)}", 6)
    for text, count in list(told.items())[:_SHOWN_STRANDS]:
        lines += _wrapped(f"      {_times(count, text)}", 8)
    omitted = sum(list(told.values())[_SHOWN_STRANDS:])
    if omitted:
        lines.append(f"      and {omitted} more like these, on other diagonals or steps")
    return lines


def _times(count: int, text: str) -> str:
    return f"{count} x {text}" if count > 1 else text


def _wrapped(line: str, indent: int) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)


def _levels(program: SlotProgram, stage: Stage) -> str:
    first, last = stage.numbers[0], stage.numbers[-1]
    levels = [program.states[operand].level for operand in program.operations[first].operands]
    start = max(level for level in levels if level is not None)
    end = program.states[last].level
    return f"level {start}" if start == end else f"level {start} to {end}"


def _told(program: SlotProgram, strand: Sequence[int]) -> str:
    """What a strand does, from rescale to rescale where there are few."""
    ends = [
        place
        for place, number in enumerate(strand, start=1)
        if isinstance(program.operations[number], Rescale) or place == len(strand)
    ]
    if len(ends) > _PARTS:
        return _part_told(program, strand)
    parts = itertools.pairwise([0, *ends])
    return "; ".join(_part_told(program, strand[start:end]) for start, end in parts)


def _part_told(program: SlotProgram, strand: Sequence[int]) -> str:
    """Operations that work on one another, kind by kind in the order of their first ones."""
    kinds: dict[str, list[int]] = {}
    pairs: list[tuple[int, int]] = []
    paired = -1
    for number, follower in itertools.zip_longest(strand, strand[1:], fillvalue=-1):
        if number == paired:
            continue
        kind = _kind(program, number)
        if kind == "rotate" and _adds(program, follower, number):
            kind, paired = "rotate and add", follower
            pairs.append((number, follower))
        kinds.setdefault(kind, []).append(number)
    return "; ".join(
        _added_rotations(program, pairs)
        if kind == "rotate and add"
        else _kind_told(program, kind, numbers)
        for kind, numbers in kinds.items()
    )


def _kind(program: SlotProgram, number: int) -> str:
    operation = program.operations[number]
    if isinstance(operation, Mul):
        factors = [program.operations[operand] for operand in operation.operands]
        clear = any(isinstance(factor, Constant) for factor in factors)
        return "multiply by constants" if clear else "multiply"
    return operation.kind.replace("_", " ")


def _adds(program: SlotProgram, number: int, rotation: int) -> bool:
    operation = program.operations[number]
    return number >= 0 and isinstance(operation, Add) and rotation in operation.operands


def _kind_told(program: SlotProgram, kind: str, numbers: Sequence[int]) -> str:
    made = [program.operations[number] for number in numbers]
    match made[0]:
        case Rotate():
            steps = [signed(each.steps, program.slots) for each in made if isinstance(each, Rotate)]
            return f"rotate by {listed(steps, most=_ROTATIONS)}"
        case Linear():
            transforms = Counter(
                _linear(each, program.slots) for each in made if isinstance(each, Linear)
            )
            told = [_times(count, text) for text, count in transforms.items()]
            if len(told) > _TRANSFORMS:
                more = sum(list(transforms.values())[_TRANSFORMS:])
                told[_TRANSFORMS:] = [f"and {more} more linear"]
            return "; ".join(told)
        case Polynomial(coefficients=coefficients, basis=basis):
            return f"polynomial of degree {len(coefficients) - 1} ({basis})"
        case RotatedProducts(left=left, step=step):
            what = kind.replace("_", " ")
            return f"{program.slots // step} {what} of {counted(len(left), 'term')}"
        case DropLevel(level=level):
            return f"drop to level {level}"
        case _:
            return kind if len(made) == 1 else f"{kind} ({len(made)})"


def _added_rotations(program: SlotProgram, pairs: Sequence[tuple[int, int]]) -> str:
    """Rotations each added to what was rotated or, where marked, to another value."""
    steps: list[int] = []
    elsewhere: list[bool] = []
    for number, addition in pairs:
        rotation = program.operations[number]
        assert isinstance(rotation, Rotate)
        steps.append(signed(rotation.steps, program.slots))
        elsewhere.append(rotation.operand not in program.operations[addition].operands)
    if not any(elsewhere):
        return f"add rotations by {listed(steps, most=_ROTATIONS)}"
    marked = [f"{step}{'*' * mark}" for step, mark in zip(steps, elsewhere, strict=True)]
    marked[_MARKED:] = ["..."] * (len(marked) > _MARKED)
    return f"add rotations by {', '.join(marked)} (*: to the first value)"


def _linear(linear: Linear, slots: int) -> str:
    steps = split(linear.diagonals, slots, linear.baby_steps)
    numbers = sorted(linear.diagonals)
    told = [f"linear: diagonals {listed(numbers)} ({len(numbers)})"]
    for name, rotations in (("baby step", steps.baby), ("giant step", steps.giant)):
        told += [f"{counted(len(rotations), name)} {_steps(rotations, slots)}"] if rotations else []
    return ", ".join(told)


def _steps(rotations: Sequence[int], slots: int) -> str:
    """Rotations counted either way round, whichever is told in fewer words."""
    ways = ([signed(steps, slots) for steps in rotations], rotations)
    return min((listed(way, most=4) for way in ways), key=len)
