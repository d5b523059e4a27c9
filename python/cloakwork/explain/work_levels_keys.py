"""The totals of a slot program: how often it does each costly thing, levels, keys, memory, time."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from cloakwork.explain.modelled import modelled_seconds
from cloakwork.explain.quantities import counted, duration, listed, signed, size
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.held_memory import bootstrap_memory
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.shared_rotations import shared_rotations

WIDTH = 100
_NO_BREAK = "\u00a0"
_SHORT_PIECE = 60


def counted_operations(program: SlotProgram, numbers: Iterable[int] | None = None) -> Counter[str]:
    """How often a program, or these operations of it, does each costly thing.

    Rotations that linear transforms share count once.
    """
    found: Counter[str] = Counter()
    shared = shared_rotations(program)
    for number in range(len(program.operations)) if numbers is None else numbers:
        found.update(program.operations[number].counts(program.context(number)))
        if number in shared:
            found["rotation"] -= shared[number].rotations
    return found


def total_lines(program: SlotProgram, scheme: Any) -> list[str]:
    """Work, levels and keys of a program, a line each."""
    found = counted_operations(program)
    work = [counted(found[name], name) for name in sorted(found)]
    levels = [state.level for state in program.states if state.level is not None]
    needed = scheme.required_keys(program)
    steps = sorted((signed(steps, program.slots) for steps in needed.rotations), key=abs)
    keys = [f"{counted(len(steps), 'rotation')} (by {listed(steps)})"] if steps else []
    products = len(needed.rotated_products)
    keys += [f"{counted(products, 'product key')} (of the same)"] if products else []
    keys += ["relinearisation"] if needed.relinearisation_level is not None else []
    keys += ["conjugation"] if needed.conjugation_level is not None else []
    keys += ["two between secrets"] if needed.encapsulation_weight is not None else []
    keys += [size(scheme.key_bytes(program))] if needed else []
    return [
        *fact("work", work or ["none: the slots stay where they are"]),
        *fact("levels", [f"{max(levels)} to {levels[-1]}" if levels else "none"]),
        *fact("keys", keys or ["none"]),
    ]


def memory_lines(
    program: SlotProgram, scheme: Any, profile: Profile | None, result_bytes: int | None = None
) -> list[str]:
    """What the ciphertexts of a program take at once, as predicted and as measured."""
    pieces = [f"{size(predicted_peak_bytes(program, scheme.bytes_at))} at the peak as predicted"]
    pieces += [f"{size(profile.peak_bytes)} as measured"] if profile is not None else []
    pieces += [f"{size(result_bytes)} for the result"] if result_bytes is not None else []
    return fact("memory", pieces) + _bootstrap_lines(program, scheme)


def _bootstrap_lines(program: SlotProgram, scheme: Any) -> list[str]:
    """What an evaluator holds for bootstraps beside ciphertexts; no line where there are none."""
    held = bootstrap_memory(program, scheme.refreshing)
    if not scheme.encrypts or not held.least:
        return []
    pieces = [
        f"{size(held.most)} beside them: keys {size(held.keys)}",
        f"diagonals of bootstraps {size(held.numbers + held.encoded)}",
        f"their work {size(held.work + held.cached)}",
        f"{size(held.least)} where memory_limit is low: nothing is encoded ahead or cached then",
    ]
    return fact("", pieces)


def time_lines(program: SlotProgram, scheme: Any, profile: Profile | None) -> list[str]:
    """The time of a program, measured where it has run and modelled where it is encrypted."""
    measured: dict[str, float] = {}
    modelled: dict[str, float] = {}
    pieces: list[str] = []
    if profile is not None and profile.operations:
        measured = {kind: each.seconds for kind, each in profile.totals().items()}
        pieces.append(f"{duration(sum(measured.values()))} measured")
        pieces.append(f"{duration(profile.seconds)} from start to end")
    if scheme.encrypts:
        seconds = modelled_seconds(program, scheme)
        for operation, each in zip(program.operations, seconds, strict=True):
            if each:
                modelled[operation.kind] = modelled.get(operation.kind, 0.0) + each
        pieces += [f"{duration(sum(modelled.values()))} modelled"] if modelled else []
    elif pieces:
        pieces.append("not modelled, as nothing is encrypted")
    if not pieces:
        return []
    kinds = [f"{kind} {duration(each)}" for kind, each in (measured or modelled).items()]
    if measured and modelled:
        kinds = [
            f"{text} ({duration(modelled[kind])})"
            for kind, text in zip(measured, kinds, strict=True)
        ]
        kinds[0] = f"by kind (modelled): {kinds[0]}"
    return fact("time", pieces) + fact("", kinds)


def fact(name: str, pieces: Sequence[str]) -> list[str]:
    """A line of the totals, broken between short pieces only."""
    # A space that does not break keeps a number with its unit.
    glued = (
        piece.replace(" ", _NO_BREAK) if len(piece) <= _SHORT_PIECE else piece for piece in pieces
    )
    text = f"  {name:<8}{', '.join(glued)}"
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False)
    return [line.replace(_NO_BREAK, " ") for line in lines]
