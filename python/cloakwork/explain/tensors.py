"""The tensors that go into a program and come out of it, each once for all its ciphertexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cloakwork.base.arguments import printable
from cloakwork.programs.slots import AnyLayout, Input, Output, SlotProgram


@dataclass(frozen=True, slots=True)
class ProgramTensor:
    """A tensor at the edge of a program.

    Args:
        name: Its name.
        values: Numbers of its values, one per ciphertext.
        layout: Where its elements sit; None where nobody has said.
    """

    name: str
    values: tuple[int, ...]
    layout: AnyLayout | None


def input_tensors(program: SlotProgram) -> list[ProgramTensor]:
    """The tensors that go in; ciphertexts `x.0`, `x.1`, ... of one layout are one tensor.

    Example:
        >>> from cloakwork.programs.layout import Axis, Layout
        >>> layout = Layout(4, (Axis(6, 1, tile=4),))
        >>> program = SlotProgram("", 4, (Input("x.0", 1), Input("x.1", 1)), (layout,) * 2)
        >>> [(each.name, each.values) for each in input_tensors(program)]
        [('x', (0, 1))]
    """
    found: list[ProgramTensor] = []
    last_tile = -1
    for number, operation in enumerate(program.operations):
        if not isinstance(operation, Input):
            continue
        layout = program.layouts[number]
        name, tile = _stem(printable(operation.name), layout)
        before = found[-1] if found else None
        if before and tile > last_tile and (before.name, before.layout) == (name, layout):
            found[-1] = ProgramTensor(name, (*before.values, number), layout)
        else:
            found.append(ProgramTensor(name, (number,), layout))
        last_tile = tile
    return found


def _stem(name: str, layout: AnyLayout | None) -> tuple[str, int]:
    """The name of the tensor and the number of its ciphertext; tensors of one have none."""
    stem, _, tile = name.rpartition(".")
    if layout is None or layout.ciphertexts == 1 or not (stem and tile.isdecimal()):
        return name, -1
    return stem, int(tile)


def results_in_text(program: SlotProgram) -> list[ProgramTensor]:
    """The tensors that come out.

    Example:
        >>> program = SlotProgram("", 4, (Input("x", 1), Output(0), Output(0)), (None,) * 3)
        >>> [(each.name, each.values) for each in results_in_text(program)]
        [('result 1', (1,)), ('result 2', (2,))]
    """
    outputs = [n for n, operation in enumerate(program.operations) if isinstance(operation, Output)]
    chunks: list[Sequence[int]] = []
    while outputs:
        layout = program.layouts[outputs[0]]
        count = 1 if layout is None else layout.ciphertexts
        chunks.append(outputs[:count])
        outputs = outputs[count:]
    return [
        ProgramTensor(
            f"result {place}" if len(chunks) > 1 else "result",
            tuple(chunk),
            program.layouts[chunk[0]],
        )
        for place, chunk in enumerate(chunks, start=1)
    ]
