"""The totals of a slot program: how often it does each costly thing, its levels, keys, memory."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Any

from cloakwork.explain.quantities import counted, duration, listed, signed, size
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.memory import predicted_peak_bytes

WIDTH = 100
_NO_BREAK = "\u00a0"
_SHORT_PIECE = 60


def counts(program: SlotProgram) -> Counter[str]:
    """How often a program does each costly thing, as the literature counts it.

    Returns:
        Counts of rotations, diagonals of linear transforms, products of ciphertexts, products with
        clear vectors, additions (subtractions and negations among them), rescales or modulus
        switches, and levels dropped.

    Example:
        >>> from cloakwork.programs.slots import Add, Input, Output, Rotate
        >>> operations = (Input("x", 3), Rotate(0, 2), Add(0, 1), Output(2))
        >>> sorted(counts(SlotProgram("", 8, operations, (None,) * 4)).items())
        [('addition', 1), ('rotation', 1)]
    """
    found: Counter[str] = Counter()
    for number, operation in enumerate(program.operations):
        found.update(operation.counts(program.context(number)))
    return found


def total_lines(program: SlotProgram, scheme: Any) -> list[str]:
    """Work, levels and keys of a program, a line each.

    Example:
        >>> from cloakwork._native import Parameters
        >>> from cloakwork.programs.slots import Input, Output, Rotate
        >>> from cloakwork.schemes.ckks import Ckks
        >>> program = SlotProgram("", 512, (Input("x", 1), Rotate(0, 1), Output(1)), (None,) * 3)
        >>> scheme = Ckks(Parameters(levels=1, log_n=10, insecure=True))
        >>> print("\\n".join(total_lines(program, scheme)))
          work    1 rotation
          levels  1 to 1
          keys    1 rotation (by 1), 64.0 KiB
    """
    found = counts(program)
    work = [counted(found[name], name) for name in sorted(found)]
    levels = [state.level for state in program.states if state.level is not None]
    needed = required_keys(program)
    steps = sorted((signed(steps, program.slots) for steps in needed.rotations), key=abs)
    keys = [f"{counted(len(steps), 'rotation')} (by {listed(steps)})"] if steps else []
    keys += ["relinearisation"] if needed.relinearisation_level is not None else []
    keys += [size(scheme.key_bytes(program))] if needed else []
    return [
        *fact("work", work or ["none: the slots stay where they are"]),
        *fact("levels", [f"{max(levels)} to {levels[-1]}" if levels else "none"]),
        *fact("keys", keys or ["none"]),
    ]


def peak_bytes(program: SlotProgram, scheme: Any) -> int:
    """The most bytes that the ciphertexts of a program take at once, as predicted."""
    return predicted_peak_bytes(program, scheme.bytes_at)


def by_kind(program: SlotProgram, seconds: Sequence[float]) -> dict[str, float]:
    """Seconds of each kind of operation."""
    totals: dict[str, float] = {}
    for operation, each in zip(program.operations, seconds, strict=True):
        if each:
            totals[operation.kind] = totals.get(operation.kind, 0.0) + each
    return totals


def kinds_text(totals: dict[str, float]) -> list[str]:
    """Seconds of each kind of operation in words.

    Example:
        >>> kinds_text({"rotate": 0.5})
        ['rotate 500 ms']
    """
    return [f"{kind} {duration(each)}" for kind, each in totals.items()]


def fact(name: str, pieces: Sequence[str]) -> list[str]:
    """A line of the totals, broken between short pieces only.

    Example:
        >>> fact("keys", ["2 rotations", "1.0 MiB"])
        ['  keys    2 rotations, 1.0 MiB']
    """
    # A space that does not break keeps a number with its unit.
    glued = (
        piece.replace(" ", _NO_BREAK) if len(piece) <= _SHORT_PIECE else piece for piece in pieces
    )
    text = f"  {name:<8}{', '.join(glued)}"
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False)
    return [line.replace(_NO_BREAK, " ") for line in lines]
