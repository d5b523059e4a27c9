"""Brings the elements of inputs from where another program left them to where they are wanted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.bsgs import cheapest_split
from cloakwork.programs.slots import (
    DTYPES,
    Add,
    Builder,
    DropLevel,
    Input,
    Linear,
    Rescale,
    Rotate,
    SlotProgram,
    TwiceReal,
)


def with_brought(
    body: SlotProgram,
    name: str,
    wanted: Mapping[int, NDArray[np.int64]],
    left: Mapping[int, NDArray[np.int64]],
    switches: int = 0,
    *,
    is_real: bool = True,
) -> tuple[SlotProgram, list[int]]:
    """The operations after those that bring elements from where they were left, a level further up.

    What else lies beside the elements becomes zero. With the program come the numbers that its
    values now have.

    Args:
        body: The operations.
        name: What the elements are an input of.
        wanted: For each input of the operations to replace the element of each slot, or -1.
        left: The same of each result, which become inputs in place of the first of those.
        switches: How often results are switched down first.
        is_real: Whether slots of results have no imaginary parts; where they have, those of what is
            brought are 0.
    """
    builder = Builder(body.title, body.slots, body.numbers)
    inputs = [n for n, each in enumerate(body.operations) if isinstance(each, Input)]
    replaced = {inputs[number]: each for number, each in wanted.items()}
    top = 1 + max(body.states[number].level or 0 for number in replaced)
    values: list[int] = []
    sources: list[int] = []
    for number, operation in enumerate(body.operations):
        builder.origin, builder.stage = body.origins[number], body.stages[number]
        if number not in replaced:
            operands = [values[each] for each in operation.operands]
            values.append(builder.append(operation.with_operands(operands), body.layouts[number]))
            continue
        builder.stage = f"bring {name} to its places"
        if not sources:
            sources = [builder.append(Input(name, top + switches)) for _ in left]
            for _ in range(switches):
                sources = [builder.append(Rescale(each)) for each in sources]
            if not is_real:
                sources = [builder.append(TwiceReal(each)) for each in sources]
        factor = 1.0 if is_real else 0.5
        value = _brought(builder, sources, [*left.values()], replaced[number], factor)
        level = body.states[number].level or 0
        values.append(builder.append(DropLevel(value, level)) if level < top - 1 else value)
    return builder.finish(), values


def _brought(
    builder: Builder,
    sources: Sequence[int],
    left: Sequence[NDArray[np.int64]],
    wanted: NDArray[np.int64],
    factor: float,
) -> int:
    """Some elements times a factor in their slots and zeros in the others, a level down."""
    total: int | None = None
    period = _period(wanted)
    wanted = np.where(np.arange(builder.slots) < period, wanted, -1)
    for source, elements in zip(sources, left, strict=True):
        home = {int(each): slot for slot, each in enumerate(elements) if each >= 0}
        diagonals: dict[int, NDArray[Any]] = {}
        for slot in np.flatnonzero(wanted >= 0).tolist():
            if int(wanted[slot]) not in home:
                continue
            steps = (home[int(wanted[slot])] - slot) % builder.slots
            diagonal = np.zeros(builder.slots, DTYPES[builder.numbers])
            diagonals.setdefault(steps, diagonal)[slot] = factor
        if not diagonals:
            continue
        split = cheapest_split(diagonals, builder.slots)
        made = builder.append(Linear(source, diagonals, split.baby_steps))
        total = made if total is None else builder.append(Add(total, made))
    assert total is not None
    value = builder.append(Rescale(total))
    while period < builder.slots:
        value = builder.append(Add(value, builder.append(Rotate(value, period))))
        period *= 2
    return value


def _period(wanted: NDArray[np.int64]) -> int:
    """After how many slots, a power of two times fewer than all, elements are wanted again."""
    period = wanted.size
    while period % 2 == 0 and np.array_equal(wanted[: period // 2], wanted[period // 2 : period]):
        period //= 2
    return period
