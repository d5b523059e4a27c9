"""Products of several values with a matrix of transforms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.slots import Add, Builder, Input, Linear, Output, Rescale, SlotProgram


def matrix_program(
    slots: int,
    *,
    operands: int,
    results: int,
    diagonals: Iterable[int],
    baby_steps: int,
    order: Literal["by result", "by operand"] = "by result",
) -> tuple[SlotProgram, NDArray[np.float64]]:
    """Each result the sum of a transform of every operand, transforms in one order or another.

    And the matrix that takes all operands, one after the other, to all results.
    """
    rng, numbers = np.random.default_rng(operands), list(diagonals)
    builder = Builder("product", slots)
    values = [builder.append(Input(str(number), 1)) for number in range(operands)]
    matrix, rows = np.zeros((results, slots, operands, slots)), np.arange(slots)
    sums: list[int | None] = [None] * results
    pairs = [(result, value) for result in range(results) for value in values]
    if order == "by operand":
        pairs.sort(key=lambda pair: pair[1])
    for result, value in pairs:
        for number in numbers:
            matrix[result, rows, value, (rows + number) % slots] = rng.uniform(-1, 1, slots) / slots
        vectors = {
            number: matrix[result, rows, value, (rows + number) % slots] for number in numbers
        }
        made = builder.append(Linear(value, vectors, baby_steps))
        before = sums[result]
        sums[result] = made if before is None else builder.append(Add(before, made))
    for total in sums:
        assert total is not None
        builder.append(Output(builder.append(Rescale(total))))
    return builder.finish(), matrix.reshape(results * slots, operands * slots)
